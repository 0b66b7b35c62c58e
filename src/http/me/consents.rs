//! `/me/consents`: which clients act for the person, and how they are stopped.
//!
//! Clients of which the person was asked are listed with what was consented to; those that are asked
//! about every time, or never, with what they hold now. To withdraw begins another epoch of the consent:
//! every grant of the former one has ended with that commit (adr/0081).

use super::{EntryId, Items, caller::SignedIn};
use crate::{
    domain::{
        Machine as _, Timestamp,
        account::Known,
        authority::Scopes,
        consent::{CONSENTS, Command, Consent, Parties, Terms},
        token_family::{self, FAMILIES, HELD_BY_OTHERS, TokenFamily},
    },
    http::{
        answer::error::Problem,
        app::App,
        facts::{limits, reading::Reading},
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An id holds a slug and the id of a client.
const LONGEST_ID: usize = 1_024;

/// As many grants that were passed on are looked at: they live for minutes.
const MOST_PASSED_ON: u32 = 1_000;

#[derive(Serialize)]
pub struct Connected {
    id: String,
    client: Party,
    /// The slug of the organization that the client acts in.
    #[serde(skip_serializing_if = "Option::is_none")]
    organization: Option<String>,
    scopes: Vec<String>,
    /// The claims that it may learn beside those of the scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<String>,
    /// The clients that passed on to it what it holds (adr/0088).
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    through: BTreeSet<String>,
    /// The person is not asked again for as much.
    remembered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    /// When the client was last let in, as far as something of that is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_authorized_at: Option<String>,
}

#[derive(Serialize)]
struct Party {
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logo_uri: Option<String>,
}

/// What is held between a person and a client in an organization.
#[derive(Default)]
struct Held {
    given: Option<(Terms, Timestamp)>,
    /// Of grants that are good.
    scopes: Scopes,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    families: Vec<String>,
    /// The clients that passed theirs on to it.
    through: BTreeSet<String>,
}

/// By client and organization.
type All = BTreeMap<(String, Option<String>), Held>;

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<Connected>, Problem> {
    let known = caller.known(&app).await?;
    Ok(Items { items: of_account(&app, &known).await? })
}

/// Lists the clients that act for a person.
pub async fn of_account(app: &App, known: &Known) -> Result<Vec<Connected>, Problem> {
    let mut items = Vec::new();
    for ((client_id, organization), held) in gather(app, known).await? {
        let seen = app.clients.look(&client_id).await?;
        let metadata = seen.machine.held().map(|client| &client.metadata);
        let client = Party {
            client_name: metadata.and_then(|one| one.client_name.clone()),
            client_uri: metadata.and_then(|one| one.client_uri.clone()),
            logo_uri: metadata.and_then(|one| one.logo_uri.clone()),
            client_id,
        };
        let (terms, given_at) = held.given.unzip();
        let scopes = terms.as_ref().map_or(&held.scopes, |terms| &terms.scopes);
        items.push(Connected {
            id: id_of(&client.client_id, organization.as_deref()),
            scopes: scopes.iter().map(str::to_owned).collect(),
            remembered: terms.is_some(),
            claims: terms.map(|terms| terms.claims).unwrap_or_default(),
            created_at: given_at.or(held.first).map(rfc3339),
            last_authorized_at: held.last.map(rfc3339),
            through: held.through,
            client,
            organization,
        });
    }
    Ok(items)
}

/// Ends everything that a client may do for the person in one organization, or in none.
pub async fn delete(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    let (client_id, organization) = read_id(&id.read(LONGEST_ID)?).ok_or(Problem::NOT_FOUND)?;
    let known = caller.known(&app).await?;
    let mut held = gather(&app, &known).await?;
    let held = held.remove(&(client_id.clone(), organization.clone())).ok_or(Problem::NOT_FOUND)?;
    let parties = Parties { account: known.id.clone(), client_id, organization };
    withdraw(&app, &caller.context, &parties).await?;
    // They are good for nothing any more; now they leave the lists as well.
    for family in held.families {
        app.families.tell(&caller.context, &family, token_family::Command::End);
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn withdraw(
    app: &App,
    context: &crate::domain::Context,
    parties: &Parties,
) -> Result<(), Problem> {
    let (id, command) = (parties.id(), Command::Withdraw { parties: parties.clone() });
    let asked = app.consents.ask(context, &id, command).await;
    app.consent_views.forget(&id);
    match asked {
        Ok(_) => Ok(()),
        Err(failure) if failure.may_have_happened() => Err(Problem::OUTCOME_UNKNOWN),
        Err(_) => Err(Problem::UNAVAILABLE),
    }
}

/// Reads every consent of a person, and every grant that is good.
async fn gather(app: &App, known: &Known) -> Result<All, Problem> {
    let (mut all, now) = (All::new(), app.clock.now());
    for entry in &*app.consent_views.list_if(true, CONSENTS, &known.id).await? {
        if let Consent::Given { parties, terms, at, .. } = &entry.machine {
            let held = all.entry((parties.client_id.clone(), parties.organization.clone()));
            held.or_default().given = Some((terms.clone(), *at));
        }
    }
    let own = app.family_views.list_if(true, FAMILIES, &known.id).await?;
    let passed_on = app.family_views.page(HELD_BY_OTHERS, &known.id, ("", ""), MOST_PASSED_ON);
    let passed_on = passed_on.await?;
    // Of many grants through the same clients each thing is read once.
    let mut epochs: HashMap<(Vec<&str>, Option<&str>), Option<u64>> = HashMap::new();
    for entry in own.iter().chain(passed_on.iter().map(|(_, entry)| entry)) {
        let family: &TokenFamily = &entry.machine;
        let (Some(grant), Some(born_at)) = (family.grant(), family.born_at()) else { continue };
        let rests_on = (grant.clients().collect::<Vec<_>>(), grant.organization());
        let epoch = if let Some(epoch) = epochs.get(&rests_on) {
            *epoch
        } else {
            let epoch = limits::epoch(app, grant, Reading::Anew).await?;
            epochs.insert(rests_on, epoch);
            epoch
        };
        if epoch != Some(grant.epoch) || family.live_until() <= now {
            continue;
        }
        let organization = grant.organization().map(str::to_owned);
        let held = all.entry((grant.client_id.clone(), organization)).or_default();
        held.scopes = held.scopes.with(&grant.scopes);
        held.first = Some(held.first.map_or(born_at, |first| first.min(born_at)));
        held.last = held.last.max(Some(born_at));
        held.families.push(entry.id.clone());
        let through = grant.delegation.iter().flat_map(|one| &one.through);
        held.through.extend(through.cloned());
    }
    Ok(all)
}

/// The id of an entry says which client and organization it is about; whose it is says the session.
fn id_of(client_id: &str, organization: Option<&str>) -> String {
    // A slug has no colon; a client's id may hold anything.
    URL_SAFE_NO_PAD.encode(format!("{}:{client_id}", organization.unwrap_or_default()))
}

fn read_id(id: &str) -> Option<(String, Option<String>)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(id).ok()?).ok()?;
    let (organization, client_id) = text.split_once(':')?;
    let organization = (!organization.is_empty()).then(|| organization.to_owned());
    // A database could not even be asked about this.
    (!text.contains('\0')).then(|| (client_id.to_owned(), organization))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_says_which_client_and_where() {
        for (client_id, organization) in [("app", None), ("a:b/ç", Some("acme"))] {
            let id = id_of(client_id, organization);
            let read = read_id(&id).unwrap();
            assert_eq!((read.0.as_str(), read.1.as_deref()), (client_id, organization));
        }
        let nul = URL_SAFE_NO_PAD.encode("acme:a\0");
        for bad in ["", "A", "YXBw", "_w", nul.as_str()] {
            assert!(read_id(bad).is_none(), "{bad:?}");
        }
    }
}
