//! Unix sockets, TLS and HTTP/2.

mod support;

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use support::{converse, measure};

/// A folder of this test, removed at its end.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bakeoff-load-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_unix_socket() {
    let folder = Folder::new("unix");
    let path = folder.0.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || converse(stream, &AtomicU64::new(0), |_| {}));
        }
    });
    for backend in ["epoll", "uring"] {
        let job = json!({
            "url": "http://localhost/ok", "unix": path, "connections": 3, "requests": 200, "backend": backend,
            "request": {"check": {"body": "hello"}},
        });
        let result = &measure(job)[0];
        assert_eq!(result["ok"], 200, "{result}");
    }
}

/// An authority, and certificates that it has signed, as PEM files.
struct Authority {
    ca: Certificate,
    key: KeyPair,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self { ca: params.self_signed(&key).unwrap(), key }
    }

    /// Certificate and key for a name.
    fn sign(&self, name: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.ca, &self.key).unwrap(), key)
    }
}

/// A server of TLS for `server.test` that wants a certificate of the client, signed by the same authority.
fn tls_server(authority: &Authority, alpn: &[u8]) -> Arc<ServerConfig> {
    let (certificate, key) = authority.sign("server.test");
    let mut roots = RootCertStore::empty();
    roots.add(authority.ca.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![alpn.to_vec()];
    Arc::new(config)
}

/// The options of TLS for a client that has everything right.
fn tls_client(authority: &Authority, folder: &Folder) -> Value {
    let (certificate, key) = authority.sign("client.test");
    json!({
        "ca": folder.write("ca.pem", &authority.ca.pem()),
        "cert": folder.write("client.pem", &certificate.pem()),
        "key": folder.write("client.key", &key.serialize_pem()),
        "server_name": "server.test",
    })
}

#[test]
fn tls_with_an_authority_a_client_certificate_and_a_name() {
    let folder = Folder::new("tls");
    let authority = Authority::new();
    let config = tls_server(&authority, b"http/1.1");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/ok", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
            thread::spawn(move || converse(stream, &AtomicU64::new(0), |_| {}));
        }
    });
    let options = tls_client(&authority, &folder);
    let job = |tls: &Value, keepalive: bool| {
        json!({
            "url": url, "connections": 2, "requests": 60, "tls": tls, "keepalive": keepalive, "duration": 20,
            "request": {"check": {"body": "hello"}},
        })
    };
    for keepalive in [true, false] {
        let result = &measure(job(&options, keepalive))[0];
        assert_eq!(result["ok"], 60, "{result}");
    }
    for (key, value) in [
        ("server_name", json!("other.test")),
        ("ca", json!(folder.write("x.pem", &Authority::new().ca.pem()))),
    ] {
        let mut wrong = options.clone();
        wrong[key] = value;
        let result = &measure(job(&wrong, true))[0];
        assert!(result["connect_failures"]["tls"].as_u64().unwrap() > 0, "{key}: {result}");
        assert_eq!(result["ok"], 0);
    }
}

/// Answers every request of HTTP/2 with its own body, or "hello".
async fn serve_h2<S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin>(stream: S) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::task::spawn_local(async move {
            let wrong = request.uri().path() == "/wrong";
            let mut body = request.into_body();
            let mut all = Vec::new();
            while let Some(Ok(piece)) = body.data().await {
                all.extend_from_slice(&piece);
            }
            let all = if all.is_empty() { b"hello".to_vec() } else { all };
            let status = if wrong { 500 } else { 200 };
            let response = http::Response::builder().status(status).body(()).unwrap();
            if let Ok(mut stream) = respond.send_response(response, false) {
                let _ = stream.send_data(all.into(), true);
            }
        });
    }
}

/// A server of HTTP/2 on a thread of its own.
fn h2_server(tls: Option<Arc<ServerConfig>>) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                let tls = tls.clone().map(tokio_rustls::TlsAcceptor::from);
                tokio::task::spawn_local(async move {
                    match tls {
                        None => serve_h2(stream).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve_h2(stream).await;
                            }
                        }
                    }
                });
            }
        });
    });
    address
}

#[test]
fn http2_with_prior_knowledge() {
    let address = h2_server(None);
    let job = json!({
        "url": format!("http://{address}/"), "http": "2", "connections": 2, "streams": 5, "requests": 300, "threads": 1,
        "templates": [
            {"path": "/hello", "check": {"body": "hello"}},
            {"path": "/echo", "method": "POST", "body": "${hex:8}", "check": {"length": 8}},
            {"path": "/wrong", "weight": 0.5, "check": {"status": [500]}},
        ],
    });
    let result = &measure(job)[0];
    assert_eq!((&result["ok"], &result["backend"]), (&json!(300), &json!("h2")), "{result}");
    assert_eq!(result["connects"], 2);
    assert!(result["bytes_read"].as_u64().unwrap() > 1000, "{result}");
}

#[test]
fn http2_in_the_open_loop() {
    let address = h2_server(None);
    let job = json!({
        "url": format!("http://{address}/"), "http": "2", "connections": 1, "rate": 300, "duration": 1, "threads": 1,
    });
    let result = &measure(job)[0];
    assert_eq!(result["errors_total"], 0, "{result}");
    // On a busy machine the last arrivals may come too late to be sent; they are counted.
    assert_eq!(result["ok"].as_u64().unwrap() + result["arrivals_unsent"].as_u64().unwrap(), 300, "{result}");
}

#[test]
fn http2_over_tls() {
    let folder = Folder::new("h2");
    let authority = Authority::new();
    let address = h2_server(Some(tls_server(&authority, b"h2")));
    let job = json!({
        "url": format!("https://{address}/"), "http": "2", "connections": 2, "requests": 50,
        "tls": tls_client(&authority, &folder), "request": {"check": {"body": "hello"}},
    });
    assert_eq!(measure(job)[0]["ok"], 50);
}
