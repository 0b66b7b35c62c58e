//! An approval request: what a client asks of a person, and what becomes of it when the person says yes.

use crate::domain::{
    Device, Fingerprint, Record, Requirement, Timestamp,
    assurance::{Acr, Evidence, Method},
    authorization::{
        Allowed, AuthorizationFacts, ConsentQuestion, ConsentRule, Denial, PersonAnswers,
        RequestedGrant, Settled, Subject,
    },
    grant::Grant,
};
use serde::{Deserialize, Serialize};

/// What a client asks of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The id of the account.
    pub account: String,
    pub wanted: RequestedGrant,
    /// What the client shows as well (CIBA Core §7.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding_message: Option<String>,
    /// Where the client asked from.
    #[serde(default)]
    pub from: Device,
    pub asked_at: Timestamp,
    pub expires_at: Timestamp,
}

/// A person who says yes to a request, and what is true of them and the client.
pub struct Deciding<'a> {
    pub subject: Subject<'a>,
    pub facts: &'a AuthorizationFacts,
    /// Those of the methods of the person's account that can be asked for here.
    pub served: &'a [Method],
    /// A passkey of theirs has signed what was shown.
    pub asserted: bool,
}

/// What a yes comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Granted {
        grant: Box<Grant>,
        requirements: Vec<Requirement>,
    },
    /// The person must prove as much first.
    ProveMore(Acr),
    /// The person must prove again who they are; this alone counts of what they have proved.
    ProveAgain(Box<Evidence>),
    /// They must come by the single sign-on of the organization with this slug first.
    SignOn(String),
    /// A passkey of theirs must sign what was shown.
    Assert,
    Denied(Denial),
}

/// All that a person is shown of a request, as its hash is made.
#[derive(Serialize)]
struct ApprovalDigestInput<'a> {
    id: &'a str,
    client_id: &'a str,
    binding_message: Option<&'a str>,
    scope: String,
    question: &'a ConsentQuestion,
    expires_at: Timestamp,
}

impl ApprovalRequest {
    /// Says what becomes of the request when the person says yes.
    pub fn settle(&self, deciding: &Deciding<'_>) -> Verdict {
        let Deciding { subject, facts, served, asserted } = deciding;
        let wanted = &self.wanted;
        if subject.person.account != self.account {
            return Verdict::Denied(Denial::OtherPerson);
        }
        // It is a wish: what the person cannot prove here, they are not asked for.
        if let Some(acr) = wanted.step_up(subject.person, served, subject.now) {
            return Verdict::ProveMore(acr);
        }
        let organization = match wanted.question(facts) {
            Ok(question) => question.organization.map(|choice| choice.slug),
            Err(denial) => return Verdict::Denied(denial),
        };
        // Asked each time: neither the operator nor a former consent stands in for the person.
        let facts = AuthorizationFacts { consent: ConsentRule::Always, ..(*facts).clone() };
        let allowed = Allowed::For(organization.as_deref());
        match wanted.settle(*subject, &facts, PersonAnswers { organization: None, allowed }) {
            Settled::Granted { grant, requirements } => {
                let irreversible = facts.types.iter().any(|kind| kind.irreversible);
                let holds_passkey = served.contains(&Method::Passkey);
                if irreversible && holds_passkey && !asserted {
                    return Verdict::Assert;
                }
                Verdict::Granted { grant, requirements }
            }
            Settled::ProveMore(acr) if acr.is_reachable_by(served) => Verdict::ProveMore(acr),
            Settled::ProveMore(_) => Verdict::Denied(Denial::NotSureEnough),
            Settled::ProveAgain(counts) => Verdict::ProveAgain(counts),
            // What a person approves who did not come as the organization requires is worth nothing there.
            Settled::SignOn(slug) => Verdict::SignOn(slug),
            Settled::Denied(denial) => Verdict::Denied(denial),
            // The organization was settled when the client asked.
            Settled::ChooseOrganization(_) | Settled::AskConsent(_) => {
                Verdict::Denied(Denial::NotAMember)
            }
        }
    }

    /// Returns the hash of exactly what the person is shown.
    pub fn shown(&self, id: &str, question: &ConsentQuestion) -> Fingerprint {
        let shown = ApprovalDigestInput {
            id,
            client_id: &self.wanted.client_id,
            binding_message: self.binding_message.as_deref(),
            scope: self.wanted.scopes.to_string(),
            question,
            expires_at: self.expires_at,
        };
        let text = serde_json::to_vec(&shown).expect("plain data with text keys is JSON");
        Fingerprint::of(&text)
    }

    /// Says what was asked: the scope, and of which types the details are.
    pub(super) fn record_of_question(&self) -> Record {
        let record = self.record("approval.asked").with("scope", self.wanted.scopes.to_string());
        let types = self.wanted.details.kinds();
        if types.is_empty() { record } else { record.with("authorization_details", types) }
    }

    pub(super) fn record(&self, event: &'static str) -> Record {
        let record = Record::new(event)
            .with("client_id", self.wanted.client_id.as_str())
            .with("account", self.account.as_str());
        match &self.wanted.organization {
            Some(slug) => record.in_organization(slug),
            None => record,
        }
    }
}
