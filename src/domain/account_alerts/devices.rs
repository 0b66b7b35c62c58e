//! The devices from which a person signs in: few, and forgotten after a while.

use crate::domain::{Device, Fingerprint, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How many devices of an account are known; beyond that the longest unused is forgotten.
pub const MOST_DEVICES: usize = 20;

/// How long a device is known after it was last used: as long as its browser keeps the cookie.
pub const KEPT_FOR: Duration = Duration::from_hours(180 * 24);

/// How often it is noted that a device is used.
const NOTED_EVERY: Duration = Duration::from_hours(24);

/// By what a device is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceKey(Fingerprint);

impl DeviceKey {
    /// A browser, by the id in its sealed cookie.
    pub fn browser(id: &str) -> Self {
        Self(Fingerprint::of(format!("browser {id}").as_bytes()))
    }

    /// A caller without a browser, by what it calls itself and by its network.
    pub fn program(device: &Device) -> Self {
        let agent = device.user_agent.as_deref().unwrap_or_default();
        let network = device.network.as_deref().unwrap_or_default();
        Self(Fingerprint::of(format!("program {network} {agent}").as_bytes()))
    }
}

/// The devices of an account, the longest unused first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct DeviceList(Vec<SeenDevice>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenDevice {
    #[serde(rename = "d")]
    key: DeviceKey,
    /// When it was last noted that it is used.
    #[serde(rename = "t")]
    at: Timestamp,
}

impl DeviceList {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Notes that a device is used; tells whether it is a new one.
    pub(super) fn see(&mut self, key: DeviceKey, now: Timestamp) -> bool {
        self.0.retain(|seen| now.since(seen.at) < KEPT_FOR);
        let place = self.0.iter().position(|seen| seen.key == key);
        if let Some(place) = place {
            // Most sign-ins write nothing here.
            if now.since(self.0[place].at) < NOTED_EVERY {
                return false;
            }
            self.0.remove(place);
        }
        self.0.push(SeenDevice { key, at: now });
        let beyond = self.0.len().saturating_sub(MOST_DEVICES);
        self.0.drain(..beyond);
        place.is_none()
    }
}
