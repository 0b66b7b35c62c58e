//! What clients hold of others, as a tree: where it begins, and link by link who holds what now (adr/0098).
//!
//! | at the root | what hangs on it |
//! |---|---|
//! | a session | what clients were granted in it, and what was exchanged for that |
//! | an API key, or a client in its own name | what was exchanged for it |
//! | a grant that outlives its session | what was exchanged for it |
//!
//! What is shown is good at this moment: everything that a link rests on is read in one query, and its
//! scopes are narrowed once more over what limits it.

use crate::{
    domain::{
        Machine as _,
        access_token::AccessToken,
        account::Account,
        api_key::ApiKey,
        authority::Scopes,
        authorization_details::Details,
        client::Client,
        consent::Consent,
        delegation::{Administrator, Root},
        grant::{Grant, Limits, Wish},
        membership::Membership,
        organization::Organization,
        resource::Resource,
        session::Session,
        token_family::TokenFamily,
    },
    http::{
        answer::error::Problem,
        app::App,
        grants::limits,
        reading::{self, Reading},
        time::rfc3339,
    },
};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use utoipa::ToSchema;

/// A link of the tree, or what a tree begins with, and what hangs on it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Branch {
    kind: Kind,
    /// Of the session, the key or the client; of others the id by which it is ended.
    id: String,
    /// The client that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_name: Option<String>,
    /// The id of the account that it speaks for, if that is a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// Those who act one after another, the present one first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    act: Vec<String>,
    /// The slug of the organization that it speaks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    organization: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    resource: Option<String>,
    /// What it may be used for now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes: Vec<String>,
    /// RFC 9396.
    #[serde(skip_serializing_if = "Details::is_empty")]
    #[schema(value_type = Vec<Object>)]
    authorization_details: Details,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    created_at: Option<String>,
    /// When it is over, unless it is ended before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<String>,
    /// What ends with it.
    #[schema(no_recursion)]
    holds: Vec<Branch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Session,
    ApiKey,
    /// A client in its own name.
    Client,
    /// What a person has granted to a client.
    Grant,
    /// What a client holds for another party.
    Delegation,
}

/// Where a tree begins, where that is no grant.
type Origin = (Kind, String);

struct Link {
    parents: Vec<String>,
    origin: Option<Origin>,
    branch: Branch,
}

/// Links that are good now.
#[derive(Default)]
pub struct DelegationTree {
    links: Vec<Link>,
    seen: HashSet<String>,
}

impl DelegationTree {
    /// Adds a family, if what it stands for is good now; tells whether it is.
    pub async fn add(
        &mut self,
        app: &App,
        id: &str,
        family: &TokenFamily,
    ) -> Result<bool, Problem> {
        if self.has(id) {
            return Ok(true);
        }
        let (Some(grant), Some(born_at)) = (family.grant(), family.born_at()) else {
            return Ok(false);
        };
        if family.live_until() <= app.clock.now() {
            return Ok(false);
        }
        let Some(GoodGrant { limits, client_name }) = GoodGrant::of(app, id, grant).await? else {
            return Ok(false);
        };
        let delegation = grant.delegation.as_deref();
        let act = delegation.iter().flat_map(|one| one.act.parties()).map(str::to_owned);
        let kind = if delegation.is_some() { Kind::Delegation } else { Kind::Grant };
        let branch = Branch {
            kind,
            id: id.to_owned(),
            client_id: Some(grant.client_id.clone()),
            client_name,
            account: grant.account.clone(),
            act: act.collect(),
            organization: grant.organization().map(str::to_owned),
            resource: Some(grant.audience.claim(&app.issuer).to_owned()),
            scopes: scopes_now(grant, &limits),
            authorization_details: details_now(grant, &limits),
            created_at: Some(rfc3339(born_at)),
            expires_at: Some(rfc3339(family.live_until())),
            holds: Vec::new(),
        };
        self.seen.insert(id.to_owned());
        self.links.push(Link { parents: grant.parents.clone(), origin: origin(grant), branch });
        Ok(true)
    }

    fn has(&self, id: &str) -> bool {
        self.seen.contains(id)
    }

