//! Markers: lines `@bakeoff NAME` or `@bakeoff NAME {…}` in the output, found as it streams by.

use memchr::{memchr, memmem};
use serde::Serialize;
use serde_json::value::RawValue;

const WORD: &[u8] = b"@bakeoff ";
/// Longest marker line in bytes. A longer one is reported without its data.
const LONGEST_LINE: usize = 64 * 1024;

/// One marker.
#[derive(Debug, Clone, Serialize)]
pub struct Marker {
    /// Its name.
    pub name: String,
    /// When its line was read: seconds since just before exec.
    pub t_s: f64,
    /// The JSON object that it carries, as it was written.
    pub data: Option<Box<RawValue>>,
    /// What is wrong with its data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where in the output we are.
enum State {
    /// In a line that may become a marker; what there is of it.
    Candidate(Vec<u8>),
    /// In a line that is none.
    Other,
}

/// Finds markers in a stream that comes in pieces, with bounded memory.
pub struct MarkerReader {
    state: State,
    line_start: memmem::Finder<'static>,
}

impl Default for MarkerReader {
    fn default() -> Self {
        Self { state: State::Candidate(Vec::new()), line_start: memmem::Finder::new(b"\n@") }
    }
}

impl MarkerReader {
    /// Takes a piece that was read at `t_s` and returns the markers that it completes.
    pub fn take(&mut self, mut piece: &[u8], t_s: f64) -> Vec<Marker> {
        let mut markers = Vec::new();
        while !piece.is_empty() {
            match &mut self.state {
                State::Candidate(line) => {
                    let end = memchr(b'\n', piece);
                    let part = &piece[..end.unwrap_or(piece.len())];
                    let room = (LONGEST_LINE + 1).saturating_sub(line.len());
                    line.extend_from_slice(&part[..part.len().min(room)]);
                    if let Some(end) = end {
                        markers.extend(parse(line, t_s));
                        line.clear();
                        piece = &piece[end + 1..];
                    } else {
                        let known = line.len().min(WORD.len());
                        if line[..known] != WORD[..known] {
                            self.state = State::Other;
                        }
                        piece = &[];
                    }
                }
                State::Other => {
                    // Most lines are no markers; they are passed over at the speed of memory.
                    if let Some(at) = self.line_start.find(piece) {
                        self.state = State::Candidate(Vec::new());
                        piece = &piece[at + 1..];
                    } else {
                        if piece.ends_with(b"\n") {
                            self.state = State::Candidate(Vec::new());
                        }
                        piece = &[];
                    }
                }
            }
            if let State::Candidate(line) = &self.state
                && line.is_empty()
                && piece.first().is_some_and(|&byte| byte != b'@')
            {
                self.state = State::Other;
            }
        }
        markers
    }

    /// The marker in a last line without a newline.
    pub fn finish(&mut self, t_s: f64) -> Option<Marker> {
        match &mut self.state {
            State::Candidate(line) => parse(&std::mem::take(line), t_s),
            State::Other => None,
        }
    }
}

/// Reads a line; None if it is no marker.
fn parse(line: &[u8], t_s: f64) -> Option<Marker> {
    let rest = line.strip_prefix(WORD)?;
    let name_end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let name = str::from_utf8(&rest[..name_end])
        .ok()
        .filter(|name| !name.is_empty() && name.len() <= 100)?
        .to_owned();
    if line.len() > LONGEST_LINE {
        let error = Some(format!("the line is longer than {LONGEST_LINE} bytes"));
        return Some(Marker { name, t_s, data: None, error });
    }
    let text = rest[name_end..].trim_ascii();
    if text.is_empty() {
        return Some(Marker { name, t_s, data: None, error: None });
    }
    let (data, error) = match serde_json::from_slice::<Box<RawValue>>(text) {
        Ok(data) if data.get().starts_with('{') => (Some(data), None),
        Ok(_) => (None, Some("the data is not a JSON object".to_owned())),
        Err(error) => (None, Some(format!("the data is not JSON: {error}"))),
    };
    Some(Marker { name, t_s, data, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The markers of a text, and the same when it comes byte by byte.
    fn names(text: &str) -> Vec<String> {
        let read = |pieces: Vec<&[u8]>| {
            let mut reader = MarkerReader::default();
            let mut markers: Vec<Marker> =
                pieces.into_iter().flat_map(|piece| reader.take(piece, 1.0)).collect();
            markers.extend(reader.finish(1.0));
            markers.into_iter().map(|marker| marker.name).collect::<Vec<_>>()
        };
        let whole = read(vec![text.as_bytes()]);
        for size in [1, 2, 3, 7] {
            assert_eq!(read(text.as_bytes().chunks(size).collect()), whole, "in pieces of {size}");
        }
        whole
    }

    #[test]
    fn markers_stand_at_the_start_of_a_line() {
        assert_eq!(names("@bakeoff a\nx @bakeoff b\n\n@bakeoff c\n"), ["a", "c"]);
        assert_eq!(names("x\n@bakeof\n@bakeoff\n@bakeoffd e\n@bakeoff f"), ["f"]);
        assert_eq!(names("@@bakeoff a\n @bakeoff b\n@bakeoff \n"), [""; 0]);
        assert_eq!(names("no newline at all"), [""; 0]);
    }

    #[test]
    fn data_is_kept_as_written() {
        let marker = parse(b"@bakeoff result {\"n\": 1.50, \"a\": [2]}\r", 0.5).unwrap();
        assert_eq!(marker.data.unwrap().get(), "{\"n\": 1.50, \"a\": [2]}");
        assert_eq!((marker.t_s, marker.error), (0.5, None));
    }

    #[test]
    fn wrong_data_is_said() {
        for line in ["@bakeoff r {", "@bakeoff r 12", "@bakeoff r [1]"] {
            let marker = parse(line.as_bytes(), 0.0).unwrap();
            assert!(marker.data.is_none() && marker.error.is_some(), "{line}");
        }
    }

    #[test]
    fn a_long_line_is_bounded() {
        let mut reader = MarkerReader::default();
        let mut markers = reader.take(b"@bakeoff long {", 0.0);
        for _ in 0..1000 {
            markers.extend(reader.take(&[b' '; 1000], 0.0));
        }
        markers.extend(reader.take(b"}\n@bakeoff next\n", 0.0));
        assert_eq!(markers.len(), 2);
        assert!(markers[0].error.as_ref().unwrap().contains("longer"));
        assert_eq!(markers[1].name, "next");
    }
}
