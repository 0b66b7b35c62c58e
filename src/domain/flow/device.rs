//! A device in a flow: the one whose code the person enters, and what becomes of its request.

use super::{Flow, Refusal};
use crate::domain::{
    SubCommand,
    authorization::Denial,
    device_grant::{self, DeviceGrant, DeviceRequest},
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
    pub(super) fn approved(&self, grant: Box<Grant>) -> SubCommand<Flow> {
        self.command(device_grant::Command::Approve { id: self.grant.clone(), grant })
    }

    fn command(&self, command: device_grant::Command) -> SubCommand<Flow> {
        // It has expired, or was decided on in another flow.
        SubCommand::insisting::<DeviceGrant>(&*self.grant, command, |_| Refusal::WrongUserCode)
    }

    /// The person says no, or may not grant what is asked for. That they could not prove who they are
    /// says nothing: another may enter the code.
    pub(super) fn denied(&self, account: &str, why: &Denial) -> Option<SubCommand<Flow>> {
        if matches!(
            why,
            Denial::TooManyAttempts | Denial::Stopped | Denial::OtherPerson | Denial::Superseded
        ) {
            return None;
        }
        let (account, why) = (account.to_owned(), why.clone());
        Some(self.command(device_grant::Command::Deny { account, why }))
    }
}
