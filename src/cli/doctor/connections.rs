//! Connections to other providers, and whether those answer.

use super::checks::{ASKED_WARNINGS, Finding, bad, doubtful, good, of_warnings};
use crate::{
    cli::{chain, settings},
    config::Config,
    crypto::Vault,
    provisioning::ConnectionSurvey,
    store::Store,
};
use tokio::task::JoinSet;

const PROVIDER: &str = "provider";

pub(super) async fn all(config: &Config, store: &Store, vault: &Vault) -> Vec<Finding> {
    let survey = match ConnectionSurvey::read(store, vault, ASKED_WARNINGS).await {
        Ok(survey) => survey,
        Err(error) => return vec![bad("store", chain(&error))],
    };
    let ConnectionSurvey { warnings, providers, unasked } = survey;
    let mut findings = of_warnings(&warnings, "connection", "connections");
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
        Err(error) => doubtful(
            PROVIDER,
            format!("{name} cannot be asked: {error}. No person signs in by it until it can"),
        ),
    }));
    if unasked > 0 {
        findings.push(good(PROVIDER, format!("{unasked} more were not asked")));
    }
    findings
}
