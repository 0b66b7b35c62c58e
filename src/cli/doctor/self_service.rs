//! What an operator has closed to strangers, whatever the configuration says.

use super::checks::{Finding, bad, doubtful};
use crate::{
    actors::hydrate,
    cli::chain,
    config::Config,
    domain::installation::{INSTALLATION_ID, Installation, SelfService},
    store::Store,
};

/// Names what the configuration opens and an operator has closed: a file that says `open = true` misleads.
pub(super) async fn closed(config: &Config, store: &Store) -> Vec<Finding> {
    let installation = match hydrate::<Installation>(store, INSTALLATION_ID).await {
        Ok(installation) => installation.machine,
        Err(error) => return vec![bad("store", chain(&error))],
    };
    let configured = [
        (SelfService::Registration, config.registration.open),
        (SelfService::SignUp, config.sign_up.open),
    ];
    let closed =
        configured.iter().filter(|(service, open)| *open && installation.is_closed(*service));
    closed.map(|(service, _)| finding(service.name())).collect()
}

fn finding(name: &'static str) -> Finding {
    let text = format!("an operator has closed it: `porteiro {name} open --reason TEXT` opens it");
    doubtful(name, text)
}
