//! The server's end of TLS 1.3 (RFC 8446). Clients have no certificates; passwords say who they are.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::BytesMut;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};
use thiserror::Error;

/// A certificate or a key that is of no use.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the text of an error says what its fields are")]
pub enum TlsError {
    /// A file is not there, or is no PEM file (RFC 7468).
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: pem::Error },
    /// The file has no certificate.
    #[error("{}: it has no certificate; allowed is a PEM file that begins with the server's own", path.display())]
    NoCertificate { path: PathBuf },
    /// The key is not that of the certificate, or of a kind that is not known.
    #[error("the certificate and its key: {0}")]
    Pair(#[from] rustls::Error),
}

/// What a server needs for TLS: its certificate, with those up to the authority behind it, and the key of
/// it, each in a PEM file (RFC 7468).
pub fn tls_config(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| TlsError::File { path, error }
    };
    let chain = CertificateDer::pem_file_iter(certificates).map_err(failed(certificates))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(failed(certificates))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: certificates.to_owned() });
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(failed(key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}

#[derive(Debug)]
pub(super) struct Tls {
    connection: Box<ServerConnection>,
}

impl Tls {
    pub(super) fn new(config: &Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        let mut connection = Box::new(ServerConnection::new(config.clone())?);
        // How much may wait for a client is limited where frames are kept.
        connection.set_buffer_limit(None);
        Ok(Self { connection })
    }

    /// Adds what has come to `plain`, and what is answered to `out`.
    pub(super) fn receive(
        &mut self,
        mut bytes: &[u8],
        plain: &mut BytesMut,
        out: &mut BytesMut,
    ) -> Result<(), rustls::Error> {
        while !bytes.is_empty() {
            // It reads from memory, and its buffer is emptied each time.
            let size = self.connection.read_tls(&mut bytes).expect("there is room for more");
            let state = self.connection.process_new_packets();
            // An alert says to the client what was wrong.
            self.flush(out);
            let state = state?;
            let start = plain.len();
            plain.resize(start + state.plaintext_bytes_to_read(), 0);
            self.connection.reader().read_exact(&mut plain[start..]).expect("as many bytes are there");
            // Nothing is taken from a client that has closed.
            if size == 0 || state.peer_has_closed() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn send(&mut self, plain: &[u8], out: &mut BytesMut) -> Result<(), rustls::Error> {
        use std::io::Write;

        self.connection.writer().write_all(plain).expect("its buffer has no limit");
        self.flush(out);
        Ok(())
    }

    pub(super) fn close(&mut self, last: &[u8], out: &mut BytesMut) {
        if !self.connection.is_handshaking() && self.send(last, out).is_ok() {
            self.connection.send_close_notify();
        }
        self.flush(out);
    }

    fn flush(&mut self, out: &mut BytesMut) {
        use bytes::BufMut;

        while self.connection.wants_write() {
            self.connection.write_tls(&mut out.writer()).expect("a buffer grows");
        }
    }
}