    /// Tells whether a link is there, and a client holds it for another.
    pub fn holds_for(&self, client_id: &str, id: &str) -> bool {
        let is_it = |branch: &Branch| {
            branch.kind == Kind::Delegation
                && branch.id == id
                && branch.client_id.as_deref() == Some(client_id)
        };
        self.has(id) && self.links.iter().any(|link| is_it(&link.branch))
    }

    /// Puts each link below the nearest one that it rests on.
    pub fn grown(self) -> Vec<Branch> {
        let mut links = self.links;
        // Each is put away before those above it are.
        links.sort_by_key(|link| link.parents.len());
        let places: HashMap<String, usize> =
            links.iter().enumerate().map(|(place, link)| (link.branch.id.clone(), place)).collect();
        let mut roots: Vec<(Option<Origin>, Branch)> = Vec::new();
        while let Some(Link { parents, origin, mut branch }) = links.pop() {
            sort(&mut branch.holds);
            let above = parents.iter().rev().find_map(|id| places.get(id).copied());
            match above.and_then(|place| links.get_mut(place)) {
                Some(parent) => parent.branch.holds.push(branch),
                None => roots.push((origin, branch)),
            }
        }
        gathered(roots)
    }
}

/// Gathers the roots below what they begin with.
fn gathered(roots: Vec<(Option<Origin>, Branch)>) -> Vec<Branch> {
    let mut branches: Vec<Branch> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (origin, branch) in roots {
        let Some((kind, id)) = origin else {
            branches.push(branch);
            continue;
        };
        let place = *places.entry(format!("{kind:?} {id}")).or_insert(branches.len());
        match branches.get_mut(place) {
            Some(begun) => begun.holds.push(branch),
            None => branches.push(Branch::beginning(kind, id, branch)),
        }
    }
    for branch in &mut branches {
        sort(&mut branch.holds);
    }
    sort(&mut branches);
    branches
}

impl Branch {
    fn beginning(kind: Kind, id: String, first: Self) -> Self {
        let client_id = (kind == Kind::Client).then(|| id.clone());
        Self { client_id, holds: vec![first], ..Self::bare(kind, id) }
    }

    /// One of which nothing but its id is told.
    fn bare(kind: Kind, id: String) -> Self {
        Self {
            kind,
            id,
            client_id: None,
            client_name: None,
            account: None,
            act: Vec::new(),
            organization: None,
            resource: None,
            scopes: Vec::new(),
            authorization_details: Details::default(),
            created_at: None,
            expires_at: None,
            holds: Vec::new(),
        }
    }
}

/// The oldest first.
fn sort(branches: &mut [Branch]) {
    branches.sort_by(|one, other| (&one.created_at, &one.id).cmp(&(&other.created_at, &other.id)));
}

/// Returns what a grant rests on that is no grant.
fn origin(grant: &Grant) -> Option<Origin> {
    if let Some(session) = grant.bound_session() {
        return Some((Kind::Session, session.to_owned()));
    }
    let delegation = grant.delegation.as_deref()?;
    match &delegation.root {
        Root::ApiKey { id, .. } => Some((Kind::ApiKey, id.clone())),
        Root::Token(_) => delegation.subject.clone().map(|client| (Kind::Client, client)),
    }
}

/// A grant that is good now.
struct GoodGrant {
    limits: Limits,
    /// Of the client that holds it.
    client_name: Option<String>,
}

