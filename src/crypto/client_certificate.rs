//! Certificates of clients: read once, judged by what each client has registered (RFC 8705).
//!
//! Here is only what a certificate says. That its holder has the key was proved by the handshake, or by a proxy that is
//! trusted to say so.

use super::proof::thumbprint;
use crate::domain::{
    Fingerprint, Timestamp,
    client::CertificateNames,
    distinguished_name::{Attribute, DistinguishedName},
};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use core::net::IpAddr;
use rustls::pki_types::CertificateDer;
use serde_json::{Value, json};
use x509_parser::{
    certificate::X509Certificate,
    extensions::GeneralName,
    public_key::PublicKey,
    x509::{SubjectPublicKeyInfo, X509Version},
};

/// Certificates in a chain: more than any authority needs.
pub const LONGEST_CHAIN: usize = 8;

/// Names in a certificate: each is kept for as long as its connection.
const MOST_NAMES: usize = 100;

/// Bytes of a chain.
pub const LARGEST_CHAIN: usize = 32 * 1024;

/// A certificate that a client has presented, and those that it presented with it.
#[derive(Debug)]
pub struct ClientCertificate {
    /// Its own certificate first.
    chain: Vec<CertificateDer<'static>>,
    /// The hash of its own (`x5t#S256`).
    pub print: Fingerprint,
    pub names: CertificateNames,
    /// The thumbprint of its public key (RFC 7638), if it is of a kind that a key set can hold.
    pub key: Option<Fingerprint>,
    /// Whether its authority lets it sign handshakes: `digitalSignature`, where it names usages.
    pub may_sign: bool,
    /// Seconds since 1970.
    begins: i64,
    ends: i64,
}

/// Why a certificate cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateFault {
    #[error("there is no certificate")]
    None,
    #[error(
        "there are more than {LONGEST_CHAIN} certificates, {LARGEST_CHAIN} bytes or {MOST_NAMES} names"
    )]
    TooMuch,
    #[error("it is no certificate")]
    Malformed,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotValidYet,
}

/// What a certificate lacks that an authority has issued to a client, beside a good time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitCertificate {
    #[error("is not of version 3, and TLS takes no other")]
    Version,
    #[error("names usages, and digitalSignature is not among them")]
    Usage,
    #[error("names extended usages, and clientAuth is not among them")]
    NotForClients,
    #[error("is an authority's own (CA:TRUE)")]
    Authority,
}

impl ClientCertificate {
    /// Reads a chain.
    pub fn read(chain: Vec<CertificateDer<'static>>) -> Result<Self, CertificateFault> {
        let own = chain.first().ok_or(CertificateFault::None)?;
        check_size(&chain)?;
        let (rest, certificate) =
            x509_parser::parse_x509_certificate(own).map_err(|_| CertificateFault::Malformed)?;
        if !rest.is_empty() {
            return Err(CertificateFault::Malformed);
        }
        let validity = certificate.validity();
        let usage = certificate.key_usage().map_err(|_| CertificateFault::Malformed)?;
        Ok(Self {
            print: Fingerprint::of(own),
            names: names(&certificate)?,
            key: public_key(certificate.public_key()).as_ref().and_then(thumbprint),
            may_sign: usage.is_none_or(|usage| usage.value.digital_signature()),
            begins: validity.not_before.timestamp(),
            ends: validity.not_after.timestamp(),
            chain,
        })
    }

    /// Its own certificate, and those that lead to its authority.
    pub fn parts(&self) -> Option<(&CertificateDer<'static>, &[CertificateDer<'static>])> {
        self.chain.split_first()
    }

    fn parsed(&self) -> Option<X509Certificate<'_>> {
        let (own, _) = self.parts()?;
        x509_parser::parse_x509_certificate(own).ok().map(|(_, certificate)| certificate)
    }

    /// Its public key as a key set has it, with the certificate (RFC 7517 §4.7); none if a key set holds none of that kind.
    pub fn jwk(&self) -> Option<Value> {
        let mut jwk = public_key(self.parsed()?.public_key())?;
        jwk["x5c"] = json!([STANDARD.encode(self.parts()?.0)]);
        Some(jwk)
    }

    /// Tells whether its holder has issued it, and no authority.
    pub fn is_self_issued(&self) -> bool {
        self.parsed().is_some_and(|one| one.subject().as_raw() == one.issuer().as_raw())
    }

    /// Says what keeps it from naming a client, whatever its authority.
    pub fn unfit(&self) -> Vec<UnfitCertificate> {
        let Some(one) = self.parsed() else { return Vec::new() };
        let extended = one.extended_key_usage().ok().flatten();
        let lacks = [
            (one.version() != X509Version::V3, UnfitCertificate::Version),
            (!self.may_sign, UnfitCertificate::Usage),
            (
                extended.is_some_and(|usage| !usage.value.client_auth),
                UnfitCertificate::NotForClients,
            ),
            (one.is_ca(), UnfitCertificate::Authority),
        ];
        lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, unfit)| unfit).collect()
    }

    /// From when until when it is good.
    pub fn times(&self) -> (Timestamp, Timestamp) {
        (Timestamp::from_seconds(self.begins), Timestamp::from_seconds(self.ends))
    }

    /// Tells whether it is good now: a connection may outlive it.
    pub fn check_time(&self, now: Timestamp) -> Result<(), CertificateFault> {
        self.check_time_at(now.seconds())
    }

    /// The same at a number of seconds since 1970.
    pub fn check_time_at(&self, now: i64) -> Result<(), CertificateFault> {
        if now < self.begins {
            return Err(CertificateFault::NotValidYet);
        }
        if now > self.ends { Err(CertificateFault::Expired) } else { Ok(()) }
    }
}

