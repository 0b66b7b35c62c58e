//! Behind each thing that is fetched or called: a host that takes a connection and says nothing, one
//! that answers a byte now and then, a name that there is not, and a name server that says nothing. Each
//! ends as it is documented to, and other callers are served meanwhile.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    backchannel::end,
    ciba::{self, say, start},
    ciba_ping::TOKEN,
    client_logos::{consent, path_in},
    dns_server::{DnsServer, Says},
    http::{Answer, get},
    logout::tokens,
    person::{parameter, redirect},
    shared::eventually,
    signing_client::{ClientKey, claims, key_set, provision},
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    breach::{BreachCheck, RangeServer},
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    http::PasswordOptions,
    outbound::{DnsResolver, Policy, Resolver},
};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{io::AsyncWriteExt as _, net::TcpListener, task::JoinSet};

/// For calls whose time limit a test may set.
const SHORT: Duration = Duration::from_secs(1);

/// A place that is called in vain.
struct Silence {
    what: &'static str,
    /// An https address there, without a path.
    origin: String,
    /// Who is asked for names.
    dns: DnsServer,
    /// How many connections were made to it.
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Silence {
    async fn all() -> Vec<Self> {
        let drip = Some(Duration::from_millis(50));
        vec![
            Self::host("a host that says nothing", None).await,
            Self::host("a host that says a byte now and then", drip).await,
            Self::name("no such name", Says::NoSuchName).await,
            Self::name("a name server that says nothing", Says::Nothing).await,
        ]
    }

    async fn name(what: &'static str, says: Says) -> Self {
        let origin = "https://silent.test".to_owned();
        let (dns, connections) = (DnsServer::new(says).await, Arc::default());
        Self { what, origin, dns, connections, _tasks: JoinSet::new() }
    }

    async fn host(what: &'static str, drip: Option<Duration>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("https://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, mut tasks) = (connections.clone(), JoinSet::new());
        tasks.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, SeqCst);
                open.spawn(async move {
                    let Some(pause) = drip else { return std::future::pending().await };
                    while stream.write_all(b"\x16").await.is_ok() {
                        tokio::time::sleep(pause).await;
                    }
                });
            }
        });
        let dns = DnsServer::new(Says::NoSuchName).await;
        Self { what, origin, dns, connections, _tasks: tasks }
    }

    fn url(&self) -> String {
        format!("{}/document", self.origin)
    }

    fn resolver(&self) -> Arc<dyn Resolver> {
        Arc::new(DnsResolver::asking(vec![self.dns.address]))
    }

    fn policy() -> Policy {
        Policy { allow_private_networks: true, ..Policy::default() }
    }

    fn fetcher(&self) -> Fetcher {
        Fetcher::within(SHORT, Self::policy(), self.resolver()).unwrap()
    }

    fn options(&self) -> TestOptions {
        TestOptions {
            client_documents: Some(self.fetcher()),
            private_networks: true,
            resolver: self.resolver(),
            ..TestOptions::default()
        }
    }

    /// Whether something has called it, or looked for it.
    fn was_called(&self) -> bool {
        self.connections.load(SeqCst) + self.dns.asked() > 0
    }

    /// Does something while other callers are served.
    async fn beside<T>(&self, server: &TestServer, doing: impl Future<Output = T>) -> T {
        let others = async {
            for _ in 0..10 {
                assert_eq!(server.ask("billing", &[]).await.status, 200, "{}", self.what);
            }
        };
        let (done, ()) = tokio::join!(doing, others);
        assert!(self.was_called(), "{}", self.what);
        done
    }

    /// Waits until it was called by what no caller waits for; others are served meanwhile and after.
    async fn called_by(&self, server: &TestServer, topic: &str) {
        let called = eventually("a call", async || {
            server.clock.advance(Duration::from_millis(200));
            self.was_called()
        });
        self.beside(server, called).await;
        let line = format!("porteiro_outbox_total{{topic=\"{topic}\",outcome=\"delivered\"}} 0\n");
        let metrics = get(server.operator(), "/metrics").await.text();
        assert!(metrics.contains(&line), "{}: {metrics}", self.what);
    }
}

#[track_caller]
fn refused(silence: &Silence, answer: &Answer, status: u16, code: &str) {
    let found = (answer.status.as_u16(), answer.json()["error"].clone());
    assert_eq!(found, (status, json!(code)), "{}: {answer:?}", silence.what);
}

