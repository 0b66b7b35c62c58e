//! Domains that organizations have proved or are yet to prove, and whether DNS can be asked for them.

use super::checks::{ASKED_WARNINGS, Finding, bad, good, of_warnings};
use crate::{
    cli::chain,
    config::Config,
    domain::{Timestamp, domain_claim::Known},
    outbound::{DnsResolver, TxtAnswer, TxtResolver as _},
    provisioning::{DomainSurvey, Warning, news_of_record},
    store::Store,
};
use std::sync::Arc;
use tokio::task::JoinSet;

const DNS: &str = "dns";

pub(super) async fn all(config: &Config, store: &Store, now: Timestamp) -> Vec<Finding> {
    let survey = match DomainSurvey::read(store, now, ASKED_WARNINGS).await {
        Ok(survey) => survey,
        Err(error) => return vec![bad("store", chain(&error))],
    };
    let DomainSurvey { warnings, asked_for, unasked } = survey;
    let mut findings = of_warnings(&warnings, "domain", "domains");
    if !asked_for.is_empty() {
        findings.extend(dns(config, &asked_for).await);
    }
    if unasked > 0 {
        findings.push(good(DNS, format!("the records of {unasked} more were not asked for")));
    }
    findings
}

/// Asks for the records of these, and tells whether any name is answered: one alone may have servers of its own that
/// are silent.
async fn dns(config: &Config, asked_for: &[Known]) -> Vec<Finding> {
    let resolver = Arc::new(DnsResolver::asking(config.dns.servers.clone()));
    let mut asked = JoinSet::new();
    for (place, known) in asked_for.iter().enumerate() {
        let (resolver, name) = (resolver.clone(), known.domain.challenge());
        asked.spawn(async move { (place, resolver.txt_of(&name).await) });
    }
    let mut answered: Vec<(usize, Vec<Vec<u8>>)> = Vec::new();
    while let Some(answer) = asked.join_next().await {
        if let Ok((place, TxtAnswer::Records(records))) = answer {
            answered.push((place, records));
        }
    }
    if answered.is_empty() {
        let name = asked_for.first().map(|known| known.domain.challenge()).unwrap_or_default();
        let text = format!(
            "does not answer a question about {name}: domains cannot be proved, and are lost after 30 days. \
             Look at `dns.servers`"
        );
        return vec![bad(DNS, text)];
    }
    answered.sort_unstable();
    let news = answered.iter().filter_map(|(place, records)| {
        let known = asked_for.get(*place)?;
        news_of_record(known, known.is_proved_by(records.iter().map(Vec::as_slice)))
    });
    let news: Vec<Warning> = news.collect();
    let mut findings = vec![good(DNS, "answers questions about domains")];
    findings.extend(of_warnings(&news, "domain", "domains"));
    findings
}
