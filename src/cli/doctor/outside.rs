//! What lies beyond this machine: names and hosts; none is called that the configuration does not name.

use super::checks::{Finding, bad, doubtful, good};
use crate::{
    cli::{chain, settings::password_options},
    config::Config,
    domain::password::Password,
};
use std::time::Duration;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};
use url::Url;

/// How long a host may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Tells whether names lead to the hosts that people and programs are sent to.
pub(super) async fn names(config: &Config) -> Vec<Finding> {
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

/// Looks up the best-known leaked password, which every list has.
pub(super) async fn leaked_passwords(config: &Config) -> Option<Finding> {
    const SUBJECT: &str = "passwords";
    let check = match password_options(config) {
        Ok(options) => options.breach_check,
        Err(reason) => return Some(bad(SUBJECT, reason)),
    };
    if !check.is_on() {
        return None;
    }
    let best_known = Password::read("password").ok()?;
    Some(match check.is_breached(&best_known).await {
        Ok(true) => good(SUBJECT, "new ones are looked up among leaked ones"),
        Ok(false) => doubtful(SUBJECT, "the list of leaked ones does not have `password` on it"),
        Err(error) => bad(SUBJECT, chain(&error)),
    })
}

async fn resolve(host: &str, port: u16) -> Result<String, String> {
    // An address in brackets is one already.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let found = timeout(TIMEOUT, lookup_host((host, port))).await;
    let found = found.map_err(|_| "no answer in time".to_owned())?;
    let found: Vec<String> =
        found.map_err(|error| error.to_string())?.map(|found| found.ip().to_string()).collect();
    if found.is_empty() { Err("no address".to_owned()) } else { Ok(found.join(", ")) }
}

/// Tells whether a host takes connections.
pub(super) async fn connects(host: &str, port: u16) -> Result<(), String> {
    match timeout(TIMEOUT, TcpStream::connect((host, port))).await {
        Ok(Ok(_stream)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_late) => Err("no answer in time".to_owned()),
    }
}
