//! How a client that registered itself replaces what it said, and how it ends (RFC 7592).
//!
//! Every change names the registration token, and a change of the metadata replaces that token: of
//! two changes with one token one wins. A client that leaves its secret out of a change gets another, and the
//! one it had stays a day. A client that an operator has provisioned since is the
//! operator's: it may only be read.
//!
//! What is left of a deleted client keeps its id from being given again while something that was
//! issued to it could still be presented.

use super::{
    Client, ClientMetadata, Event, KEPT_UNUSED_AMONG_MANY, KnownClient, Refusal, Registration,
    SECRET_OVERLAP, SecretRotation,
};
use crate::domain::{Decision, Fingerprint, Provisioned, Record, Timestamp, epoch::next_epoch};
use std::time::Duration;

/// Metadata that replaces all that a client has said.
#[derive(Clone, Debug, PartialEq)]
pub struct Replacement {
    /// The registration token that was presented.
    pub presented: Fingerprint,
    /// The token that replaces it.
    pub token: Fingerprint,
    pub metadata: ClientMetadata,
    /// The software statement that it rests on.
    pub statement: Option<String>,
    /// The secret that the client repeats, if it does: it must be the present one.
    pub repeated: Option<Fingerprint>,
    /// Drawn for a client that needs a secret, and repeats none: the one it had stays a day.
    pub secret: Fingerprint,
}

/// The end of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Deletion {
    /// The registration token that was presented.
    pub presented: Fingerprint,
    /// For how long its id is not given again, if a person has used it.
    pub kept_for: Duration,
}

/// The end of a client that an organization has made, or of any by the operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Removal {
    /// The operator may end every client.
    pub by_operator: bool,
    /// Of what was drawn: a deleted client keeps a fingerprint that no token has.
    pub seal: Fingerprint,
    /// For how long its id is not given again.
    pub kept_for: Duration,
}

impl KnownClient {
    /// Tells whether it was suspended, and enabled again, after this time; tokens count in seconds.
    pub fn was_suspended_after(&self, at: Timestamp) -> bool {
        self.enabled_at.is_some_and(|enabled| at.seconds() < enabled.seconds())
    }
}

impl Client {
    /// Ends a client that an organization has made, or any where the operator wants it.
    pub(super) fn remove(&self, removal: &Removal, now: Timestamp) -> Decision<Self> {
        let Some(known) = self.held() else { return Decision::refuse(Refusal::NoSuchClient) };
        let Removal { by_operator, seal, kept_for } = *removal;
        let of_organization = known.members_only && known.organization.is_some();
        if !by_operator && !of_organization {
            return Decision::refuse(Refusal::OfOperator);
        }
        if !by_operator && known.suspended {
            return Decision::refuse(Refusal::ClientSuspended);
        }
        let deleted = Event::Deleted { token: seal, unused: false, forget_at: now + kept_for };
        Decision::accept(vec![deleted], Provisioned::Changed(vec!["registration"]))
            .recording(record(known, "client.deleted"))
    }

    /// Suspends a client, or enables it again.
    pub(super) fn turn(&self, suspended: bool, now: Timestamp) -> Decision<Self> {
        let Some(known) = self.held() else { return Decision::refuse(Refusal::NoSuchClient) };
        if known.suspended == suspended {
            return Decision::accept(Vec::new(), Provisioned::Unchanged);
        }
        let epoch = next_epoch(known.epoch, (!known.suspended, !suspended));
        let enabled_at = if suspended { known.enabled_at } else { Some(now) };
        // A client that is suspended has perhaps lost a secret: the former one does not come back.
        let former = None;
        let next = KnownClient { former, suspended, epoch, enabled_at, ..known.clone() };
        let event = if suspended { "client.suspended" } else { "client.enabled" };
        let record = record(&next, event);
        let turned = Event::Provisioned(Box::new(next));
        Decision::accept(vec![turned], Provisioned::Changed(vec!["suspended"])).recording(record)
    }

