//! What a section shows, read from what its operation answers.

use super::{
    super::{
        delegation_rows::{self, Branch, Row},
        shell::Shell,
    },
    Section,
    client::Client,
    connection::{Connection, Trial},
    domain::Domain,
    href,
    scim::Scim,
};
use crate::{
    http::{
        answer::error::Problem,
        api::{self, MemberInSession},
        extract::form::Form,
    },
    wording::quotable,
};
use axum::response::Response;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use url::form_urlencoded;

/// The view of a section: what is drawn of it.
pub enum SectionView {
    Nothing,
    Members {
        items: Vec<Member>,
        by_email: bool,
    },
    Member {
        one: Member,
        tag: String,
        roles: RoleField,
    },
    Invitations {
        items: Vec<Invitation>,
        roles: RoleField,
    },
    Roles {
        items: Vec<Role>,
        tag: String,
    },
    Role {
        one: Role,
        tag: String,
    },
    Keys(Vec<Key>),
    Scim(Scim),
    Clients(Vec<Client>),
    /// A client, if it is one of the organization's own, what it holds, and what it did.
    Client {
        id: String,
        one: Option<Client>,
        rows: Vec<Row>,
        activity: Option<Vec<Entry>>,
    },
    Domains(Vec<Domain>),
    Connections(Vec<Connection>),
    Connection {
        one: Box<Connection>,
        tag: String,
        trial: Option<Trial>,
    },
    Trail {
        items: Vec<Entry>,
        filter: Filter,
        export: String,
    },
    /// Where the organization can be taken along.
    Data {
        export: String,
    },
}

#[derive(Deserialize)]
pub struct Member {
    pub id: String,
    pub account: String,
    pub email: Option<String>,
    pub roles: Vec<String>,
    pub enabled: bool,
    pub created_at: String,
    #[serde(skip)]
    pub href: String,
}

impl Member {
    /// What the member is called on the page.
    pub fn name(&self) -> &str {
        self.email.as_deref().unwrap_or(&self.account)
    }
}

#[derive(Deserialize)]
pub struct Invitation {
    pub id: String,
    pub email: String,
    pub roles: Vec<String>,
    pub expires_at: String,
}

#[derive(Deserialize)]
pub struct Role {
    pub name: String,
    pub permissions: Vec<String>,
    #[serde(skip)]
    pub href: String,
}

#[derive(Deserialize)]
pub struct Key {
    pub id: String,
    #[serde(deserialize_with = "quoted")]
    pub name: String,
    pub permissions: Vec<String>,
    pub created_at: String,
    pub expires_at: Option<String>,
    pub last_used_at: Option<String>,
    pub revoked_at: Option<String>,
}

#[derive(Deserialize)]
pub struct Entry {
    pub at: String,
    pub event: String,
    pub subject: Subject,
    pub detail: Value,
}

#[derive(Deserialize)]
pub struct Subject {
    pub kind: String,
    pub id: String,
}

/// What the trail is filtered by.
pub struct Filter {
    pub event: String,
    pub since: String,
    pub until: String,
}

/// The roles that a form gives: a box for each, or a text where there are too many or they are not seen.
pub struct RoleField {
    pub choices: Vec<RoleChoice>,
    pub text: String,
}

pub struct RoleChoice {
    pub name: String,
    pub held: bool,
}

/// Reads a text that people have chosen, as it is shown.
pub(super) fn quoted<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    String::deserialize(from).map(|text| quotable(&text))
}

/// A form has so many boxes at most.
const MOST_BOXES: usize = 50;

/// What is shown, and where the next page is.
pub struct LoadedSection {
    pub shown: SectionView,
    pub next: Option<String>,
}

/// A page of a list, as operations answer it.
#[derive(Deserialize)]
pub(super) struct ListPage<T> {
    pub(super) items: Vec<T>,
    pub(super) next_cursor: Option<String>,
    #[serde(skip)]
    tag: String,
}

/// A request for a section.
pub struct SectionRequest<'a> {
    pub page: &'a Shell<'a>,
    pub member: &'a MemberInSession,
    pub slug: &'a str,
    pub section: Section,
    pub query: &'a Form,
    /// Whether forms are drawn.
    pub changes: bool,
}

