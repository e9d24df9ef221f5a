//! A stream of the command's: counted, searched for markers, kept in a log or passed on.

use crate::kernel;
use crate::log::Log;
use crate::marker::{Marker, MarkerReader};
use bakeoff_share::clock;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

/// How much is read at once, in bytes.
const PIECE: usize = 256 * 1024;
/// After so many pieces in a row, other things get their turn.
const PIECES_AT_ONCE: usize = 16;

/// What became of a stream.
#[derive(Debug, Clone, Default, Serialize)]
pub struct StreamRecord {
    /// Bytes that the command wrote.
    pub bytes: u64,
    /// Bytes of them that are in the file.
    pub kept_bytes: u64,
    /// The file.
    pub file: Option<String>,
    /// Why the file is not complete, if writing it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The reading end of a stream.
pub struct Output {
    reader: Option<File>,
    markers: Option<MarkerReader>,
    log: Option<Log>,
    /// Whether the stream goes on to our own standard error.
    passed_on: bool,
    bytes: u64,
    buffer: Vec<u8>,
}

impl Output {
    /// Makes the stream; returns it and the end for the command.
    ///
    /// # Errors
    /// When there are no descriptors or the log cannot be made.
    pub fn open(
        log: Option<&Path>,
        log_limit: u64,
        with_markers: bool,
        passed_on: bool,
    ) -> io::Result<(Self, File)> {
        let (reader, writer) = kernel::pipe()?;
        let log = log.map(|path| {
            Log::create(path, log_limit)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
        });
        let output = Self {
            reader: Some(reader),
            markers: with_markers.then(MarkerReader::default),
            passed_on: passed_on && log.is_none(),
            log: log.transpose()?,
            bytes: 0,
            buffer: Vec::new(),
        };
        Ok((output, writer))
    }

    /// The descriptor to wait for; -1 when the stream has ended.
    pub fn fd(&self) -> RawFd {
        self.reader.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Reads what there is, up to a bound; returns the markers in it. `start_ns` is the zero of their time.
    pub fn read(&mut self, start_ns: u64) -> Vec<Marker> {
        let mut found = Vec::new();
        for _ in 0..PIECES_AT_ONCE {
            match self.read_piece(start_ns, &mut found) {
                Some(count) if count > 0 => {}
                _ => break,
            }
        }
        found
    }

    /// Reads what the pipe still holds, now that its writers have ended. There is a bound, in case one could not be killed.
    pub fn drain(&mut self, start_ns: u64) -> Vec<Marker> {
        (0..4).flat_map(|_| self.read(start_ns)).collect()
    }

    /// Reads one piece. Its size; None if there is nothing to read now.
    fn read_piece(&mut self, start_ns: u64, found: &mut Vec<Marker>) -> Option<usize> {
        let reader = self.reader.as_mut()?;
        if self.buffer.is_empty() {
            // Most commands write little. Whoever fills a page writes much, and gets a large buffer and a wide pipe.
            self.buffer.resize(4096, 0);
        }
        let count = match reader.read(&mut self.buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Some(1),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
            Err(_) => 0,
        };
        let t_s = clock::seconds_between(start_ns, clock::now_ns());
        if count == 0 {
            self.reader = None;
            found.extend(self.markers.as_mut().and_then(|markers| markers.finish(t_s)));
            return Some(0);
        }
        let piece = &self.buffer[..count];
        self.bytes += count as u64;
        if let Some(markers) = &mut self.markers {
            found.extend(markers.take(piece, t_s));
        }
        if let Some(log) = &mut self.log {
            log.take(piece);
        } else if self.passed_on {
            // If nobody reads our standard error, the command's output is lost, and nothing else.
            let _ = io::stderr().write_all(piece);
        }
        if count == self.buffer.len() && self.buffer.len() < PIECE {
            kernel::widen(reader, PIECE as i32);
            self.buffer.resize(PIECE, 0);
        }
        Some(count)
    }

    /// Ends the stream.
    pub fn finish(self) -> StreamRecord {
        let mut record = StreamRecord { bytes: self.bytes, ..StreamRecord::default() };
        match self.log.map(Log::finish) {
            Some(Ok((path, kept))) => {
                record.kept_bytes = kept;
                record.file = Some(path.display().to_string());
            }
            Some(Err(error)) => record.error = Some(error.to_string()),
            None => {}
        }
        record
    }
}
