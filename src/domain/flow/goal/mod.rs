//! What flows are for: one file a kind, and one line in [`ALL`].

mod approval;
mod device;
mod enroll_passkey;
mod enroll_totp;
mod invitation;
mod link;
mod recovery;
mod report;
mod sign_in;
mod sign_out;
mod sign_up;
mod step_up;
mod verify_email;

pub use approval::APPROVAL;
pub use device::DEVICE;
pub use invitation::INVITATION;
pub use link::LINK;
pub use recovery::RECOVERY;
pub use report::REPORT;
pub use sign_in::SIGN_IN;
pub use sign_up::SIGN_UP;
pub use step_up::{STEP_UP, StepUpRequest};

use super::{ApprovalAsked, Open, PendingLink, Seed, Stage};
use crate::domain::{
    Requirement, Timestamp, account,
    assurance::{self, Acr, Evidence, Level, Method, Worth},
    authorization::{AuthorizationFacts, ConsentQuestion, Denial},
    grant::Grant,
    person::Person,
};
use std::time::Duration;

/// Every kind of flow.
pub const ALL: &[&dyn Goal] = &[
    &sign_in::SignIn,
    &sign_out::SignOut,
    &step_up::StepUp,
    &verify_email::VerifyEmail,
    &enroll_passkey::EnrollPasskey,
    &enroll_totp::EnrollTotp,
    &sign_up::SignUp,
    &recovery::Recovery,
    &invitation::Invitation,
    &device::Device,
    &approval::Approval,
    &link::Link,
    &report::Report,
];

/// What a flow of one kind needs, and what it ends in.
pub trait Goal: Send + Sync {
    /// The name of the kind (contract §6).
    fn kind(&self) -> &'static str;

    /// What a person is asked first where the flow begins without a session.
    fn first(&self) -> Stage {
        Stage::Identify
    }

    /// Tells whether the flow begins in a session.
    fn is_in_session(&self) -> bool {
        false
    }

    /// Tells whether the flow goes on in the session of its caller, where there is one.
    fn goes_on_in_session(&self) -> bool {
        false
    }

    /// Tells whether the person enters the code of a device.
    fn takes_user_code(&self) -> bool {
        false
    }

    /// What a person who is signed in already is asked first.
    fn first_in_session(&self, _present: &InSession<'_>) -> Stage {
        Stage::Confirm
    }

    /// Tells whether an account that has enrolled a second factor is asked for it.
    fn asks_second_factor(&self) -> bool {
        true
    }

    /// Lists the steps without which a flow of this kind comes to nothing.
    fn needs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Tells whether that question is skipped in a browser that is remembered.
    fn trusts_remembered_devices(&self) -> bool {
        false
    }

    /// Tells whether another provider may say who the person is.
    fn takes_sign_on(&self) -> bool {
        false
    }

    /// Tells whether the only first proof is one that is sent to the address of the account.
    fn proves_by_mail(&self) -> bool {
        false
    }

    /// What the beginning of the flow has proved of the address of an applicant.
    fn vouches(&self, _seed: &Seed) -> Option<Worth> {
        None
    }

    /// Tells whether the holder of the account's address can stop the flow.
    fn can_be_stopped(&self) -> bool {
        false
    }

    /// Lists the steps by which a credential can be enrolled now.
    fn enrols(&self, _open: &Open) -> Vec<&'static str> {
        Vec::new()
    }

    /// Says what changes in the account when a credential is enrolled; `changes` are the
    /// credential's own, none of them where the person wants none.
    fn enrolled(&self, _open: &Open, changes: Vec<account::Command>) -> Vec<account::Command> {
        changes
    }

    /// Tells whether the credentials of the account are replaced, identities of other providers among them.
    fn replaces_credentials(&self, _open: &Open) -> bool {
        false
    }

    /// Returns the level that is asked for.
    fn required(&self, _seed: &Seed) -> Level {
        Level::Aal1
    }

    /// Says what is still missing, or what the flow ends in.
    fn next(&self, open: &Open, case: &Case<'_>) -> Next;
}

/// For how long a proof counts as fresh where something sensitive changes.
pub const FRESH: Duration = assurance::FRESH_FOR;

/// A person who is signed in when a flow begins.
pub struct InSession<'a> {
    pub person: &'a Person,
    /// What their account can prove itself by.
    pub methods: &'a [Method],
    pub now: Timestamp,
}

impl InSession<'_> {
    /// Tells whether enough was proved lately to change a credential: two factors where the account
    /// has a passkey or an authenticator application, else any proof.
    pub fn is_fresh(&self) -> bool {
        let strong = |method: &Method| matches!(method, Method::Passkey | Method::Totp);
        let needed = if self.methods.iter().any(strong) { Level::Aal2 } else { Level::Aal1 };
        self.person.evidence.is_fresh(needed, self.now)
    }
}

/// What a goal looks at beside the flow itself.
pub struct Case<'a> {
    pub person: &'a Person,
    /// The session in which the flow goes on, or that it would begin.
    pub session: &'a str,
    /// What decides about the client's request, if there is one.
    pub facts: Option<&'a AuthorizationFacts>,
    /// What the person is asked to approve, in a flow that is for that.
    pub approval: Option<&'a ApprovalAsked>,
    /// Those of the methods of the person's account that can be asked for here.
    pub served: &'a [Method],
    /// What the person has said in this very step to a question of yes or no.
    pub allowed: bool,
    /// The caller lets a person make a passkey on the way, and they can be made here.
    pub offers_passkey: bool,
    pub now: Timestamp,
}

/// What follows from all that is known.
pub enum Next {
    Ask(Question),
    Fail(Denial),
    End(Ending),
}

/// What only the person can say.
pub enum Question {
    /// To prove once more who they are.
    Credential,
    /// The same, where this alone counts of what they have proved before: the organization has signed its people out.
    Again(Box<Evidence>),
    /// To prove a factor beside the one that counts.
    SecondFactor,
    /// To prove as much as the organization requires.
    More(Acr),
    /// To come by the single sign-on of the organization with this slug.
    SignOn(String),
    /// To prove that an address is theirs.
    Proof,
    /// To choose a new credential.
    Enrol,
    Organization,
    /// Whether the client may have what it asks for.
    Consent(Box<ConsentQuestion>),
    /// Whether they want what the flow is for; what they would grant by it, if they grant anything.
    Confirm(Option<Box<ConsentQuestion>>),
}

/// What a flow ends in.
pub struct Ending {
    pub session: SessionEnding,
    /// What the client is granted: a token family is born, with a code.
    pub grant: Option<Box<Grant>>,
    /// What was read and must still be so.
    pub requirements: Vec<Requirement>,
    /// What changes in the person's account.
    pub changes: Vec<account::Command>,
    /// The id of the invitation that the person accepts.
    pub accepts: Option<String>,
    /// The identity that becomes the person's.
    pub links: Option<Box<PendingLink>>,
}

impl Ending {
    /// The end of a flow that grants nothing.
    pub fn of(session: SessionEnding) -> Self {
        let (requirements, changes) = (Vec::new(), Vec::new());
        Self { session, grant: None, requirements, changes, accepts: None, links: None }
    }
}

/// What becomes of the person's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnding {
    /// They are signed in: a session begins, or theirs goes on.
    SignedIn,
    /// The session that the flow began in ends.
    SignedOut,
    Untouched,
}
