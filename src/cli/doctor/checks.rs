//! One check a subject: configuration, keys, store, certificate, clock, names, mail, SMS.

use crate::{
    cli::{
        chain,
        settings::{DEV_FOLDER, key_states, read_folder},
    },
    clock::SystemClock,
    config::{Config, MailTransport, SmsTransport, Survey},
    crypto::{
        SharedVault,
        keys::{DevKeys, Folder},
    },
    domain::Clock as _,
    http::transport::TlsIdentity,
    store::{self, Store},
    system::{KeyWithoutFile, log_chain},
};
use std::{path::Path, time::Duration};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpStream, lookup_host},
    time::timeout,
};
use url::Url;

/// How long anybody may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// 2026-01-01: no clock of a machine that runs this binary is right before.
const BUILT_AFTER: i64 = 1_767_225_600;

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

fn good(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { subject, verdict: Verdict::Good, text: text.into() }
}

fn doubtful(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { subject, verdict: Verdict::Doubtful, text: text.into() }
}

fn bad(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { subject, verdict: Verdict::Bad, text: text.into() }
}

/// Looks at everything.
///
/// Where keys made by dev are accepted, it is the development server's installation.
pub async fn all(survey: &Survey, dev_keys: DevKeys) -> Vec<Finding> {
    let config = &survey.loaded.config;
    let mut findings = configuration(survey, dev_keys);
    findings.extend(keys(config, dev_keys));
    findings.extend(database(config).await);
    findings.extend(certificate(config));
    findings.push(clock());
    findings.extend(names(config).await);
    findings.extend(mail(config).await);
    findings.extend(sms(config).await);
    findings
}

fn configuration(survey: &Survey, dev_keys: DevKeys) -> Vec<Finding> {
    if dev_keys == DevKeys::Accepted {
        let text = format!("of the development server under ./{DEV_FOLDER}");
        return vec![good("configuration", text)];
    }
    if survey.refusals.is_empty() {
        return vec![good("configuration", "fit to serve")];
    }
    survey.refusals.iter().map(|refusal| bad("configuration", refusal.to_string())).collect()
}

fn keys(config: &Config, dev_keys: DevKeys) -> Vec<Finding> {
    let Some(dir) = &config.keys.dir else { return Vec::new() };
    match Folder::load(dir, dev_keys) {
        Ok(folder) => {
            let signing: Vec<&str> =
                folder.signing().iter().map(|file| file.signer.algorithm().name()).collect();
            vec![good("keys", format!("{} signing ({})", signing.len(), signing.join(", ")))]
        }
        Err(faults) => faults.iter().map(|fault| bad("keys", fault.to_string())).collect(),
    }
}

async fn database(config: &Config) -> Vec<Finding> {
    let Some(url) = &config.store.url else { return Vec::new() };
    let pending = match store::pending_migrations(url.expose()).await {
        Ok(pending) => pending,
        Err(error) => return vec![bad("store", chain(&error))],
    };
    if !pending.is_empty() {
        let text = format!("can be reached; `serve` will run {}", pending.join(", "));
        return vec![doubtful("store", text)];
    }
    let mut findings = vec![good("store", "can be reached, its schema is up to date")];
    findings.extend(security_log(config, url.expose()).await);
    findings.extend(published_keys(config, url.expose()).await);
    findings
}

/// Tells whether every key that signs has its file here: without it, no server starts.
async fn published_keys(config: &Config, url: &str) -> Vec<Finding> {
    let Some(dir) = config.keys.dir.as_deref() else { return Vec::new() };
    // What else is wrong with the folder has been said.
    let (Some(folder), _) = Folder::salvage(dir) else { return Vec::new() };
    let Ok(Some(states)) = key_states(url, &folder).await else { return Vec::new() };
    let missing = KeyWithoutFile::all(&states, &folder);
    if missing.is_empty() {
        return vec![good("published keys", "every key that signs has its file here")];
    }
    missing.iter().map(|key| bad("published keys", key.to_string())).collect()
}

/// Tells whether the log can be proved with these keys: with others, no server starts.
async fn security_log(config: &Config, url: &str) -> Option<Finding> {
    let folder = read_folder(config.keys.dir.as_deref()?).ok()?;
    let chain_of_log = log_chain(SharedVault::new(folder.vault()));
    let store = match Store::open_to_read(url, chain_of_log).await {
        Ok(store) => store,
        Err(error) => return Some(bad("security log", chain(&error))),
    };
    let ours = store.log_is_ours().await;
    store.close().await;
    Some(match ours {
        Ok(true) => good("security log", "belongs to these keys"),
        Ok(false) => bad("security log", "cannot be proved: this database has other keys"),
        Err(error) => bad("security log", chain(&error)),
    })
}

