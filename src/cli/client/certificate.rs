//! `porteiro client certificate`: how a client comes by a certificate, and what it registers for one (RFC 8705).
//!
//! Of a file nothing is printed but what its first certificate says: a private key may be in it by mistake.

use super::{
    certificate_guide::{self, Place},
    register::{Way, check_id, complaints, members, toml, written},
};
use crate::{
    cli::{
        Failure,
        apply::{mend, read_whole},
        certificate::{Concern, untimely},
        chain,
        output::visible,
        say,
        settings::CommandSettings,
    },
    clock::SystemClock,
    config::{Complaint, Config},
    crypto::{ClientAuthorities, ClientCertificate, UnfitCertificate},
    domain::{Clock as _, Timestamp},
    http::time::rfc3339,
};
use clap::Args;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// More than a chain of the longest kind in PEM.
const LARGEST_FILE: u64 = 64 * 1024;

#[derive(Debug, Args)]
pub(in crate::cli) struct Certificate {
    /// Its id
    #[arg(allow_hyphen_values = true)]
    client_id: String,
    /// The client signs its certificate itself (`self_signed_tls_client_auth`)
    #[arg(long, conflicts_with = "ca")]
    self_signed: bool,
    /// An authority issues it (`tls_client_auth`)
    #[arg(long)]
    ca: bool,
    /// Say what to register for this certificate (PEM); `-` reads standard input
    #[arg(long, value_name = "FILE")]
    read: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(in crate::cli) fn run(asked: Certificate, given: CommandSettings) -> Result<(), Failure> {
    let Certificate { client_id, self_signed, ca, read, json } = asked;
    let way = match (self_signed, ca) {
        (true, _) => Some(Way::SelfSigned),
        (_, true) => Some(Way::Authority),
        _ => None,
    };
    let now = SystemClock.now();
    check_id(&client_id, now)?;
    let file = given.file.clone();
    let config = given.load(&[])?.config;
    let Some(path) = read else {
        let place = Place::of(&config, file.as_deref());
        let way = way.unwrap_or(Way::SelfSigned);
        return Ok(certificate_guide::print(&client_id, way, &place, json)?);
    };
    let held = CertificateFile::read(&path)?;
    let report = Report::of(&client_id, way, &held, &config, now);
    report.print(json)?;
    let unusable = |concern: &Concern| matches!(concern, Concern::Unusable(_));
    if report.concerns.iter().any(unusable) { Err(Failure::Findings) } else { Ok(()) }
}

/// What a file holds.
struct CertificateFile {
    certificate: ClientCertificate,
    has_private_key: bool,
}

impl CertificateFile {
    fn read(path: &Path) -> Result<Self, Failure> {
        let refuse = |text: &str| mend(path, &[Complaint::new(0, text)]);
        let text = read_whole(path, LARGEST_FILE)?;
        let has_private_key = text.contains("PRIVATE KEY-----");
        let chain = CertificateDer::pem_slice_iter(text.as_bytes()).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|_| refuse("is not well-formed PEM"))?;
        if chain.is_empty() {
            return Err(refuse(if has_private_key {
                "holds a private key and no certificate; keep the key to yourself, and give the certificate"
            } else {
                "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)"
            }));
        }
        let certificate = ClientCertificate::read(chain);
        let certificate = certificate.map_err(|fault| refuse(&fault.to_string()))?;
        Ok(Self { certificate, has_private_key })
    }
}

/// What is said of a certificate.
struct Report {
    certificate: Value,
    /// Each name by which an authority's certificate may be known.
    names: Vec<(&'static str, String)>,
    jwk: Option<Value>,
    /// The client, as it registers.
    register: Value,
    concerns: Vec<Concern>,
}

impl Report {
    fn of(
        client_id: &str,
        way: Option<Way>,
        held: &CertificateFile,
        config: &Config,
        now: Timestamp,
    ) -> Self {
        let certificate = &held.certificate;
        let by_itself = if certificate.is_self_issued() { Way::SelfSigned } else { Way::Authority };
        let way = way.unwrap_or(by_itself);
        let (begins, ends) = certificate.times();
        let names = names(client_id, certificate, now);
        let jwk = certificate.jwk();
        let known_by = match way {
            Way::SelfSigned => jwk.as_ref().map(|jwk| ("jwks", json!({ "keys": [jwk] }))),
            Way::Authority => names.first().map(|(member, value)| (*member, json!(value))),
        };
        let mut concerns = against(held, way, config, now);
        let unnamed = known_by.is_none().then(|| match way {
            Way::SelfSigned => "has a key of a kind that key sets do not hold here".to_owned(),
            Way::Authority => "has no name that a client can register".to_owned(),
        });
        let register = members(client_id, way, known_by);
        concerns.extend(match unnamed {
            Some(text) => vec![Concern::Unusable(text)],
            None => complaints(&register, now)
                .into_iter()
                .map(|text| Concern::Unusable(format!("cannot be registered: {text}")))
                .collect(),
        });
        let told = json!({
            "subject": certificate.names.subject.to_string(),
            "x5t#S256": String::from(certificate.print),
            "not_before": rfc3339(begins),
            "not_after": rfc3339(ends),
        });
        Self { certificate: told, names, jwk, register, concerns }
    }

