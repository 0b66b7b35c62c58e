//! Strict forms: every parameter once, well-formed, within bounds.

use super::{
    body::{self, RequestBody},
    client_certificate::RequestCertificate,
    origin::Origin,
};
use crate::{
    crypto::ClientCertificate,
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        limits::request_permits::WorkPermit,
    },
};
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts as _, Request},
    http::{HeaderMap, request::Parts},
};
use bytes::Bytes;
use std::{borrow::Cow, net::IpAddr, sync::Arc};

const MOST_PARAMETERS: usize = 64;

/// The parameters of a form, each given once; an empty one counts as not given.
#[derive(Default)]
pub struct Form {
    parameters: Vec<(String, String)>,
    /// The one parameter that a standard lets callers repeat (RFC 8707 §2).
    several_resources: bool,
    /// What was given more than once, where that is noted and not refused.
    repeated: Vec<String>,
}

const fn malformed(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}

impl Form {
    /// Parses `application/x-www-form-urlencoded` as the URL standard has it, but refuses what that
    /// would mend.
    pub fn parse(body: &[u8]) -> Result<Self, OAuthError> {
        let form = Self::parse_noting(body)?;
        match form.repeated.first() {
            // RFC 6749 §3.2
            Some(name) => Err(malformed(repeated(name))),
            None => Ok(form),
        }
    }

    /// Parses, and only notes what is given more than once: the first counts.
    pub fn parse_noting(body: &[u8]) -> Result<Self, OAuthError> {
        let mut form = Self::default();
        for pair in body.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
            let at = pair.iter().position(|byte| *byte == b'=');
            let (name, value) = at.map_or((pair, &[][..]), |at| (&pair[..at], &pair[at + 1..]));
            let (name, value) = (decode(name)?, decode(value)?);
            if form.parameters.len() == MOST_PARAMETERS {
                return Err(malformed("there are too many parameters"));
            }
            if form.parameters.iter().any(|(known, _)| *known == name) {
                // A token is for one API: with several it would not be clear which is meant.
                if name == "resource" {
                    form.several_resources = true;
                    continue;
                }
                form.repeated.push(name.into_owned());
                continue;
            }
            form.parameters.push((name.into_owned(), value.into_owned()));
        }
        Ok(form)
    }

    pub fn is_repeated(&self, name: &str) -> bool {
        self.repeated.iter().any(|known| known == name)
    }

    pub fn has_repetition(&self) -> bool {
        !self.repeated.is_empty()
    }

    /// Returns a parameter; one without a value was not given (RFC 6749 §3.2).
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Makes a form of parameters that are not repeated.
    pub fn of(parameters: Vec<(String, String)>) -> Self {
        Self { parameters, ..Self::default() }
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the token that a request is about.
    pub fn token(&self) -> Result<&str, OAuthError> {
        self.get("token").ok_or(malformed("the parameter token is missing"))
    }

    /// Returns the one `resource`, which RFC 8707 would let callers repeat.
    pub fn resource(&self) -> Result<Option<&str>, OAuthError> {
        if self.several_resources {
            let why = "a token is for one resource: ask once for each";
            return Err(OAuthError::new(Code::InvalidTarget, why));
        }
        Ok(self.get("resource"))
    }
}

/// Names the parameters whose repetition callers will meet; the rest stay unnamed, since a
/// description is never made of what came in.
fn repeated(name: &str) -> &'static str {
    match name {
        "grant_type" => "the parameter grant_type is repeated",
        "client_id" => "the parameter client_id is repeated",
        "client_assertion" => "the parameter client_assertion is repeated",
        "client_secret" => "the parameter client_secret is repeated",
        "scope" => "the parameter scope is repeated",
        "organization" => "the parameter organization is repeated",
        "token" => "the parameter token is repeated",
        "token_type_hint" => "the parameter token_type_hint is repeated",
        _ => "a parameter is repeated",
    }
}

/// Decodes `+` and `%XX`; what is left over must be UTF-8 without NUL.
pub(super) fn decode(text: &[u8]) -> Result<Cow<'_, str>, OAuthError> {
    const BROKEN: OAuthError = malformed("a parameter has a malformed percent-encoding");
    const NOT_TEXT: OAuthError = malformed("a parameter is not UTF-8");
    let plain = !text.iter().any(|byte| matches!(byte, b'%' | b'+' | 0));
    if plain {
        return std::str::from_utf8(text).map(Cow::Borrowed).map_err(|_| NOT_TEXT);
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<&u8>| char::from(*byte?).to_digit(16);
                let (high, low) = (digit(bytes.next()), digit(bytes.next()));
                let (Some(high), Some(low)) = (high, low) else { return Err(BROKEN) };
                u8::try_from(high * 16 + low).map_err(|_| BROKEN)?
            }
            other => *other,
        });
    }
    // PostgreSQL could not even be asked about it.
    if decoded.contains(&0) {
        return Err(malformed("a parameter contains a NUL character"));
    }
    String::from_utf8(decoded).map(Cow::Owned).map_err(|_| NOT_TEXT)
}

