//! The request that exchanges a code for tokens (OpenID Connect Core §3.1.3.1), with the client's authentication.

use super::{
    client::{Authentication, UpstreamClient},
    endpoint::secret_header,
    error::Refusal,
    mask,
};
use crate::{
    crypto::Signer,
    domain::{
        Secret, Timestamp,
        signing_keys::SigningAlgorithm,
        upstream::{AppleSecret, AuthenticationMethod, ClientAssertion},
    },
    outbound::Request,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use std::sync::Arc;
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

/// Where a code is exchanged, and how its provider wants clients to show who they are.
pub(super) struct TokenEndpoint<'a> {
    pub(super) url: &'a Url,
    pub(super) methods: &'a [AuthenticationMethod],
    pub(super) assertion_algorithms: Option<&'a [SigningAlgorithm]>,
}

/// A code, with what proves that it is ours to exchange.
pub(super) struct Exchange<'a> {
    pub(super) client: &'a UpstreamClient,
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
    /// Of no other assertion.
    pub(super) jti: &'a str,
    pub(super) now: Timestamp,
}

/// A request that is ready to be sent.
pub(super) struct TokenRequest {
    url: Url,
    parameters: Vec<(&'static str, String)>,
    basic: Option<BasicCredentials>,
}

/// A client's name and secret, as a header has them (RFC 6749 §2.3.1).
struct BasicCredentials {
    header: Zeroizing<String>,
    /// The ways in which an answer might repeat the secret.
    repeated: [Zeroizing<String>; 3],
}

impl Exchange<'_> {
    pub(super) fn request(&self, at: &TokenEndpoint<'_>) -> Result<TokenRequest, Refusal> {
        let UpstreamClient { client_id, authentication, redirect_uri, .. } = self.client;
        let mut parameters = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", self.code.to_owned()),
            ("redirect_uri", redirect_uri.clone()),
            ("code_verifier", self.verifier.to_owned()),
        ];
        let mut basic = None;
        match authentication {
            Authentication::Secret(secret) => {
                let secret = text(secret)?;
                if at.methods.contains(&AuthenticationMethod::Basic) {
                    basic = Some(BasicCredentials::new(client_id, secret));
                } else if at.methods.contains(&AuthenticationMethod::Post) {
                    parameters.push(("client_id", client_id.clone()));
                    parameters.push(("client_secret", secret.to_owned()));
                } else {
                    return Err(Refusal::Authentication("it takes no client secret"));
                }
            }
            Authentication::PrivateKeyJwt(signers) => {
                if !at.methods.contains(&AuthenticationMethod::PrivateKeyJwt) {
                    return Err(Refusal::Authentication("it takes no private_key_jwt"));
                }
                let signer = suitable(signers, at.assertion_algorithms)?;
                let issuer = &self.client.issuer;
                let assertion = ClientAssertion::new(client_id, issuer, self.jti, self.now);
                let assertion = signer.sign("JWT", &assertion).map_err(|_| Refusal::NoSigner)?;
                parameters.push(("client_id", client_id.clone()));
                parameters.push(("client_assertion_type", ClientAssertion::TYPE.to_owned()));
                parameters.push(("client_assertion", assertion));
            }
            Authentication::AppleKey(key) => {
                let secret = AppleSecret::new(&key.team_id, client_id, self.now);
                let secret = key.signer.sign("JWT", &secret).map_err(|_| Refusal::NoSigner)?;
                parameters.push(("client_id", client_id.clone()));
                parameters.push(("client_secret", secret));
            }
        }
        Ok(TokenRequest { url: at.url.clone(), parameters, basic })
    }
}

impl TokenRequest {
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn message(&self) -> Request {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(self.parameters.iter().map(|(name, value)| (name, value)))
            .finish();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let request = Request::post(self.url.clone(), body)
            .header(CONTENT_TYPE, form)
            // GitHub answers JSON where it is asked for it.
            .header(ACCEPT, HeaderValue::from_static("application/json"));
        match self.basic.as_ref().and_then(|basic| secret_header(&basic.header)) {
            Some(basic) => request.header(AUTHORIZATION, basic),
            None => request,
        }
    }

    /// The body as it may be shown.
    pub(super) fn shown(&self) -> String {
        mask::form(&self.parameters)
    }

    pub(super) fn is_basic(&self) -> bool {
        self.basic.is_some()
    }

    /// Texts that an answer might repeat, and that are shown nowhere.
    pub(super) fn secrets(&self) -> Vec<&str> {
        let secret = ["code", "code_verifier", "client_secret", "client_assertion"];
        let is_secret = |(name, _): &&(&'static str, String)| secret.contains(name);
        let parameters = self.parameters.iter().filter(is_secret).map(|(_, value)| value.as_str());
        let basic = self.basic.iter().flat_map(|basic| &basic.repeated);
        parameters.chain(basic.map(|secret| secret.as_str())).collect()
    }
}

/// Chooses the key that signs: the first whose algorithm the provider lists, if it lists any.
fn suitable<'a>(
    signers: &'a [Arc<Signer>],
    listed: Option<&[SigningAlgorithm]>,
) -> Result<&'a Signer, Refusal> {
    let is_listed =
        |signer: &&Arc<Signer>| listed.is_none_or(|all| all.contains(&signer.algorithm()));
    match (signers.is_empty(), signers.iter().find(is_listed)) {
        (true, _) => Err(Refusal::NoSigner),
        (_, Some(signer)) => Ok(signer),
        (_, None) => Err(Refusal::Authentication("it takes no signature by a key of ours")),
    }
}

impl BasicCredentials {
    /// Both are form-encoded first.
    fn new(client_id: &str, secret: &str) -> Self {
        let encoded = |text: &str| {
            Zeroizing::new(form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>())
        };
        let encoded_secret = encoded(secret);
        let pair = Zeroizing::new(format!("{}:{}", *encoded(client_id), *encoded_secret));
        let credentials = Zeroizing::new(STANDARD.encode(pair.as_bytes()));
        Self {
            header: Zeroizing::new(format!("Basic {}", *credentials)),
            repeated: [credentials, encoded_secret, Zeroizing::new(secret.to_owned())],
        }
    }
}

fn text(secret: &Secret) -> Result<&str, Refusal> {
    let text = std::str::from_utf8(secret.expose());
    text.map_err(|_| Refusal::Authentication("the client secret is no text"))
}
