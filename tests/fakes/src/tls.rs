//! Certificates for servers on loopback, good ones and bad ones.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a fake that cannot do its work fails its test"
)]

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

/// A certificate authority of one test.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key in PEM form.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl Authority {
    /// Makes an authority that nobody trusts yet. Two with one name would be taken for each other.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    /// Its own certificate in PEM form.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for these names that is valid now.
    pub fn issue(&self, names: &[&str]) -> Identity {
        self.issue_until(names, 2200)
    }

    /// A certificate for these names that is valid from 2001 to the first day of a year.
    pub fn issue_until(&self, names: &[&str], year: i32) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = rcgen::date_time_ymd(2001, 1, 1);
        params.not_after = rcgen::date_time_ymd(year, 1, 1);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }

    /// The configuration of a server that shows `identity`, and asks its callers for a certificate of `clients`.
    pub fn server(identity: &Identity, clients: Option<&Self>) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.issuer.der().clone()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        builder.with_single_cert(chain, key).unwrap().into()
    }
}
