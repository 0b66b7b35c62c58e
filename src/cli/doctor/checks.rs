//! One check a subject: configuration, keys, store, certificate, clock; beyond this machine see
//! [`outside`] and [`messages`].

use super::{Tests, connections, domains, messages, outside, self_service};
use crate::{
    cli::{
        certificate::{self, Concern},
        chain, named_files, serve,
        settings::{DEV_FOLDER, attestation, key_sources, key_states, read_keys},
    },
    clock::SystemClock,
    config::{Config, Survey},
    crypto::{
        SharedVault,
        keys::{DevKeys, KeySources, pkcs11::Token},
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
    geo,
    provisioning::{CertificateSupport, Warning},
    store::{self, Store},
    system::{KeyWithoutFile, log_chain},
    transport::TlsIdentity,
};
use std::os::unix::fs::MetadataExt as _;

/// 2026-01-01: no clock of a machine that runs this binary is right before.
const BUILT_AFTER: i64 = 1_767_225_600;

/// How many warnings about entities are printed.
const MOST_WARNINGS: usize = 20;

/// How many are asked for: one more shows that there are more.
pub(super) const ASKED_WARNINGS: usize = MOST_WARNINGS + 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Good,
    /// It works, but look at it.
    Doubtful,
    Bad,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Doubtful => "look",
            Self::Bad => "mend",
        }
    }
}

pub struct Finding {
    pub subject: &'static str,
    pub verdict: Verdict,
    pub text: String,
}

pub(super) fn good(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { subject, verdict: Verdict::Good, text: text.into() }
}

pub(super) fn doubtful(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { subject, verdict: Verdict::Doubtful, text: text.into() }
}

pub(super) fn bad(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { subject, verdict: Verdict::Bad, text: text.into() }
}

/// Looks at everything.
///
/// Where keys made by dev are accepted, it is the development server's installation.
pub(super) async fn all(survey: &Survey, dev_keys: DevKeys, tests: &Tests) -> Vec<Finding> {
    let config = &survey.loaded.config;
    let mut findings = configuration(survey, dev_keys);
    // Opened once for all that follows: a token counts wrong PINs.
    let sources = config.keys.dir.as_ref().map(|_| key_sources(config));
    let (sources, unopened) = match sources.transpose() {
        Ok(sources) => (sources, None),
        Err(fault) => (None, Some(bad("token", fault.to_string()))),
    };
    findings.extend(unopened);
    findings.extend(sources.iter().flat_map(|sources| keys(sources, dev_keys)));
    findings.extend(database(config, sources.as_ref()).await);
    findings.extend(certificate(config));
    findings.push(clock());
    findings.extend(outside::names(config).await);
    findings.extend(messages::all(config, dev_keys, tests).await);
    findings.extend(outside::leaked_passwords(config).await);
    findings.extend(passkeys(config));
    findings.extend(places(config));
    findings
}

/// Tells whether the certificates of makers of authenticators can be used.
fn passkeys(config: &Config) -> Option<Finding> {
    const SUBJECT: &str = "passkeys";
    Some(match attestation(config).transpose()? {
        Ok(policy) => {
            let roots = policy.roots();
            good(SUBJECT, format!("hardware is attested: {roots} certificates are believed"))
        }
        Err(reason) => bad(SUBJECT, reason),
    })
}

/// Tells whether places of addresses are known. The server goes on without them.
fn places(config: &Config) -> Option<Finding> {
    const SUBJECT: &str = "geo";
    let path = config.geo.database.as_ref()?;
    Some(match geo::load(path, SystemClock.now()) {
        Ok(loaded) => {
            good(SUBJECT, format!("a database of places, built at {}", loaded.built_at.rfc3339()))
        }
        Err(fault) => {
            let text = format!(
                "geo.database: {} {}: alerts name no place, and impossible travel is not noticed",
                path.display(),
                chain(&fault)
            );
            doubtful(SUBJECT, text)
        }
    })
}