impl SectionRequest<'_> {
    /// Reads what the section shows.
    pub async fn load(&self) -> Result<LoadedSection, Problem> {
        let id = self.query.get("id");
        match (self.section, id) {
            (Section::Members, Some(id)) => self.one_member(id).await,
            (Section::Roles, Some(id)) => {
                let (one, tag) = self.one("getRole", ("role", id)).await?;
                Ok(LoadedSection { shown: SectionView::Role { one, tag }, next: None })
            }
            (Section::Members, None) => {
                let mut list: ListPage<Member> = self.list(&["email"]).await?;
                for one in &mut list.items {
                    one.href = self.href_of(&one.id);
                }
                let by_email = self.member.may("listAccounts");
                let shown = SectionView::Members { items: list.items, by_email };
                Ok(self.loaded(shown, list.next_cursor))
            }
            (Section::Invitations, _) => {
                let list: ListPage<Invitation> = self.list(&[]).await?;
                let roles = self.role_field(&[]).await?;
                let shown = SectionView::Invitations { items: list.items, roles };
                Ok(self.loaded(shown, list.next_cursor))
            }
            (Section::Roles, None) => {
                let mut list: ListPage<Role> = self.list(&[]).await?;
                for one in &mut list.items {
                    one.href = self.href_of(&one.name);
                }
                let shown = SectionView::Roles { items: list.items, tag: list.tag };
                Ok(self.loaded(shown, list.next_cursor))
            }
            (Section::Keys, _) => {
                let list: ListPage<Key> = self.list(&[]).await?;
                Ok(self.loaded(SectionView::Keys(list.items), list.next_cursor))
            }
            (Section::Scim, _) => self.scim().await,
            (Section::Clients, Some(id)) => self.one_client(id).await,
            (Section::Clients, None) => {
                let mut list: ListPage<Client> = self.list(&[]).await?;
                for one in &mut list.items {
                    one.href = self.href_of(&one.client_id);
                }
                Ok(self.loaded(SectionView::Clients(list.items), list.next_cursor))
            }
            (Section::Domains, _) => {
                let list: ListPage<Domain> = self.list(&[]).await?;
                Ok(self.loaded(SectionView::Domains(list.items), list.next_cursor))
            }
            (Section::Connections, Some(id)) => {
                let (one, tag) = self.one("getConnection", ("connection", id)).await?;
                let trial = self.trial(id).await?;
                Ok(LoadedSection { shown: SectionView::Connection { one, tag, trial }, next: None })
            }
            (Section::Connections, None) => {
                let mut list: ListPage<Connection> = self.list(&[]).await?;
                for one in &mut list.items {
                    one.href = self.href_of(&one.id);
                }
                Ok(self.loaded(SectionView::Connections(list.items), list.next_cursor))
            }
            (Section::Data, _) => {
                // The guard refuses a person without the permission, and the trail says so.
                self.export_organization().await.map(drop)?;
                let export = self.href(&[("export", "toml")], &[]);
                Ok(LoadedSection { shown: SectionView::Data { export }, next: None })
            }
            (Section::Trail, _) => {
                let list: ListPage<Entry> = self.list(&FILTERS).await?;
                let shown = |name| self.query.get(name).unwrap_or_default().to_owned();
                let filter =
                    Filter { event: shown("event"), since: shown("since"), until: shown("until") };
                let export = self.href(&[("export", "jsonl")], &FILTERS);
                let shown = SectionView::Trail { items: list.items, filter, export };
                Ok(self.loaded(shown, list.next_cursor))
            }
        }
    }

    async fn one_member(&self, id: &str) -> Result<LoadedSection, Problem> {
        let (one, tag): (Member, String) = self.one("getMember", ("membership", id)).await?;
        let roles = self.role_field(&one.roles).await?;
        Ok(LoadedSection { shown: SectionView::Member { one, tag, roles }, next: None })
    }

    /// The last trial of a connection, for those who may try it.
    async fn trial(&self, id: &str) -> Result<Option<Trial>, Problem> {
        if !self.member.may("getConnectionTest") {
            return Ok(None);
        }
        match self.one("getConnectionTest", ("connection", id)).await {
            Ok((trial, _)) => Ok(Some(trial)),
            Err(problem) if problem.code == "not_found" => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// A client that acts here may be the operator's: what it holds is shown all the same.
    async fn one_client(&self, id: &str) -> Result<LoadedSection, Problem> {
        let one = match self.one("getClient", ("client_id", id)).await {
            Ok((one, _)) => Some(one),
            Err(problem) if problem.code == "not_found" => None,
            Err(problem) => return Err(problem),
        };
        let cursor = self.query.get("cursor");
        let pairs = cursor.map(|cursor| ("cursor".to_owned(), cursor.to_owned()));
        let of_client = [("client_id", id)];
        let pairs: Vec<(String, String)> = pairs.into_iter().collect();
        let held: ListPage<Branch> =
            self.listed_of("listDelegationTrees", &of_client, &pairs).await?;
        let activity = if self.member.may("listClientActivity") {
            let list: ListPage<Entry> =
                self.listed_of("listClientActivity", &of_client, &[]).await?;
            Some(list.items)
        } else {
            None
        };
        let rows = delegation_rows::rows(self.page, &held.items);
        let next = held.next_cursor;
        let next = next.map(|cursor| self.href(&[("id", id), ("cursor", &cursor)], &[]));
        let shown = SectionView::Client { id: id.to_owned(), one, rows, activity };
        Ok(LoadedSection { shown, next })
    }

    /// Answers with every entry of the trail that the filter admits, as a program gets them.
    pub async fn export_trail(&self) -> Result<Response, Problem> {
        let pairs = self.filters(&FILTERS);
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let asked = api::PageCall { query, ..api::PageCall::default() };
        self.member.send("exportAuditTrail", asked).await
    }

    /// Answers with the organization as a provisioning file, as a program gets it.
    pub async fn export_organization(&self) -> Result<Response, Problem> {
        self.member.send("exportOrganization", api::PageCall::default()).await
    }

    /// The roles that can be given, those held marked.
    async fn role_field(&self, held: &[String]) -> Result<RoleField, Problem> {
        let text = held.join(" ");
        let mut choices = Vec::new();
        if self.changes && self.member.may("listRoles") {
            let pairs = [("limit".to_owned(), MOST_BOXES.to_string())];
            let list: ListPage<Role> = self.listed("listRoles", &pairs).await?;
            let is_all = list.next_cursor.is_none();
            choices.extend(list.items.into_iter().map(|role| role.name).filter(|_| is_all));
            // A role that is held, and that the organization has no more, is kept until it is taken.
            let gone = held.iter().filter(|one| is_all && !choices.contains(one));
            let gone: Vec<String> = gone.cloned().collect();
            choices.extend(gone);
            if choices.len() > MOST_BOXES {
                choices.clear();
            }
        }
        let choice = |name: String| RoleChoice { held: held.contains(&name), name };
        Ok(RoleField { choices: choices.into_iter().map(choice).collect(), text })
    }

    async fn one<T: DeserializeOwned>(
        &self,
        operation: &str,
        (name, id): (&str, &str),
    ) -> Result<(T, String), Problem> {
        let params = vec![(name.to_owned(), id.to_owned())];
        let asked = api::PageCall { params, ..api::PageCall::default() };
        let answered = self.member.call(operation, asked).await?;
        let one = serde_json::from_value(answered.body).map_err(|_| Problem::UNAVAILABLE)?;
        Ok((one, answered.tag.unwrap_or_default()))
    }

    /// Reads the page of the section's list that is asked for, filtered by these parameters.
    async fn list<T: DeserializeOwned>(&self, filters: &[&str]) -> Result<ListPage<T>, Problem> {
        let mut pairs = self.filters(filters);
        let cursor = self.query.get("cursor");
        pairs.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.to_owned())));
        self.listed(self.section.lists(), &pairs).await
    }

    pub(super) async fn listed<T: DeserializeOwned>(
        &self,
        operation: &str,
        pairs: &[(String, String)],
    ) -> Result<ListPage<T>, Problem> {
        self.listed_of(operation, &[], pairs).await
    }

    /// Reads a list of one entry, which the parameters of the path name.
    async fn listed_of<T: DeserializeOwned>(
        &self,
        operation: &str,
        params: &[(&str, &str)],
        pairs: &[(String, String)],
    ) -> Result<ListPage<T>, Problem> {
        let params = params.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned()));
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        let asked = api::PageCall { params: params.collect(), query, ..api::PageCall::default() };
        let answered = self.member.call(operation, asked).await?;
        let list: ListPage<T> =
            serde_json::from_value(answered.body).map_err(|_| Problem::UNAVAILABLE)?;
        Ok(ListPage { tag: answered.tag.unwrap_or_default(), ..list })
    }

    /// The filters that are given, as the operation takes them: a day begins at midnight in UTC.
    fn filters(&self, names: &[&str]) -> Vec<(String, String)> {
        let given = names.iter().filter_map(|name| Some((*name, self.query.get(name)?)));
        let worded = |(name, value): (&str, &str)| {
            let is_day = ["since", "until"].contains(&name);
            let value = if is_day { format!("{value}T00:00:00Z") } else { value.to_owned() };
            (name.to_owned(), value)
        };
        given.map(worded).collect()
    }

    fn loaded(&self, shown: SectionView, cursor: Option<String>) -> LoadedSection {
        let filters: &[&str] = if self.section == Section::Trail { &FILTERS } else { &[] };
        let next = cursor.map(|cursor| self.href(&[("cursor", &cursor)], filters));
        LoadedSection { shown, next }
    }

    fn href_of(&self, id: &str) -> String {
        self.href(&[("id", id)], &[])
    }

    /// The address of a part of the section; the filters stay as they are.
    fn href(&self, more: &[(&str, &str)], filters: &[&str]) -> String {
        let mut pairs = vec![("organization", self.slug), ("section", self.section.name())];
        pairs.extend(more);
        pairs.extend(filters.iter().filter_map(|name| Some((*name, self.query.get(name)?))));
        href(&pairs)
    }
}

/// What the trail can be filtered by.
const FILTERS: [&str; 3] = ["event", "since", "until"];
