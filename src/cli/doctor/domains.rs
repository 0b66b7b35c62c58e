//! Domains that organizations have proved or are yet to prove, and whether DNS can be asked for them.

use super::checks::{Finding, bad, doubtful, good};
use crate::{
    cli::chain,
    config::Config,
    domain::Timestamp,
    outbound::{DnsResolver, TxtAnswer, TxtResolver as _},
    provisioning::{DomainSurvey, Warning},
    store::Store,
};
use std::sync::Arc;
use tokio::task::JoinSet;

/// How many warnings are printed.
const MOST_WARNINGS: usize = 20;

const DNS: &str = "dns";

pub(super) async fn all(config: &Config, store: &Store, now: Timestamp) -> Vec<Finding> {
    let survey = match DomainSurvey::read(store, now, MOST_WARNINGS + 1).await {
        Ok(survey) => survey,
        Err(error) => return vec![bad("store", chain(&error))],
    };
    let DomainSurvey { warnings, challenges } = survey;
    let shown = warnings.iter().take(MOST_WARNINGS);
    let mut findings: Vec<Finding> =
        shown.map(|Warning { kind, id, text }| doubtful(kind, format!("{id} {text}"))).collect();
    if warnings.len() > MOST_WARNINGS {
        findings.push(doubtful("domain", "there are more domains like these"));
    }
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
