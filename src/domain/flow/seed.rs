//! How a flow begins, before anything is done in it.

use super::{Open, Stage};
use crate::domain::{
    Fingerprint, Timestamp,
    account_alerts::Report,
    assurance::{AuthenticatorId, Evidence, Proof, Worth},
    authorization::{Choice, ConsentQuestion, Request},
    person::Person,
};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// The channel that began a flow; it alone goes on with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Channel {
    /// A program that knows the flow's id.
    #[serde(rename = "p")]
    Program,
    /// The browser that holds the cookie of this fingerprint.
    #[serde(rename = "b")]
    Browser(Fingerprint),
}

/// A flow as it begins; short names, because it travels in the flow's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// The name of its kind.
    #[serde(rename = "k")]
    pub kind: String,
    #[serde(rename = "w")]
    pub channel: Channel,
    #[serde(rename = "e")]
    pub expires_at: Timestamp,
    /// What a client asks for, if one does.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// What a client asks for that this flow does not answer: it goes on in another flow when this one is
    /// over. So a person who recovers their account comes back to the client.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub later: Option<Request>,
    /// What the flow waits for first, where no session says it.
    #[serde(rename = "t", default = "identify", skip_serializing_if = "is_identify")]
    pub stage: Stage,
    /// The session in which the person is asked, if they need not sign in.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub signed_in: Option<SignedIn>,
    /// The invitation that the flow began with.
    #[serde(rename = "v", default, skip_serializing_if = "Option::is_none")]
    pub invited: Option<Invited>,
    /// The code that a device shows, sealed; it is looked up only after sign-in.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub user_code: Option<String>,
    /// The link of an operator that the flow began with.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub operator_link: Option<OperatorLink>,
    /// The person may choose one of the accounts that are signed in where the flow began (adr/0087).
    #[serde(rename = "a", default, skip_serializing_if = "Not::not")]
    pub selects: bool,
    /// The page of ours that the person was on when the flow began, and comes back to (adr/0086).
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub back: Option<String>,
    /// The slug of the organization that the person wants to come to, where no client says it.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<String>,
    /// The id of the connection whose identity is to be linked.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    /// The request for an approval that the flow is about.
    #[serde(rename = "y", default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalSought>,
    /// The alert that the flow began with: what it told of was not the person.
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Box<Report>>,
}

/// A request for an approval that a flow is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalSought {
    /// Its id; where the caller names none, what ends first of what waits for the person.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What a person who is signed in is shown of it as the flow begins, and what they said before.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Box<super::ApprovalSaid>>,
}

/// A link by which an operator lets a person recover their account, whose token the caller has
/// presented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorLink {
    /// The id of the account.
    #[serde(rename = "a")]
    pub account: String,
    /// Of its token: the account looks at it again when it changes.
    #[serde(rename = "t")]
    pub token: Fingerprint,
    /// The epoch of the account when it was presented.
    #[serde(rename = "e")]
    pub epoch: u64,
    /// When it was presented.
    #[serde(rename = "p")]
    pub at: Timestamp,
}

impl OperatorLink {
    /// What presenting it has proved.
    fn proof(&self) -> Proof {
        let by = AuthenticatorId::recovery_link(self.token);
        Worth::MAGIC_LINK.given(self.at).by(Some(by))
    }
}

/// An invitation whose token the caller has presented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invited {
    /// Its id.
    #[serde(rename = "i")]
    pub invitation: String,
    /// The address that was invited.
    #[serde(rename = "e")]
    pub email: String,
    /// The account that has the address; `None` where the person makes one.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The organization, as the person is told of it.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub organization: Option<Choice>,
}

/// A person who signed in before the flow began, and what they are asked first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedIn {
    #[serde(rename = "p")]
    pub person: Person,
    #[serde(rename = "s")]
    pub session: String,
    #[serde(rename = "t")]
    pub stage: Stage,
    /// What they are asked to consent to.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<ConsentQuestion>>,
    /// What the account can prove itself by, where the person is asked to prove more.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<super::Method>,
    /// What they are to prove, where the flow is for that.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<super::StepUpRequest>,
    /// The slug of the organization by whose single sign-on they must come.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub sign_on: Option<String>,
}

fn identify() -> Stage {
    Stage::Identify
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_identify(stage: &Stage) -> bool {
    *stage == Stage::Identify
}

impl Seed {
    /// Returns what a client asks for in this flow, or in the one that follows it.
    pub fn asked(&self) -> Option<&Request> {
        self.request.as_ref().or(self.later.as_ref())
    }

    /// Returns what the person is to prove, where the flow is for that.
    pub fn wanted(&self) -> Option<super::StepUpRequest> {
        self.signed_in.as_ref().and_then(|signed_in| signed_in.wanted)
    }

    pub(super) fn open(self) -> Open {
        let (stage, person, question, methods) = match &self.signed_in {
            None => (self.stage, None, None, Vec::new()),
            Some(SignedIn { person, stage, question, methods, .. }) => {
                (*stage, Some(person.clone()), question.clone(), methods.clone())
            }
        };
        // An account that was invited is named already.
        let named = self.invited.as_ref().filter(|invited| invited.account.is_some());
        let identifier = named.map(|invited| invited.email.clone());
        // The link has proved whose the account is, as one that was mailed does.
        let link = self.operator_link.as_ref();
        let proved = link.map(|link| Person {
            account: link.account.clone(),
            epoch: link.epoch,
            evidence: Evidence::of(link.proof()),
        });
        let (person, epoch) = (person.or(proved), link.map_or(0, |link| link.epoch));
        let approval = self.approval.as_ref().and_then(|sought| sought.said.clone());
        let sign_on = self.signed_in.as_ref().and_then(|signed_in| signed_in.sign_on.clone());
        Open {
            seed: self,
            stage,
            identifier,
            attempts: 0,
            person,
            proved_here: false,
            proved_own: false,
            methods,
            chosen: None,
            required: None,
            question,
            held: Vec::new(),
            messages: 0,
            applicant: None,
            enrolled: false,
            keeps_codes: false,
            epoch,
            device: None,
            approval,
            session: None,
            sign_on,
            link: None,
        }
    }
}