fn configuration(survey: &Survey, dev_keys: DevKeys) -> Vec<Finding> {
    if dev_keys == DevKeys::Accepted {
        let text = format!("of the development server under ./{DEV_FOLDER}");
        return vec![good("configuration", text)];
    }
    let refusals = survey.refusals.iter().map(ToString::to_string);
    let mut findings: Vec<Finding> = refusals
        .chain(named_files::missing(&survey.loaded))
        .chain(serve::mtls(&survey.loaded.config, None).err())
        .map(|refusal| bad("configuration", refusal))
        .collect();
    if findings.is_empty() {
        findings.push(good("configuration", "fit to serve"));
    }
    let concerns = survey.loaded.config.concerns().into_iter();
    findings.extend(concerns.map(|concern| doubtful(concern.setting, concern.text)));
    findings
}

fn keys(sources: &KeySources, dev_keys: DevKeys) -> Vec<Finding> {
    let mut findings: Vec<Finding> = sources.token.iter().map(token).collect();
    findings.extend(match sources.load(dev_keys) {
        Ok(folder) => {
            let signing: Vec<&str> =
                folder.signing().iter().map(|file| file.signer.algorithm().name()).collect();
            let (count, names) = (signing.len(), signing.join(", "));
            let text = format!(
                "{count} signing keys in the folder ({names}); `porteiro keys list` says where each stands"
            );
            vec![good("keys", text)]
        }
        Err(faults) => faults.iter().map(|fault| bad("keys", fault.to_string())).collect(),
    });
    findings
}

/// Says which token there is, and how many keys of ours it holds.
fn token(token: &Token) -> Finding {
    let described = token.describe();
    match token.signing_keys() {
        Ok(keys) if keys.is_empty() => doubtful(
            "token",
            format!("{described}: no key of ours yet; run `porteiro keys rotate`"),
        ),
        Ok(keys) => {
            let names: Vec<&str> = keys.iter().map(|key| key.signer.algorithm().name()).collect();
            let text = format!("{described}: {} keys ({})", names.len(), names.join(", "));
            let (rs256, ps256) = (SigningAlgorithm::Rs256, SigningAlgorithm::Ps256);
            let mut rsa = keys.iter().map(|key| &key.signer).filter(|one| one.algorithm() == rs256);
            if rsa.any(|signer| signer.by(ps256).is_none()) {
                doubtful(
                    "token",
                    format!("{text}; it does not sign by PS256, which is not offered"),
                )
            } else {
                good("token", text)
            }
        }
        Err(faults) => {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            bad("token", faults.join("; "))
        }
    }
}

async fn database(config: &Config, sources: Option<&KeySources>) -> Vec<Finding> {
    let Some(url) = &config.store.url else { return Vec::new() };
    let pending = match store::pending_migrations(url.expose()).await {
        Ok(pending) => pending,
        Err(error) => return vec![bad("store", format!("{url}: {}", chain(&error)))],
    };
    if !pending.is_empty() {
        let text = format!("can be reached; `serve` will run {}", pending.join(", "));
        return vec![doubtful("store", text)];
    }
    let mut findings = vec![good("store", "can be reached, its schema is up to date")];
    findings.extend(logs_and_warnings(config, url.expose()).await);
    // What else is wrong with the keys has been said.
    if let Some(sources) = sources {
        findings.extend(published_keys(sources, url.expose()).await);
    }
    findings
}

/// Tells whether every key that signs has its file here: without it, no server starts.
async fn published_keys(sources: &KeySources, url: &str) -> Vec<Finding> {
    let (Some(folder), _) = sources.salvage() else { return Vec::new() };
    let Ok(Some(states)) = key_states(url, &folder).await else { return Vec::new() };
    let missing = KeyWithoutFile::all(&states, &folder);
    if missing.is_empty() {
        return vec![good("published keys", "every key that signs has its file here")];
    }
    missing.iter().map(|key| bad("published keys", key.to_string())).collect()
}

