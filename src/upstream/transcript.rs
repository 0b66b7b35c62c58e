//! The messages of a trial, for the administrator who made the connection: bounded, with every secret masked.

use super::{error::UpstreamError, mask};
use crate::domain::{
    Timestamp,
    upstream::{Callback, CallbackAnswer},
};
use hyper::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};
use url::Url;

/// How many messages are kept; a sign-in has eight at most.
const MOST_MESSAGES: usize = 40;

/// Bytes of a body or an address.
pub(super) const LONGEST: usize = 16 * 1024;

/// Bytes of a header.
const LONGEST_HEADER: usize = 512;

/// Headers of answers that help to find what is wrong.
const HEADERS: [&str; 4] = ["content-type", "location", "retry-after", "www-authenticate"];

/// Where messages are noted, if anywhere; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Transcript(Option<Arc<Mutex<Vec<Message>>>>);

/// A message to a provider, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub kind: MessageKind,
    pub at: Timestamp,
    pub method: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What came back; nothing where it went through the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    /// Why there is no answer, or none that could be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    Metadata,
    /// Through the browser.
    Authorization,
    /// Through the browser.
    Callback,
    Token,
    KeySet,
    /// GitHub's user.
    User,
    /// GitHub's addresses of a user.
    Emails,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Missing where the document was in memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Transcript {
    /// One that notes what it is told; the default notes nothing.
    pub fn recording() -> Self {
        Self(Some(Arc::default()))
    }

    /// Everything that was noted, in order.
    pub fn messages(&self) -> Vec<Message> {
        let Some(messages) = &self.0 else { return Vec::new() };
        messages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes a message, which is made only if it is kept.
    pub(super) fn note(&self, message: impl FnOnce() -> Message) {
        let Some(messages) = &self.0 else { return };
        let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() < MOST_MESSAGES {
            messages.push(message());
        }
    }
}

impl Message {
    pub(super) fn get(kind: MessageKind, url: &str, at: Timestamp) -> Self {
        Self {
            kind,
            at,
            method: "GET".to_owned(),
            url: bounded(url, LONGEST),
            headers: BTreeMap::new(),
            body: None,
            answer: None,
            failure: None,
        }
    }

    /// A form that is posted, as it may be shown.
    pub(super) fn post(kind: MessageKind, url: &str, body: &str, at: Timestamp) -> Self {
        let body = Some(bounded(body, LONGEST));
        Self { method: "POST".to_owned(), body, ..Self::get(kind, url, at) }
    }

    /// The address to which the browser is sent.
    pub(super) fn authorization(url: &Url, at: Timestamp) -> Self {
        Self::get(MessageKind::Authorization, &mask::query(url, &["state", "nonce"]), at)
    }

    /// What the browser brought back.
    pub(super) fn callback(redirect_uri: &str, callback: &Callback, at: Timestamp) -> Self {
        let (code, description);
        let mut pairs = vec![("state", mask::MASKED)];
        match callback.answer() {
            CallbackAnswer::Code(_) => pairs.push(("code", mask::MASKED)),
            CallbackAnswer::Error(error) => {
                (code, description) = (error.code.clone(), error.description.clone());
                pairs.push(("error", &code));
                pairs.extend(description.as_deref().map(|text| ("error_description", text)));
            }
        }
        pairs.extend(callback.iss().map(|iss| ("iss", iss)));
        Self::get(MessageKind::Callback, &format!("{redirect_uri}?{}", mask::joined(&pairs)), at)
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), bounded(value, LONGEST_HEADER));
        self
    }

    /// An answer, whose body is one that may be shown.
    pub(super) fn answered(mut self, status: StatusCode, headers: &HeaderMap, body: &str) -> Self {
        let shown = |name: &str| {
            let value = headers.get(name)?.to_str().ok()?;
            // An address may lead back to us with a code.
            let value = if name == "location" { value.split(['?', '#']).next()? } else { value };
            Some((name.to_owned(), bounded(value, LONGEST_HEADER)))
        };
        let headers = HEADERS.into_iter().filter_map(shown).collect();
        let body = bounded(body, LONGEST);
        self.answer = Some(Answer { status: Some(status.as_u16()), headers, body });
        self
    }

    /// A document that was fetched now, or is in memory.
    pub(super) fn answered_by_document(mut self, text: &str) -> Self {
        self.answer = Some(Answer { body: bounded(text, LONGEST), ..Answer::default() });
        self
    }

    /// Masks texts wherever the answer repeats them in what is shown of its headers.
    pub(super) fn hiding(mut self, secrets: &[&str]) -> Self {
        for value in self.answer.iter_mut().flat_map(|answer| answer.headers.values_mut()) {
            *value = mask::hide(value, secrets);
        }
        self
    }

    pub(super) fn failed(mut self, error: &UpstreamError) -> Self {
        self.failure = Some(error.to_string());
        self
    }
}

/// How a document begins, as far as it is shown.
pub(super) fn shown_start(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)]).into_owned()
}

/// Cuts a text between characters, and shows that it was cut.
fn bounded(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = (0..=longest).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_bounded_and_one_that_was_not_asked_for_notes_nothing() {
        let transcript = Transcript::recording();
        let long = "é".repeat(LONGEST);
        for _ in 0..=MOST_MESSAGES {
            transcript.note(|| Message::get(MessageKind::Token, &long, Timestamp::NEVER));
        }
        let messages = transcript.messages();
        assert_eq!(messages.len(), MOST_MESSAGES);
        assert!(
            messages[0].url.len() <= LONGEST + '…'.len_utf8() && messages[0].url.ends_with('…')
        );
        let silent = Transcript::default();
        silent.note(|| panic!("no message is made"));
        assert!(silent.messages().is_empty());
    }

    #[test]
    fn a_callback_is_shown_without_its_code_and_state() {
        let uri = "https://id.example.com/callback";
        let shown = |query: &str| {
            let callback = Callback::read(query).unwrap();
            Message::callback(uri, &callback, Timestamp::NEVER).url
        };
        let code = shown("code=verysecret&state=alsosecret&iss=https://login.acme.test");
        let expected = "state=[masked]&code=[masked]&iss=https://login.acme.test";
        assert_eq!(code, format!("{uri}?{expected}"));
        let error = shown("error=access_denied&error_description=No&state=alsosecret");
        let expected = "state=[masked]&error=access_denied&error_description=No";
        assert_eq!(error, format!("{uri}?{expected}"));
    }

    #[test]
    fn of_an_answer_the_headers_of_interest_are_shown() {
        let mut headers = HeaderMap::new();
        headers.insert("location", "https://id.example.com/cb?code=verysecret#a".parse().unwrap());
        headers.insert("set-cookie", "session=verysecret".parse().unwrap());
        headers.insert("content-type", "text/html".parse().unwrap());
        let message = Message::get(MessageKind::Token, "https://a.test", Timestamp::NEVER);
        let message = message.answered(StatusCode::FOUND, &headers, "");
        let text = serde_json::to_string(&message).unwrap();
        assert!(text.contains("https://id.example.com/cb") && text.contains("text/html"));
        assert!(!text.contains("verysecret"), "{text}");
        assert_eq!(serde_json::from_str::<Message>(&text).unwrap(), message);
    }
}
