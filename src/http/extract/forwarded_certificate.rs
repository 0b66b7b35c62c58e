//! The certificate of a client whose TLS connection ends at a proxy in front: `Client-Cert` and `Client-Cert-Chain` (RFC 9440).
//!
//! Any caller can write these headers. They are believed from a trusted proxy alone, and only where the operator says so;
//! with them from any other sender a request is refused, for its sender means to be taken for another (RFC 9440 §4).

use crate::{
    crypto::ClientCertificate,
    http::answer::error::RequestFailure,
    transport::{AddressRules, Peer},
};
use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::pki_types::CertificateDer;
use std::sync::Arc;

const CLIENT_CERT: HeaderName = HeaderName::from_static("client-cert");
const CLIENT_CERT_CHAIN: HeaderName = HeaderName::from_static("client-cert-chain");

/// Whose word is taken for the certificate of a client.
#[derive(Clone)]
pub struct ForwardedCertificates {
    /// Whether proxies in front speak of certificates at all.
    pub believed: bool,
    pub addresses: Arc<AddressRules>,
}

impl ForwardedCertificates {
    /// Puts the certificate that a proxy tells of into the place of the one that the connection was made with.
    pub fn receive(&self, request: &mut Request) -> Result<(), RequestFailure> {
        let headers = request.headers();
        let is_told = headers.contains_key(CLIENT_CERT) || headers.contains_key(CLIENT_CERT_CHAIN);
        if !is_told && !self.believed {
            return Ok(());
        }
        let peer = request.extensions().get::<Peer>().map(|peer| peer.address.ip());
        if !self.believed || !peer.is_some_and(|peer| self.addresses.is_proxy(peer)) {
            return if is_told { Err(RequestFailure::ForeignCertificate) } else { Ok(()) };
        }
        let told = if is_told { Some(told(headers)?) } else { None };
        // What the connection was made with is the proxy's own.
        request.extensions_mut().remove::<Arc<ClientCertificate>>();
        if let Some(certificate) = told {
            request.extensions_mut().insert(Arc::new(certificate));
        }
        Ok(())
    }
}

fn told(headers: &HeaderMap) -> Result<ClientCertificate, RequestFailure> {
    let chain = chain(headers).ok_or(RequestFailure::MalformedCertificate)?;
    ClientCertificate::read(chain).map_err(|_| RequestFailure::MalformedCertificate)
}

fn chain(headers: &HeaderMap) -> Option<Vec<CertificateDer<'static>>> {
    let mut own = headers.get_all(CLIENT_CERT).iter();
    let (Some(one), None) = (own.next(), own.next()) else { return None };
    let mut chain = vec![bytes(one.to_str().ok()?)?];
    for line in headers.get_all(CLIENT_CERT_CHAIN) {
        for one in line.to_str().ok()?.split(',') {
            chain.push(bytes(one)?);
        }
    }
    Some(chain)
}

/// Reads a byte sequence between colons (RFC 9651 §3.3.5).
fn bytes(text: &str) -> Option<CertificateDer<'static>> {
    let text = text.trim().strip_prefix(':')?.strip_suffix(':')?;
    STANDARD.decode(text).ok().map(CertificateDer::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;
    use rcgen::{CertificateParams, KeyPair};

    fn certificate() -> Vec<u8> {
        let params = CertificateParams::new(Vec::new()).unwrap();
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn text(bytes: &[u8]) -> String {
        format!(":{}:", STANDARD.encode(bytes))
    }

    /// The hash of the certificate that a request is taken to come with.
    fn receive(
        believed: bool,
        peer: &str,
        headers: &[(&str, &str)],
    ) -> Result<Option<Vec<u8>>, RequestFailure> {
        let addresses =
            AddressRules::new("https://id.example", vec!["10.0.0.0/8".parse().unwrap()]);
        let rules = ForwardedCertificates { believed, addresses: Arc::new(addresses) };
        let mut request = Request::builder().uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        let address = format!("{peer}:4711").parse().unwrap();
        request.extensions_mut().insert(Peer { address, secure: true });
        let own = ClientCertificate::read(vec![vec![0; 1].into()]);
        assert!(own.is_err());
        rules.receive(&mut request)?;
        let held = request.extensions().get::<Arc<ClientCertificate>>();
        Ok(held.map(|held| held.parts().unwrap().0.to_vec()))
    }

    #[test]
    fn a_certificate_is_believed_from_a_trusted_proxy_where_the_operator_says_so() {
        let (own, other) = (certificate(), certificate());
        let (client_cert, chain) = (text(&own), text(&other));
        let headers = [("client-cert", &*client_cert), ("client-cert-chain", &*chain)];
        assert_eq!(receive(true, "10.1.2.3", &headers), Ok(Some(own)));
        assert_eq!(receive(true, "10.1.2.3", &[]), Ok(None));
        assert_eq!(receive(true, "192.0.2.1", &[]), Ok(None));
        for (believed, peer) in [(true, "192.0.2.1"), (false, "10.1.2.3"), (false, "192.0.2.1")] {
            for headers in [&headers[..], &headers[..1], &headers[1..]] {
                let refused = receive(believed, peer, headers);
                assert_eq!(refused, Err(RequestFailure::ForeignCertificate), "{peer}");
            }
        }
    }

    #[test]
    fn what_is_no_certificate_is_refused() {
        let own = text(&certificate());
        for headers in [
            &[("client-cert", "")][..],
            &[("client-cert", "::")],
            &[("client-cert", ":!:")],
            &[("client-cert", ":AAAA:")],
            &[("client-cert", own.trim_matches(':'))],
            &[("client-cert", &own), ("client-cert", &own)],
            &[("client-cert-chain", &own)],
            &[("client-cert", &own), ("client-cert-chain", "AAAA")],
        ] {
            assert_eq!(
                receive(true, "10.1.2.3", headers),
                Err(RequestFailure::MalformedCertificate)
            );
        }
    }
}
