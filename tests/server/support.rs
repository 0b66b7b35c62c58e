//! A provider of its own for each test, and what one does with it.

pub use crate::test_options::{LIFETIMES, TestOptions, loopback};
use crate::{
    nodes::{self, Balancer, FreePort},
    outside::Outside,
    shared::{TestClock, make_keys, test_folder},
    template,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::Full;
use hyper::HeaderMap;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use porteiro::{
    actors::{TreeOptions, hashing::HashingOptions},
    clock::SystemClock,
    config::{Config, Sources},
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder, Generator, Origin, Purpose},
        password::PasswordCost,
    },
    domain::{Clock as _, Timestamp, signing_keys::SigningAlgorithm},
    messages::{Mailbox, Messages},
    outbound::{DnsResolver, OutboundClient, Policy, Resolver},
    provisioning::{self, ApplyError, File, Plan as Applied},
    server::{Issuer, OperatorAddress, Plan, RunningServer, RuntimeOptions, ServerError},
    store::NothingFails,
    system::Workbench,
    upstream::Upstreams,
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub const SECRET: &str = "a-secret-of-more-than-thirty-two-characters";
pub const INVOICES: &str = "https://api.example.com/invoices";

/// Two resources, two organizations, and a client for each sort of caller.
pub const ACME: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
name = "Invoices"
scopes = ["invoices:read", "invoices:write", "invoices:approve"]

[[resource]]
identifier = "https://api.example.com/orders"
scopes = ["orders:read"]

[[organization]]
slug = "acme"
name = "Acme Lda"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read", "orders:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]

[[organization]]
slug = "other"

[[client]]
client_id = "billing"
client_secret = "a-secret-of-more-than-thirty-two-characters"
organization = "acme"
roles = ["clerk"]

[[client]]
client_id = "boss"
client_secret = "a-secret-of-more-than-thirty-two-characters"
organization = "acme"
roles = ["clerk", "manager"]
scope = "invoices:read invoices:approve"
token_endpoint_auth_method = "client_secret_post"

[[client]]
client_id = "invoices-api"
client_secret = "a-secret-of-more-than-thirty-two-characters"
introspects = ["https://api.example.com/invoices"]

[[client]]
client_id = "nobody"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["client_credentials"]

[[client]]
client_id = "app"
redirect_uris = ["https://app.example.com/cb"]
token_endpoint_auth_method = "none"

[[client]]
client_id = "web"
client_name = "Web"
client_secret = "a-secret-of-more-than-thirty-two-characters"
redirect_uris = ["https://web.example.com/cb"]
trusted = true

[[client]]
client_id = "native"
redirect_uris = ["http://127.0.0.1/cb"]
token_endpoint_auth_method = "none"
application_type = "native"
trusted = true

[[account]]
email = "ana@acme.test"
email_verified = true
password = "correct horse battery staple"
given_name = "Ana"
phone_number = "+351910000000"
memberships = [{ organization = "acme", roles = ["manager"] }]

[[account]]
email = "bruno@acme.test"
password = "correct horse battery staple"
memberships = [
    { organization = "acme", roles = ["clerk"] },
    { organization = "other", roles = [] },
]

[[account]]
email = "dora@acme.test"
password = "correct horse battery staple"
totp_secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

[[account]]
email = "clara@nowhere.test"
password = "correct horse battery staple"
"#;

pub struct TestServer {
    pub url: String,
    pub clock: Arc<TestClock>,
    outside: Outside,
    /// One, but for the suite on several nodes.
    nodes: Vec<RunningServer>,
    balancer: Option<Balancer>,
    /// What was sent, where `/mailbox` is served.
    pub mailbox: Option<Arc<Mailbox>>,
    folder: Arc<tempfile::TempDir>,
}

/// What carries mails to an SMTP server on this machine, as an operator configures it.
fn by_smtp(port: u16, clock: Arc<TestClock>) -> Messages {
    let own = [
        ("PORTEIRO_MAIL__TRANSPORT", format!("smtp://127.0.0.1:{port}")),
        ("PORTEIRO_MAIL__FROM", "Example ID <id@example.com>".to_owned()),
    ];
    let environment = own.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    let loaded = Config::load(Sources { environment, ..Sources::default() }).unwrap();
    Messages::configured(&loaded.config, clock, None).unwrap()
}