    fn print(&self, json: bool) -> std::io::Result<()> {
        let Self { certificate, names, jwk, register, concerns } = self;
        if json {
            let name = |(member, value): &(&str, String)| json!({ *member: value });
            let told = |concern: &Concern| match concern {
                Concern::Unusable(text) => json!({ "text": text, "unusable": true }),
                Concern::Accepted(text) => json!({ "text": text, "unusable": false }),
            };
            let mut said = certificate.clone();
            said["names"] = names.iter().map(name).collect();
            said["jwk"] = json!(jwk);
            said["register"] = register.clone();
            said["concerns"] = concerns.iter().map(told).collect();
            return say(&said.to_string());
        }
        for (name, value) in certificate.as_object().into_iter().flatten() {
            say(&format!("# {name:<10}  {}", visible(value.as_str().unwrap_or_default())))?;
        }
        for concern in concerns {
            let (Concern::Unusable(text) | Concern::Accepted(text)) = concern;
            say(&format!("# ! it {}", visible(text)))?;
        }
        say(&format!("\n{}\n", toml(register)))?;
        let heading =
            |way: Way| format!("# With token_endpoint_auth_method = \"{}\",", way.method());
        say(&format!("{} one of its names:", heading(Way::Authority)))?;
        for (member, value) in names {
            say(&format!("# {member} = {}", written(&json!(value))))?;
        }
        // It is long, and stands above where it is registered.
        let Some(jwk) = jwk.as_ref().filter(|_| register.get("jwks").is_none()) else {
            return Ok(());
        };
        say(&format!("{} its key:", heading(Way::SelfSigned)))?;
        say(&format!("# jwks = {}", written(&json!({ "keys": [jwk] }))))
    }
}

/// The names of a certificate that a client may register, each as the member for it.
fn names(
    client_id: &str,
    certificate: &ClientCertificate,
    now: Timestamp,
) -> Vec<(&'static str, String)> {
    let all = &certificate.names;
    let subject = ("tls_client_auth_subject_dn", all.subject.to_string());
    let of = |member: &'static str| move |value: &String| (member, value.clone());
    let addresses = all.addresses.iter().map(|one| ("tls_client_auth_san_ip", one.to_string()));
    [subject]
        .into_iter()
        // A wildcard names no client.
        .chain(all.dns.iter().filter(|one| !one.contains('*')).map(of("tls_client_auth_san_dns")))
        .chain(all.uris.iter().map(of("tls_client_auth_san_uri")))
        .chain(addresses)
        .chain(all.emails.iter().map(of("tls_client_auth_san_email")))
        .filter(|(member, value)| {
            let known_by = Some((*member, json!(value)));
            !value.is_empty()
                && complaints(&members(client_id, Way::Authority, known_by), now).is_empty()
        })
        .collect()
}

/// Says what stands against a certificate, each as the end of a sentence.
fn against(held: &CertificateFile, way: Way, config: &Config, now: Timestamp) -> Vec<Concern> {
    let CertificateFile { certificate, has_private_key } = held;
    let own = certificate.parts().map(|(own, _)| own);
    let mut concerns: Vec<Concern> = own.and_then(|own| untimely(own, now)).into_iter().collect();
    let unfit = certificate.unfit().into_iter();
    // A certificate that stands in a key set is the client's, whatever it is for.
    let unfit = unfit.filter(|unfit| way == Way::Authority || *unfit == UnfitCertificate::Version);
    concerns.extend(unfit.map(|unfit| Concern::Unusable(unfit.to_string())));
    // Its authority says more than we can, where nothing is known to be wrong yet.
    if way == Way::Authority && concerns.is_empty() {
        concerns.extend(untrusted(certificate, config, now).map(Concern::Unusable));
    }
    if *has_private_key {
        let text = "stands in a file with a private key: hand out the certificate alone";
        concerns.push(Concern::Accepted(text.to_owned()));
    }
    concerns
}

fn untrusted(certificate: &ClientCertificate, config: &Config, now: Timestamp) -> Option<String> {
    let authorities = ClientAuthorities::load(config.mtls.client_ca.as_deref()?);
    let verified = match authorities {
        Ok(authorities) => authorities.verify(certificate, now).map_err(|why| chain(&why)),
        Err(fault) => Err(chain(&fault)),
    };
    verified.err().map(|why| format!("is not of mtls.client_ca: {why}"))
}
