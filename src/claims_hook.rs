//! The operator's own server adds claims to ID tokens and userinfo (adr/0071).
//!
//! It is asked by a token that we sign, so that it knows who asks, and it answers with claims whose names
//! are URIs: a name of a standard or of ours is none, so nothing that it says can be mistaken for what we
//! say, and no authority can come from it. What it adds is all taken or all refused. Where it gives no
//! good answer nothing is issued, and nothing is spent.

use crate::outbound::{OutboundClient, OutboundError, Policy, Request, Resolver, TrustError};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use url::Url;

/// How long a client waits for it at most.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// Bytes of an answer; tokens travel in headers.
const SIZE_LIMIT: usize = 4 * 1024;

const MOST_CLAIMS: usize = 20;

/// How many callers may wait for it at once.
const AT_ONCE: usize = 64;

/// A server that was named by the operator.
pub struct ClaimsHook {
    url: Url,
    outbound: OutboundClient,
    slots: Semaphore,
}

/// Why there are no claims of its.
#[derive(Debug, thiserror::Error)]
pub enum HookFault {
    #[error("too many callers wait for it")]
    Busy,
    #[error("it could not be asked")]
    Unreachable(#[from] OutboundError),
    #[error("it answered with status {0}")]
    Status(StatusCode),
    #[error("its answer is no JSON object with the member claims")]
    Malformed,
    #[error("it says more than 20 claims")]
    TooMany,
    #[error("it says a claim whose name is no URI")]
    Name,
}

#[derive(Deserialize)]
struct Answer {
    claims: Map<String, Value>,
}

impl ClaimsHook {
    pub fn new(url: Url, policy: Policy, resolver: Arc<dyn Resolver>) -> Result<Self, TrustError> {
        Self::within(TIME_LIMIT, url, policy, resolver)
    }

    /// Asks within another time than ours.
    pub fn within(
        time_limit: Duration,
        url: Url,
        policy: Policy,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, TrustError> {
        let policy = Policy { time_limit, size_limit: SIZE_LIMIT, ..policy };
        let outbound = OutboundClient::new(policy, resolver)?;
        Ok(Self { url, outbound, slots: Semaphore::new(AT_ONCE) })
    }

    /// Whom a question is for.
    pub fn audience(&self) -> &str {
        self.url.as_str()
    }

    /// Asks by a token of ours.
    pub async fn ask(&self, token: String) -> Result<Map<String, Value>, HookFault> {
        let _slot = self.slots.try_acquire().map_err(|_| HookFault::Busy)?;
        let (kind, json) = ("application/jwt", "application/json");
        let mut request = Request::post(self.url.clone(), token)
            .header(header::CONTENT_TYPE, HeaderValue::from_static(kind))
            .header(header::ACCEPT, HeaderValue::from_static(json));
        if self.url.scheme() == "http" {
            // `serve` refuses it anywhere but on loopback.
            request = request.allow_plain_http();
        }
        let answer = self.outbound.send(request).await?;
        if answer.status != StatusCode::OK {
            return Err(HookFault::Status(answer.status));
        }
        read(&answer.body)
    }
}

fn read(body: &[u8]) -> Result<Map<String, Value>, HookFault> {
    let Answer { claims } = serde_json::from_slice(body).map_err(|_| HookFault::Malformed)?;
    if claims.len() > MOST_CLAIMS {
        return Err(HookFault::TooMany);
    }
    if !claims.keys().all(|name| is_uri(name)) {
        return Err(HookFault::Name);
    }
    Ok(claims)
}

/// RFC 7519 §4.2: a name that collides with no other.
fn is_uri(name: &str) -> bool {
    Url::parse(name).is_ok() && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn claims_of_its_own_are_taken_and_others_refuse_all_of_them() {
        let said = json!({ "claims": { "https://acme.test/team": ["sales"], "urn:acme:rank": 3 } });
        assert_eq!(read(said.to_string().as_bytes()).unwrap().len(), 2);
        for name in ["sub", "role", "org", "email", "scope", "act", "x", "", "https://a b", "é:x"]
        {
            let said = json!({ "claims": { "https://acme.test/team": 1, name: "x" } });
            assert!(matches!(read(said.to_string().as_bytes()), Err(HookFault::Name)), "{name}");
        }
        for bad in ["", "[]", "{}", "{\"claims\":[]}", "{\"claims\":null}"] {
            assert!(matches!(read(bad.as_bytes()), Err(HookFault::Malformed)), "{bad}");
        }
        let many: Map<String, Value> =
            (0..21).map(|n| (format!("urn:acme:{n}"), json!(n))).collect();
        let many = json!({ "claims": many }).to_string();
        assert!(matches!(read(many.as_bytes()), Err(HookFault::TooMany)));
    }
}
