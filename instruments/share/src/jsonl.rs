//! JSON lines: one value a line, written whole, and lines read without ever blocking.

use serde::Serialize;
use std::io::{self, Write};

/// Writes `value` as one line, in one piece, and flushes.
///
/// # Errors
/// What the writer says.
pub fn write_line<T: Serialize + ?Sized>(out: &mut impl Write, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Cuts what arrives in pieces into lines. A line that is longer than the bound is dropped.
pub struct Lines {
    /// The beginning of a line whose end has not arrived.
    partial: Vec<u8>,
    /// Longest line that is kept, in bytes.
    longest: usize,
    /// Whether the rest of the present line is to be thrown away.
    dropping: bool,
}

impl Lines {
    /// Lines of at most `longest` bytes.
    pub fn new(longest: usize) -> Self {
        Self { partial: Vec::new(), longest, dropping: false }
    }

    /// Takes a piece and returns the lines that it completes, without their newlines.
    pub fn take(&mut self, mut piece: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        while let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
            self.keep(&piece[..end]);
            if !std::mem::take(&mut self.dropping) {
                lines.push(std::mem::take(&mut self.partial));
            }
            self.partial.clear();
            piece = &piece[end + 1..];
        }
        self.keep(piece);
        lines
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.partial.len() + piece.len() > self.longest {
            self.dropping = true;
            self.partial.clear();
        } else if !self.dropping {
            self.partial.extend_from_slice(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_pieces() {
        let mut lines = Lines::new(10);
        assert!(lines.take(b"ab").is_empty());
        assert_eq!(lines.take(b"c\nd\n\ne"), [b"abc".to_vec(), b"d".to_vec(), b"".to_vec()]);
    }

    #[test]
    fn drops_long_lines_only() {
        let mut lines = Lines::new(4);
        assert!(lines.take(b"123").is_empty());
        assert!(lines.take(b"456").is_empty());
        assert_eq!(lines.take(b"78\nok\n"), [b"ok".to_vec()]);
    }

    #[test]
    fn writes_one_line() {
        let mut out = Vec::new();
        write_line(&mut out, &serde_json::json!({"a": "b\nc"})).unwrap();
        assert_eq!(out, b"{\"a\":\"b\\nc\"}\n");
    }
}
