//! Connections to other providers, and whether those answer.

use super::checks::{Finding, bad, doubtful, good};
use crate::{
    cli::{chain, settings},
    config::Config,
    crypto::Vault,
    provisioning::{ConnectionSurvey, Warning},
    store::Store,
};
use tokio::task::JoinSet;

/// How many warnings are printed.
const MOST_WARNINGS: usize = 20;

const PROVIDER: &str = "provider";

pub(super) async fn all(config: &Config, store: &Store, vault: &Vault) -> Vec<Finding> {
    let survey = match ConnectionSurvey::read(store, vault, MOST_WARNINGS + 1).await {
        Ok(survey) => survey,
        Err(error) => return vec![bad("store", chain(&error))],
    };
    let ConnectionSurvey { warnings, providers } = survey;
    let shown = warnings.iter().take(MOST_WARNINGS);
    let mut findings: Vec<Finding> =
        shown.map(|Warning { kind, id, text }| doubtful(kind, format!("{id} {text}"))).collect();
    if warnings.len() > MOST_WARNINGS {
        findings.push(doubtful("connection", "there are more connections like these"));
    }
    if providers.is_empty() {
        return findings;
    }
    // What is wrong with the setting has been said.
    let Ok(upstreams) = settings::upstreams(config) else { return findings };
    let mut asked = JoinSet::new();
    for (name, issuer) in providers {
        let upstreams = upstreams.clone();
        asked.spawn(async move { (name, upstreams.check(&issuer).await) });
    }
    let mut answers = asked.join_all().await;
    answers.sort_by(|(one, _), (other, _)| one.cmp(other));
    findings.extend(answers.into_iter().map(|(name, answer)| match answer {
        Ok(()) => good(PROVIDER, format!("{name} publishes its metadata")),
        Err(error) => doubtful(PROVIDER, format!("{name} cannot be asked: {error}")),
    }));
    findings
}