    pub(super) fn replace(&self, replacement: &Replacement, now: Timestamp) -> Decision<Self> {
        match self.replaced(replacement, now) {
            Ok(None) => Decision::accept(Vec::new(), Provisioned::Unchanged),
            Ok(Some((next, outcome))) => {
                let record = outcome.record("client.updated", "client.updated");
                let record = match self.known() {
                    Some(held) => record.map(|record| next.telling_redirects(held, record)),
                    None => record,
                };
                let event = Event::Provisioned(Box::new(next));
                let accepted = Decision::accept(vec![event], outcome);
                record.into_iter().fold(accepted, Decision::recording)
            }
            Err(why) => Decision::refuse(why),
        }
    }

    fn replaced(
        &self,
        replacement: &Replacement,
        now: Timestamp,
    ) -> Result<Option<(KnownClient, Provisioned)>, Refusal> {
        let Replacement { presented, token, metadata, statement, repeated, secret } = replacement;
        let held = self.known().ok_or(Refusal::NoSuchClient)?;
        let registration = held.registration.as_ref().ok_or(Refusal::WrongToken)?;
        // The same request once more: it was carried out.
        if registration.token == *token {
            return Ok(None);
        }
        let registration = own(registration, *presented)?;
        if repeated.is_some() && *repeated != held.secret {
            return Err(Refusal::WrongSecret);
        }
        let next = KnownClient {
            metadata: metadata.clone(),
            registration: Some(Registration {
                token: *token,
                statement: statement.clone(),
                ..registration.clone()
            }),
            ..held.clone()
        };
        let next = match (metadata.may_use_secret(), repeated) {
            (false, _) => KnownClient { secret: None, former: None, ..next },
            (true, Some(_)) => next.ending_former(held),
            // RFC 7592 §2.2: what is left out is gone, and another is issued.
            (true, None) => {
                let same =
                    metadata.token_endpoint_auth_method == held.metadata.token_endpoint_auth_method;
                let overlap = if same { SECRET_OVERLAP } else { Duration::ZERO };
                next.with_secret(SecretRotation { secret: *secret, overlap }, now)
            }
        };
        let next = next.counting_redirects(held);
        next.check(None, &[])?;
        let mut differs = next.metadata.differing(&held.metadata);
        differs.extend([("client_secret", next.secret != held.secret), ("registration", true)]);
        Ok(Some((next, Provisioned::of(true, &differs))))
    }

    pub(super) fn delete(&self, deletion: &Deletion, now: Timestamp) -> Decision<Self> {
        let Deletion { presented, kept_for } = *deletion;
        let known = match self {
            Self::Unborn => return Decision::refuse(Refusal::NoSuchClient),
            // The same request once more: it was carried out.
            Self::Deleted { token, .. } if *token == presented => {
                return Decision::accept(Vec::new(), Provisioned::Unchanged);
            }
            Self::Deleted { .. } => return Decision::refuse(Refusal::Deleted),
            Self::Known(known) => known,
        };
        if known.suspended {
            return Decision::refuse(Refusal::ClientSuspended);
        }
        let registration = known.registration.as_ref().ok_or(Refusal::WrongToken);
        if let Err(why) = registration.and_then(|registration| own(registration, presented)) {
            return Decision::refuse(why);
        }
        // To one that no person has used nothing was issued that lasts.
        let unused = known.is_unused();
        let kept_for = if unused { KEPT_UNUSED_AMONG_MANY } else { kept_for };
        let deleted = Event::Deleted { token: presented, unused, forget_at: now + kept_for };
        let outcome = Provisioned::Changed(vec!["registration"]);
        Decision::accept(vec![deleted], outcome).recording(Record::new("client.deleted"))
    }
}

/// A record in the trail of the client's organization, if it has one.
pub(super) fn record(known: &KnownClient, event: &'static str) -> Record {
    match &known.organization {
        Some(slug) => Record::new(event).in_organization(&**slug),
        None => Record::new(event),
    }
}

/// Insists on the token, and on a client that is not the operator's.
fn own(registration: &Registration, presented: Fingerprint) -> Result<&Registration, Refusal> {
    if registration.token != presented {
        return Err(Refusal::WrongToken);
    }
    if registration.adopted { Err(Refusal::OfOperator) } else { Ok(registration) }
}

#[cfg(test)]
mod tests;
