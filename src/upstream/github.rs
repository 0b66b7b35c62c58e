//! A sign-in at GitHub: a code for an access token, and the access token for who the person is.

use super::{
    client::UpstreamClient,
    endpoint::secret_header,
    error::{Cause, Part, ProviderFailure, Refusal, UpstreamError},
    exchange::TokenEndpoint,
    mask,
    transcript::{Message, MessageKind},
    upstreams::{CallbackExpectation, UpstreamSignIn, Upstreams, compared},
};
use crate::{
    domain::{
        strict_json,
        upstream::{AuthenticationMethod, Callback, GitHubEndpoints, github},
    },
    outbound::Request,
};
use hyper::{
    StatusCode,
    header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue},
};
use serde_json::Value;
use url::Url;

/// The version of GitHub's API whose answers are read.
const VERSION: (&str, &str) = ("x-github-api-version", "2022-11-28");

impl Upstreams {
    pub(super) async fn complete_github(
        &self,
        client: &UpstreamClient,
        callback: &Callback,
        expected: &CallbackExpectation<'_>,
    ) -> Result<UpstreamSignIn, UpstreamError> {
        let code = compared(client, callback, expected, false)?;
        let GitHubEndpoints { token, user, emails, .. } = GitHubEndpoints::of(&client.issuer);
        let methods = &[AuthenticationMethod::Post];
        let at = TokenEndpoint { url: &token, methods, assertion_algorithms: None };
        let answer = self.exchange(client, code, &expected.attempt.verifier, &at).await?;
        let access_token = answer.access_token.ok_or(Refusal::Answer("has no access_token"))?;
        let user = self.ask(MessageKind::User, &user, &access_token).await?;
        let emails = self.ask(MessageKind::Emails, &emails, &access_token).await?;
        let person = github::person(&client.issuer, &user, &emails).map_err(Refusal::from)?;
        Ok(UpstreamSignIn { person, id_token_hint: None })
    }

    /// Asks GitHub's API.
    async fn ask(
        &self,
        kind: MessageKind,
        url: &Url,
        access_token: &str,
    ) -> Result<Value, UpstreamError> {
        let unavailable = |cause| ProviderFailure { part: Part::Api, cause };
        let bearer = secret_header(&format!("Bearer {access_token}"));
        let bearer = bearer.ok_or(Refusal::Answer("has an access_token that is no token"))?;
        let request = Request::get(url.clone())
            .header(ACCEPT, HeaderValue::from_static("application/vnd.github+json"))
            .header(HeaderName::from_static(VERSION.0), HeaderValue::from_static(VERSION.1))
            .header(AUTHORIZATION, bearer);
        let message = || {
            Message::get(kind, url.as_str(), self.now())
                .header("authorization", &format!("Bearer {}", mask::MASKED))
        };
        let sent = self.shared.endpoints.call(Part::Api, url, request).await;
        let response = sent.map_err(UpstreamError::from).inspect_err(|error| {
            self.transcript.note(|| message().failed(error));
        })?;
        self.transcript.note(|| {
            let body = mask::hide(&String::from_utf8_lossy(&response.body), &[access_token]);
            message().answered(response.status, &response.headers, &body)
        });
        if response.status != StatusCode::OK {
            return Err(unavailable(Cause::Status(response.status.as_u16())).into());
        }
        let value = strict_json::value(&response.body);
        value.map_err(|_| unavailable(Cause::NotJson).into())
    }
}
