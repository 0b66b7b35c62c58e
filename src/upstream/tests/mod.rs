//! The relying party against a provider on loopback, which can misbehave in every way that is known.

mod authentication;
mod documents;
mod github;
mod id_tokens;
mod logout;
#[path = "../../../tests/shared/upstream_provider.rs"]
mod provider;
mod signing_in;
mod trials;
mod trouble;

use super::{
    Authentication, AuthenticationRequest, CallbackExpectation, UpstreamClient, UpstreamError,
    UpstreamSignIn, Upstreams,
};
use crate::{
    crypto::SystemDice,
    domain::{
        Clock, Secret, Timestamp,
        upstream::{Attempt, Callback, Issuer, Kind},
    },
    outbound::{Addresses, Policy, Resolver},
};
use provider::Provider;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
    },
    time::Duration,
};
use url::Url;

/// Longer than any provider here needs, so that only one that stalls runs into it.
const PATIENT: Duration = Duration::from_secs(20);
const HASTY: Duration = Duration::from_millis(250);

const SECRET: &str = "the client secret: 100% & more";
const CALLBACK: &str = "https://id.example.com/connect/sso/c1/callback";

/// A clock that moves when told to.
pub(super) struct HandClock(AtomicI64);

impl HandClock {
    fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Knows no name: providers here are addresses.
struct NoNames;

impl Resolver for NoNames {
    fn addresses_of<'a>(&'a self, _: &'a str) -> Addresses<'a> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

/// A relying party, and the provider that it trusts.
struct World {
    clock: Arc<HandClock>,
    provider: Provider,
    upstreams: Upstreams,
    client: UpstreamClient,
}

impl World {
    async fn new() -> Self {
        Self::within(PATIENT, PATIENT).await
    }

    /// One call may take so long, and the whole.
    async fn within(time_limit: Duration, whole: Duration) -> Self {
        let clock = Arc::new(HandClock(AtomicI64::new(1_800_000_000_000)));
        let provider = Provider::start(clock.clone()).await;
        let policy = Policy { allow_private_networks: true, time_limit, ..Policy::default() };
        let sources: (Arc<dyn Clock>, _) = (clock.clone(), Arc::new(SystemDice) as Arc<_>);
        let names: Arc<dyn Resolver> = Arc::new(NoNames);
        let upstreams = Upstreams::within(whole, &policy, &names, sources).unwrap();
        let client = client_of(&provider.issuer);
        Self { clock, provider, upstreams, client }
    }

    fn attempt(&self) -> Attempt {
        self.upstreams.draw_attempt()
    }

    async fn begin(&self, attempt: &Attempt) -> Result<Url, UpstreamError> {
        begin(&self.upstreams, &self.client, attempt).await
    }

    /// Brings the browser to the provider, and returns the query with which it comes back.
    async fn browse(&self, attempt: &Attempt) -> String {
        let url = self.begin(attempt).await.unwrap();
        self.provider.authorize(&parameters(&url))
    }

    async fn complete(
        &self,
        attempt: &Attempt,
        query: &str,
    ) -> Result<UpstreamSignIn, UpstreamError> {
        let callback = Callback::read(query).unwrap();
        let expected = CallbackExpectation { attempt, max_age: None };
        let completed = self.upstreams.complete(&self.client, &callback, &expected).await;
        if let Err(error) = &completed {
            self.assert_silent(attempt, query, error);
        }
        completed
    }

    async fn sign_in(&self) -> Result<UpstreamSignIn, UpstreamError> {
        let attempt = self.attempt();
        let query = self.browse(&attempt).await;
        self.complete(&attempt, &query).await
    }

    /// Signs in where it must fail; returns the reason.
    async fn refused(&self) -> &'static str {
        self.sign_in().await.unwrap_err().reason()
    }

    /// No error says anything that opens anything.
    fn assert_silent(&self, attempt: &Attempt, query: &str, error: &UpstreamError) {
        let said = format!("{error} {error:?}");
        let code = query.split('&').find_map(|pair| pair.strip_prefix("code="));
        let tokens = self.provider.tokens();
        let secrets = [SECRET, &attempt.verifier, &attempt.nonce, &attempt.state];
        let all = secrets.into_iter().chain(code).chain(tokens.iter().map(String::as_str));
        for secret in all {
            assert!(!said.contains(secret), "{said} has {secret}");
        }
    }
}

fn client_of(issuer: &str) -> UpstreamClient {
    UpstreamClient {
        kind: Kind::Oidc,
        issuer: Issuer::parse(issuer).unwrap(),
        client_id: "porteiro".to_owned(),
        authentication: Authentication::Secret(Secret::new(SECRET)),
        redirect_uri: CALLBACK.to_owned(),
        company: None,
        scopes: Vec::new(),
    }
}

async fn begin(
    upstreams: &Upstreams,
    client: &UpstreamClient,
    attempt: &Attempt,
) -> Result<Url, UpstreamError> {
    let asked = AuthenticationRequest { attempt, login_hint: None, prompt: None, max_age: None };
    upstreams.begin(client, &asked).await
}

fn parameters(url: &Url) -> BTreeMap<String, String> {
    url.query_pairs().into_owned().collect()
}
