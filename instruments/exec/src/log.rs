//! A log with a bound: the beginning and the end of a stream are kept, the middle is dropped and said.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A log file of bounded size. The head is written as it comes; the tail waits in memory until the stream ends.
pub struct Log {
    path: PathBuf,
    file: File,
    /// Bytes that may still go straight to the file.
    head_room: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    /// Bytes that fell out of the tail.
    dropped: u64,
    kept: u64,
    /// The first error of writing.
    error: Option<io::Error>,
}

impl Log {
    /// A new file for at most `limit` bytes, and the line that says what was dropped.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, limit: u64) -> io::Result<Self> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Self {
            path: path.to_owned(),
            file: File::create(path)?,
            head_room: limit / 2,
            tail: VecDeque::new(),
            tail_limit: limit - limit / 2,
            dropped: 0,
            kept: 0,
            error: None,
        })
    }

    /// Takes a piece of the stream.
    pub fn take(&mut self, piece: &[u8]) {
        let (head, rest) = piece.split_at(piece.len().min(self.head_room));
        self.head_room -= head.len();
        self.write(head);
        // Of a piece that is larger than the tail only its end can stay.
        let kept = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let out = (self.tail.len() + kept.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..out);
        self.tail.extend(kept);
        self.dropped += (out + rest.len() - kept.len()) as u64;
    }

    /// Writes the tail; returns the path and how many bytes of the stream the file holds.
    ///
    /// # Errors
    /// The first error that writing brought.
    pub fn finish(mut self) -> io::Result<(PathBuf, u64)> {
        let tail = std::mem::take(&mut self.tail);
        if self.dropped > 0 {
            let said = format!("\n[… {} bytes dropped by the log limit …]\n", self.dropped);
            self.write(said.as_bytes());
            self.kept -= said.len() as u64;
        }
        let (front, back) = tail.as_slices();
        self.write(front);
        self.write(back);
        match self.error {
            Some(error) => Err(error),
            None => Ok((self.path, self.kept)),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() && self.error.is_none() {
            self.error = self.file.write_all(bytes).err();
            self.kept += bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn logged(name: &str, limit: u64, pieces: &[&str]) -> (String, u64) {
        let path = std::env::temp_dir().join(format!("bakeoff-log-{name}-{}", std::process::id()));
        let mut log = Log::create(&path, limit).unwrap();
        pieces.iter().for_each(|piece| log.take(piece.as_bytes()));
        let (_, kept) = log.finish().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::remove_file(path).unwrap();
        (text, kept)
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(logged("whole", 10, &["abc", "defghi", "j"]), ("abcdefghij".to_owned(), 10));
    }

    #[test]
    fn the_middle_is_dropped_and_said() {
        let (text, kept) = logged("middle", 8, &["abcdef", "ghijkl", "mnopqrstuv", "w"]);
        assert_eq!(text, "abcd\n[… 15 bytes dropped by the log limit …]\ntuvw");
        assert_eq!(kept, 8);
    }

    #[test]
    fn nothing_may_be_kept_at_all() {
        let (text, kept) = logged("nothing", 0, &["abc"]);
        assert_eq!((text.as_str(), kept), ("\n[… 3 bytes dropped by the log limit …]\n", 0));
    }
}
