//! A message for the outside world: who delivers it, how urgent it is, and with which others it takes turns (adr/0118).

use super::{Fingerprint, Secret, Timestamp};

/// A message for the outside world, delivered at least once after the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Which courier delivers it: `mail`, `sms`, `webhook` …
    pub topic: &'static str,
    pub class: DeliveryClass,
    pub key: DeliveryKey,
    /// What the courier needs; encrypted at rest, erased on delivery.
    pub payload: Secret,
    /// After this it is pointless and is dropped undelivered.
    pub expires_at: Timestamp,
}

impl Dispatch {
    /// Lets it take turns with the other messages of `key`.
    pub fn keyed(self, key: DeliveryKey) -> Self {
        Self { key, ..self }
    }
}

/// How urgent a message is. Each class has workers of its own, so that none waits behind another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryClass {
    /// A person waits for it now: codes and links to sign in with.
    Code,
    /// A person, or a client in their name, has asked for it: invitations, requests for an approval.
    Request,
    /// Tells a person what has happened.
    Notice,
    /// Goes to an address that an organization or a client has named: webhooks, logouts, pings.
    Endpoint,
}

impl DeliveryClass {
    pub const ALL: [Self; 4] = [Self::Code, Self::Request, Self::Notice, Self::Endpoint];

    /// The number that it is stored by.
    pub fn number(self) -> i64 {
        match self {
            Self::Code => 0,
            Self::Request => 1,
            Self::Notice => 2,
            Self::Endpoint => 3,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Request => "request",
            Self::Notice => "notice",
            Self::Endpoint => "endpoint",
        }
    }
}

/// A key with as many bytes is replaced by its hash.
const LONGEST: usize = 256;

/// Whose turn it is, within a class: the messages of one key wait for each other, and not for those of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryKey(String);

impl DeliveryKey {
    /// For what belongs to no organization and no client.
    pub fn installation() -> Self {
        Self("/".to_owned())
    }

    pub fn organization(slug: &str) -> Self {
        Self::bounded(slug, "")
    }

    /// An endpoint of an organization.
    pub fn endpoint(slug: &str, endpoint: &str) -> Self {
        Self::bounded(slug, endpoint)
    }

    pub fn client(client_id: &str) -> Self {
        Self::bounded("", &format!("client {client_id}"))
    }

    pub fn account(account: &str) -> Self {
        Self::bounded("", &format!("account {account}"))
    }

    /// An index takes no long text: a client's id may be an address.
    fn bounded(slug: &str, name: &str) -> Self {
        if slug.len() + name.len() < LONGEST {
            return Self(format!("{slug}/{name}"));
        }
        Self(format!("/{}", String::from(Fingerprint::of(format!("{slug}/{name}").as_bytes()))))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads off a stored key the organization it is about, if it is about one: no slug has a slash.
    pub fn organization_of(key: &str) -> Option<&str> {
        key.split_once('/').map(|(slug, _)| slug).filter(|slug| !slug.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_names_the_organization_that_it_belongs_to() {
        let of = |key: DeliveryKey| DeliveryKey::organization_of(key.as_str()).map(str::to_owned);
        assert_eq!(of(DeliveryKey::organization("acme")).as_deref(), Some("acme"));
        assert_eq!(of(DeliveryKey::endpoint("acme", "wh/1")).as_deref(), Some("acme"));
        for key in
            [DeliveryKey::installation(), DeliveryKey::client("a/b"), DeliveryKey::account("1")]
        {
            assert_eq!(of(key), None);
        }
        assert_ne!(DeliveryKey::client("1"), DeliveryKey::account("1"));
        let long = |end: &str| DeliveryKey::client(&format!("{}{end}", "x".repeat(2_000)));
        assert!(long("a").as_str().len() < LONGEST && long("a") != long("b"));
        assert_eq!(DeliveryKey::organization_of("-"), None, "as rows of earlier versions have it");
    }

    #[test]
    fn classes_are_stored_in_their_order() {
        let numbers = DeliveryClass::ALL.map(DeliveryClass::number);
        assert_eq!(numbers, [0, 1, 2, 3]);
        assert!(DeliveryClass::ALL.is_sorted());
    }
}
