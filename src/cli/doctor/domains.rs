//! Domains that organizations have proved or are yet to prove, and whether DNS can be asked for them.

use super::checks::{ASKED_WARNINGS, Finding, bad, good, of_warnings};
use crate::{
    cli::chain,
    config::Config,
    domain::Timestamp,
    outbound::{DnsResolver, TxtAnswer, TxtResolver as _},
    provisioning::DomainSurvey,
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
    let DomainSurvey { warnings, challenges } = survey;
    let mut findings = of_warnings(&warnings, "domain", "domains");
    if !challenges.is_empty() {
        findings.push(dns(config, &challenges).await);
    }
    findings
}

/// Tells whether any of these names is answered: one alone may have servers of its own that are silent.
async fn dns(config: &Config, challenges: &[String]) -> Finding {
    let resolver = Arc::new(DnsResolver::asking(config.dns.servers.clone()));
    let mut asked = JoinSet::new();
    for name in challenges {
        let (resolver, name) = (resolver.clone(), name.clone());
        asked.spawn(async move { resolver.txt_of(&name).await });
    }
    while let Some(answer) = asked.join_next().await {
        if let Ok(TxtAnswer::Records(_)) = answer {
            return good(DNS, "answers questions about domains");
        }
    }
    let name = challenges.first().map_or("", String::as_str);
    let text = format!(
        "does not answer a question about {name}: domains cannot be proved, and are lost after 30 days. \
         Look at `dns.servers`"
    );
    bad(DNS, text)
}