/// Whatever is done from outside is done by its address alone.
impl std::ops::Deref for TestServer {
    type Target = Outside;

    fn deref(&self) -> &Outside {
        &self.outside
    }
}

impl TestServer {
    /// Opens a provider that knows Acme.
    pub async fn open() -> Self {
        Self::open_in(TestOptions::default()).await
    }

    pub async fn open_in(options: TestOptions) -> Self {
        let folder = test_folder();
        let url = Box::pin(template::install(folder.path(), know_acme)).await;
        Self::start(Arc::new(folder), url, Arc::new(TestClock::new()), options).await
    }

    /// Starts a node on a SQLite store that lies beside its keys, at a time of its own.
    pub async fn over(
        folder: tempfile::TempDir,
        file: &Path,
        at: Timestamp,
        options: TestOptions,
    ) -> Self {
        let (clock, url) = (Arc::new(TestClock::new()), format!("sqlite://{}", file.display()));
        clock.shift(at.millis() - clock.now().millis());
        Self::start(Arc::new(folder), url, clock, options).await
    }

    /// Starts another node of this installation.
    pub async fn beside(&self, options: TestOptions) -> Self {
        if self.balancer.is_some() {
            self.leave_out("it starts nodes of its own");
        }
        let (folder, url) = (self.folder.clone(), self.url.clone());
        Self::start(folder, url, self.clock.clone(), options).await
    }

    /// Tries to start another node of this installation, and says why it does not start.
    pub async fn refused_beside(&self, options: TestOptions) -> ServerError {
        let (clock, messages) = (self.clock.clone(), Messages::default());
        let place = Place { url: self.url.clone(), keys: self.keys(), clock, messages };
        Box::pin(start(options, place)).await.err().unwrap()
    }

    async fn start(
        folder: Arc<tempfile::TempDir>,
        url: String,
        clock: Arc<TestClock>,
        mut options: TestOptions,
    ) -> Self {
        let keys = folder.path().join("keys");
        let messages = match options.smtp {
            Some(port) => by_smtp(port, clock.clone()),
            None if options.mailbox => Messages::in_mailbox(clock.clone()),
            None => Messages::default(),
        };
        let mailbox = messages.mailbox();
        let place = Place { url: url.clone(), keys, clock: clock.clone(), messages };
        let front = nodes::many().then(FreePort::find);
        if let (Some(front), Issuer::Localhost) = (&front, &options.issuer) {
            options.issuer = Issuer::Named(format!("http://localhost:{}", front.port()));
        }
        let mut nodes = Vec::new();
        for _ in 1..nodes::count() {
            let another = options.for_another_node();
            nodes.push(Box::pin(start(another, place.clone())).await.unwrap());
        }
        // Boxed once for all tests, which would each carry it.
        nodes.insert(0, Box::pin(start(options, place)).await.unwrap());
        let addresses: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();
        let balancer = front.map(|front| Balancer::start(front, folder.path(), &addresses));
        let address = balancer.as_ref().map_or(addresses[0], Balancer::address);
        Self { url, clock, outside: Outside { address }, nodes, balancer, mailbox, folder }
    }

    /// Its node, for a test that looks inside.
    pub fn running(&self) -> &RunningServer {
        self.on_one_node("it looks inside a node");
        &self.nodes[0]
    }

    /// Ends a test that asks for what each node does by itself, where there are several, and says why.
    pub fn on_one_node(&self, why: &str) {
        if self.balancer.is_some() {
            self.leave_out(why);
        }
    }

    /// Where operators find its node.
    pub fn operator(&self) -> SocketAddr {
        self.running().operator.unwrap()
    }

    fn leave_out(&self, why: &str) -> ! {
        if let Some(balancer) = &self.balancer {
            balancer.end();
        }
        let _ = std::fs::remove_dir_all(self.folder.path());
        nodes::leave_out(why)
    }

