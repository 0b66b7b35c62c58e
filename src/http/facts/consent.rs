//! Remembers what a person has consented to.

use super::tries::{Stopped, Tries};
use crate::{
    domain::{
        authorization::Request,
        consent::{Command, Parties, Refusal},
    },
    http::app::App,
};

/// Remembers that a person lets the client of a request have what it asks for, for one organization.
///
/// This is durable before anything is granted on it (adr/0048): nothing is left to do once a code is
/// out, and what is granted requires it. To remember it twice changes nothing.
pub async fn remember(
    app: &App,
    request: &Request,
    account: &str,
    organization: Option<&str>,
) -> Result<(), Stopped<Refusal>> {
    let parties = parties(request, account, organization);
    let id = parties.id();
    let (scopes, audience) = (request.scopes.clone(), request.audience.clone());
    let give = Command::Give { parties, scopes, audience };
    let mut tries = Tries::new();
    while let Err(failure) = app.consents.ask(&id, give.clone()).await {
        tries.after(failure).await?;
    }
    // What was seen a moment ago did not say so.
    tries.read(app.consent_views.look_anew(&id).await).map(|_| ())
}

/// Takes a consent back, where a refusal in the same flow was first: the person is asked again.
pub async fn take_back(app: &App, request: &Request, account: &str, organization: Option<&str>) {
    let id = parties(request, account, organization).id();
    app.consents.insist(&id, Command::Withdraw).await.ok();
    app.consent_views.look_anew(&id).await.ok();
}

fn parties(request: &Request, account: &str, organization: Option<&str>) -> Parties {
    Parties {
        account: account.to_owned(),
        client_id: request.client_id.clone(),
        organization: organization.map(str::to_owned),
    }
}
