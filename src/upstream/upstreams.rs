//! The relying party: begins a sign-in at a provider, and completes it.

use super::{
    client::UpstreamClient,
    documents::Documents,
    endpoint::Endpoints,
    error::{Cause, Part, ProviderFailure, Refusal, TokenFault, UpstreamError},
    exchange::{Exchange, TokenEndpoint, TokenRequest},
    mask,
    token::TokenAnswer,
    transcript::{Message, MessageKind, Transcript},
};
use crate::{
    client_documents::Fetcher,
    clock::SystemClock,
    crypto::{Dice, Jws, SystemDice, draw_text},
    domain::{
        Clock, Secret, Timestamp, strict_json,
        upstream::{
            Attempt, AuthorizationRequest, Callback, CallbackAnswer, EndSessionRequest,
            GitHubEndpoints, Issuer, Kind, LogoutNotice, Metadata, UpstreamPerson, id_token,
            logout_token,
        },
    },
    outbound::{DnsResolver, OutboundClient, Policy, Resolver, TrustError},
};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;
use url::Url;

/// How long one call of a provider may take.
const CALL_LIMIT: Duration = Duration::from_secs(8);

/// How long a person waits for a sign-in to be completed, however many calls it takes.
const WHOLE_LIMIT: Duration = Duration::from_secs(20);

/// Bytes of an answer.
const SIZE_LIMIT: usize = 256 * 1024;

/// Providers, as a relying party calls them; cheap to clone.
#[derive(Clone)]
pub struct Upstreams {
    pub(super) shared: Arc<UpstreamDependencies>,
    pub(super) transcript: Transcript,
}

pub(super) struct UpstreamDependencies {
    documents: Documents,
    pub(super) endpoints: Endpoints,
    clock: Arc<dyn Clock>,
    dice: Arc<dyn Dice>,
    whole_limit: Duration,
}

/// What a browser is sent to a provider with.
#[derive(Clone, Copy)]
pub struct AuthenticationRequest<'a> {
    pub attempt: &'a Attempt,
    /// Whom the person said they are.
    pub login_hint: Option<&'a str>,
    /// `login` has the provider ask for a proof anew.
    pub prompt: Option<&'a str>,
    /// How long ago the person may have proved at the provider who they are.
    pub max_age: Option<Duration>,
}

/// What an answer is compared with: what it was asked with.
#[derive(Clone, Copy)]
pub struct CallbackExpectation<'a> {
    pub attempt: &'a Attempt,
    pub max_age: Option<Duration>,
}

/// A sign-in that is complete.
#[derive(Clone, Debug)]
pub struct UpstreamSignIn {
    pub person: UpstreamPerson,
    /// The ID token, by which the provider knows what to sign out of; GitHub has none.
    pub id_token_hint: Option<Secret>,
}

impl Upstreams {
    /// Calls public hosts, with the system's clock and names.
    pub fn usual() -> Self {
        let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
        let resolver: Arc<dyn Resolver> = Arc::new(DnsResolver::of_system());
        Self::new(Policy::default(), &resolver, clock, dice)
            .expect("only additional authorities can be unusable")
    }

    /// Calls what `policy` allows; its limits of time and size are replaced by ours.
    pub fn new(
        policy: Policy,
        resolver: &Arc<dyn Resolver>,
        clock: Arc<dyn Clock>,
        dice: Arc<dyn Dice>,
    ) -> Result<Self, TrustError> {
        let policy = Policy { time_limit: CALL_LIMIT, ..policy };
        Self::within(WHOLE_LIMIT, &policy, resolver, (clock, dice))
    }

    /// Calls within another time than ours: that of one call is the policy's.
    pub fn within(
        whole_limit: Duration,
        policy: &Policy,
        resolver: &Arc<dyn Resolver>,
        (clock, dice): (Arc<dyn Clock>, Arc<dyn Dice>),
    ) -> Result<Self, TrustError> {
        let policy =
            || Policy { size_limit: SIZE_LIMIT, extra_ca: policy.extra_ca.clone(), ..*policy };
        let fetcher = Arc::new(Fetcher::limited(policy(), resolver.clone())?);
        let endpoints = Endpoints::new(OutboundClient::new(policy(), resolver.clone())?);
        let documents = Documents::new(&fetcher, &clock);
        let shared =
            Arc::new(UpstreamDependencies { documents, endpoints, clock, dice, whole_limit });
        Ok(Self { shared, transcript: Transcript::default() })
    }

