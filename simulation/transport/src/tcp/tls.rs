//! TLS 1.3 without a certificate authority: every process creates its own certificate, and accepts any. Older
//! versions are refused: `Identity::new` allows one only, and rustls is built without the others.
//!
//! This gives an encrypted channel to an unknown peer. [`super::handshake`] authenticates the peer: both
//! sides prove that they know the secret, over key material that only the two ends of this channel have (RFC
//! 5705, RFC 8446 section 7.5), so that a man in the middle cannot relay the proofs.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, ServerConfig, ServerConnection,
    SignatureScheme,
};

/// The name in certificates; it has no meaning.
const NAME: &str = "paceline";

/// Bytes that TLS adds to a record: its header, the type and the tag.
pub(super) const RECORD_BYTES: usize = 5 + 1 + 16;

/// The certificate of this process, for either side of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Identity {
    pub(crate) fn new() -> Result<Self, String> {
        let pair =
            rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|error| error.to_string())?;
        let key = PrivatePkcs8KeyDer::from(pair.signing_key.serialize_der());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = &[&rustls::version::TLS13];
        let server = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(vec![pair.cert.der().clone()], key.into()));
        let mut server = server.map_err(|error| error.to_string())?;
        // Connections are made once: no client resumes a session with a ticket.
        server.send_tls13_tickets = 0;
        let client = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(versions)
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }

    /// The client side: the process that connects.
    pub(super) fn client(&self) -> Result<Connection, Error> {
        let name = ServerName::try_from(NAME).expect("a valid name");
        Ok(ClientConnection::new(self.client.clone(), name)?.into())
    }

    /// The server side: the process that accepts.
    pub(super) fn server(&self) -> Result<Connection, Error> {
        Ok(ServerConnection::new(self.server.clone())?.into())
    }
}

/// Accepts any certificate; the handshake must be signed with its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
