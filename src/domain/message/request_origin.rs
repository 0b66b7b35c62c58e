//! The origin of a request for a mail: who asked, from where, and when: a person who did not ask sees it.

use crate::domain::{Context, Device, DeviceKind, Timestamp};
use serde::{Deserialize, Serialize};

/// The origin of a request for a mail: who asked, from where, and when. It travels with the mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOrigin {
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Asker>,
    #[serde(default)]
    pub device: DeviceKind,
    /// The network that was asked from, as a session keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Where that network is, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// Who asked, beside the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// An operator, by a command.
    Operator,
    /// Others who look after an organization: where they are is not told.
    Administrators,
    /// The application by this name sent the person.
    Application(String),
    /// An application that registered itself did. Its name is not repeated: it could say anything, to
    /// any address.
    SelfRegistered,
}

impl RequestOrigin {
    /// What a request asks for.
    pub fn by_request(context: &Context, at: Timestamp) -> Self {
        let Device { user_agent, network } = context.device();
        let device = user_agent.as_deref().map(DeviceKind::of).unwrap_or_default();
        Self { at, by: None, device, network, place: None }
    }

    /// What an operator asks for.
    pub fn by_operator(at: Timestamp) -> Self {
        Self::by_others(Asker::Operator, at)
    }

    /// What others do to an account of which they are not the person, as its history tells it.
    pub fn by_administrators(at: Timestamp) -> Self {
        Self::by_others(Asker::Administrators, at)
    }

    fn by_others(by: Asker, at: Timestamp) -> Self {
        Self { at, by: Some(by), device: DeviceKind::default(), network: None, place: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(7);

    #[test]
    fn a_request_is_known_by_its_device_and_network_and_by_nothing_that_it_wrote() {
        let address = "203.0.113.9".parse().unwrap();
        let agent = b"Mozilla/5.0 (Windows NT 10.0) Firefox/140.0 <b>\r\nhttps://evil.test/";
        let asked = RequestOrigin::by_request(&Context::request(address, Some(agent), None), NOW);
        assert_eq!(asked.network.as_deref(), Some("203.0.113.0/24"));
        let kept = serde_json::to_string(&asked).unwrap();
        assert!(kept.contains("firefox") && kept.contains("windows"), "{kept}");
        assert!(!kept.contains("evil") && !kept.contains("140"), "{kept}");
        assert_eq!(serde_json::from_str::<RequestOrigin>(&kept).unwrap(), asked);
    }

    #[test]
    fn an_operator_asks_from_nowhere() {
        let asked = RequestOrigin::by_operator(NOW);
        assert_eq!((asked.by, asked.network), (Some(Asker::Operator), None));
        let others = RequestOrigin::by_administrators(NOW);
        assert_eq!((others.by, others.network), (Some(Asker::Administrators), None));
    }
}