/// Refuses a chain that no client needs, before anything of it is read.
pub fn check_size(chain: &[CertificateDer<'_>]) -> Result<(), CertificateFault> {
    let bytes: usize = chain.iter().map(|one| one.len()).sum();
    if chain.len() > LONGEST_CHAIN || bytes > LARGEST_CHAIN {
        return Err(CertificateFault::TooMuch);
    }
    Ok(())
}

fn names(certificate: &X509Certificate<'_>) -> Result<CertificateNames, CertificateFault> {
    let attributes = certificate.subject().iter_attributes().count();
    let others = certificate.subject_alternative_name().map_err(|_| CertificateFault::Malformed)?;
    let others = others.map_or(&[][..], |others| &others.value.general_names);
    if attributes + others.len() > MOST_NAMES {
        return Err(CertificateFault::TooMuch);
    }
    let parts = certificate.subject().iter_rdn().map(|part| {
        let attribute = |one: &x509_parser::x509::AttributeTypeAndValue<'_>| {
            let tag = u8::try_from(one.attr_value().tag().0).unwrap_or(u8::MAX);
            Attribute::of(one.attr_type().to_id_string(), tag, one.as_slice())
        };
        part.iter().map(attribute).collect()
    });
    let parts: Vec<Vec<Attribute>> = parts.collect();
    let mut names = CertificateNames {
        subject: DistinguishedName::of_certificate(parts.into_iter()),
        ..CertificateNames::default()
    };
    for other in others {
        match other {
            GeneralName::DNSName(name) => names.dns.push((*name).to_owned()),
            GeneralName::URI(uri) => names.uris.push((*uri).to_owned()),
            GeneralName::RFC822Name(email) => names.emails.push((*email).to_owned()),
            GeneralName::IPAddress(bytes) => names.addresses.extend(address(bytes)),
            _ => {}
        }
    }
    Ok(names)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

/// Writes a public key as a key set has it (RFC 7518 §6, RFC 8037 §2).
fn public_key(info: &SubjectPublicKeyInfo<'_>) -> Option<Value> {
    let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let kind = info.algorithm.algorithm.to_id_string();
    if kind == "1.3.101.112" {
        return Some(
            json!({ "kty": "OKP", "crv": "Ed25519", "x": text(&info.subject_public_key.data) }),
        );
    }
    match info.parsed().ok()? {
        PublicKey::RSA(key) => {
            // A number has no zeros in front there.
            let number = |bytes: &[u8]| {
                let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                text(&bytes[zeros..])
            };
            Some(json!({ "kty": "RSA", "n": number(key.modulus), "e": number(key.exponent) }))
        }
        PublicKey::EC(point) => {
            let curve = info.algorithm.parameters.as_ref()?.as_oid().ok()?.to_id_string();
            let (curve, length) = match &*curve {
                "1.2.840.10045.3.1.7" => ("P-256", 32),
                "1.3.132.0.34" => ("P-384", 48),
                _ => return None,
            };
            // Uncompressed: 0x04, then both coordinates in full length.
            let both = point.data().strip_prefix(&[4]).filter(|both| both.len() == 2 * length)?;
            let (x, y) = both.split_at(length);
            Some(json!({ "kty": "EC", "crv": curve, "x": text(x), "y": text(y) }))
        }
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rcgen::{
        CertificateParams, DnType, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ED25519,
        SanType,
    };

    fn with(change: impl FnOnce(&mut CertificateParams)) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        change(&mut params);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn read(change: impl FnOnce(&mut CertificateParams)) -> ClientCertificate {
        ClientCertificate::read(vec![with(change)]).unwrap()
    }

    #[test]
    fn every_kind_of_name_is_read() {
        let one = read(|params| {
            params.distinguished_name = rcgen::DistinguishedName::new();
            params.distinguished_name.push(DnType::CountryName, "PT");
            params.distinguished_name.push(DnType::OrganizationName, "Acme, Lda.");
            params.distinguished_name.push(DnType::CommonName, "agent");
            params.subject_alt_names = vec![
                SanType::DnsName("agent.example.com".try_into().unwrap()),
                SanType::URI("spiffe://example.com/agent".try_into().unwrap()),
                SanType::Rfc822Name("agent@example.com".try_into().unwrap()),
                SanType::IpAddress("192.0.2.7".parse().unwrap()),
                SanType::IpAddress("2001:db8::7".parse().unwrap()),
            ];
        });
        assert_eq!(one.names.subject.to_string(), r"CN=agent,O=Acme\, Lda.,C=PT");
        assert_eq!(one.names.dns, ["agent.example.com"]);
        assert_eq!(one.names.uris, ["spiffe://example.com/agent"]);
        assert_eq!(one.names.emails, ["agent@example.com"]);
        let addresses: Vec<IpAddr> =
            ["192.0.2.7", "2001:db8::7"].map(|a| a.parse().unwrap()).into();
        assert_eq!(one.names.addresses, addresses);
    }

    #[test]
    fn a_key_is_known_by_the_thumbprint_that_a_key_set_has() {
        for algorithm in [&PKCS_ECDSA_P256_SHA256, &PKCS_ED25519] {
            let pair = KeyPair::generate_for(algorithm).unwrap();
            let params = CertificateParams::new(Vec::new()).unwrap();
            let certificate = params.self_signed(&pair).unwrap();
            let read = ClientCertificate::read(vec![certificate.der().clone()]).unwrap();
            let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
            let raw = pair.public_key_raw();
            let jwk = if raw.len() == 32 {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": text(raw) })
            } else {
                json!({ "kty": "EC", "crv": "P-256", "x": text(&raw[1..33]), "y": text(&raw[33..]) })
            };
            assert_eq!(read.key, thumbprint(&jwk));
            assert!(read.key.is_some());
            let told = read.jwk().unwrap();
            assert_eq!(told["x5c"], json!([STANDARD.encode(certificate.der())]));
            assert_eq!(thumbprint(&told), read.key);
        }
    }

    #[test]
    fn a_certificate_is_good_in_its_time_and_for_its_usage() {
        let date = |year| rcgen::date_time_ymd(year, 1, 1);
        let at = |year: i64| Timestamp::from_seconds((year - 1970) * 31_557_600);
        let one = read(|params| {
            (params.not_before, params.not_after) = (date(2020), date(2030));
        });
        assert_eq!(one.check_time(at(2025)), Ok(()));
        assert_eq!(one.check_time(at(2019)), Err(CertificateFault::NotValidYet));
        assert_eq!(one.check_time(at(2031)), Err(CertificateFault::Expired));
        assert!(one.may_sign, "it names no usage");
        let usage = |purpose| read(move |params| params.key_usages = vec![purpose]).may_sign;
        assert!(usage(KeyUsagePurpose::DigitalSignature));
        assert!(!usage(KeyUsagePurpose::KeyEncipherment));
    }

    #[test]
    fn what_an_authority_must_have_said_is_told() {
        use rcgen::{BasicConstraints, ExtendedKeyUsagePurpose, IsCa};
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().unwrap();
        let authority = rcgen::CertifiedIssuer::self_signed(params, key).unwrap();
        let own = CertificateParams::new(Vec::new()).unwrap();
        let issued = own.signed_by(&KeyPair::generate().unwrap(), &authority).unwrap();
        let issued = ClientCertificate::read(vec![issued.der().clone()]).unwrap();
        assert!(!issued.is_self_issued());
        assert_eq!(issued.unfit(), []);
        let authority = ClientCertificate::read(vec![authority.der().clone()]).unwrap();
        assert!(authority.is_self_issued());
        assert_eq!(authority.unfit(), [UnfitCertificate::Authority]);
        let wrong = read(|params| {
            params.key_usages = vec![KeyUsagePurpose::KeyEncipherment];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        });
        assert_eq!(wrong.unfit(), [UnfitCertificate::Usage, UnfitCertificate::NotForClients]);
        let good = read(|params| {
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        });
        assert_eq!(good.unfit(), []);
    }

    #[test]
    fn what_is_no_chain_is_refused() {
        let fault = |chain| ClientCertificate::read(chain).err();
        assert_eq!(fault(Vec::new()), Some(CertificateFault::None));
        assert_eq!(fault(vec![vec![0x30, 0].into()]), Some(CertificateFault::Malformed));
        let good = with(|_| {});
        let mut longer = good.to_vec();
        longer.push(0);
        assert_eq!(fault(vec![longer.into()]), Some(CertificateFault::Malformed));
        assert_eq!(fault(vec![good.clone(); 9]), Some(CertificateFault::TooMuch));
        let large: CertificateDer<'static> = vec![0; LARGEST_CHAIN].into();
        assert_eq!(fault(vec![good, large]), Some(CertificateFault::TooMuch));
    }

    #[test]
    fn a_certificate_of_many_names_is_refused() {
        let names = |many: usize| {
            with(|params| {
                let name =
                    |number: usize| SanType::DnsName(format!("a{number}").try_into().unwrap());
                params.subject_alt_names = (0..many).map(name).collect();
            })
        };
        assert!(ClientCertificate::read(vec![names(90)]).is_ok());
        let refused = ClientCertificate::read(vec![names(101)]).err();
        assert_eq!(refused, Some(CertificateFault::TooMuch));
    }
}
