//! An organization with a provider of its own, which does what a test wants, and with a domain that it has proved.

use crate::{
    api_caller::{Api, DIRECTORY},
    domains,
    http::Answer,
    person::text,
    support::{TestOptions, TestServer},
    tab::{Page, Tab},
    upstream_provider::Provider,
    zone_server::{Zone, ZoneServer},
};
use hyper::Method;
use porteiro::{
    crypto::{SystemDice, draw_uuid, seal_client_secret},
    domain::{
        Clock as _, Context, Secret,
        account::EMAIL_ADDRESSES,
        connection::{Command, Connection, Draft},
        external_identity::{self, Cause, ExternalIdentity, Linked},
        organization::{self, Organization},
        upstream::Kind,
    },
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use url::Url;

/// What the provider of acme knows us by.
pub const SECRET: &str = "the secret of our client at the provider";

/// The subject that the provider asserts, unless a test says otherwise.
pub const SUBJECT: &str = "248289761001";

pub struct Scene {
    pub server: TestServer,
    pub zone: ZoneServer,
    pub provider: Provider,
    /// The id of acme's connection to it.
    pub connection: String,
}

/// A server that may call what is on this machine, with pages of ours.
pub fn options(zone: &ZoneServer) -> TestOptions {
    TestOptions {
        screens: true,
        mailbox: true,
        private_networks: true,
        txt_resolver: zone.resolver(),
        rates: None,
        ..TestOptions::default()
    }
}

/// A connection of acme to a provider.
pub fn draft(issuer: &str) -> Draft {
    Draft {
        organization: Some("acme".to_owned()),
        name: Some("Acme Entra".to_owned()),
        kind: Some(Kind::Oidc),
        issuer: Some(issuer.to_owned()),
        client_id: Some("porteiro".to_owned()),
        ..Draft::default()
    }
}

/// Makes a connection, or changes the one of this id. Without a secret it proves itself by our key set.
pub async fn connect(server: &TestServer, draft: Draft, secret: Option<&str>) -> String {
    let system = server.running().system();
    let id = if draft.id.is_empty() { draw_uuid(&SystemDice) } else { draft.id.clone() };
    let secret = secret.map(|secret| {
        let (vault, secret) = (system.vault().now(), Secret::new(secret));
        Some(seal_client_secret(&vault, &id, &secret, &SystemDice))
    });
    let (slug, required) = (draft.organization.clone(), draft.required);
    let draft = Draft { id: id.clone(), secret: secret.or(draft.secret.clone()), ..draft };
    let mut commit = system.multi_commit(&Context::node());
    let made = commit.decide::<Connection>(&id, &Command::Provision(Box::new(draft))).await;
    made.unwrap().unwrap();
    if let (Some(slug), Some(required)) = (slug, required) {
        let required = if required { vec![id.clone()] } else { Vec::new() };
        let draft = organization::Draft {
            slug: slug.clone(),
            required_connections: Some(required),
            ..organization::Draft::default()
        };
        let command = organization::Command::Provision(draft);
        commit.decide::<Organization>(&slug, &command).await.unwrap().unwrap();
    }
    commit.commit().await.unwrap();
    server.clock.expire_views();
    id
}

/// Returns the id of the account with an address.
pub async fn account_of(server: &TestServer, email: &str) -> Option<String> {
    let found = server.running().system().fresh_reads().find(EMAIL_ADDRESSES, email).await;
    found.unwrap().map(|(_, id)| id)
}

/// Links a subject at a connection of acme to the account with an address.
pub async fn link(server: &TestServer, connection: &str, subject: &str, email: &str) {
    link_in(server, ("acme", connection), subject, email).await;
}

/// The same for a connection of another organization.
pub async fn link_in(
    server: &TestServer,
    (slug, connection): (&str, &str),
    subject: &str,
    email: &str,
) {
    let (id, account) = (draw_uuid(&SystemDice), account_of(server, email).await.unwrap());
    let linked = Linked {
        id: id.clone(),
        account,
        organization: Some(slug.to_owned()),
        connection: connection.to_owned(),
        subject: subject.to_owned(),
        linked_at: server.clock.now(),
    };
    let linked = Box::new(linked);
    let command = external_identity::Command::Link { linked, cause: Cause::Person };
    let mut commit = server.running().system().multi_commit(&Context::node());
    commit.decide::<ExternalIdentity>(&id, &command).await.unwrap().unwrap();
    commit.commit().await.unwrap();
}

/// Proves a domain of acme, or of other, by its record.
pub async fn prove(server: &TestServer, zone: &ZoneServer, (slug, domain): (&str, &str)) {
    let keeper = if slug == "acme" { "rita@acme.test" } else { "otto@other.test" };
    let api = Api::of(server, keeper, "domains:read domains:write").await;
    let list = format!("/api/organizations/{slug}/domains");
    let added = domains::add(&api, &list, domain).await;
    let record = &added["record"];
    zone.put(text(&record["name"]), Zone::txt(text(&record["value"])));
    assert_eq!(domains::verify(&api, &list, &added).await.status, 200);
    server.clock.expire_views();
}

/// Reads the parameters of an address.
pub fn parameters(url: &str) -> BTreeMap<String, String> {
    Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

impl Scene {
    pub async fn open() -> Self {
        let zone = ZoneServer::open().await;
        let options = options(&zone);
        Self::open_in(zone, options).await
    }

    pub async fn open_in(zone: ZoneServer, options: TestOptions) -> Self {
        let server = TestServer::open_in(options).await;
        server.apply(DIRECTORY).await;
        let provider = Provider::start(server.clock.clone()).await;
        let connection = connect(&server, draft(&provider.issuer), Some(SECRET)).await;
        Self { server, zone, provider, connection }
    }

    /// The same, where the domain of acme is proved.
    pub async fn proved() -> Self {
        let scene = Self::open().await;
        prove(&scene.server, &scene.zone, ("acme", "acme.test")).await;
        scene
    }

    /// The path at which the provider sends the browser back, with what it says.
    pub fn callback(&self, query: &str) -> String {
        format!("/connect/sso/{}/callback?{query}", self.connection)
    }

    /// Begins a flow for acme as a program.
    pub async fn begin(&self) -> Value {
        let wish = json!({ "kind": "sign_in", "organization": "acme" });
        let begun = self.server.post_json("/flows", &wish, &[]).await;
        assert_eq!(begun.status, 201, "{begun:?}");
        begun.json()
    }

    /// Asks the provider, signs in there, and returns what the browser is sent back with.
    pub async fn answer_to(&self, flow: &Value) -> String {
        let asked = json!({ "connection": self.connection });
        let left = self.server.step(flow, "sso/options", asked).await;
        assert_eq!(left.status, 200, "{left:?}");
        self.provider.authorize(&parameters(text(&left.json()["redirect_to"])))
    }

    /// Brings back what the provider has answered, as a program.
    pub async fn bring(&self, flow: &Value, query: &str) -> Answer {
        let callback = format!("{}{}", self.server.issuer(), self.callback(query));
        self.server.step(flow, "sso", json!({ "callback": callback })).await
    }

    /// Signs in by the provider as a program.
    pub async fn sign_on(&self) -> Answer {
        let flow = self.begin().await;
        let query = self.answer_to(&flow).await;
        self.bring(&flow, &query).await
    }

    /// Signs in where it must fail; returns status and code.
    pub async fn refused(&self) -> (u16, String) {
        let answer = self.sign_on().await;
        (answer.status.as_u16(), text(&answer.json()["code"]).to_owned())
    }

    /// Leaves a page for the provider, signs in there, and returns what the browser is sent back with.
    pub async fn leave(&self, tab: &mut Tab<'_>, page: &Page) -> String {
        let left = tab.step(page, "sso/options", &[("connection", &self.connection)]).await;
        left.is(200, "Taking you to Acme Entra");
        self.provider.authorize(&parameters(&moves_on_to(&left)))
    }

    /// Comes back from the provider, as a browser does: by a link from another site.
    pub async fn come_back(&self, tab: &mut Tab<'_>, query: &str) -> Answer {
        let headers = [("sec-fetch-site", "cross-site")];
        tab.request((Method::GET, &self.callback(query)), &headers, String::new()).await
    }
}

/// Where a page leads by itself; its link leads there as well.
#[track_caller]
pub fn moves_on_to(page: &Page) -> String {
    let (_, rest) = page.text.split_once("content=\"0;url=").unwrap_or_else(|| panic!("{page:?}"));
    let to = rest.split_once('"').unwrap().0.replace("&#38;", "&").replace("&amp;", "&");
    assert_eq!(page.link(&to), to);
    to
}

impl Scene {
    /// A client asks for authorization in acme; the person signs in by the provider. Returns the last answer.
    pub async fn authorize(&self, client: &str, scope: &str) -> Answer {
        let asked = [("organization", "acme"), ("scope", scope)];
        let flow = self.server.authorize(client, &asked).await.json();
        let query = self.answer_to(&flow).await;
        self.bring(&flow, &query).await
    }

    /// The same; returns what the client gets for the code.
    pub async fn tokens(&self, scope: &str) -> Value {
        let answer = self.authorize("web", scope).await;
        let code = parameters(text(&answer.json()["result"]["redirect_to"]))["code"].clone();
        let tokens = self.server.redeem("web", &code).await;
        assert_eq!(tokens.status, 200, "{tokens:?}");
        tokens.json()
    }

    /// The organization has the connection behave otherwise.
    pub async fn change(&self, draft: Draft) {
        let organization = Some("acme".to_owned());
        let draft = Draft { id: self.connection.clone(), organization, ..draft };
        connect(&self.server, draft, None).await;
    }
}

/// Returns the session of a sign-in that is done.
#[track_caller]
pub fn session_of(answer: &Answer) -> String {
    let document = answer.json();
    assert_eq!((answer.status.as_u16(), &document["state"]), (200, &json!("done")), "{answer:?}");
    text(&document["result"]["session_token"]).to_owned()
}
