//! Requests: what is sent, serialised once where it never changes, filled in where it does.
//!
//! Fields in a path, a header value or a body: `${counter}` (0, 1, 2, … over all threads, each number once),
//! `${thread}` (number of the thread), `${random:LOW-HIGH}` (a whole number), `${hex:N}` (N random hex digits).

use crate::check::Expectation;
use crate::random::Random;

/// A piece of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Counter,
    Thread,
    Random(u64, u64),
    Hex(usize),
    /// The length of the body, in decimal.
    Length,
}

/// What a template is made from.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The name in results.
    pub name: String,
    /// The method, such as GET.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The authority for the Host field.
    pub host: String,
    /// Further header fields.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
    /// Ask the server to close after the response.
    pub close: bool,
}

/// One kind of request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Template {
    /// What it was made from (for engines that do not send text).
    pub source: Source,
    /// What its response must be.
    pub expected: Expectation,
    /// The request was HEAD: its response has no body.
    pub bodiless: bool,
    /// How often it is chosen, against the others.
    pub weight: f64,
    head: Vec<Piece>,
    body: Vec<Piece>,
    /// The whole request, where nothing in it changes.
    fixed: Option<Vec<u8>>,
}

impl Template {
    /// Reads the fields and serialises what can be. The error says which field is unknown.
    pub fn new(source: Source, expected: Expectation, weight: f64) -> Result<Self, String> {
        let mut head = parse(format!("{} {} HTTP/1.1\r\n", source.method, source.path).as_bytes())?;
        let given = |name: &str| source.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        if !given("host") {
            head.push(Piece::Text(format!("Host: {}\r\n", source.host).into()));
        }
        for (name, value) in &source.headers {
            head.extend(parse(format!("{name}: {value}\r\n").as_bytes())?);
        }
        if source.close && !given("connection") {
            head.push(Piece::Text(b"Connection: close\r\n".to_vec()));
        }
        let wants_length =
            source.body.is_some() || matches!(source.method.as_str(), "POST" | "PUT" | "PATCH");
        if wants_length && !given("content-length") && !given("transfer-encoding") {
            head.extend([
                Piece::Text(b"Content-Length: ".to_vec()),
                Piece::Length,
                Piece::Text(b"\r\n".to_vec()),
            ]);
        }
        head.push(Piece::Text(b"\r\n".to_vec()));
        let body = parse(source.body.as_deref().unwrap_or_default())?;
        let bodiless = source.method == "HEAD";
        let mut template = Self { source, expected, bodiless, weight, head, body, fixed: None };
        let changes = |piece: &Piece| !matches!(piece, Piece::Text(_) | Piece::Length);
        if !template.head.iter().chain(&template.body).any(changes) {
            let mut bytes = Vec::new();
            template.render(&mut bytes, &mut Fill::new(0, 1, Random::new(0, 0)));
            template.fixed = Some(bytes);
        }
        Ok(template)
    }

    /// The whole request, where nothing in it changes.
    #[inline]
    pub fn fixed(&self) -> Option<&[u8]> {
        self.fixed.as_deref()
    }

    /// Writes one request with its fields filled in.
    pub fn render(&self, out: &mut Vec<u8>, fill: &mut Fill) {
        let counter = fill.next_counter();
        let mut body = Vec::new();
        write(&self.body, &mut body, fill, counter, 0);
        out.clear();
        write(&self.head, out, fill, counter, body.len());
        out.extend_from_slice(&body);
    }
}

/// Fills in one text with fields, for engines that send header fields and bodies on their own.
pub fn fill_text(text: &[u8], fill: &mut Fill, counter: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write(&parse(text).unwrap_or_default(), &mut out, fill, counter, 0);
    out
}

/// What fields are filled with: one per thread.
#[derive(Debug)]
pub struct Fill {
    thread: u64,
    threads: u64,
    counter: u64,
    random: Random,
}

impl Fill {
    /// For thread `thread` of `threads`.
    pub fn new(thread: usize, threads: usize, random: Random) -> Self {
        Self { thread: thread as u64, threads: threads as u64, counter: thread as u64, random }
    }

    /// The next number of this thread; threads take turns, so that no number comes twice.
    pub fn next_counter(&mut self) -> u64 {
        let counter = self.counter;
        self.counter += self.threads;
        counter
    }
}

fn write(pieces: &[Piece], out: &mut Vec<u8>, fill: &mut Fill, counter: u64, length: usize) {
    use std::io::Write as _;
    for piece in pieces {
        // Writing to a vector cannot fail.
        let _ = match piece {
            Piece::Text(text) => out.write_all(text),
            Piece::Counter => write!(out, "{counter}"),
            Piece::Thread => write!(out, "{}", fill.thread),
            Piece::Random(low, high) => write!(out, "{}", fill.random.between(*low, *high)),
            Piece::Hex(digits) => {
                (0..*digits).try_for_each(|_| write!(out, "{:x}", fill.random.bits() >> 60))
            }
            Piece::Length => write!(out, "{length}"),
        };
    }
}

