//! HTTP/2: one connection, and one exchange on it. The protocol is that of the crate `h2`.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::client::SendRequest;
use http::{Method, Request};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::errors::ErrorClass;
use crate::plan::Plan;
use crate::socket::Dialler;
use crate::target::Address;
use crate::template::{Fill, Template, fill_text};

/// Window of a stream and of a connection: large enough that we are never what a body waits for.
const WINDOW: (u32, u32) = (1 << 20, 16 << 20);

/// Bytes received and sent by all connections of a thread.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Received.
    pub read: Cell<u64>,
    /// Sent.
    pub written: Cell<u64>,
}

/// What carries bytes.
trait Carrier: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Carrier for T {}

/// A carrier whose bytes are counted.
struct Counted {
    inner: Box<dyn Carrier>,
    traffic: Rc<Traffic>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(context, buffer);
        let count = buffer.filled().len() - before;
        self.traffic.read.set(self.traffic.read.get() + count as u64);
        result
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = result {
            self.traffic.written.set(self.traffic.written.get() + count as u64);
        }
        result
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// Opens a connection up to the end of the handshakes. Its driver runs as a task of its own and calls `lost` at its end.
pub async fn open(
    plan: &Plan,
    dialler: Rc<std::cell::RefCell<Dialler>>,
    traffic: Rc<Traffic>,
    lost: impl FnOnce() + 'static,
) -> Result<SendRequest<Bytes>, ErrorClass> {
    let (socket, _) = dialler.borrow_mut().dial().map_err(ErrorClass::of_errno)?;
    let stream = connected(plan, socket).await.map_err(|error| class_of_io(&error, ErrorClass::Refused))?;
    let inner: Box<dyn Carrier> = match &plan.tls {
        None => stream,
        Some(client) => {
            let connector = tokio_rustls::TlsConnector::from(client.config.clone());
            let stream = connector.connect(client.name.clone(), stream).await.map_err(|_| ErrorClass::Tls)?;
            if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
                return Err(ErrorClass::Tls);
            }
            Box::new(stream)
        }
    };
    let (sender, connection) = h2::client::Builder::new()
        .initial_window_size(WINDOW.0)
        .initial_connection_window_size(WINDOW.1)
        .enable_push(false)
        .handshake(Counted { inner, traffic })
        .await
        .map_err(|error| class_of(&error))?;
    tokio::task::spawn_local(async move {
        // How it ended is seen by the exchanges on it.
        let _ = connection.await;
        lost();
    });
    sender.ready().await.map_err(|error| class_of(&error))
}

/// Waits until a socket is connected.
async fn connected(plan: &Plan, socket: OwnedFd) -> io::Result<Box<dyn Carrier>> {
    Ok(match plan.address {
        Address::Tcp(_) => {
            let stream = tokio::net::TcpStream::from_std(socket.into())?;
            stream.writable().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
            Box::new(stream)
        }
        Address::Unix(_) => {
            let stream = tokio::net::UnixStream::from_std(socket.into())?;
            stream.writable().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
            Box::new(stream)
        }
    })
}

/// The request of a template, with its fields filled in, and its body.
pub fn request(
    plan: &Plan,
    template: &Template,
    fill: &mut Fill,
) -> Result<(Request<()>, Option<Bytes>), ErrorClass> {
    let counter = fill.next_counter();
    let source = &template.source;
    let filled = |text: &str, fill: &mut Fill| {
        String::from_utf8_lossy(&fill_text(text.as_bytes(), fill, counter)).into_owned()
    };
    let scheme = if plan.tls.is_some() { "https" } else { "http" };
    let method = Method::from_bytes(source.method.as_bytes()).map_err(|_| ErrorClass::Malformed)?;
    let uri = format!("{scheme}://{}{}", source.host, filled(&source.path, fill));
    let mut builder = Request::builder().method(method).uri(uri).version(http::Version::HTTP_2);
    for (name, value) in &source.headers {
        builder = builder.header(name.to_ascii_lowercase(), filled(value, fill));
    }
    let body = source.body.as_ref().map(|body| Bytes::from(fill_text(body, fill, counter)));
    if let Some(body) = &body {
        builder = builder.header("content-length", body.len());
    }
    Ok((builder.body(()).map_err(|_| ErrorClass::Malformed)?, body))
}

/// Sends a request and takes its response: `on_status` once, `on_piece` for each piece of the body.
pub async fn exchange(
    sender: SendRequest<Bytes>,
    (request, body): (Request<()>, Option<Bytes>),
    mut on_status: impl FnMut(u16),
    mut on_piece: impl FnMut(&[u8]) -> Result<(), ErrorClass>,
) -> Result<(), ErrorClass> {
    let mut sender = sender.ready().await.map_err(|error| class_of(&error))?;
    let (response, mut stream) =
        sender.send_request(request, body.is_none()).map_err(|error| class_of(&error))?;
    if let Some(body) = body {
        stream.send_data(body, true).map_err(|error| class_of(&error))?;
    }
    let response = response.await.map_err(|error| class_of(&error))?;
    on_status(response.status().as_u16());
    let mut body = response.into_body();
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|error| class_of(&error))?;
        on_piece(&piece)?;
        let _ = body.flow_control().release_capacity(piece.len());
    }
    Ok(())
}

/// The class of a failure of HTTP/2.
fn class_of(error: &h2::Error) -> ErrorClass {
    match error.get_io() {
        Some(io) => class_of_io(io, ErrorClass::ClosedEarly),
        None if error.is_reset() || error.is_go_away() && error.is_remote() => ErrorClass::Reset,
        None => ErrorClass::Malformed,
    }
}

fn class_of_io(error: &io::Error, otherwise: ErrorClass) -> ErrorClass {
    match (error.raw_os_error(), error.kind()) {
        (Some(errno), _) => ErrorClass::of_errno(errno),
        (_, io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => ErrorClass::Reset,
        (_, io::ErrorKind::UnexpectedEof) => ErrorClass::ClosedEarly,
        _ => otherwise,
    }
}
