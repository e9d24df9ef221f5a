//! Known answers, and the property that pieces do not matter.

use proptest::prelude::*;

use super::*;
use crate::check::tests::anything;

/// Feeds `bytes` cut at `cuts`, then the end of the connection if the response is not whole.
fn run(
    bytes: &[u8],
    cuts: &[usize],
    expected: &Expectation,
    known: &mut KnownHead,
) -> Result<usize, ErrorClass> {
    let mut response = Response::default();
    response.begin(expected, 0);
    let mut context = Context { bodiless: false, expected, known };
    let mut at = 0;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        let cut = cut.clamp(at, bytes.len());
        if let Fed::Whole(used) = response.feed(&bytes[at..cut], &mut context)? {
            return response.conclude(expected).map(|()| at + used);
        }
        at = cut;
    }
    response.close()?;
    response.conclude(expected).map(|()| at)
}

fn whole(text: &str) -> Result<usize, ErrorClass> {
    run(text.as_bytes(), &[], &anything(), &mut KnownHead::default())
}

#[test]
fn known_answers() {
    let fixed = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(whole(fixed), Ok(fixed.len()));
    assert_eq!(whole(&format!("{fixed}extra")), Ok(fixed.len()));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n";
    assert_eq!(whole(chunked), Ok(chunked.len()));
    let until_close = "HTTP/1.0 200 OK\r\n\r\nall of it";
    assert_eq!(whole(until_close), Ok(until_close.len()));
    let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{fixed}");
    assert_eq!(whole(&interim), Ok(interim.len()));
}

#[test]
fn classes_of_wrong_answers() {
    for (text, class) in [
        ("", ErrorClass::ClosedEarly),
        ("HTTP/1.1 200 OK\r\nContent-Len", ErrorClass::ClosedEarly),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", ErrorClass::ClosedEarly),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", ErrorClass::ClosedEarly),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", ErrorClass::Malformed),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", ErrorClass::Malformed),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nnot a field\r\n", ErrorClass::Malformed),
        ("SSH-2.0-OpenSSH", ErrorClass::Malformed),
        ("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", ErrorClass::WrongStatus),
    ] {
        assert_eq!(whole(text), Err(class), "{text:?}");
    }
}

#[test]
fn an_endless_head_is_malformed_and_bounded() {
    let expected = anything();
    let mut known = KnownHead::default();
    let mut response = Response::default();
    response.begin(&expected, 0);
    let mut context = Context { bodiless: false, expected: &expected, known: &mut known };
    let mut fed = response.feed(b"HTTP/1.1 200 OK\r\n", &mut context);
    let line = [b"X: ", &[b'a'; 1000][..], b"\r\n"].concat();
    let mut rounds = 0;
    while fed == Ok(Fed::More) {
        fed = response.feed(&line, &mut context);
        rounds += 1;
        assert!(rounds < 100, "the head never ended");
    }
    assert_eq!(fed, Err(ErrorClass::Malformed));
    assert!(response.held() <= 4 * head::HEAD_LIMIT);
}

#[test]
fn a_known_head_is_not_trusted_for_a_different_head() {
    let expected = Expectation { body: Some(b"hi"[..].into()), ..anything() };
    let mut known = KnownHead::default();
    let good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let failed = b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nhi";
    for _ in 0..2 {
        assert_eq!(run(good, &[], &expected, &mut known), Ok(good.len()));
        assert_eq!(run(failed, &[], &expected, &mut known), Err(ErrorClass::WrongStatus));
        assert_eq!(run(&good[..good.len() - 1], &[], &expected, &mut known), Err(ErrorClass::ClosedEarly));
    }
}

#[test]
fn an_interim_head_never_passes_for_the_response() {
    let expected = Expectation { body: Some(b"hi"[..].into()), ..anything() };
    let mut known = KnownHead::default();
    let text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    for cuts in [&[][..], &[25], &[25, 50], &[10]] {
        assert_eq!(run(text, cuts, &expected, &mut known), Ok(text.len()));
    }
}

/// A response in one of the framings, with its right body.
fn responses() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let body = prop::collection::vec(any::<u8>(), 0..200);
    (body, 0..3, prop::collection::vec(1..40usize, 1..8), any::<bool>()).prop_map(
        |(body, kind, sizes, interim)| {
            let mut bytes = Vec::new();
            if interim {
                bytes.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
            }
            match kind {
                0 => {
                    bytes
                        .extend(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).bytes());
                    bytes.extend_from_slice(&body);
                }
                1 => {
                    bytes.extend_from_slice(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                    let (mut rest, mut size) = (&body[..], sizes.iter().cycle());
                    while !rest.is_empty() {
                        let (chunk, after) = rest.split_at((*size.next().unwrap()).min(rest.len()));
                        bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
                        bytes.extend_from_slice(chunk);
                        bytes.extend_from_slice(b"\r\n");
                        rest = after;
                    }
                    bytes.extend_from_slice(b"0\r\nX-Sum: 1\r\n\r\n");
                }
                _ => {
                    bytes.extend_from_slice(b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\n");
                    bytes.extend_from_slice(&body);
                }
            }
            (bytes, body)
        },
    )
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        (bytes, body) in responses(),
        mut cuts in prop::collection::vec(0..400usize, 0..20),
        again in any::<bool>(),
    ) {
        cuts.sort_unstable();
        let expected = Expectation { body: Some(body.into()), ..anything() };
        let mut known = KnownHead::default();
        if again {
            let _ = run(&bytes, &[], &expected, &mut known);
        }
        prop_assert_eq!(run(&bytes, &cuts, &expected, &mut known), Ok(bytes.len()));
    }

    #[test]
    fn bytes_one_by_one((bytes, body) in responses()) {
        let cuts: Vec<usize> = (0..bytes.len()).collect();
        let expected = Expectation { body: Some(body.into()), ..anything() };
        prop_assert_eq!(run(&bytes, &cuts, &expected, &mut KnownHead::default()), Ok(bytes.len()));
    }

    #[test]
    fn any_bytes_end_without_panic_and_alike(
        bytes in prop::collection::vec(prop::sample::select(b"HTTP/1.1 200\r\n:;0f,Content-Length".to_vec()), 0..300),
        mut cuts in prop::collection::vec(0..300usize, 0..9),
        start in any::<bool>(),
    ) {
        cuts.sort_unstable();
        let bytes = if start { [b"HTTP/1.1 200 OK\r\n", &bytes[..]].concat() } else { bytes };
        let once = run(&bytes, &[], &anything(), &mut KnownHead::default());
        let cut = run(&bytes, &cuts, &anything(), &mut KnownHead::default());
        prop_assert_eq!(once, cut);
    }
}
