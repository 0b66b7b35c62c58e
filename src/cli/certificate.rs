//! The certificate as those who connect will judge it: its time, and the name it is for.

use crate::domain::Timestamp;
use rustls::{
    client::verify_server_name,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
    server::ParsedCertificate,
};
use std::path::Path;
use url::Url;

/// An operator who renews by hand has until then.
const SOON: i64 = 14 * 86_400;

/// What stands against a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    /// No client will accept it.
    Unusable(String),
    /// It is accepted still.
    Accepted(String),
}

/// Looks at the first certificate of a file; one that cannot be read is not judged here.
pub(super) fn concerns(cert: &Path, issuer: Option<&str>, now: Timestamp) -> Vec<Concern> {
    let Ok(der) = CertificateDer::from_pem_file(cert) else { return Vec::new() };
    let host = issuer.and_then(|issuer| Url::parse(issuer).ok());
    let host = host.as_ref().and_then(Url::host_str);
    let named = host.and_then(|host| wrong_name(&der, host));
    let concerns = untimely(&der, now).into_iter().chain(named);
    let said = |text: String| format!("{} {text}", cert.display());
    let say = |concern| match concern {
        Concern::Unusable(text) => Concern::Unusable(said(text)),
        Concern::Accepted(text) => Concern::Accepted(said(text)),
    };
    concerns.map(say).collect()
}

/// Judges a certificate by its time alone.
pub(super) fn untimely(der: &CertificateDer<'_>, now: Timestamp) -> Option<Concern> {
    let (_, certificate) = x509_parser::parse_x509_certificate(der).ok()?;
    let (begins, ends) = (certificate.validity().not_before, certificate.validity().not_after);
    let now = now.seconds();
    if now < begins.timestamp() {
        return Some(Concern::Unusable(format!("is not valid before {begins}")));
    }
    match ends.timestamp() - now {
        ..0 => Some(Concern::Unusable(format!("has expired on {ends}"))),
        0..SOON => Some(Concern::Accepted(format!("expires on {ends}: renew it"))),
        _ => None,
    }
}

fn wrong_name(der: &CertificateDer<'_>, host: &str) -> Option<Concern> {
    // An address in brackets is one already.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = ServerName::try_from(host).ok()?;
    let certificate = ParsedCertificate::try_from(der).ok()?;
    let fits = verify_server_name(&certificate, &name).is_ok();
    (!fits).then(|| Concern::Unusable(format!("is not for {host}, the issuer's host")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    /// 2030-06-15, noon.
    const NOON: i64 = 1_907_755_200;

    fn judged(names: &[&str], now: i64, issuer: &str) -> Vec<Concern> {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2030, 6, 1);
        params.not_after = date_time_ymd(2030, 7, 1);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cert.pem");
        std::fs::write(&path, certificate.pem()).unwrap();
        concerns(&path, Some(issuer), Timestamp::from_millis(now * 1_000))
    }

    #[test]
    fn a_certificate_is_judged_by_its_time() {
        let issuer = "https://id.example.com";
        let at = |now| judged(&["id.example.com"], now, issuer);
        let [day, names] = [86_400, 1];
        assert_eq!(at(NOON), []);
        for (now, expected) in [(NOON - 20 * day, "not valid before"), (NOON + 20 * day, "expired")]
        {
            let [Concern::Unusable(text)] = &at(now)[..] else { panic!("{now}") };
            assert!(text.contains(expected), "{text}");
        }
        let [Concern::Accepted(text)] = &at(NOON + 5 * day)[..] else { panic!("{names}") };
        assert!(text.contains("cert.pem expires on"), "{text}");
    }

    #[test]
    fn a_certificate_is_for_the_issuers_host() {
        for (names, issuer, fits) in [
            (&["id.example.com"][..], "https://id.example.com", true),
            (&["*.example.com"], "https://id.example.com:8443", true),
            (&["*.example.com"], "https://a.id.example.com", false),
            (&["www.example.com"], "https://id.example.com", false),
            (&["127.0.0.1"], "https://127.0.0.1:8443", true),
            (&["::1"], "https://[::1]:8443", true),
            (&["localhost"], "https://127.0.0.1", false),
        ] {
            assert_eq!(judged(names, NOON, issuer).is_empty(), fits, "{names:?} {issuer}");
        }
    }
}
