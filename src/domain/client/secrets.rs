//! The secrets of a client: the present one and, for a day at most after a rotation, the one before
//! (contract §1). At most two are good at a time: a third ends the oldest.

use super::{Client, Event, KnownClient, Refusal, management::record};
use crate::domain::{Decision, Fingerprint, Provisioned, Timestamp};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a former secret may be good after a rotation, and is unless it is said otherwise.
pub const SECRET_OVERLAP: Duration = Duration::from_hours(24);

/// A secret that was replaced, and is good for some time yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormerSecret {
    pub secret: Fingerprint,
    pub good_until: Timestamp,
}

/// Another secret for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretRotation {
    pub secret: Fingerprint,
    /// How long the one before is good yet.
    pub overlap: Duration,
}

impl KnownClient {
    /// Tells whether one of these is a secret of it that is good now.
    pub fn has_secret(&self, presented: &[Fingerprint], now: Timestamp) -> bool {
        let former = self.former_secret(now).map(|former| former.secret);
        let good = [self.secret, former];
        // All are compared, so that the time tells nothing.
        let matching =
            |print: &Fingerprint| good.iter().filter(|one| **one == Some(*print)).count();
        presented.iter().map(matching).sum::<usize>() > 0
    }

    /// Returns the secret before, if it is good yet.
    pub fn former_secret(&self, now: Timestamp) -> Option<FormerSecret> {
        self.former.filter(|former| now < former.good_until)
    }

    /// Replaces the secret; the one before is good until the overlap is over.
    pub(super) fn with_secret(self, rotation: SecretRotation, now: Timestamp) -> Self {
        let SecretRotation { secret, overlap } = rotation;
        let former = self.secret.filter(|held| *held != secret && !overlap.is_zero());
        let former = former.map(|held| FormerSecret { secret: held, good_until: now + overlap });
        Self { secret: Some(secret), former, ..self }
    }

    /// Ends the secret before where the client proves itself otherwise than `held` did, or by another
    /// secret that came without a rotation.
    pub(super) fn ending_former(self, held: &Self) -> Self {
        let method = |client: &Self| client.metadata.token_endpoint_auth_method;
        let same = self.secret == held.secret && method(&self) == method(held);
        Self { former: self.former.filter(|_| same), ..self }
    }
}

impl Client {
    pub(super) fn rotate_secret(&self, rotation: SecretRotation, now: Timestamp) -> Decision<Self> {
        let Some(known) = self.held() else { return Decision::refuse(Refusal::NoSuchClient) };
        if known.suspended {
            return Decision::refuse(Refusal::ClientSuspended);
        }
        if known.secret.is_none() {
            return Decision::refuse(Refusal::NoSecret);
        }
        if rotation.overlap > SECRET_OVERLAP {
            return Decision::refuse(Refusal::Overlap);
        }
        let next = known.clone().with_secret(rotation, now);
        let overlap = rotation.overlap.as_secs();
        let record = record(known, "client.changed").with("fields", "client_secret");
        let rotated = Event::Provisioned(Box::new(next));
        Decision::accept(vec![rotated], Provisioned::Changed(vec!["client_secret"]))
            .recording(record.with("overlap", overlap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Machine as _,
        client::{Command, Draft},
    };
    use serde_json::json;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn print(number: u8) -> Fingerprint {
        Fingerprint::of(&[number])
    }

    fn take(client: &mut Client, command: &Command, now: Timestamp) -> Result<(), Refusal> {
        let decision = client.decide(command, now);
        decision.events.iter().for_each(|event| client.apply(event));
        decision.outcome.map(drop)
    }

    fn provision(client: &mut Client, draft: Draft) {
        let draft = Box::new(Draft { client_id: "c".to_owned(), ..draft });
        take(client, &Command::Provision { draft, home: None }, NOW).unwrap();
    }

    fn made() -> Client {
        let mut client = Client::default();
        provision(&mut client, Draft { secret: Some(print(1)), ..Draft::default() });
        client
    }

    fn rotate(client: &mut Client, number: u8, overlap: Duration) -> Result<(), Refusal> {
        let rotation = SecretRotation { secret: print(number), overlap };
        take(client, &Command::RotateSecret(rotation), NOW)
    }

    /// Which of the secrets 1 to 3 are good.
    fn good(client: &Client, now: Timestamp) -> Vec<u8> {
        let known = client.held().unwrap();
        (1..=3).filter(|number| known.has_secret(&[print(9), print(*number)], now)).collect()
    }

    #[test]
    fn a_former_secret_is_good_until_its_overlap_is_over_and_a_third_ends_the_oldest() {
        let mut client = made();
        rotate(&mut client, 2, SECRET_OVERLAP).unwrap();
        assert_eq!(good(&client, NOW), [1, 2]);
        assert_eq!(good(&client, NOW + SECRET_OVERLAP), [2]);
        rotate(&mut client, 3, Duration::from_mins(1)).unwrap();
        assert_eq!(good(&client, NOW), [2, 3], "two at most");
        rotate(&mut client, 1, Duration::ZERO).unwrap();
        assert_eq!(good(&client, NOW), [1], "at once");
        let long = SECRET_OVERLAP + Duration::from_secs(1);
        assert_eq!(rotate(&mut client, 2, long), Err(Refusal::Overlap));
        let text = serde_json::to_string(&client).unwrap();
        assert_eq!(serde_json::from_str::<Client>(&text).unwrap(), client);
    }

    #[test]
    fn another_secret_by_a_file_another_method_and_a_suspension_end_it_at_once() {
        let overlapping = || {
            let mut client = made();
            rotate(&mut client, 2, SECRET_OVERLAP).unwrap();
            client
        };
        let mut client = overlapping();
        provision(&mut client, Draft { secret: Some(print(2)), ..Draft::default() });
        assert_eq!(good(&client, NOW), [1, 2], "the same is no change");
        let named = json!({ "client_name": "C" }).as_object().unwrap().clone();
        provision(&mut client, Draft { metadata: named, ..Draft::default() });
        assert_eq!(good(&client, NOW), [1, 2], "nor is a name");
        provision(&mut client, Draft { secret: Some(print(3)), ..Draft::default() });
        assert_eq!(good(&client, NOW), [3]);
        let mut client = overlapping();
        let method = json!({ "token_endpoint_auth_method": "client_secret_post" });
        let metadata = method.as_object().unwrap().clone();
        provision(&mut client, Draft { metadata, ..Draft::default() });
        assert_eq!(good(&client, NOW), [2]);
        let mut client = overlapping();
        take(&mut client, &Command::Suspend, NOW).unwrap();
        assert_eq!(rotate(&mut client, 3, Duration::ZERO), Err(Refusal::ClientSuspended));
        take(&mut client, &Command::Enable, NOW).unwrap();
        assert_eq!(good(&client, NOW), [2]);
    }

    #[test]
    fn a_client_without_a_secret_is_given_none() {
        let mut client = Client::default();
        provision(&mut client, Draft::default());
        assert_eq!(rotate(&mut client, 2, Duration::ZERO), Err(Refusal::NoSecret));
        assert_eq!(rotate(&mut Client::default(), 2, Duration::ZERO), Err(Refusal::NoSuchClient));
    }
}
