//! What the pages show, read from what operations under `/me` answer.

use super::{
    super::{
        delegation_rows::{self, Branch, Row},
        pages::scope_words,
        shell::Shell,
    },
    acts::{Act, Field, PROFILE},
    ask::Operations,
    device,
    fields::FieldShown,
    form_notice::FormNotice,
    form_values::FormValues,
    section::Section,
};
use crate::{
    domain::is_hidden,
    http::{answer::error::Problem, extract::form::Form, options::Channels, routes},
    wording::quotable,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::form_urlencoded;

/// The view of a section: what is drawn of it.
pub enum SectionView {
    Profile {
        fields: Vec<FieldShown>,
        channels: Channels,
    },
    Security {
        passkeys: Vec<Passkey>,
        channels: Channels,
        codes_left: u32,
        identities: Vec<Identity>,
        connections: Vec<Connection>,
    },
    Sessions(Vec<Session>),
    Applications {
        items: Vec<Application>,
        waiting: Vec<WaitingApproval>,
        blocked: Vec<BlockedApplication>,
        rows: Vec<Row>,
    },
    Organizations(Vec<Organization>),
    History {
        items: Vec<HistoryLine>,
        next: Option<String>,
    },
    Data,
}

/// What is held of the person.
#[derive(Deserialize)]
pub struct Person {
    pub email: String,
    pub email_verified: bool,
    pub phone_number: Option<String>,
    #[serde(default)]
    pub phone_number_verified: bool,
    pub proposed_email: Option<String>,
    pub proposed_phone_number: Option<String>,
    pub credentials: Credentials,
    #[serde(flatten)]
    claims: Map<String, Value>,
}

#[derive(Deserialize)]
pub struct Credentials {
    pub password: bool,
    pub totp: bool,
    pub passkeys: usize,
    recovery_codes: u32,
}

#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
pub struct Passkey {
    pub id: String,
    pub name: String,
    pub created_at: String,
    pub last_used_at: Option<String>,
}

/// An identity of another provider.
#[derive(Deserialize)]
pub struct Identity {
    pub id: String,
    pub connection: Connection,
    pub subject: String,
    pub linked_at: String,
}

/// A connection to another provider.
#[derive(Deserialize)]
pub struct Connection {
    pub id: String,
    pub name: String,
}

#[derive(Deserialize)]
pub struct Session {
    pub id: String,
    pub current: bool,
    pub created_at: String,
    pub last_seen_at: String,
    user_agent: Option<String>,
    /// The network of the sign-in.
    pub address: Option<String>,
    /// What the device is called, and its icon.
    #[serde(skip)]
    pub device: String,
    #[serde(skip)]
    pub icon: &'static str,
}

#[derive(Deserialize)]
pub struct Application {
    pub id: String,
    client: Client,
    pub organization: Option<String>,
    scopes: Vec<String>,
    pub created_at: Option<String>,
    /// What it may do, in words.
    #[serde(skip)]
    pub may: String,
    #[serde(skip)]
    pub name: String,
}

/// What an application asks the person to approve.
#[derive(Deserialize)]
pub struct WaitingApproval {
    pub id: String,
    client: Client,
    binding_message: Option<String>,
    pub expires_at: String,
    #[serde(skip)]
    pub message: String,
    #[serde(skip)]
    pub name: String,
}

impl WaitingApproval {
    /// Where the person decides.
    pub fn href(&self) -> String {
        format!("{}?approval={}", routes::APPROVE, self.id)
    }
}

/// An application that may not ask the person for approvals.
#[derive(Deserialize)]
pub struct BlockedApplication {
    pub id: String,
    client: Client,
    pub created_at: String,
    #[serde(skip)]
    pub name: String,
}

#[derive(Deserialize)]
struct Client {
    client_id: String,
    client_name: Option<String>,
}

impl Client {
    /// What people read of it.
    fn name(&self) -> String {
        let name = self.client_name.as_deref().map(quotable).filter(|name| !name.is_empty());
        name.unwrap_or_else(|| self.client_id.clone())
    }
}

#[derive(Deserialize)]
pub struct Organization {
    pub slug: String,
    pub name: String,
    pub roles: Vec<String>,
    pub enabled: bool,
}

#[derive(Deserialize)]
pub struct HistoryLine {
    pub at: String,
    event: String,
    pub organization: Option<String>,
    actor: Option<Value>,
    pub address: Option<String>,
    user_agent: Option<String>,
    #[serde(default)]
    detail: Map<String, Value>,
    /// What happened, in words.
    #[serde(skip)]
    pub text: String,
    #[serde(skip)]
    pub device: Option<String>,
    /// Who did it, where it was not the person.
    #[serde(skip)]
    pub by: Option<String>,
    /// Where it was done, and by which client the person came, as an alert says it.
    #[serde(skip)]
    pub place: Option<String>,
    #[serde(skip)]
    pub client: Option<String>,
}

impl Person {
    fn claim(&self, name: &str) -> &str {
        self.claims.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// A section that is asked for.
pub struct AccountSectionRequest<'a> {
    pub page: &'a Shell<'a>,
    pub operations: Operations<'a>,
    pub person: &'a Person,
    pub query: &'a Form,
    /// What was typed into a form of the section, and what was wrong with it.
    pub kept: Option<&'a FormValues>,
    pub said: Option<&'a FormNotice>,
}

impl AccountSectionRequest<'_> {
    /// Reads what the section shows.
    pub async fn load(&self, section: Section) -> Result<SectionView, Problem> {
        let channels = self.page.app.channels();
        Ok(match section {
            Section::Profile => {
                let field = |field: &Field| {
                    // What is not seen cannot be said anew either.
                    let held = self.person.claim(field.name);
                    let held: String = held.chars().filter(|one| !is_hidden(*one)).collect();
                    FieldShown::of(self.page, field, &held, (self.kept, self.said))
                };
                SectionView::Profile { fields: PROFILE.iter().map(field).collect(), channels }
            }
            Section::Security => {
                let codes_left = self.person.credentials.recovery_codes;
                let (passkeys, identities) = (self.passkeys().await?, self.identities().await?);
                let connections = self.connections(&identities).await?;
                SectionView::Security { passkeys, channels, codes_left, identities, connections }
            }
            Section::Sessions => SectionView::Sessions(self.sessions().await?),
            Section::Applications => {
                let held: Items<Branch> =
                    self.operations.read(routes::MY_DELEGATIONS, String::new()).await?;
                SectionView::Applications {
                    items: self.applications().await?,
                    waiting: self.waiting().await?,
                    blocked: self.blocked().await?,
                    rows: delegation_rows::rows(self.page, &held.items),
                }
            }
            Section::Organizations => SectionView::Organizations(self.organizations().await?),
            Section::History => self.history().await?,
            Section::Data => SectionView::Data,
        })
    }

    pub async fn passkeys(&self) -> Result<Vec<Passkey>, Problem> {
        let list: Items<Passkey> = self.operations.read(routes::MY_PASSKEYS, String::new()).await?;
        let quoted = |one: Passkey| Passkey { name: quotable(&one.name), ..one };
        Ok(list.items.into_iter().map(quoted).collect())
    }

    pub async fn identities(&self) -> Result<Vec<Identity>, Problem> {
        let list: Items<Identity> =
            self.operations.read(routes::MY_IDENTITIES, String::new()).await?;
        let quoted = |mut one: Identity| {
            one.connection.name = quotable(&one.connection.name);
            Identity { subject: quotable(&one.subject), ..one }
        };
        Ok(list.items.into_iter().map(quoted).collect())
    }

    /// Lists the providers of which the person may link an identity and has none yet.
    async fn connections(&self, linked: &[Identity]) -> Result<Vec<Connection>, Problem> {
        let list: Items<Connection> =
            self.operations.read(routes::MY_CONNECTIONS, String::new()).await?;
        let is_new = |one: &Connection| linked.iter().all(|linked| linked.connection.id != one.id);
        let quoted = |one: Connection| Connection { name: quotable(&one.name), ..one };
        Ok(list.items.into_iter().filter(is_new).map(quoted).collect())
    }

    pub async fn organizations(&self) -> Result<Vec<Organization>, Problem> {
        let list: Items<Organization> =
            self.operations.read(routes::MY_ORGANIZATIONS, String::new()).await?;
        let named = |one: Organization| {
            let name = Some(quotable(&one.name)).filter(|name| !name.is_empty());
            Organization { name: name.unwrap_or_else(|| one.slug.clone()), ..one }
        };
        Ok(list.items.into_iter().map(named).collect())
    }

    async fn sessions(&self) -> Result<Vec<Session>, Problem> {
        let list: Items<Session> = self.operations.read(routes::MY_SESSIONS, String::new()).await?;
        let mut items = list.items;
        for one in &mut items {
            (one.device, one.icon) = device::in_words(self.page, one.user_agent.as_deref());
        }
        // The one that asks first.
        items.sort_by_key(|one| !one.current);
        Ok(items)
    }

    async fn applications(&self) -> Result<Vec<Application>, Problem> {
        let list: Items<Application> =
            self.operations.read(routes::MY_CONSENTS, String::new()).await?;
        let mut items = list.items;
        for one in &mut items {
            one.name = one.client.name();
            let words = one.scopes.iter().filter_map(|scope| scope_words(self.page, scope));
            one.may = words.collect::<Vec<_>>().join(" · ");
        }
        Ok(items)
    }

    async fn waiting(&self) -> Result<Vec<WaitingApproval>, Problem> {
        let list: Items<WaitingApproval> =
            self.operations.read(routes::MY_APPROVALS, String::new()).await?;
        let mut items = list.items;
        for one in &mut items {
            one.name = one.client.name();
            one.message = one.binding_message.as_deref().map(quotable).unwrap_or_default();
        }
        Ok(items)
    }

    async fn blocked(&self) -> Result<Vec<BlockedApplication>, Problem> {
        let list: Items<BlockedApplication> =
            self.operations.read(routes::MY_BLOCKED_CLIENTS, String::new()).await?;
        let mut items = list.items;
        for one in &mut items {
            one.name = one.client.name();
        }
        Ok(items)
    }

    async fn history(&self) -> Result<SectionView, Problem> {
        let address = |pairs: &[(&str, &str)]| {
            form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
        };
        let cursor = self.query.get("cursor").map(|cursor| ("cursor", cursor));
        let asked = address(&[("limit", "30")].into_iter().chain(cursor).collect::<Vec<_>>());
        let mut list: Items<HistoryLine> = self.operations.read(routes::MY_HISTORY, asked).await?;
        for one in &mut list.items {
            let key = one.event.replace('.', "-");
            one.text = self.page.says("history-event", &[("event", &key), ("name", &one.event)]);
            let agent = one.user_agent.as_deref();
            one.device = agent.map(|agent| device::in_words(self.page, Some(agent)).0);
            let actor = one.actor.as_ref().filter(|actor| actor.get("id").is_none());
            let kind = actor.and_then(|actor| actor["type"].as_str());
            one.by = kind.map(|kind| self.page.with("history-by", "who", kind));
            let said = |name: &str| one.detail.get(name).and_then(Value::as_str).map(quotable);
            one.place = said("place");
            one.client = said("client_id").filter(|_| one.event.starts_with("sign_in."));
        }
        let next = list.next_cursor.map(|cursor| {
            format!("{}?{}", Section::History.path(), address(&[("cursor", &cursor)]))
        });
        Ok(SectionView::History { items: list.items, next })
    }

    /// What an act is about, as its page names it; none where it is not there.
    pub async fn subject(&self, act: &Act) -> Result<Option<String>, Problem> {
        let id = self.query.get("id").unwrap_or_default();
        Ok(match act.name {
            "new_email" => Some(self.person.email.clone()),
            "confirm_email" => self.person.proposed_email.clone(),
            "confirm_phone" => self.person.proposed_phone_number.clone(),
            "remove_phone" => self.person.phone_number.clone(),
            "rename_passkey" | "remove_passkey" => {
                let passkeys = self.passkeys().await?;
                passkeys.into_iter().find(|one| one.id == id).map(|one| one.name)
            }
            "unlink" => {
                let identities = self.identities().await?;
                identities.into_iter().find(|one| one.id == id).map(|one| one.connection.name)
            }
            "leave" => {
                let organizations = self.organizations().await?;
                organizations.into_iter().find(|one| one.slug == id).map(|one| one.name)
            }
            _ => Some(String::new()),
        })
    }
}
