//! TLS by rustls: the configuration, and one connection without its socket.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::job::{Job, Protocol, Tls};

/// What all connections share.
#[derive(Debug, Clone)]
pub struct Client {
    /// The configuration, with trusted authorities and the client's certificate.
    pub config: Arc<ClientConfig>,
    /// The name that the server's certificate must have.
    pub name: ServerName<'static>,
}

impl Client {
    /// Loads certificates and keys.
    pub fn new(job: &Job, host: &str) -> Result<Self, String> {
        let options = &job.tls;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS: {error}"))?;
        let builder = if options.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anything(provider)))
        } else {
            builder.with_root_certificates(roots(options)?)
        };
        let mut config = match (&options.cert, &options.key) {
            (Some(cert), Some(key)) => {
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong("--key", key, &error))?;
                builder
                    .with_client_auth_cert(certificates("--cert", cert)?, key)
                    .map_err(|error| format!("--cert: {error}"))?
            }
            (None, None) => builder.with_no_client_auth(),
            _ => return Err("--cert and --key: give both or none".into()),
        };
        if job.http == Protocol::Http2 {
            config.alpn_protocols = vec![b"h2".to_vec()];
        }
        let name = options.server_name.clone().unwrap_or_else(|| host.to_owned());
        let name = ServerName::try_from(name.clone())
            .map_err(|_| format!("--server-name {name:?} is not a name"))?;
        Ok(Self { config: Arc::new(config), name })
    }
}

fn wrong(flag: &str, file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{flag} {}: {error}", file.display())
}

fn certificates(flag: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(flag, file, &error))?;
    if found.is_empty() { Err(wrong(flag, file, &"no certificate in it")) } else { Ok(found) }
}

fn roots(options: &Tls) -> Result<RootCertStore, String> {
    let file = options.ca.as_ref().ok_or("https needs --ca FILE (authorities in PEM), or --insecure")?;
    let mut roots = RootCertStore::empty();
    for certificate in certificates("--ca", file)? {
        roots.add(certificate).map_err(|error| wrong("--ca", file, &error))?;
    }
    Ok(roots)
}

/// Accepts every certificate, as `--insecure` asks; signatures of the handshake are still checked.
#[derive(Debug)]
struct Anything(Arc<CryptoProvider>);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// TLS failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsError;

/// The TLS state of one connection.
#[derive(Debug)]
pub struct Session {
    connection: ClientConnection,
    /// Records to be written to the socket.
    pub outgoing: Vec<u8>,
}

impl Session {
    /// A new session, with its first message in `outgoing`.
    pub fn new(client: &Client) -> Result<Self, TlsError> {
        let connection =
            ClientConnection::new(client.config.clone(), client.name.clone()).map_err(|_| TlsError)?;
        let mut session = Self { connection, outgoing: Vec::new() };
        session.collect();
        Ok(session)
    }

    /// The handshake is not over.
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Takes bytes of the socket and appends what they say in plain to `plain`. Answers may be left in `outgoing`.
    pub fn receive(&mut self, mut records: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        while !records.is_empty() {
            self.connection.read_tls(&mut records).map_err(|_| TlsError)?;
            let state = self.connection.process_new_packets();
            let state = match state {
                Ok(state) => state,
                Err(_) => {
                    self.collect();
                    return Err(TlsError);
                }
            };
            let waiting = state.plaintext_bytes_to_read();
            let before = plain.len();
            plain.resize(before + waiting, 0);
            if waiting > 0 {
                self.connection.reader().read_exact(&mut plain[before..]).map_err(|_| TlsError)?;
            }
        }
        self.collect();
        Ok(())
    }

    /// Puts a request into `outgoing`.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), TlsError> {
        self.connection.writer().write_all(bytes).map_err(|_| TlsError)?;
        self.collect();
        Ok(())
    }

    fn collect(&mut self) {
        while self.connection.wants_write() {
            // Writing to a vector cannot fail.
            let _ = self.connection.write_tls(&mut self.outgoing);
        }
    }
}
