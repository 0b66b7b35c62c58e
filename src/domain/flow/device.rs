//! A device in a flow: the one whose code the person enters, and what becomes of its request.

use crate::domain::{
    authorization::Denial,
    device_grant::{self, DeviceRequest},
    grant::Grant,
};
use serde::{Deserialize, Serialize};

/// A device whose code a person has entered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnteredDevice {
    /// The id of its grant.
    pub grant: String,
    pub request: DeviceRequest,
    /// The code itself, sealed: the person compares it with what the device shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl EnteredDevice {
    /// The person says yes.
    pub(super) fn approved(&self, grant: Box<Grant>) -> DeviceChange {
        let id = self.grant.clone();
        DeviceChange { grant: id.clone(), command: device_grant::Command::Approve { id, grant } }
    }

    /// The person says no, or may not grant what is asked for. That they could not prove who they are
    /// says nothing: another may enter the code.
    pub(super) fn denied(&self, account: &str, why: &Denial) -> Option<DeviceChange> {
        if matches!(
            why,
            Denial::TooManyAttempts | Denial::Stopped | Denial::OtherPerson | Denial::Superseded
        ) {
            return None;
        }
        let command = device_grant::Command::Deny { account: account.to_owned(), why: why.clone() };
        Some(DeviceChange { grant: self.grant.clone(), command })
    }
}

/// What becomes of the request of a device in the commit of the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceChange {
    /// The id of its grant.
    pub grant: String,
    pub command: device_grant::Command,
}
