//! Whom a connection trusts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use awc::http::header::HttpDate;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::options::Tls;

/// Why a connection's trust could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of certificates or keys could not be read.
    #[error("failed to read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file holds no certificate or key in PEM form.
    #[error("{path} holds no {wanted} in PEM form")]
    Pem {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
    },
    /// Nobody would be trusted.
    #[error(
        "this system has no trusted certificates; install its package of CA certificates, or name a CA file"
    )]
    NoRoots,
    /// Certificate and key do not go together, or cannot be used.
    #[error("the client certificate cannot be used: {0}")]
    Client(String),
}

/// Makes the configuration of all TLS connections to a server. Reads files.
///
/// The roots are those of the system (or of `SSL_CERT_FILE`), not a list that is built in: operators of a forge of
/// their own install their CA there, and a list would age with the binary. The one provider of cryptography is ring.
pub(super) fn configure(tls: &Tls) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::Client(error.to_string()))?;
    let builder = if tls.insecure {
        builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(TrustAnybody { algorithms }))
    } else {
        builder.with_root_certificates(roots(tls.ca_file.as_deref())?)
    };
    let mut config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let chain = certificates(&client.certificate)?;
            let key = PrivateKeyDer::from_pem_slice(&read(&client.key)?).map_err(|_none| Error::Pem {
                path: client.key.clone(),
                wanted: "private key",
            })?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| Error::Client(error.to_string()))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    // Files that cannot be read or understood are the system's affair, as long as something can be trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let (added, _) = roots.add_parsable_certificates(certificates(path)?);
        if added == 0 {
            return Err(Error::Pem {
                path: path.to_owned(),
                wanted: "certificate",
            });
        }
    }
    if roots.is_empty() {
        return Err(Error::NoRoots);
    }
    Ok(roots)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let none = || Error::Pem {
        path: path.to_owned(),
        wanted: "certificate",
    };
    let pem = read(path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    certificates
        .ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(none)
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

/// Says what is wrong between two sides of a TLS connection, with both clocks where time is the matter.
pub(super) fn explain(error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return match error {
            rustls::Error::InvalidMessage(_) => format!("{error}; does the server speak TLS on this port?"),
            rustls::Error::AlertReceived(alert) => format!("the server refused the connection: {alert:?}"),
            error => error.to_string(),
        };
    };
    match certificate {
        CertificateError::ExpiredContext { time, not_after } => format!(
            "the server's certificate expired on {}; the clock of this machine says {}",
            date(*not_after),
            date(*time)
        ),
        CertificateError::NotValidYetContext { time, not_before } => format!(
            "the server's certificate is valid from {}; the clock of this machine says {}",
            date(*not_before),
            date(*time)
        ),
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "the server's certificate is not for {} but for {}",
            expected.to_str(),
            presented.join(", ")
        ),
        CertificateError::UnknownIssuer => {
            "the server's certificate is signed by nobody whom this machine trusts".to_owned()
        }
        certificate => format!("the server's certificate is not valid: {certificate}"),
    }
}

fn date(time: UnixTime) -> String {
    // A date has four digits for its year.
    let time = Duration::from_secs(time.as_secs().min(253_402_300_799));
    HttpDate::from(SystemTime::UNIX_EPOCH + time).to_string()
}

/// Takes every certificate: what `insecure` asks for. The handshake's signatures are still checked, so that both sides
/// are at least the same throughout.
#[derive(Debug)]
struct TrustAnybody {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for TrustAnybody {
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
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
