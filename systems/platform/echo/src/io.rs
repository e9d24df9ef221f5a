//! hyper's traits for a tokio stream, whichever tokio it is.

use hyper::rt::{Read, ReadBufCursor, Write};
use std::io::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
#[cfg(not(feature = "wasmedge"))]
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
#[cfg(feature = "wasmedge")]
use wasmedge_tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream as hyper sees it.
pub struct Io<T>(pub T);

impl<T: AsyncRead + Unpin> Read for Io<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<Result<(), Error>> {
        // SAFETY: nothing that was initialised is made uninitialised: tokio only writes.
        let mut buffer = ReadBuf::uninit(unsafe { cursor.as_mut() });
        ready!(Pin::new(&mut self.0).poll_read(context, &mut buffer))?;
        let filled = buffer.filled().len();
        // SAFETY: tokio has filled that many bytes.
        unsafe { cursor.advance(filled) };
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> Write for Io<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize, Error>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
