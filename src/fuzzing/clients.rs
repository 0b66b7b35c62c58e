//! What clients say of themselves, and what lies at their addresses.

use super::{Outcome, text, two};
use crate::domain::{
    Fingerprint,
    client::{ApplicationType, ClientMetadata, KnownClient, is_document_address, redirect_uri},
    picture::Picture,
    strict_json,
};
use serde_json::Value;

/// A registration (RFC 7591): what was registered can be registered again, as the same.
pub(super) fn metadata(bytes: &[u8]) -> Outcome {
    let Ok(members) = strict_json::object(bytes) else { return Outcome::NO_TEXT };
    let read = ClientMetadata::to_register(&members);
    if let Ok(metadata) = &read {
        let again = ClientMetadata::to_register(&metadata.members());
        assert_eq!(again.as_ref(), Ok(metadata), "what is shown can be sent");
        assert!(metadata.redirect_uris.iter().all(|uri| redirect_uri::check(uri).is_ok()));
    }
    Outcome::of(&read.map(|metadata| (metadata.redirect_uris.len(), metadata.jwks.is_some())))
}

/// The address of a document in the first line, the document after it.
pub(super) fn document(bytes: &[u8]) -> Outcome {
    let (address, document) = two(bytes);
    let Some(address) = text(address) else { return Outcome::NO_TEXT };
    let is_address = is_document_address(address);
    let Ok(document) = strict_json::value(document) else { return Outcome::of(&is_address) };
    let token = Fingerprint::of(b"no token");
    let known = KnownClient::from_document(address, &document, token, super::signed::NOW);
    if let Ok(known) = &known {
        assert_eq!(
            document.get("client_id").and_then(Value::as_str),
            Some(known.client_id.as_str())
        );
        assert!(!known.metadata.redirect_uris.is_empty());
    }
    Outcome::of(&(is_address, known.map(|known| known.document().is_some())))
}

/// A registered URI in the first line, a presented one after it.
pub(super) fn redirect_uri(bytes: &[u8]) -> Outcome {
    let (registered, presented) = two(bytes);
    let (Some(registered), Some(presented)) = (text(registered), text(presented)) else {
        return Outcome::NO_TEXT;
    };
    let checked = redirect_uri::check(registered);
    for kind in [None, Some(ApplicationType::Web), Some(ApplicationType::Native)] {
        let is_same = redirect_uri::matches(registered, presented, kind);
        if is_same && registered != presented {
            assert_ne!(kind, Some(ApplicationType::Web), "a port is free for native ones alone");
            assert!(redirect_uri::is_loopback(registered) && redirect_uri::is_loopback(presented));
            assert_eq!(redirect_uri::host(registered), redirect_uri::host(presented));
        }
    }
    if checked.is_ok() && !redirect_uri::is_private_use(registered) {
        let url = url::Url::parse(registered);
        assert!(url.is_ok_and(|url| url.host().is_some()), "what is registered leads somewhere");
    }
    Outcome::of(&checked).and(Outcome::of(&redirect_uri::is_loopback(presented)))
}

/// A logo, which is fetched from where a client says.
pub(super) fn picture(bytes: &[u8]) -> Outcome {
    let points = Picture::of_points(bytes.to_vec()).map(|_| ());
    let any = Picture::of_any(bytes.to_vec()).map(|_| ());
    assert!(points.is_err() || any.is_ok(), "what is taken of strangers is taken of the operator");
    Outcome::of(&points).and(Outcome::of(&any))
}
