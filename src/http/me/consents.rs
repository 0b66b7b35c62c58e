//! `/me/consents`: which clients act for the person, and how they are stopped.
//!
//! Clients of which the person was asked are listed with what was consented to; those that are asked
//! about every time, or never, with what they hold now. To withdraw begins another epoch of the consent:
//! every grant of the former one has ended with that commit (adr/0081).

use super::{Cursor, EntryId, Items, caller::SignedIn, step_up};
use crate::{
    actors::{Bound, Entry, View},
    domain::{
        ClientRank, Machine, Timestamp,
        account::Known,
        authority::Scopes,
        consent::{CONSENTS, Command, Consent, Parties, Terms},
        token_family::{self, FAMILIES, HELD_BY_OTHERS, MOST_FAMILIES, TokenFamily},
    },
    http::{answer::error::Problem, app::App, grants::limits, reading::Reading, time::rfc3339},
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

/// As many clients are on a page, and as many pages in an export.
const CLIENTS: usize = 100;
const PAGES: usize = 3;

/// As many consents, and grants, of one client are looked at: those that were used last say what it holds.
const OF_ONE: Bound = Bound::new(20);

/// As many are looked at to find the next client.
const FEW: Bound = Bound::new(2);

/// The same where they are ended: as many as a client can hold.
const ALL_OF_ONE: Bound = Bound::new(MOST_FAMILIES);

/// As many grants that were passed on are looked at: they live for minutes.
const PASSED_ON: Bound = Bound::new(500);

#[derive(Serialize)]
pub struct ConsentView {
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

/// A client that is connected to a person in an organization, and what it holds.
#[derive(Default)]
struct ConnectedClient {
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
type All = BTreeMap<(String, Option<String>), ConnectedClient>;

pub async fn list(
    State(app): State<App>,
    cursor: Cursor,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<ConsentView>, Problem> {
    let known = caller.known(&app).await?;
    let (after, _) = cursor.read(CONSENTS)?;
    let (mut all, next) = page(&app, &known, after).await?;
    all.retain(|(_, organization), _| caller.reaches(organization.as_deref()));
    let next_cursor = next.map(|after| Cursor::after(CONSENTS, (&after, "")));
    Ok(Items { items: shown(&app, all).await?, next_cursor })
}

/// Lists the clients that act for a person, three pages of them at most.
pub async fn of_account(app: &App, known: &Known) -> Result<Vec<ConsentView>, Problem> {
    let (mut items, mut after) = (Vec::new(), String::new());
    for _ in 0..PAGES {
        let (all, next) = page(app, known, after).await?;
        items.append(&mut shown(app, all).await?);
        let Some(next) = next else { break };
        after = next;
    }
    Ok(items)
}

async fn shown(app: &App, all: All) -> Result<Vec<ConsentView>, Problem> {
    let mut items = Vec::new();
    for ((client_id, organization), held) in all {
        let seen = app.views.clients.look(&client_id).await?;
        let metadata = seen.machine.held().map(|client| &client.metadata);
        let client = Party {
            client_name: metadata.and_then(|one| one.client_name.clone()),
            client_uri: metadata.and_then(|one| one.client_uri.clone()),
            logo_uri: metadata.and_then(|one| one.logo_uri.clone()),
            client_id,
        };
        let (terms, given_at) = held.given.unzip();
        let scopes = terms.as_ref().map_or(&held.scopes, |terms| &terms.scopes);
        items.push(ConsentView {
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
    SignedIn { mut caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    if let Some(refused) = step_up::demand_own(&app, &mut caller).await? {
        return Ok(refused);
    }
    let (client_id, organization) = read_id(&id.read(LONGEST_ID)?).ok_or(Problem::NOT_FOUND)?;
    let known = caller.known(&app).await?;
    let mut reader = Reader::new(&app, &known).await?;
    reader.add(&client_id, ALL_OF_ONE).await?;
    let held = reader.all.remove(&(client_id.clone(), organization.clone()));
    let held = held.ok_or(Problem::NOT_FOUND)?;
    let parties = Parties { account: known.id.clone(), client_id, organization };
    withdraw(&app, &caller.context, &parties).await?;
    // They are good for nothing any more; now they leave the lists as well.
    for family in held.families {
        app.entities.families.tell(&caller.context, &family, token_family::Command::End);
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn withdraw(
    app: &App,
    context: &crate::domain::Context,
    parties: &Parties,
) -> Result<(), Problem> {
    let (id, command) = (parties.id(), Command::Withdraw { parties: parties.clone() });
    let asked = app.entities.consents.ask(context, &id, command).await;
    app.views.consents.forget(&id);
    match asked {
        Ok(_) => Ok(()),
        Err(failure) if failure.may_have_happened() => Err(Problem::OUTCOME_UNKNOWN),
        Err(_) => Err(Problem::UNAVAILABLE),
    }
}

/// Reads a page of clients after a rank, and says after which rank the next one begins.
async fn page(
    app: &App,
    known: &Known,
    mut after: String,
) -> Result<(All, Option<String>), Problem> {
    let mut reader = Reader::new(app, known).await?;
    for _ in 0..CLIENTS {
        let Some(client_id) = reader.next_client(&after).await? else {
            return Ok((reader.all, None));
        };
        reader.add(&client_id, OF_ONE).await?;
        after = ClientRank::of(&client_id).below();
    }
    let more = reader.next_client(&after).await?.is_some();
    Ok((reader.all, more.then_some(after)))
}

/// Reads what clients hold of a person, one client after another, however much each of them holds.
struct Reader<'a> {
    app: &'a App,
    account: &'a str,
    all: All,
    /// What was passed on to each client.
    passed_on: BTreeMap<ClientRank, Vec<Entry<TokenFamily>>>,
    /// Of many grants through the same clients each thing is read once.
    epochs: HashMap<(Vec<String>, Option<String>), Option<u64>>,
}

impl<'a> Reader<'a> {
    async fn new(app: &'a App, known: &'a Known) -> Result<Self, Problem> {
        let account = known.id.as_str();
        let mut passed_on: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let listed = app.views.families.page(HELD_BY_OTHERS, account, ("", ""), PASSED_ON);
        for (_, entry) in listed.await? {
            if let Some(grant) = entry.machine.grant() {
                passed_on.entry(ClientRank::of(&grant.client_id)).or_default().push(entry);
            }
        }
        Ok(Self { app, account, all: All::new(), passed_on, epochs: HashMap::new() })
    }

    /// Returns the first client beyond a rank that holds something, or of which the person was asked.
    async fn next_client(&self, after: &str) -> Result<Option<String>, Problem> {
        let Self { app, account, passed_on, .. } = self;
        let holder = |family: &TokenFamily| Some(family.grant()?.client_id.clone());
        let asked = |consent: &Consent| match consent {
            Consent::Given { parties, .. } => Some(parties.client_id.clone()),
            Consent::Unborn | Consent::Withdrawn { .. } => None,
        };
        let mut others = passed_on.iter().filter(|(rank, _)| rank.above() > after);
        let found = [
            first(&app.views.families, (FAMILIES, account), after, holder).await?,
            first(&app.views.consents, (CONSENTS, account), after, asked).await?,
            others.find_map(|(_, entries)| holder(&entries.first()?.machine)),
        ];
        Ok(found.into_iter().flatten().min_by_key(|client_id| ClientRank::of(client_id)))
    }

    /// Adds what the person has consented to of a client, and those of its grants that are good.
    async fn add(&mut self, client_id: &str, bound: Bound) -> Result<(), Problem> {
        let rank = ClientRank::of(client_id);
        let below = rank.below();
        let within = ((rank.above(), ""), Some(below.as_str()));
        let list = (CONSENTS, self.account);
        for (_, entry) in self.app.views.consents.page_below(list, within, bound).await? {
            if let Consent::Given { parties, terms, at, .. } = &entry.machine {
                let held =
                    self.all.entry((parties.client_id.clone(), parties.organization.clone()));
                held.or_default().given = Some((terms.clone(), *at));
            }
        }
        let list = (FAMILIES, self.account);
        let own = self.app.views.families.page_below(list, within, bound).await?;
        let passed_on = self.passed_on.remove(&rank).unwrap_or_default();
        for entry in own.into_iter().map(|(_, entry)| entry).chain(passed_on) {
            self.add_family(&entry).await?;
        }
        Ok(())
    }

    async fn add_family(&mut self, entry: &Entry<TokenFamily>) -> Result<(), Problem> {
        let family = &entry.machine;
        let (Some(grant), Some(born_at)) = (family.grant(), family.born_at()) else {
            return Ok(());
        };
        let organization = grant.organization().map(str::to_owned);
        let rests_on = (grant.clients().map(str::to_owned).collect(), organization.clone());
        let epoch = if let Some(epoch) = self.epochs.get(&rests_on) {
            *epoch
        } else {
            let epoch = limits::epoch(self.app, grant, Reading::Anew).await?;
            let epoch = epoch.map(|seen| seen.epoch);
            self.epochs.insert(rests_on, epoch);
            epoch
        };
        if epoch != Some(grant.epoch) || family.live_until() <= self.app.clock.now() {
            return Ok(());
        }
        let held = self.all.entry((grant.client_id.clone(), organization)).or_default();
        held.scopes = held.scopes.with(&grant.scopes);
        held.first = Some(held.first.map_or(born_at, |first| first.min(born_at)));
        held.last = held.last.max(Some(born_at));
        held.families.push(entry.id.clone());
        let through = grant.delegation.iter().flat_map(|one| &one.through);
        held.through.extend(through.cloned());
        Ok(())
    }
}

/// Returns what the first entries of a list beyond a rank say; one that has ended a moment ago says nothing.
async fn first<M: Machine>(
    view: &View<M>,
    (list, owner): (&'static str, &str),
    after: &str,
    says: impl Fn(&M) -> Option<String>,
) -> Result<Option<String>, Problem> {
    let mut after = (after.to_owned(), String::new());
    for bound in [FEW, OF_ONE, ALL_OF_ONE] {
        let page = view.page(list, owner, (&after.0, &after.1), bound).await?;
        let said = page.iter().find_map(|(_, entry)| says(&entry.machine));
        let Some((rank, last)) = page.last().filter(|_| said.is_none()) else { return Ok(said) };
        after = (rank.clone(), last.id.clone());
    }
    Ok(None)
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
