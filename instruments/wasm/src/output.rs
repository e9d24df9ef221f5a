//! What a module writes to standard output and standard error: counted, and its beginning kept in memory.
//!
//! It goes nowhere else, so that no terminal, pipe or disk is in the times.

use bytes::Bytes;
use serde::Serialize;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};

/// Bytes that are kept of a stream.
const KEPT: usize = 64 << 10;
/// Bytes that a module may write in one piece.
const PIECE: usize = 64 << 10;

/// One stream of a module's. Its clones are the same stream.
#[derive(Debug, Clone, Default)]
pub struct Sink(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    bytes: u64,
    kept: Vec<u8>,
}

/// What became of a stream.
#[derive(Debug, Clone, Serialize)]
pub struct StreamRecord {
    /// Bytes that the module wrote.
    pub bytes: u64,
    /// Bytes of them that are in `text`.
    pub kept_bytes: u64,
    /// The beginning of what it wrote; what is no UTF-8 is replaced.
    pub text: String,
}

impl Sink {
    fn take(&self, piece: &[u8]) {
        let mut inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inside.bytes += piece.len() as u64;
        let room = KEPT - inside.kept.len();
        inside.kept.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// What has been written so far.
    pub fn record(&self) -> StreamRecord {
        let inside = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        StreamRecord {
            bytes: inside.bytes,
            kept_bytes: inside.kept.len() as u64,
            text: String::from_utf8_lossy(&inside.kept).into_owned(),
        }
    }
}

impl IsTerminal for Sink {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Sink {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Sink {
    async fn ready(&mut self) {}
}

impl OutputStream for Sink {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PIECE)
    }
}

impl tokio::io::AsyncWrite for Sink {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, piece: &[u8]) -> Poll<std::io::Result<usize>> {
        self.take(piece);
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_all_and_keeps_the_beginning() {
        let sink = Sink::default();
        sink.take(b"abc");
        sink.take(&vec![b'x'; KEPT]);
        let record = sink.record();
        assert_eq!((record.bytes, record.kept_bytes), (KEPT as u64 + 3, KEPT as u64));
        assert!(record.text.starts_with("abcx"));
    }
}