    /// Waits until nothing is committed any more that no caller waits for, and no mail waits for its delivery.
    pub async fn quiet(&self) {
        let commits =
            || self.nodes.iter().map(|node| node.system().store().report().commits).sum::<u64>();
        let (mut seen, mut still) = (commits(), 0);
        for round in 0..400 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = commits();
            // Once is not enough on a machine that is busy.
            still = if now == seen { still + 1 } else { 0 };
            seen = now;
            if still < 8 {
                continue;
            }
            // A mail that is put off waits longer than a test does.
            let waiting = self.nodes[0].system().store().messages_waiting().await;
            let waiting = waiting.unwrap_or_default();
            if round > 100 || waiting.iter().all(|one| one.topic != "mail") {
                return;
            }
        }
    }

    pub fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    pub fn issuer(&self) -> &str {
        &self.nodes[0].issuer
    }

    /// Applies a provisioning file beside the running server.
    pub async fn apply(&self, text: &str) -> Applied {
        apply(&self.url, &self.keys(), text).await.unwrap()
    }

    /// Puts another signing key into the folder.
    pub fn add_key(&self, algorithm: SigningAlgorithm) -> String {
        let folder = self.keys();
        let generator = Generator {
            folder: &folder,
            origin: Origin::Generate,
            created_at: self.clock.now(),
            dice: &SystemDice,
        };
        generator.generate(Purpose::Signing(algorithm)).unwrap().kid
    }

    /// Takes the files of an algorithm out of the folder, and waits until it signs no more.
    pub async fn remove_key(&self, algorithm: SigningAlgorithm) {
        let begins = format!("{}-", algorithm.name().to_lowercase());
        for file in std::fs::read_dir(self.keys()).unwrap() {
            let file = file.unwrap();
            if file.file_name().to_string_lossy().starts_with(&begins) {
                std::fs::remove_file(file.path()).unwrap();
            }
        }
        let keys = self.running().system().keys();
        self.running().system().reload_keys();
        crate::shared::eventually("the end of a key", async || {
            keys.borrow().signer(algorithm).is_none()
        })
        .await;
    }

    pub async fn stop(self) {
        drop(self.balancer);
        for node in self.nodes {
            assert!(node.stop().await, "it came down in order");
        }
    }
}

/// Makes keys in a folder and applies the file.
async fn know_acme(folder: &Path, url: &str) {
    let keys = folder.join("keys");
    make_keys(&keys, TestClock::new().now());
    apply(url, &keys, ACME).await.unwrap();
}

/// What a node is started with.
#[derive(Clone)]
struct Place {
    url: String,
    keys: PathBuf,
    clock: Arc<TestClock>,
    messages: Messages,
}

/// Starts a node of an installation.
async fn start(options: TestOptions, place: Place) -> Result<RunningServer, ServerError> {
    let Place { url, keys, clock, messages } = place;
    let mut tree = TreeOptions::default();
    (tree.keys.every, tree.timeout) = (options.keys_every, options.ask_timeout);
    (tree.janitor, tree.domains_every) = (options.janitor, options.domains_every);
    tree.inviter_every = options.inviter_every;
    let plan = Plan {
        issuer: options.issuer,
        store: url,
        read_folder: Arc::new(move || Folder::load(&keys, DevKeys::Refused)),
        listen: vec![loopback()],
        tls: options.tls,
        mtls: options.mtls,
        operator: OperatorAddress::At(options.operator),
        lifetimes: options.lifetimes,
        screens: options.screens,
        links: options.links,
        security_txt: options.security_txt,
        locale: porteiro::domain::Locale::English,
        hosts: options.hosts,
        proxies: options.proxies,
        dpop_nonce: options.dpop_nonce,
        registration: options.registration,
        sign_up: options.sign_up,
        rates: options.rates,
        quiet_hours: None,
        runtime_options: RuntimeOptions {
            clock: clock.clone(),
            tree,
            hashing: HashingOptions { workers: 1, cost: PasswordCost::CHEAP, ..Default::default() },
            limits: options.limits,
            connections: options.connections,
            flows: options.flows,
            drain: options.drain,
            passwords: options.passwords,
            attestation: options.attestation,
            claims_hook: options.claims_hook,
            statement_issuers: options.statement_issuers,
            client_documents: options.client_documents.unwrap_or_default(),
            upstreams: upstreams((options.private_networks, options.upstream_limit), clock.clone()),
            outbound: Arc::new(outbound(options.private_networks, options.resolver)),
            messages,
            alerts: options.alerts,
            geo: options.geo,
            txt_resolver: options.txt_resolver,
            fault_injection: options.fault_injection.unwrap_or_else(|| Arc::new(NothingFails)),
        },
    };
    RunningServer::start(plan).await
}

