//! A request for an approval in a flow: as it was read, what the person says of it, and what becomes of it.

use crate::domain::{
    Fingerprint,
    authorization::{ConsentQuestion, Denial},
    backchannel_request::{self, ApprovalRequest},
    grant::Grant,
};
use serde::{Deserialize, Serialize};

/// A request for an approval, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalAsked {
    /// Its id.
    pub id: String,
    pub request: ApprovalRequest,
}

impl ApprovalAsked {
    /// Notes what the person is shown of it now.
    pub fn shown(&self, question: &ConsentQuestion) -> ApprovalSaid {
        ApprovalSaid {
            id: self.id.clone(),
            client_id: self.request.wanted.client_id.clone(),
            shown: self.request.shown(&self.id, question),
            agreed: false,
            asserted: false,
        }
    }
}

/// What becomes of a request for an approval in the commit of the flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalChange {
    /// Its id.
    pub id: String,
    pub command: backchannel_request::Command,
}

/// A request for an approval that a person was shown, and what they said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSaid {
    /// The id of the request.
    pub id: String,
    pub client_id: String,
    /// The hash of exactly what was shown.
    pub shown: Fingerprint,
    /// They said yes to it.
    #[serde(default)]
    pub agreed: bool,
    /// A passkey of theirs has signed it after that.
    #[serde(default)]
    pub asserted: bool,
}

impl ApprovalSaid {
    /// The person says yes, and has proved enough.
    pub(super) fn approved(&self, grant: Box<Grant>) -> ApprovalChange {
        let approval = backchannel_request::Approval {
            id: self.id.clone(),
            grant,
            shown: self.shown,
            asserted: self.asserted,
            in_flow: true,
            requirements: Vec::new(),
        };
        let command = backchannel_request::Command::Approve(Box::new(approval));
        ApprovalChange { id: self.id.clone(), command }
    }

    /// The person says no, or may not grant what is asked for. That they have not proved enough says
    /// nothing: the request waits.
    pub(super) fn denied(
        &self,
        account: &str,
        why: &Denial,
        block: bool,
    ) -> Option<ApprovalChange> {
        if matches!(
            why,
            Denial::TooManyAttempts
                | Denial::Stopped
                | Denial::OtherPerson
                | Denial::NotSureEnough
                | Denial::Superseded
        ) {
            return None;
        }
        let (account, why) = (account.to_owned(), why.clone());
        let command = backchannel_request::Command::Deny { account, why, block };
        Some(ApprovalChange { id: self.id.clone(), command })
    }
}
