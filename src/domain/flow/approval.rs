//! A request for an approval in a flow: as it was read, what the person says of it, and what becomes of it.

use super::{Flow, Refusal};
use crate::domain::{
    Fingerprint, SubCommand,
    approval_block::Sides,
    authorization::{ConsentQuestion, Denial},
    backchannel_request::{self, ApprovalRequest, BackchannelRequest},
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
    pub(super) fn approved(&self, grant: Box<Grant>) -> SubCommand<Flow> {
        let approval = backchannel_request::Approval {
            id: self.id.clone(),
            grant,
            shown: self.shown,
            asserted: self.asserted,
            in_flow: true,
            requirements: Vec::new(),
            mail: None,
        };
        self.command(backchannel_request::Command::Approve(Box::new(approval)))
    }

    fn command(&self, command: backchannel_request::Command) -> SubCommand<Flow> {
        SubCommand::insisting::<BackchannelRequest>(&*self.id, command, |refusal| match refusal {
            backchannel_request::Refusal::Decided => Refusal::AlreadyDecided,
            _ => Refusal::NotWaiting,
        })
    }

    /// The person says no, or may not grant what is asked for, and may want no more requests of the client.
    /// That they have not proved enough says nothing: the request waits.
    pub(super) fn denied(&self, account: &str, why: &Denial, block: bool) -> Vec<SubCommand<Flow>> {
        if matches!(
            why,
            Denial::TooManyAttempts
                | Denial::Stopped
                | Denial::OtherPerson
                | Denial::NotSureEnough
                | Denial::Superseded
        ) {
            return Vec::new();
        }
        let (account, why) = (account.to_owned(), why.clone());
        let sides = Sides { account: account.clone(), client_id: self.client_id.clone() };
        // A commanded entity commands no other: the flow blocks the client itself.
        let deny = backchannel_request::Command::Deny { account, why, block: false };
        let block = block.then(|| sides.block());
        [self.command(deny)].into_iter().chain(block).collect()
    }
}