fn outbound(allow_private_networks: bool, resolver: Arc<dyn Resolver>) -> OutboundClient {
    let policy = Policy { allow_private_networks, ..Policy::default() };
    OutboundClient::new(policy, resolver).unwrap()
}

/// Applies a provisioning file as the command does.
pub async fn apply(url: &str, keys: &Path, text: &str) -> Result<Applied, ApplyError> {
    let folder = Folder::load(keys, DevKeys::Accepted).unwrap();
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    let workbench = Workbench::open(url, &folder, clock, dice).await.unwrap();
    let workbench = workbench.with_password_cost(PasswordCost::CHEAP);
    // What it names lies beside the keys.
    let file = File::parse_beside(text, keys.parent().unwrap()).unwrap();
    let applied = provisioning::apply(&workbench, &file, false, &|_, _| {}).await;
    workbench.close().await;
    applied
}

/// Reads a metric without labels.
pub async fn metric(server: &TestServer, name: &str) -> u64 {
    let text = crate::http::get(server.operator(), "/metrics").await.text();
    let line =
        text.lines().find(|line| line.strip_prefix(name).is_some_and(|it| it.starts_with(' ')));
    line.unwrap_or_else(|| panic!("{name}: {text}")).rsplit_once(' ').unwrap().1.parse().unwrap()
}

pub fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

pub fn form(fields: &[(&str, &str)]) -> Full<Bytes> {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    Full::new(form.finish().into())
}

/// Verifies a token as a stranger would who has nothing but the key set.
pub fn verify(token: &str, keys: &JwkSet) -> Option<Value> {
    let header = decode_header(token).ok()?;
    assert_eq!(header.typ.as_deref(), Some("at+jwt"));
    let jwk = keys.find(&header.kid?)?;
    let mut validation = Validation::new(header.alg);
    validation.validate_aud = false;
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    let verified = decode::<Value>(token, &DecodingKey::from_jwk(jwk).ok()?, &validation).ok()?;
    Some(verified.claims)
}

/// Insists on what every response carries.
#[track_caller]
pub fn sealed(headers: &HeaderMap) {
    let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(value("x-content-type-options"), Some("nosniff"), "{headers:?}");
    assert_eq!(value("x-frame-options"), Some("DENY"));
    // Pages of ours tell their own server where they come from, and no other.
    assert!(["no-referrer", "same-origin"].map(Some).contains(&value("referrer-policy")));
    assert!(value("content-security-policy").unwrap().contains("frame-ancestors 'none'"));
    assert!(value("x-request-id").is_some_and(|id| id.len() >= 16));
}

/// What speaks to other providers, on loopback too where that is asked for.
fn upstreams(
    (allow_private_networks, limit): (bool, Option<Duration>),
    clock: Arc<dyn porteiro::domain::Clock>,
) -> Upstreams {
    let policy = Policy { allow_private_networks, ..Policy::default() };
    let resolver: Arc<dyn Resolver> = Arc::new(DnsResolver::of_system());
    let dice = Arc::new(SystemDice);
    let made = match limit {
        None => Upstreams::new(policy, &resolver, clock, dice),
        Some(time_limit) => {
            let policy = Policy { time_limit, ..policy };
            Upstreams::within(time_limit * 2, &policy, &resolver, (clock, dice))
        }
    };
    made.unwrap()
}