    /// The same providers, with every message noted.
    pub fn recorded_in(&self, transcript: &Transcript) -> Self {
        Self { shared: self.shared.clone(), transcript: transcript.clone() }
    }

    /// Asks a provider for its metadata, and nothing else.
    pub async fn check(&self, issuer: &Issuer) -> Result<(), UpstreamError> {
        self.metadata(issuer).await.map(drop)
    }

    /// Draws what binds an attempt to its browser, its token and its code.
    pub fn draw_attempt(&self) -> Attempt {
        let text = || draw_text(&*self.shared.dice, 32);
        Attempt { state: text(), nonce: text(), verifier: text() }
    }

    /// Returns the address to which the browser is sent.
    pub async fn begin(
        &self,
        client: &UpstreamClient,
        asked: &AuthenticationRequest<'_>,
    ) -> Result<Url, UpstreamError> {
        let endpoint = match client.kind {
            Kind::Oidc => self.metadata(&client.issuer).await?.authorization_endpoint,
            Kind::GitHub => GitHubEndpoints::of(&client.issuer).authorization,
        };
        let request = AuthorizationRequest {
            endpoint: &endpoint,
            issuer: &client.issuer,
            kind: client.kind,
            client_id: &client.client_id,
            redirect_uri: &client.redirect_uri,
            scopes: &client.scopes,
            state: &asked.attempt.state,
            nonce: &asked.attempt.nonce,
            challenge: &asked.attempt.challenge(),
            login_hint: asked.login_hint,
            company: client.company.as_deref(),
            prompt: asked.prompt,
            max_age: asked.max_age,
        };
        let url = request.url();
        self.transcript.note(|| Message::authorization(&url, self.now()));
        Ok(url)
    }

    /// Makes a person of what the browser brought back. The code is spent, whatever comes of it.
    pub async fn complete(
        &self,
        client: &UpstreamClient,
        callback: &Callback,
        expected: &CallbackExpectation<'_>,
    ) -> Result<UpstreamSignIn, UpstreamError> {
        self.transcript.note(|| Message::callback(&client.redirect_uri, callback, self.now()));
        let work = async {
            match client.kind {
                Kind::Oidc => Box::pin(self.complete_oidc(client, callback, expected)).await,
                Kind::GitHub => Box::pin(self.complete_github(client, callback, expected)).await,
            }
        };
        self.in_time(Part::TokenEndpoint, work).await
    }

    /// Reads a logout token (Back-Channel Logout §2.6). That its `jti` is new is for the caller to see.
    pub async fn logout_notice(
        &self,
        client: &UpstreamClient,
        token: &str,
    ) -> Result<LogoutNotice, UpstreamError> {
        if client.kind == Kind::GitHub {
            return Err(Refusal::Unsupported.into());
        }
        let verified = Box::pin(async {
            let metadata = self.metadata(&client.issuer).await?;
            self.verified(&metadata, token, &logout_token::TYPES).await
        });
        let verified = self.in_time(Part::KeySet, verified).await?;
        let (claims, _) = verified.map_err(Refusal::LogoutToken)?;
        let UpstreamClient { issuer, client_id, .. } = client;
        let judged = logout_token::judge(&claims, issuer, client_id, self.now());
        Ok(judged.map_err(|fault| Refusal::LogoutToken(fault.into()))?)
    }

    /// Returns the address at which the browser signs out at the provider, if it has one (RP-Initiated Logout §2).
    pub async fn end_session(
        &self,
        client: &UpstreamClient,
        id_token_hint: Option<&Secret>,
        post_logout_redirect_uri: Option<&str>,
        state: Option<&str>,
    ) -> Result<Option<Url>, UpstreamError> {
        if client.kind == Kind::GitHub {
            return Ok(None);
        }
        let endpoint = self.metadata(&client.issuer).await?.end_session_endpoint;
        let url = |endpoint: Url| {
            let client_id = &client.client_id;
            let endpoint = &endpoint;
            EndSessionRequest {
                endpoint,
                client_id,
                id_token_hint,
                post_logout_redirect_uri,
                state,
            }
            .url()
        };
        Ok(endpoint.map(url))
    }