/// Opens the database to read it, and looks at its log and its entities.
async fn logs_and_warnings(config: &Config, url: &str) -> Vec<Finding> {
    let Ok(folder) = read_keys(config) else { return Vec::new() };
    let chain_of_log = log_chain(SharedVault::new(folder.vault()));
    let store = match Store::open_to_read(url, chain_of_log).await {
        Ok(store) => store,
        Err(error) => return vec![bad("security log", chain(&error))],
    };
    let mut findings = vec![security_log(&store).await];
    findings.extend(entities(&store, certificate_support(config)).await);
    findings.extend(domains::all(config, &store, SystemClock.now()).await);
    findings.extend(connections::all(config, &store, &folder.vault()).await);
    findings.extend(self_service::closed(config, &store).await);
    store.close().await;
    findings
}

/// Tells whether the log can be proved with these keys: with others, no server starts.
async fn security_log(store: &Store) -> Finding {
    match store.log_is_ours().await {
        Ok(true) => good("security log", "belongs to these keys"),
        Ok(false) => bad("security log", "cannot be proved: this database has other keys"),
        Err(error) => bad("security log", chain(&error)),
    }
}

fn certificate_support(config: &Config) -> CertificateSupport {
    let is_offered = config.mtls.listen.is_some() || config.client_cert_header;
    match (is_offered, &config.mtls.client_ca) {
        (false, _) => CertificateSupport::None,
        (true, None) => CertificateSupport::SelfSigned,
        (true, Some(_)) => CertificateSupport::Authorities,
    }
}

/// Names clients that cannot authenticate, and permissions of roles that open nothing.
async fn entities(store: &Store, certificates: CertificateSupport) -> Vec<Finding> {
    match Warning::of_installation(store, certificates, ASKED_WARNINGS).await {
        Ok(warnings) => of_warnings(&warnings, "store", "clients and roles"),
        Err(error) => vec![bad("store", chain(&error))],
    }
}

/// Repeats what was found in the store, as much of it as is printed.
pub(super) fn of_warnings(warnings: &[Warning], kind: &'static str, like: &str) -> Vec<Finding> {
    let shown = warnings.iter().take(MOST_WARNINGS);
    let mut findings: Vec<Finding> =
        shown.map(|Warning { kind, id, text }| doubtful(kind, format!("{id}: {text}"))).collect();
    if warnings.len() > MOST_WARNINGS {
        let text = format!("there are more {like} like these: mend some and look again");
        findings.push(doubtful(kind, text));
    }
    findings
}

fn certificate(config: &Config) -> Vec<Finding> {
    const SUBJECT: &str = "certificate";
    let Some((cert, key)) = config.tls.pair() else { return Vec::new() };
    if let Err(fault) = TlsIdentity::load(cert, key) {
        return vec![bad(SUBJECT, chain(&fault))];
    }
    let concerns = certificate::concerns(cert, config.issuer.as_deref(), SystemClock.now());
    let mut findings: Vec<Finding> = concerns
        .into_iter()
        .map(|concern| match concern {
            Concern::Unusable(text) => bad(SUBJECT, text),
            Concern::Accepted(text) => doubtful(SUBJECT, text),
        })
        .collect();
    if findings.is_empty() {
        findings.push(good(SUBJECT, "is valid and for the issuer's host, and its key fits"));
    }
    if std::fs::metadata(key).is_ok_and(|found| found.mode() & 0o004 != 0) {
        let text = format!("{} can be read by every user of this machine", key.display());
        findings.push(doubtful(SUBJECT, text));
    }
    findings
}

fn clock() -> Finding {
    if SystemClock.now().seconds() < BUILT_AFTER {
        return bad("clock", "this machine's clock is years behind; tokens would be of no use");
    }
    good("clock", "not obviously wrong")
}
