//! What the right response is, and the comparison of a body with it while it streams by.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::errors::ErrorClass;

/// How many bytes beyond the expected length are read before the connection is given up.
const EXCESS: u64 = 64 * 1024;

/// What a response must be. Status and length are checked for every response, the body for every one or a sample.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// The right status codes; empty means 200 to 299.
    pub statuses: Vec<u16>,
    /// The exact length of the body in bytes.
    pub length: Option<u64>,
    /// The exact body.
    pub body: Option<Arc<[u8]>>,
    /// The SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// Every how-many-th body is compared; 1 is each.
    pub every: u32,
    /// A body longer than this is a wrong body, whatever it is.
    pub max_body: u64,
}

impl Expectation {
    /// Whether the status is right.
    pub fn accepts(&self, status: u16) -> bool {
        if self.statuses.is_empty() { (200..300).contains(&status) } else { self.statuses.contains(&status) }
    }

    /// The most bytes of body that are read.
    fn limit(&self) -> u64 {
        let known = self.length.or(self.body.as_ref().map(|body| body.len() as u64));
        known.map_or(self.max_body, |length| self.max_body.min(length + EXCESS))
    }
}

/// The comparison of one response with its expectation.
#[derive(Debug, Default)]
pub struct Inspection {
    /// Bytes of body so far.
    length: u64,
    differs: bool,
    sampled: bool,
    digest: Option<Box<Sha256>>,
}

impl Inspection {
    /// Starts over for the response number `number` of this thread and template.
    #[inline]
    pub fn begin(&mut self, expected: &Expectation, number: u64) {
        self.length = 0;
        self.differs = false;
        self.sampled = expected.every == 1 || number.is_multiple_of(u64::from(expected.every));
        self.digest = (self.sampled && expected.sha256.is_some()).then(Box::default);
    }

    /// Takes the next piece of the body. An error means: stop reading, this is never going to be right.
    #[inline]
    pub fn piece(&mut self, expected: &Expectation, piece: &[u8]) -> Result<(), ErrorClass> {
        let at = self.length;
        self.length += piece.len() as u64;
        if self.length > expected.limit() {
            return Err(ErrorClass::WrongBody);
        }
        if !self.sampled {
            return Ok(());
        }
        if let Some(body) = &expected.body {
            let rest = body.get(at as usize..).unwrap_or_default();
            self.differs |= !rest.starts_with(piece);
        }
        if let Some(digest) = &mut self.digest {
            digest.update(piece);
        }
        Ok(())
    }

    /// Judges the whole response.
    #[inline]
    pub fn conclude(&mut self, expected: &Expectation, status: u16) -> Result<(), ErrorClass> {
        if !expected.accepts(status) {
            return Err(ErrorClass::WrongStatus);
        }
        let length_differs = expected.length.is_some_and(|length| length != self.length)
            || (expected.body.as_ref()).is_some_and(|body| body.len() as u64 != self.length);
        let digest_differs = match (self.digest.take(), expected.sha256) {
            (Some(digest), Some(sha256)) => digest.finalize()[..] != sha256[..],
            _ => false,
        };
        if length_differs || self.differs || digest_differs { Err(ErrorClass::WrongBody) } else { Ok(()) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Any status of 2xx with any body.
    pub fn anything() -> Expectation {
        Expectation { statuses: vec![], length: None, body: None, sha256: None, every: 1, max_body: 1 << 30 }
    }

    fn judge(expected: &Expectation, status: u16, pieces: &[&[u8]]) -> Result<(), ErrorClass> {
        let mut inspection = Inspection::default();
        inspection.begin(expected, 0);
        for piece in pieces {
            inspection.piece(expected, piece)?;
        }
        inspection.conclude(expected, status)
    }

    #[test]
    fn statuses() {
        assert_eq!(judge(&anything(), 204, &[]), Ok(()));
        assert_eq!(judge(&anything(), 404, &[]), Err(ErrorClass::WrongStatus));
        let expected = Expectation { statuses: vec![404], ..anything() };
        assert_eq!(judge(&expected, 404, &[]), Ok(()));
        assert_eq!(judge(&expected, 200, &[]), Err(ErrorClass::WrongStatus));
    }

    #[test]
    fn bodies_are_compared_in_any_pieces() {
        let expected = Expectation { body: Some(b"hello"[..].into()), ..anything() };
        assert_eq!(judge(&expected, 200, &[b"hello"]), Ok(()));
        assert_eq!(judge(&expected, 200, &[b"he", b"", b"llo"]), Ok(()));
        for wrong in [&[&b"hell"[..]][..], &[b"hello!"], &[b"jello"], &[b"he", b"lli"], &[]] {
            assert_eq!(judge(&expected, 200, wrong), Err(ErrorClass::WrongBody), "{wrong:?}");
        }
    }

    #[test]
    fn digests_and_lengths() {
        let sha256 = Sha256::digest(b"hello").into();
        let expected = Expectation { sha256: Some(sha256), ..anything() };
        assert_eq!(judge(&expected, 200, &[b"hel", b"lo"]), Ok(()));
        assert_eq!(judge(&expected, 200, &[b"hellO"]), Err(ErrorClass::WrongBody));
        let expected = Expectation { length: Some(3), ..anything() };
        assert_eq!(judge(&expected, 200, &[b"abc"]), Ok(()));
        assert_eq!(judge(&expected, 200, &[b"ab"]), Err(ErrorClass::WrongBody));
    }

    #[test]
    fn a_sample_checks_only_some_bodies() {
        let expected = Expectation { body: Some(b"a"[..].into()), every: 10, ..anything() };
        let wrong = (0..100)
            .filter(|&number| {
                let mut inspection = Inspection::default();
                inspection.begin(&expected, number);
                inspection.piece(&expected, b"b").unwrap();
                inspection.conclude(&expected, 200).is_err()
            })
            .count();
        assert_eq!(wrong, 10);
    }

    #[test]
    fn an_endless_body_is_given_up() {
        let expected = Expectation { max_body: 10, ..anything() };
        assert_eq!(judge(&expected, 200, &[b"12345", b"678901"]), Err(ErrorClass::WrongBody));
    }
}
