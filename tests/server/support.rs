//! A provider of its own for each test, and what one does with it.

use crate::{
    outside::Outside,
    shared::{TestClock, make_keys, test_folder},
    template,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_body_util::Full;
use hyper::HeaderMap;
use ipnet::IpNet;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use porteiro::{
    actors::{JanitorOptions, TreeOptions, hashing::HashingOptions},
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    clock::SystemClock,
    config::{Config, Sources},
    crypto::{
        StatementIssuers, SystemDice,
        keys::{DevKeys, Folder, Generator, Origin, Purpose},
        passkeys::AttestationPolicy,
        password::PasswordCost,
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
    geo::GeoDatabase,
    http::{
        Hosts, Lifetimes, Limits, Links, PasswordOptions, SecurityTxt, SignUp, limits::pace::Rates,
    },
    messages::{Mailbox, Messages},
    outbound::{DnsResolver, Outbound, Policy, Resolver, TxtResolver},
    provisioning::{self, ApplyError, File, Plan as Applied},
    server::{
        Flows, Issuer, MtlsPlan, OperatorAddress, Plan, Running, RuntimeOptions, ServerError,
    },
    store::{FaultInjection, NothingFails},
    system::Workbench,
    transport::{ConnectionLimits, DrainLimits, TlsIdentity},
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

/// The contract's.
pub const LIFETIMES: Lifetimes = Lifetimes {
    authorization_code: Duration::from_mins(1),
    access_token: Duration::from_mins(5),
    id_token: Duration::from_mins(5),
    refresh_idle: Duration::from_hours(14 * 24),
    refresh_ceiling: Duration::from_hours(30 * 24),
    session_idle: Duration::from_hours(7 * 24),
    session_ceiling: Duration::from_hours(30 * 24),
    par: Duration::from_mins(1),
    device_code: Duration::from_mins(10),
    ciba: Duration::from_mins(5),
    flow: Duration::from_mins(15),
    remember_device: None,
    one_time_code: Duration::from_mins(10),
    magic_link: Duration::from_mins(15),
};

pub struct TestServer {
    pub url: String,
    pub clock: Arc<TestClock>,
    outside: Outside,
    pub operator: SocketAddr,
    pub running: Running,
    /// What was sent, where `/mailbox` is served.
    pub mailbox: Option<Arc<Mailbox>>,
    folder: Arc<tempfile::TempDir>,
}

/// What a test may want to be otherwise.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct TestOptions {
    pub limits: Limits,
    pub hosts: Hosts,
    pub drain: DrainLimits,
    /// Whether people get pages of ours: as `PORTEIRO_TEST_SCREENS` says, so that the whole suite runs
    /// in both settings.
    pub screens: bool,
    pub links: Links,
    /// Where a weakness is reported.
    pub security_txt: Option<SecurityTxt>,
    pub lifetimes: Lifetimes,
    /// Whether proofs need a nonce.
    pub dpop_nonce: bool,
    /// What is shown where no certificates are asked for; without it there is no TLS.
    pub tls: Option<Arc<TlsIdentity>>,
    /// How clients come with certificates.
    pub mtls: Option<MtlsPlan>,
    pub registration: bool,
    pub sign_up: SignUp,
    pub issuer: Issuer,
    /// Networks of proxies that are trusted.
    pub proxies: Vec<IpNet>,
    pub rates: Option<Rates>,
    pub connections: ConnectionLimits,
    /// How often keys are looked after, which is read and so counted.
    pub keys_every: Duration,
    pub janitor: JanitorOptions,
    /// How often those are looked for who are still to be invited.
    pub inviter_every: Duration,
    pub flows: Flows,
    pub passwords: PasswordOptions,
    /// What fetches the documents of clients.
    pub client_documents: Fetcher,
    pub attestation: Option<AttestationPolicy>,
    /// What adds claims.
    pub claims_hook: Option<ClaimsHook>,
    /// Whether mails and SMS can be sent, and read at `/mailbox`.
    pub mailbox: bool,
    /// The port of an SMTP server on this machine that takes mails instead.
    pub smtp: Option<u16>,
    /// Whether people are alerted of sign-ins from another device or place.
    pub alerts: bool,
    /// Where addresses are.
    pub geo: Arc<GeoDatabase>,
    /// Whose software statements count.
    pub statement_issuers: Option<Arc<StatementIssuers>>,
    /// Whether clients on this machine may be called.
    pub private_networks: bool,
    /// How long one call of another provider may take.
    pub upstream_limit: Option<Duration>,
    /// Who is asked for the names of what couriers call.
    pub resolver: Arc<dyn Resolver>,
    /// Who is asked for the records of domains.
    pub txt_resolver: Arc<dyn TxtResolver>,
    /// How often verified domains are looked for whose check is due.
    pub domains_every: Duration,
    /// Where operators find it.
    pub operator: SocketAddr,
    pub fault_injection: Arc<dyn FaultInjection>,
    /// How long an entity may take to answer.
    pub ask_timeout: Duration,
}

impl Default for TestOptions {
    fn default() -> Self {
        let moment = Duration::from_millis(200);
        let drain =
            DrainLimits { lame_duck: moment, idle_grace: moment, timeout: Duration::from_secs(5) };
        let (limits, links) = (Limits::default(), Links::default());
        let keys_every = Duration::from_millis(200);
        Self {
            limits,
            hosts: Hosts::Any,
            drain,
            screens: screens_by_default(),
            links,
            security_txt: None,
            lifetimes: LIFETIMES,
            dpop_nonce: false,
            tls: None,
            mtls: None,
            registration: true,
            sign_up: SignUp { open: true, proof_of_work_bits: 0 },
            issuer: Issuer::Localhost,
            proxies: Vec::new(),
            rates: Some(Rates::default()),
            connections: ConnectionLimits::default(),
            keys_every,
            janitor: TreeOptions::default().janitor,
            inviter_every: TreeOptions::default().inviter_every,
            flows: Flows::default(),
            passwords: PasswordOptions::default(),
            client_documents: Fetcher::default(),
            attestation: None,
            claims_hook: None,
            mailbox: false,
            smtp: None,
            alerts: true,
            geo: Arc::new(GeoDatabase::none()),
            statement_issuers: None,
            private_networks: false,
            upstream_limit: None,
            resolver: Arc::new(DnsResolver::of_system()),
            txt_resolver: Arc::new(DnsResolver::of_system()),
            domains_every: TreeOptions::default().domains_every,
            operator: loopback(),
            fault_injection: Arc::new(NothingFails),
            ask_timeout: TreeOptions::default().timeout,
        }
    }
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

/// Tells whether the suite runs with pages of ours: `PORTEIRO_TEST_SCREENS=on`.
pub fn screens_by_default() -> bool {
    std::env::var("PORTEIRO_TEST_SCREENS").is_ok_and(|value| value == "on")
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

    /// Starts another node of this installation.
    pub async fn beside(&self, options: TestOptions) -> Self {
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
        options: TestOptions,
    ) -> Self {
        let keys = folder.path().join("keys");
        let messages = match options.smtp {
            Some(port) => by_smtp(port, clock.clone()),
            None if options.mailbox => Messages::in_mailbox(clock.clone()),
            None => Messages::default(),
        };
        let mailbox = messages.mailbox();
        let place = Place { url: url.clone(), keys, clock: clock.clone(), messages };
        // Boxed once for all tests, which would each carry it.
        let running = Box::pin(start(options, place)).await.unwrap();
        let (address, operator) = (running.address, running.operator.unwrap());
        Self { url, clock, outside: Outside { address }, operator, running, mailbox, folder }
    }

    /// Waits until nothing is committed any more that no caller waits for, and no mail waits for its delivery.
    pub async fn quiet(&self) {
        let store = self.running.system().store();
        let (mut seen, mut still) = (store.report().commits, 0);
        for round in 0..400 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = store.report().commits;
            // Once is not enough on a machine that is busy.
            still = if now == seen { still + 1 } else { 0 };
            seen = now;
            if still < 8 {
                continue;
            }
            // A mail that is put off waits longer than a test does.
            let waiting = store.messages_waiting().await.unwrap_or_default();
            if round > 100 || waiting.iter().all(|one| one.topic != "mail") {
                return;
            }
        }
    }

    pub fn keys(&self) -> PathBuf {
        self.folder.path().join("keys")
    }

    pub fn issuer(&self) -> &str {
        &self.running.issuer
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
        let keys = self.running.system().keys();
        self.running.system().reload_keys();
        crate::shared::eventually("the end of a key", async || {
            keys.borrow().signer(algorithm).is_none()
        })
        .await;
    }

    pub async fn stop(self) {
        assert!(self.running.stop().await, "it came down in order");
    }
}

/// Makes keys in a folder and applies the file.
async fn know_acme(folder: &Path, url: &str) {
    let keys = folder.join("keys");
    make_keys(&keys, TestClock::new().now());
    apply(url, &keys, ACME).await.unwrap();
}

/// What a node is started with.
struct Place {
    url: String,
    keys: PathBuf,
    clock: Arc<TestClock>,
    messages: Messages,
}

/// Starts a node of an installation.
async fn start(options: TestOptions, place: Place) -> Result<Running, ServerError> {
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
            client_documents: options.client_documents,
            upstreams: upstreams((options.private_networks, options.upstream_limit), clock.clone()),
            outbound: Arc::new(outbound(options.private_networks, options.resolver)),
            messages,
            alerts: options.alerts,
            geo: options.geo,
            txt_resolver: options.txt_resolver,
            fault_injection: options.fault_injection,
        },
    };
    Running::start(plan).await
}

fn outbound(allow_private_networks: bool, resolver: Arc<dyn Resolver>) -> Outbound {
    let policy = Policy { allow_private_networks, ..Policy::default() };
    Outbound::new(policy, resolver).unwrap()
}

fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
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
    let text = crate::http::get(server.operator, "/metrics").await.text();
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