/// A form, and what it came with.
pub struct PostedForm {
    pub headers: HeaderMap,
    pub form: Form,
    /// The path that was called.
    pub path: String,
    /// The address of the caller.
    pub address: IpAddr,
    /// The certificate that it came with.
    pub certificate: Option<Arc<ClientCertificate>>,
    /// Kept until the request is answered.
    _place: WorkPermit,
}

impl FromRequest<App> for PostedForm {
    type Rejection = OAuthError;

    async fn from_request(request: Request, app: &App) -> Result<Self, OAuthError> {
        let (mut head, body) = request.into_parts();
        let Ok(Origin(address)) = Origin::from_request_parts(&mut head, app).await;
        let (body, place) = arrived(&head, body, app).await?;
        let (form, path) = (Form::parse(&body)?, head.uri.path().to_owned());
        let RequestCertificate(certificate) = RequestCertificate::of(&head);
        Ok(Self { headers: head.headers, form, path, address, certificate, _place: place })
    }
}

/// Reads a form's body within limits, and takes a place for it to be worked on.
pub async fn arrived(
    head: &Parts,
    body: Body,
    app: &App,
) -> Result<(Bytes, WorkPermit), OAuthError> {
    if head.uri.query().is_some_and(|query| !query.is_empty()) {
        // RFC 6749 §2.3.1: what is in an address ends up in logs.
        return Err(malformed("parameters belong into the body, not into the address"));
    }
    if !body::is_of_type(&head.headers, "application/x-www-form-urlencoded") {
        return Err(malformed("the body must be application/x-www-form-urlencoded in UTF-8"));
    }
    let RequestBody { bytes, permit } = body::read(head, body, &app.limits.request_permits).await?;
    Ok((bytes, permit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refusal(body: &[u8]) -> &'static str {
        Form::parse(body).err().expect("it is refused").description
    }

    #[test]
    fn parameters_are_decoded_once_and_empty_ones_were_not_given() {
        let form = Form::parse(b"a=1%2B1&b=x+y&c=&d&e=%C3%A9&&f=%2525").unwrap();
        assert_eq!(form.get("a"), Some("1+1"));
        assert_eq!(form.get("b"), Some("x y"));
        assert_eq!((form.get("c"), form.get("d"), form.get("g")), (None, None, None));
        assert_eq!(form.get("e"), Some("é"));
        assert_eq!(form.get("f"), Some("%25"));
        assert!(Form::parse(b"").is_ok());
    }

    #[test]
    fn a_repeated_parameter_is_refused_even_when_spelled_differently() {
        assert_eq!(refusal(b"scope=a&scope=a"), "the parameter scope is repeated");
        assert_eq!(refusal(b"scope=a&%73cope=b"), "the parameter scope is repeated");
        assert_eq!(refusal(b"x=&x="), "a parameter is repeated");
        let form = Form::parse(b"resource=a&resource=b").unwrap();
        assert_eq!(form.resource().unwrap_err().code, Code::InvalidTarget);
    }

    #[test]
    fn what_is_malformed_is_named() {
        for bad in [&b"a=%"[..], b"a=%4", b"a=%zz", b"%=a", b"a=%-1", b"a=%+1"] {
            assert_eq!(refusal(bad), "a parameter has a malformed percent-encoding", "{bad:?}");
        }
        for bad in [&b"a=\xff"[..], b"a=%ff", b"\xc3=1", b"a=%c3+"] {
            assert_eq!(refusal(bad), "a parameter is not UTF-8", "{bad:?}");
        }
        for bad in [&b"a=%00"[..], b"a=\0", b"%00=1"] {
            assert_eq!(refusal(bad), "a parameter contains a NUL character", "{bad:?}");
        }
        let many: Vec<String> = (0..65).map(|n| format!("p{n}=1")).collect();
        assert_eq!(refusal(many.join("&").as_bytes()), "there are too many parameters");
    }

    proptest! {
        #[test]
        fn no_body_panics(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Form::parse(&body);
        }

        #[test]
        fn what_is_encoded_comes_back(name in "[^\0]{1,20}", value in "[^\0]{1,20}") {
            let encoded: String =
                url::form_urlencoded::Serializer::new(String::new()).append_pair(&name, &value).finish();
            let form = Form::parse(encoded.as_bytes()).unwrap();
            prop_assert_eq!(form.get(&name), Some(value.as_str()));
        }
    }
}