impl GoodGrant {
    /// Reads whether everything is live that a grant rests on, in one query, and what limits it.
    async fn of(app: &App, id: &str, grant: &Grant) -> Result<Option<Self>, Problem> {
        let delegation = grant.delegation.as_deref();
        let consents: Vec<String> = grant.consents().collect();
        let mut asked: Vec<(&'static str, &str)> = Vec::new();
        if let Some(Root::Token(root)) = delegation.map(|one| &one.root) {
            asked.push((AccessToken::KIND, root));
        }
        let tokens = asked.len();
        asked.extend(consents.iter().map(|id| (Consent::KIND, id.as_str())));
        let optional = asked.len();
        asked.extend(grant.clients().map(|id| (Client::KIND, id)));
        asked.extend(grant.organization().map(|slug| (Organization::KIND, slug)));
        let audience = grant.audience.claim(&app.issuer);
        let is_api = audience != app.issuer && !app.is_built_in(audience);
        asked.extend(is_api.then_some((Resource::KIND, audience)));
        let families = grant.parents.iter().map(String::as_str).chain([id]);
        asked.extend(families.map(|id| (TokenFamily::KIND, id)));
        asked.extend(grant.bound_session().map(|id| (Session::KIND, id)));
        asked.extend(grant.account.as_deref().map(|id| (Account::KIND, id)));
        let membership = grant.membership.as_ref().and_then(|one| one.id.as_deref());
        asked.extend(membership.map(|id| (Membership::KIND, id)));
        if let Some(Administrator { account, membership, .. }) =
            delegation.and_then(|one| one.administrator.as_ref())
        {
            asked.extend([(Account::KIND, account.as_str()), (Membership::KIND, membership)]);
        }
        if let Some(Root::ApiKey { id, parents }) = delegation.map(|one| &one.root) {
            asked.extend(parents.iter().chain([id]).map(|id| (ApiKey::KIND, id.as_str())));
        }
        let found = app.store.liveness(&asked).await?;
        let standing = reading::LivenessReading { asked: &asked, found: &found };
        if !standing.holds(tokens, optional, app.clock.now()) {
            return Ok(None);
        }
        let reading = Reading::At(&standing);
        let client = reading.see(&app.views.clients, &grant.client_id).await?;
        let Some(client) = client.machine.known() else { return Ok(None) };
        let limits = limits::gather(app, client, grant, reading).await?.limits;
        let client_name = client.metadata.client_name.clone();
        Ok((!limits.over).then_some(Self { limits, client_name }))
    }
}

/// Returns those of the scopes that nothing has taken away.
fn scopes_now(grant: &Grant, limits: &Limits) -> Vec<String> {
    let none = Details::default();
    let is_held = |scope: &&str| {
        Scopes::parse(scope).is_ok_and(|scopes| {
            let wish = Wish { scopes: &scopes, details: &none };
            limits.narrow(grant.organization(), &grant.audience, wish).is_ok()
        })
    };
    grant.scopes.iter().filter(is_held).map(str::to_owned).collect()
}

/// Returns the details, unless one of them can be granted no more: they are good together.
fn details_now(grant: &Grant, limits: &Limits) -> Details {
    let wish = Wish { scopes: &Scopes::default(), details: &grant.details };
    match limits.narrow(grant.organization(), &grant.audience, wish) {
        Ok(_) => grant.details.clone(),
        Err(_) => Details::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(id: &str, parents: &[&str], session: Option<&str>) -> Link {
        let created_at = Some(id.to_owned());
        let branch = Branch { created_at, ..Branch::bare(Kind::Grant, id.to_owned()) };
        let parents = parents.iter().map(|one| (*one).to_owned()).collect();
        let origin = session.map(|id| (Kind::Session, id.to_owned()));
        Link { parents, origin, branch }
    }

    fn drawn(branches: &[Branch]) -> String {
        let one = |branch: &Branch| match &*branch.holds {
            [] => branch.id.clone(),
            holds => format!("{}({})", branch.id, drawn(holds)),
        };
        branches.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_link_hangs_on_the_nearest_that_it_rests_on() {
        let links = vec![
            link("d", &["a", "b", "c"], Some("s")),
            link("a", &[], Some("s")),
            link("e", &["a"], Some("s")),
            link("b", &["a"], Some("s")),
            link("c", &["a", "b"], Some("s")),
            // What it rests on is not among them.
            link("g", &["x", "a", "y"], Some("s")),
            link("h", &["x"], Some("s")),
            link("i", &[], Some("t")),
            link("f", &[], None),
        ];
        let tree = DelegationTree { links, seen: HashSet::new() };
        assert_eq!(drawn(&tree.grown()), "s(a(b(c(d)) e g) h) t(i) f");
    }
}
