//! A body, read within limits: how large it is, how long it takes, and how many are on their way.

use super::address;
use crate::http::{
    answer::error::RequestFailure,
    limits::request_permits::{RequestPermits, WorkPermit},
};
use crate::transport::Peer;
use axum::{
    body::{Body, HttpBody as _},
    http::{HeaderMap, header, request::Parts},
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use std::net::IpAddr;
use tokio::time::timeout;

/// More than any request of ours needs.
pub const LARGEST: usize = 64 * 1024;

/// A body that is here, and the permit to work on it.
pub struct RequestBody {
    pub bytes: Bytes,
    pub permit: WorkPermit,
}

/// Where the request comes from.
pub fn client(head: &Parts, request_permits: &RequestPermits) -> IpAddr {
    let peer = head.extensions.get::<Peer>();
    address::of(peer, &head.headers, &request_permits.addresses)
}

/// Reads all of it; while it comes in, the request holds a body permit of its client's address.
pub async fn read(
    head: &Parts,
    body: Body,
    request_permits: &RequestPermits,
) -> Result<RequestBody, RequestFailure> {
    read_up_to(LARGEST, head, body, request_permits).await
}

/// The same with another limit than the usual.
pub async fn read_up_to(
    largest: usize,
    head: &Parts,
    body: Body,
    request_permits: &RequestPermits,
) -> Result<RequestBody, RequestFailure> {
    // A proxy in front of us might read another request than we do.
    if head.headers.contains_key(header::CONTENT_ENCODING) {
        return Err(RequestFailure::WrongMedia("the body must not be encoded"));
    }
    if body.size_hint().lower() > largest as u64 {
        return Err(RequestFailure::TooLarge);
    }
    let client = client(head, request_permits);
    let _arriving = request_permits.arrive(client)?;
    let whole = Limited::new(body, largest).collect();
    match timeout(request_permits.timeout, whole).await {
        Ok(Ok(body)) => {
            Ok(RequestBody { bytes: body.to_bytes(), permit: request_permits.work(client)? })
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(RequestFailure::TooLarge),
        Ok(Err(_)) => Err(RequestFailure::Incomplete),
        Err(_late) => Err(RequestFailure::LateBody),
    }
}

/// Tells whether the body is said to be of one media type, in UTF-8 where that is said.
pub fn is_of_type(headers: &HeaderMap, essence: &str) -> bool {
    let mut given = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(kind), None) = (given.next(), given.next()) else { return false };
    let mut parts = kind.to_str().unwrap_or_default().split(';').map(str::trim);
    parts.next().is_some_and(|named| named.eq_ignore_ascii_case(essence))
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
                value.trim_matches('"').eq_ignore_ascii_case("utf-8")
            }
            _ => true,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_json(kinds: &[&str]) -> bool {
        let named = |kind: &&str| (header::CONTENT_TYPE, kind.parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, kind) in kinds.iter().map(named) {
            headers.append(name, kind);
        }
        is_of_type(&headers, "application/json")
    }

    #[test]
    fn a_body_is_of_one_type_and_in_one_alphabet() {
        for good in
            ["application/json", "Application/JSON ; charset=\"UTF-8\"", "application/json;q=1"]
        {
            assert!(is_json(&[good]), "{good}");
        }
        for bad in [
            &[][..],
            &[""],
            &["application/json", "application/json"],
            &["application/json; charset=latin1"],
            &["application/json; charset=utf-8; charset=utf-16"],
            &["application/jsonx"],
            &["text/plain; application/json"],
            &["application/json, text/plain"],
            &["application/scim+json"],
        ] {
            assert!(!is_json(bad), "{bad:?}");
        }
    }
}
