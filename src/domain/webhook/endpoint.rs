//! What is known of an endpoint, and what it wants to be told.

use super::{Change, Create, LONGEST_URL, MOST_EVENTS, Refusal};
use crate::domain::{
    Record, Timestamp, account::SealedSecret, client::check_callable, organization,
};
use serde::{Deserialize, Serialize};

/// What is known of an endpoint, its secrets aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// A UUID in lower case.
    pub id: String,
    /// The slug of the organization whose trail it is sent.
    pub organization: String,
    /// Which of the organization's places it has.
    pub place: u8,
    pub url: String,
    /// Which events it is sent, as [`is_event_filter`] has them; all, where there is none.
    pub events: Vec<String>,
    pub enabled: bool,
    /// From when on it is sent what is written: since it was last enabled.
    pub since: Timestamp,
    pub created_at: Timestamp,
    /// When the first of its deliveries failed, if none has succeeded after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// Why the server has disabled it, if the server has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled_because: Option<DisabledBecause>,
}

/// Why the server has disabled an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisabledBecause {
    /// No delivery has succeeded for days.
    Failing,
    /// The endpoint has said that it wants nothing more.
    Gone,
}

impl DisabledBecause {
    pub fn name(self) -> &'static str {
        match self {
            Self::Failing => "failing",
            Self::Gone => "gone",
        }
    }
}

/// What signs, sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secrets {
    pub current: SealedSecret,
    /// The one before, if it signs for some time yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<FormerSecret>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerSecret {
    pub secret: SealedSecret,
    pub signs_until: Timestamp,
}

impl Secrets {
    /// Before the first is known.
    pub(super) fn none() -> Self {
        Self { current: SealedSecret::new(Vec::new()), former: None }
    }

    /// Lists those that sign now, the current one first.
    pub fn that_sign(&self, now: Timestamp) -> impl Iterator<Item = &SealedSecret> {
        let former = self.former.as_ref().filter(move |former| now < former.signs_until);
        std::iter::once(&self.current).chain(former.map(|former| &former.secret))
    }
}

/// Tells whether this names events: `noun.verb`, or `noun.*` for all of a noun.
pub fn is_event_filter(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let two = text.split_once('.').filter(|_| text.len() <= 100);
    two.is_some_and(|(noun, verb)| is_word(noun) && (verb == "*" || is_word(verb)))
}

fn check(url: &str, events: &[String]) -> Result<(), Refusal> {
    if url.len() > LONGEST_URL {
        return Err(Refusal::LongUrl);
    }
    check_callable(url).map_err(Refusal::Url)?;
    if events.len() > MOST_EVENTS {
        return Err(Refusal::ManyEvents);
    }
    match events.iter().position(|event| !is_event_filter(event)) {
        Some(place) => Err(Refusal::Event { place }),
        None => Ok(()),
    }
}

impl Endpoint {
    pub(super) fn new(
        create: &Create,
        home: &organization::Known,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        check(&create.url, &create.events)?;
        Ok(Self {
            id: create.id.clone(),
            organization: home.slug.clone(),
            place: create.place,
            url: create.url.clone(),
            events: create.events.clone(),
            enabled: true,
            since: now,
            created_at: now,
            failing_since: None,
            disabled_because: None,
        })
    }

    /// Returns what it would be, and the names of what differs.
    pub(super) fn changed(
        &self,
        change: &Change,
        now: Timestamp,
    ) -> Result<(Self, Vec<&'static str>), Refusal> {
        let url = change.url.clone().unwrap_or_else(|| self.url.clone());
        let events = change.events.clone().unwrap_or_else(|| self.events.clone());
        check(&url, &events)?;
        let enabled = change.enabled.unwrap_or(self.enabled);
        let differs = [
            ("url", url != self.url),
            ("events", events != self.events),
            ("enabled", enabled != self.enabled),
        ];
        let fields = differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name);
        let begins = enabled && !self.enabled;
        // Another address has not failed yet, and neither has one that is tried anew.
        let anew = begins || url != self.url;
        let next = Self {
            since: if begins { now } else { self.since },
            failing_since: self.failing_since.filter(|_| !anew),
            disabled_because: self.disabled_because.filter(|_| !enabled),
            url,
            events,
            enabled,
            ..self.clone()
        };
        Ok((next, fields.collect()))
    }

    /// Tells whether it is sent an event of this organization that was written at this time.
    pub fn wants(&self, organization: &str, event: &str, at: Timestamp) -> bool {
        let named = |filter: &String| match filter.strip_suffix('*') {
            Some(noun) => event.starts_with(noun),
            None => event == filter,
        };
        self.enabled
            && self.organization == organization
            && at >= self.since
            && (self.events.is_empty() || self.events.iter().any(named))
    }

    pub(super) fn record(&self, event: &'static str) -> Record {
        Record::new(event).in_organization(&*self.organization)
    }
}
