//! What an API learns of an API key: what it may do there, and nothing of what it may do elsewhere.

use super::{INACTIVE, IntrospectionAnswer};
use crate::{
    domain::{
        Machine as _, Timestamp, api_key::Issuer, organization::Organization, resource::Resource,
    },
    http::{
        answer::error::OAuthError,
        app::App,
        extract::client_auth::Caller,
        grants::{
            api_key::{self, KeyLookup},
            target::scopes_of,
        },
    },
};

pub(super) async fn introspect(
    app: &App,
    caller: &Caller,
    text: &str,
) -> Result<IntrospectionAnswer, OAuthError> {
    let client = caller.client();
    if client.introspects.is_empty() {
        return Ok(INACTIVE);
    }
    let resources = client.introspects.iter().map(|one| (Resource::KIND, &**one));
    let home = client.organization.as_deref().map(|slug| (Organization::KIND, slug));
    let beside: Vec<(&'static str, &str)> = resources.chain(home).collect();
    let (found, standing) = api_key::find(app, text, &beside).await?;
    let KeyLookup::Good(live) = found else { return Ok(INACTIVE) };
    api_key::note_use(app, &caller.context, &live);
    let now = app.clock.now();
    let (of_resources, of_home) = standing.split_at(client.introspects.len());
    // A client of a suspended organization may not ask either.
    if !of_home.iter().all(|one| one.is_some_and(|one| one.is_live(now))) {
        return Ok(INACTIVE);
    }
    let mut scopes: Vec<String> = Vec::new();
    for (identifier, standing) in client.introspects.iter().zip(of_resources) {
        let Some(standing) = standing.filter(|one| one.is_live(now)) else { continue };
        let resource = app.views.resources.at_version(identifier, standing.version).await?;
        let offered = resource.machine.known().into_iter().flat_map(scopes_of);
        scopes.extend(offered.filter(|one| live.permissions.covers(one)).map(str::to_owned));
    }
    let Some(home) = live.home().filter(|_| !scopes.is_empty()) else { return Ok(INACTIVE) };
    let sub = match &live.key.issuer {
        Issuer::Operator => live.key.id.clone(),
        Issuer::Membership { account, .. } => app.subject(client, account),
        Issuer::Client { client_id } => client_id.clone(),
    };
    Ok(IntrospectionAnswer::ApiKey {
        active: true,
        token_type: "api_key",
        iss: app.issuer.clone(),
        sub,
        org: home.slug.clone(),
        scope: scopes.join(" "),
        exp: live.key.expires_at.map(Timestamp::seconds),
    })
}