    async fn complete_oidc(
        &self,
        client: &UpstreamClient,
        callback: &Callback,
        expected: &CallbackExpectation<'_>,
    ) -> Result<UpstreamSignIn, UpstreamError> {
        let metadata = self.metadata(&client.issuer).await?;
        let code = compared(client, callback, expected, metadata.promises_iss)?;
        let at = TokenEndpoint {
            url: &metadata.token_endpoint,
            methods: &metadata.authentication_methods,
            assertion_algorithms: metadata.assertion_algorithms.as_deref(),
        };
        let answer = self.exchange(client, code, &expected.attempt.verifier, &at).await?;
        let token = answer.id_token.ok_or(Refusal::Answer("has no id_token"))?;
        let verified = self.verified(&metadata, &token, &["jwt"]).await?;
        let (claims, algorithm) = verified.map_err(Refusal::IdToken)?;
        let expectation = id_token::Expectation {
            issuer: &client.issuer,
            client_id: &client.client_id,
            nonce: &expected.attempt.nonce,
            company: client.company.as_deref(),
            max_age: expected.max_age,
            algorithm,
            access_token: answer.access_token.as_deref().map(String::as_str),
            code,
        };
        let person = id_token::judge(claims, &expectation, self.now())
            .map_err(|fault| Refusal::IdToken(fault.into()))?;
        Ok(UpstreamSignIn { person, id_token_hint: Some(Secret::new(token.as_bytes())) })
    }

    /// Exchanges a code for tokens.
    pub(super) async fn exchange(
        &self,
        client: &UpstreamClient,
        code: &str,
        verifier: &str,
        at: &TokenEndpoint<'_>,
    ) -> Result<TokenAnswer, UpstreamError> {
        let jti = draw_text(&*self.shared.dice, 16);
        let exchange = Exchange { client, code, verifier, jti: &jti, now: self.now() };
        let request = exchange.request(at)?;
        let message = || shown(&request, self.now());
        let sent =
            self.shared.endpoints.call(Part::TokenEndpoint, request.url(), request.message());
        let response = sent.await.map_err(UpstreamError::from).inspect_err(|error| {
            self.transcript.note(|| message().failed(error));
        })?;
        let secrets = request.secrets();
        self.transcript.note(|| {
            let body = mask::hide(&mask::token_answer(&response.body), &secrets);
            message().answered(response.status, &response.headers, &body).hiding(&secrets)
        });
        TokenAnswer::read(&response, &secrets)
    }

    /// Returns the claims of a token that the provider signed, and by which algorithm.
    async fn verified(
        &self,
        metadata: &Metadata,
        token: &str,
        types: &[&str],
    ) -> Result<Result<VerifiedClaims, TokenFault>, UpstreamError> {
        let jws = match Jws::read(token) {
            Ok(jws) if jws.is_typed(types) => jws,
            Ok(_) => return Ok(Err(TokenFault::Type)),
            Err(fault) => return Ok(Err(fault.into())),
        };
        let verdict =
            self.shared.documents.verify(metadata, &jws, &self.transcript, self.now()).await?;
        let claims = || strict_json::object(&jws.payload).map_err(|_| TokenFault::Payload);
        Ok(verdict.and_then(|()| Ok((claims()?, jws.algorithm))))
    }

    /// Waits no longer than a person would, whatever is called meanwhile.
    async fn in_time<T>(
        &self,
        part: Part,
        work: impl Future<Output = Result<T, UpstreamError>>,
    ) -> Result<T, UpstreamError> {
        let late = ProviderFailure { part, cause: Cause::TimedOut };
        timeout(self.shared.whole_limit, work).await.unwrap_or(Err(late.into()))
    }

    async fn metadata(&self, issuer: &Issuer) -> Result<Metadata, UpstreamError> {
        self.shared.documents.metadata(issuer, &self.transcript, self.now()).await
    }

    pub(super) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }
}

type VerifiedClaims = (Map<String, Value>, crate::domain::signing_keys::SigningAlgorithm);

/// Compares an answer with what was asked, before anything is sent to the provider; returns its code.
pub(super) fn compared<'a>(
    client: &UpstreamClient,
    callback: &'a Callback,
    expected: &CallbackExpectation<'_>,
    promises_iss: bool,
) -> Result<&'a str, Refusal> {
    callback.check(&expected.attempt.state, &client.issuer, client.kind, promises_iss)?;
    match callback.answer() {
        CallbackAnswer::Code(code) => {
            std::str::from_utf8(code.expose()).map_err(|_| Refusal::Answer("has no code"))
        }
        CallbackAnswer::Error(error) => Err(Refusal::Denied(error.clone())),
    }
}

fn shown(request: &TokenRequest, at: Timestamp) -> Message {
    let message = Message::post(MessageKind::Token, request.url().as_str(), &request.shown(), at);
    let message = message.header("content-type", "application/x-www-form-urlencoded");
    if request.is_basic() {
        return message.header("authorization", &format!("Basic {}", mask::MASKED));
    }
    message
}