#[tokio::test]
async fn a_key_set_that_cannot_be_fetched_proves_no_client() {
    for silence in Silence::all().await {
        let server = TestServer::open_in(silence.options()).await;
        provision(&server, "remote", &format!("jwks_uri = \"{}\"", silence.url())).await;
        let assertion = ClientKey::new("one").sign(&claims(&server, "remote", json!({})));
        let answer = silence.beside(&server, server.assert(&assertion, &[])).await;
        refused(&silence, &answer, 401, "invalid_client");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_metadata_document_that_cannot_be_fetched_makes_no_client() {
    for silence in Silence::all().await {
        let server = TestServer::open_in(silence.options()).await;
        let (url, callback) = (silence.url(), [("redirect_uri", "https://tool.example.net/cb")]);
        let answer = silence.beside(&server, server.authorize(&url, &callback)).await;
        refused(&silence, &answer, 400, "invalid_request");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_request_object_that_cannot_be_fetched_is_none() {
    for silence in Silence::all().await {
        let server = TestServer::open_in(silence.options()).await;
        let key = ClientKey::new("one");
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"jar\"\nredirect_uris = [\"https://jar.example.com/cb\"]\n\
                 token_endpoint_auth_method = \"private_key_jwt\"\njwks = {}\n\
                 request_uris = [\"{}\"]\n",
                crate::signing_client::in_toml(&key_set(&[&key.jwk])),
                silence.url()
            ))
            .await;
        let url = silence.url();
        let answer =
            silence.beside(&server, server.authorize("jar", &[("request_uri", &url)])).await;
        let told = format!("{} {}", answer.text(), answer.header("location").unwrap_or_default());
        assert!(told.contains("invalid_request_uri"), "{}: {answer:?}", silence.what);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_page_is_shown_without_a_logo_that_cannot_be_fetched() {
    for silence in Silence::all().await {
        let options = TestOptions { screens: true, rates: None, ..silence.options() };
        let server = TestServer::open_in(options).await;
        let url = silence.url();
        server.apply(&format!("[[client]]\nclient_id = \"app\"\nlogo_uri = \"{url}\"\n")).await;
        let page = consent(&server).await;
        assert!(path_in(&page).is_none(), "{}: {page}", silence.what);
        eventually("a look", async || silence.was_called()).await;
        assert!(path_in(&consent(&server).await).is_none(), "{}", silence.what);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_sector_that_cannot_be_fetched_has_no_client() {
    for silence in Silence::all().await {
        let server = TestServer::open_in(silence.options()).await;
        let body = json!({ "redirect_uris": ["https://one.example/"], "subject_type": "pairwise",
                           "sector_identifier_uri": silence.url() });
        let answer =
            silence.beside(&server, server.post_json("/connect/register", &body, &[])).await;
        refused(&silence, &answer, 400, "invalid_client_metadata");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_password_is_taken_where_the_list_of_leaked_ones_gives_no_answer() {
    for silence in Silence::all().await {
        let base = format!("{}/range/", silence.origin).parse().unwrap();
        let range = RangeServer::new(base, Silence::policy(), silence.resolver()).unwrap();
        let breach_check = BreachCheck::Range(Box::new(range));
        let passwords = PasswordOptions { breach_check, ..PasswordOptions::default() };
        let server = TestServer::open_in(TestOptions { passwords, ..silence.options() }).await;
        let session = server.sign_in("ana@acme.test").await;
        let body = json!({ "password": "another fifteen characters" }).to_string();
        let request = server
            .request(Method::PUT, "/me/password")
            .header("content-type", "application/json")
            .header("x-session-token", &session);
        let changed = server.send(request.body(body.into()).unwrap());
        let changed = silence.beside(&server, changed).await;
        assert_eq!(changed.status, 200, "{}: {changed:?}", silence.what);
        server.stop().await;
    }
}

#[tokio::test]
async fn nothing_is_issued_and_nothing_spent_without_an_answer_of_the_claims_hook() {
    for silence in Silence::all().await {
        let url = silence.url().parse().unwrap();
        let hook = ClaimsHook::within(SHORT, url, Silence::policy(), silence.resolver());
        let options = TestOptions { claims_hook: Some(hook.unwrap()), ..silence.options() };
        let server = TestServer::open_in(options).await;
        let session = server.sign_in("ana@acme.test").await;
        let answer = server.authorize_in(&session, "web", &[]).await;
        let code = parameter(&redirect(&answer), "code").unwrap();
        for _ in 0..2 {
            let answer = silence.beside(&server, server.redeem("web", &code)).await;
            refused(&silence, &answer, 503, "temporarily_unavailable");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn a_webhook_that_cannot_be_called_holds_nothing_up() {
    for silence in Silence::all().await {
        let server = TestServer::open_in(silence.options()).await;
        server.apply(DIRECTORY).await;
        let api = Api::of(&server, "rita@acme.test", EVERYTHING).await;
        let hook = json!({ "url": silence.url() });
        let made = api.post("/api/organizations/acme/webhooks", &hook).await;
        assert_eq!(made.status, 201, "{made:?}");
        silence.called_by(&server, "webhook").await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_logout_endpoint_that_cannot_be_called_holds_nothing_up() {
    for silence in Silence::all().await {
        let server = TestServer::open_in(silence.options()).await;
        let uri = silence.url();
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"web\"\nbackchannel_logout_uri = \"{uri}\"\n"
            ))
            .await;
        let session = server.sign_in("ana@acme.test").await;
        tokens(&server, &session, "web").await;
        end(&server, &session).await;
        silence.called_by(&server, "backchannel_logout").await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_client_that_cannot_be_pinged_holds_nothing_up_and_gets_its_tokens() {
    for silence in Silence::all().await {
        let server = ciba::open_in(silence.options()).await;
        server
            .apply(&format!(
                "[[client]]\nclient_id = \"agent\"\nbackchannel_token_delivery_mode = \"ping\"\n\
                 backchannel_client_notification_endpoint = \"{}\"\n",
                silence.url()
            ))
            .await;
        let session = server.sign_in(ciba::ANA).await;
        let id = start(*server, "agent", ciba::ANA, &TOKEN).await;
        say(&server, &session, "approve").await;
        silence.called_by(&server, "ciba_ping").await;
        assert_eq!(ciba::poll(*server, "agent", &id).await.status, 200, "{}", silence.what);
        server.stop().await;
    }
}
