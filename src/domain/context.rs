//! On whose behalf something is asked, and from where: what every record of the security log says
//! beside what happened.
//!
//! No rule looks at it: `decide` never sees it. Records are completed when their commit is built.

use super::{Device, Record};
// `core` has addresses and no sockets.
use core::net::IpAddr;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The most characters that are kept of a user agent.
pub const LONGEST_USER_AGENT: usize = 256;

/// Where a request comes from and who acts; clones are cheap and the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context(Arc<Facts>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Facts {
    address: Option<IpAddr>,
    user_agent: Option<String>,
    request_id: Option<Arc<str>>,
    actor: Option<Actor>,
    /// Those who act for the actor, the present one first.
    act: Option<String>,
    reason: Option<String>,
}

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person who proved to be this account.
    Person(String),
    /// A client by its `client_id`; a public client cannot prove that it is the one.
    Client(String),
    /// A program with an API key, by the key's id.
    ApiKey(String),
    /// The operator, by a command.
    Operator,
    /// This server, by itself.
    Node,
}

impl Context {
    /// What a command of the operator does.
    pub fn operator() -> Self {
        Self::of(Facts { actor: Some(Actor::Operator), ..Facts::default() })
    }

    /// What a server does by itself.
    pub fn node() -> Self {
        Self::of(Facts { actor: Some(Actor::Node), ..Facts::default() })
    }

    /// The address that asks, if it is a request.
    pub fn address(&self) -> Option<IpAddr> {
        self.0.address
    }

    /// What is asked by a request from this address; who acts is not known yet.
    pub fn request(address: IpAddr, user_agent: Option<&[u8]>, id: Option<Arc<str>>) -> Self {
        Self::of(Facts {
            address: Some(address.to_canonical()),
            user_agent: user_agent.map(printable),
            request_id: id,
            ..Facts::default()
        })
    }

    /// The id of the request, as its answer names it.
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The same, done by `actor`.
    pub fn by(mut self, actor: Actor) -> Self {
        Arc::make_mut(&mut self.0).actor = Some(actor);
        self
    }

    /// The same, done by these parties for the actor, the present one first.
    pub fn acted_by(mut self, parties: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).act = Some(parties.into());
        self
    }

    /// The same, for a reason that the operator gave.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.0).reason = Some(reason.into());
        self
    }

    pub fn actor(&self) -> Option<&Actor> {
        self.0.actor.as_ref()
    }

    /// What the browser says of itself, as it is logged: for people to read, and for no rule.
    pub fn user_agent(&self) -> Option<&str> {
        self.0.user_agent.as_deref()
    }

    /// Returns what a session that begins with this request keeps of where it began.
    pub fn device(&self) -> Device {
        Device::of(self.0.address, self.0.user_agent.clone())
    }

    fn of(facts: Facts) -> Self {
        Self(Arc::new(facts))
    }

    /// The members of a record's `context`; what is not known is left out.
    fn members(&self) -> Map<String, Value> {
        let Facts { address, user_agent, request_id, actor, act, reason } = &*self.0;
        let members = [
            ("act", act.as_deref().map(Value::from)),
            ("actor", actor.as_ref().map(Actor::json)),
            ("address", address.map(|address| address.to_string().into())),
            ("reason", reason.as_deref().map(Value::from)),
            ("request_id", request_id.as_deref().map(Value::from)),
            ("user_agent", user_agent.as_deref().map(Value::from)),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

impl Actor {
    fn json(&self) -> Value {
        match self {
            Self::Person(id) => json!({ "type": "person", "id": id }),
            Self::Client(id) => json!({ "type": "client", "id": id }),
            Self::ApiKey(id) => json!({ "type": "api_key", "id": id }),
            Self::Operator => json!({ "type": "operator" }),
            Self::Node => json!({ "type": "node" }),
        }
    }
}

impl Record {
    /// Says in which context it was written.
    pub fn in_context(self, context: &Context) -> Self {
        self.with("context", context.members())
    }
}

/// Makes what a caller sent fit for a log: bounded, one line of printable ASCII, and no e-mail
/// address.
fn printable(text: &[u8]) -> String {
    let character = |byte: &u8| match byte {
        b'@' => '*',
        b' '..=b'~' => char::from(*byte),
        _ => '?',
    };
    text.iter().take(LONGEST_USER_AGENT).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detail(context: &Context) -> Value {
        Value::Object(Record::new("x").with("a", 1).in_context(context).detail)
    }

    #[test]
    fn a_record_says_who_acted_and_from_where_and_leaves_out_what_is_not_known() {
        let address = "::ffff:203.0.113.9".parse().unwrap();
        let asked = Context::request(address, Some(b"curl/8"), Some("r1".into()));
        let known = json!({ "address": "203.0.113.9", "request_id": "r1", "user_agent": "curl/8" });
        assert_eq!(detail(&asked), json!({ "a": 1, "context": known }));
        let person = asked.clone().by(Actor::Person("p".to_owned())).because("asked to");
        let shown = detail(&person);
        assert_eq!(shown["context"]["actor"], json!({ "type": "person", "id": "p" }));
        assert_eq!(shown["context"]["reason"], "asked to");
        assert_eq!(asked.actor(), None, "the former context is as it was");
        let device = person.device();
        assert_eq!(device.user_agent.as_deref(), Some("curl/8"));
        assert_eq!(device.network.as_deref(), Some("203.0.113.0/24"), "less than the record has");
        let node = json!({ "a": 1, "context": { "actor": { "type": "node" } } });
        assert_eq!(detail(&Context::node()), node);
    }

    #[test]
    fn a_hostile_user_agent_is_bounded_printable_and_no_address() {
        let mut hostile = b"a\r\n\x1b[31m\0\xff\xc3\xa9 ana@acme.test ".to_vec();
        hostile.resize(10_000, b'x');
        let kept = printable(&hostile);
        assert_eq!(kept.chars().count(), LONGEST_USER_AGENT);
        assert!(kept.starts_with("a???[31m???? ana*acme.test x"), "{kept}");
        assert!(kept.chars().all(|c| c == ' ' || c.is_ascii_graphic()) && !kept.contains('@'));
    }
}