fn certificate(config: &Config) -> Option<Finding> {
    let (cert, key) = config.tls.pair()?;
    Some(match TlsIdentity::load(cert, key) {
        Ok(_) => good("certificate", "the chain can be read and its key fits"),
        Err(fault) => bad("certificate", chain(&fault)),
    })
}

fn clock() -> Finding {
    if SystemClock.now().seconds() < BUILT_AFTER {
        return bad("clock", "this machine's clock is years behind; tokens would be of no use");
    }
    good("clock", "not obviously wrong")
}

/// Tells whether everyone can find the hosts that people and programs are sent to.
async fn names(config: &Config) -> Vec<Finding> {
    let mut asked: Vec<(&'static str, Url)> = Vec::new();
    let issuer = config.issuer.as_deref().and_then(|issuer| Url::parse(issuer).ok());
    asked.extend(issuer.map(|issuer| ("issuer", issuer)));
    let links = &config.links;
    for link in [&links.sign_in, &links.device, &links.approval].into_iter().flatten() {
        asked.push(("links", link.clone()));
    }
    let mut findings = Vec::new();
    for (subject, url) in asked {
        let (host, port) = (url.host_str().unwrap_or(""), url.port_or_known_default());
        findings.push(match resolve(host, port.unwrap_or(443)).await {
            Ok(addresses) => good(subject, format!("{host} is {addresses}")),
            Err(why) => bad(subject, format!("{host} has no address here: {why}")),
        });
    }
    findings
}

async fn mail(config: &Config) -> Option<Finding> {
    Some(match config.mail.transport.as_ref()? {
        MailTransport::Log => doubtful("mail", "goes to the log: fine for trying things"),
        MailTransport::Folder(folder) => writable("mail", folder),
        MailTransport::Smtp(smtp) => {
            match greeting(&smtp.host, smtp.port, smtp.implicit_tls).await {
                Ok(()) => good("mail", format!("{}:{} answers", smtp.host, smtp.port)),
                Err(why) => bad("mail", format!("{}:{}: {why}", smtp.host, smtp.port)),
            }
        }
    })
}

async fn sms(config: &Config) -> Option<Finding> {
    Some(match config.sms.transport.as_ref()? {
        SmsTransport::Log => doubtful("sms", "goes to the log: fine for trying things"),
        SmsTransport::Folder(folder) => writable("sms", folder),
        SmsTransport::Post { url, .. } => {
            let (host, port) = (url.host_str().unwrap_or(""), url.port_or_known_default());
            match greeting(host, port.unwrap_or(443), true).await {
                Ok(()) => good("sms", format!("{host} takes connections")),
                Err(why) => bad("sms", format!("{host}: {why}")),
            }
        }
    })
}

fn writable(subject: &'static str, folder: &Path) -> Finding {
    match rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        Ok(()) => good(subject, format!("{} can be written to", folder.display())),
        Err(error) => bad(subject, format!("{}: {error}", folder.display())),
    }
}

async fn resolve(host: &str, port: u16) -> Result<String, String> {
    // An address in brackets is one already.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = timeout(PATIENCE, lookup_host((host, port))).await;
    let found = found.map_err(|_| "no answer in time".to_owned())?;
    let found: Vec<String> =
        found.map_err(|error| error.to_string())?.map(|found| found.ip().to_string()).collect();
    if found.is_empty() { Err("no address".to_owned()) } else { Ok(found.join(", ")) }
}

/// Connects; a mail server that does not begin with TLS must also greet.
async fn greeting(host: &str, port: u16, silent: bool) -> Result<(), String> {
    let talk = async {
        let mut stream = TcpStream::connect((host, port)).await?;
        if silent {
            return Ok(true);
        }
        let mut greeting = [0; 3];
        stream.read_exact(&mut greeting).await?;
        Ok::<bool, std::io::Error>(greeting == *b"220")
    };
    match timeout(PATIENCE, talk).await {
        Ok(Ok(true)) => Ok(()),
        Ok(Ok(false)) => Err("it does not greet like a mail server".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_late) => Err("no answer in time".to_owned()),
    }
}