/// Cuts a text at its fields.
fn parse(text: &[u8]) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(start) = memchr::memmem::find(rest, b"${") {
        let length = memchr::memchr(b'}', &rest[start..]).ok_or("a field ${… has no closing brace")?;
        if start > 0 {
            pieces.push(Piece::Text(rest[..start].to_vec()));
        }
        pieces.push(field(&String::from_utf8_lossy(&rest[start + 2..start + length]))?);
        rest = &rest[start + length + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_vec()));
    }
    Ok(pieces)
}

fn field(text: &str) -> Result<Piece, String> {
    let wrong = || {
        format!(
            "unknown field ${{{text}}}: there are ${{counter}}, ${{thread}}, ${{random:1-100}}, ${{hex:16}}"
        )
    };
    let (name, argument) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "counter" if argument.is_empty() => Ok(Piece::Counter),
        "thread" if argument.is_empty() => Ok(Piece::Thread),
        "random" => {
            let (low, high) = argument.split_once('-').ok_or_else(wrong)?;
            let (low, high) = (low.parse().map_err(|_| wrong())?, high.parse().map_err(|_| wrong())?);
            if low <= high { Ok(Piece::Random(low, high)) } else { Err(wrong()) }
        }
        "hex" => match argument.parse() {
            Ok(digits) if (1..=4096).contains(&digits) => Ok(Piece::Hex(digits)),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// Which template comes next, one per thread.
#[derive(Debug)]
pub struct Choice {
    /// Running sums of the weights.
    sums: Vec<f64>,
    random: Random,
}

impl Choice {
    /// Chooses among templates of these weights.
    pub fn new(weights: impl Iterator<Item = f64>, random: Random) -> Self {
        let mut sum = 0.0;
        let sums = weights
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        Self { sums, random }
    }

    /// The index of the next template.
    #[inline]
    pub fn draw(&mut self) -> usize {
        if self.sums.len() == 1 {
            return 0;
        }
        let point = self.random.unit() * self.sums[self.sums.len() - 1];
        self.sums.partition_point(|&sum| sum <= point).min(self.sums.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::anything;
    use proptest::prelude::*;

    fn template(path: &str, body: Option<&str>) -> Result<Template, String> {
        let source = Source {
            method: if body.is_some() { "POST" } else { "GET" }.into(),
            path: path.into(),
            host: "here:80".into(),
            headers: vec![("X-A".into(), "b".into())],
            body: body.map(Into::into),
            ..Source::default()
        };
        Template::new(source, anything(), 1.0)
    }

    fn rendered(template: &Template, thread: usize) -> String {
        let mut out = Vec::new();
        template.render(&mut out, &mut Fill::new(thread, 4, Random::new(1, thread as u64)));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_fixed_request_is_serialised_once() {
        let get = template("/a?b=c", None).unwrap();
        assert_eq!(get.fixed().unwrap(), b"GET /a?b=c HTTP/1.1\r\nHost: here:80\r\nX-A: b\r\n\r\n");
        let post = template("/", Some("hello")).unwrap();
        assert!(post.fixed().unwrap().ends_with(b"Content-Length: 5\r\n\r\nhello"));
    }

    #[test]
    fn fields_are_filled_in() {
        let dynamic =
            template("/item/${counter}?t=${thread}", Some("{\"n\": ${random:10-99}, \"h\": \"${hex:8}\"}"));
        let dynamic = dynamic.unwrap();
        assert!(dynamic.fixed().is_none());
        let text = rendered(&dynamic, 3);
        assert!(text.starts_with("POST /item/3?t=3 HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("Content-Length: 26\r\n"), "{text}");
        assert_eq!(text, rendered(&dynamic, 3), "the same seed gives the same request");
    }

    #[test]
    fn counters_of_threads_never_meet() {
        let mut fills: Vec<Fill> = (0..3).map(|thread| Fill::new(thread, 3, Random::new(0, 0))).collect();
        let mut numbers: Vec<u64> = (0..30).map(|n| fills[n % 3].next_counter()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn unknown_fields_are_refused() {
        for wrong in ["/${nope}", "/${random:5}", "/${random:9-1}", "/${hex:0}", "/${counter"] {
            assert!(template(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn weights_hold() {
        let mut choice = Choice::new([1.0, 3.0, 0.0, 6.0].into_iter(), Random::new(5, 0));
        let mut counts = [0i32; 4];
        for _ in 0..100_000 {
            counts[choice.draw()] += 1;
        }
        assert_eq!(counts[2], 0);
        for (count, expected) in counts.iter().zip([10_000, 30_000, 0, 60_000]) {
            assert!((*count - expected).abs() < 1_000, "{counts:?}");
        }
    }

    proptest! {
        #[test]
        fn the_length_is_right_for_any_body(body in "[a-z]{0,40}(\\$\\{hex:[1-9]\\})?(\\$\\{random:1-99999\\})?[a-z]{0,9}") {
            let text = rendered(&template("/", Some(&body)).unwrap(), 1);
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let header = format!("Content-Length: {}", body.len());
            prop_assert!(head.contains(&header));
        }
    }
}
