//! The people of an organization are signed out of it (adr/0140).
//!
//! Their grants there end, and what they have proved before counts there no more. Sessions live on elsewhere, and what
//! clients and API keys hold in their own name stays.

use super::{Event, Known, Organization, Refusal};
use crate::domain::{Decision, Provisioned, Record};

impl Known {
    /// Returns the epoch in which people speak for it: other than that of clients, it ends with each sign-out.
    pub fn person_epoch(&self) -> u64 {
        self.epoch.saturating_add(self.signed_out)
    }
}

impl Organization {
    /// A suspended one is signed out too: when it is enabled again, its people prove again who they are.
    pub(super) fn end_sessions(&self, number: u64) -> Decision<Self> {
        let Some(known) = self.known() else { return Decision::refuse(Refusal::NotKnown) };
        if number <= known.signed_out {
            return Decision::accept(Vec::new(), Provisioned::Unchanged);
        }
        let next = Known { signed_out: number, ..known.clone() };
        let record = Record::new("organization.sessions_ended").in_organization(&*known.slug);
        let reply = Provisioned::Changed(vec!["signed_out"]);
        Decision::accept(vec![Event::Provisioned(next)], reply).recording(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        Machine as _, Timestamp,
        organization::{Command, Draft},
    };

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn ask(organization: &mut Organization, command: &Command) -> Result<Provisioned, Refusal> {
        let decision = organization.decide(command, NOW);
        decision.events.iter().for_each(|event| organization.apply(event));
        decision.outcome
    }

    fn acme(enabled: bool) -> Organization {
        let mut acme = Organization::default();
        let enabled = Some(enabled);
        let draft = Draft { slug: "acme".to_owned(), enabled, ..Draft::default() };
        ask(&mut acme, &Command::Provision(draft)).unwrap();
        acme
    }

    #[test]
    fn a_sign_out_is_another_epoch_of_people_and_not_of_clients() {
        for enabled in [true, false] {
            let mut acme = acme(enabled);
            let end = Command::EndSessions { number: 7 };
            let records = acme.decide(&end, NOW).effects.records;
            let record = (records[0].event, records[0].organization.as_deref());
            assert_eq!(record, ("organization.sessions_ended", Some("acme")));
            ask(&mut acme, &end).unwrap();
            let known = acme.known().unwrap();
            assert_eq!((known.epoch, known.signed_out, known.person_epoch()), (0, 7, 7));
            assert_eq!(known.enabled, enabled, "whether it is suspended does not change");
            assert_eq!(ask(&mut acme, &end), Ok(Provisioned::Unchanged), "no number falls");
        }
        let ended = ask(&mut Organization::default(), &Command::EndSessions { number: 1 });
        assert_eq!(ended, Err(Refusal::NotKnown));
    }

    #[test]
    fn a_file_that_changes_it_keeps_the_number() {
        let mut acme = acme(true);
        ask(&mut acme, &Command::EndSessions { number: 3 }).unwrap();
        let name = Some("Acme Lda".to_owned());
        let draft = Draft { slug: "acme".to_owned(), name, ..Draft::default() };
        ask(&mut acme, &Command::Provision(draft)).unwrap();
        assert_eq!(acme.known().unwrap().signed_out, 3);
        let text = serde_json::to_string(&acme).unwrap();
        assert_eq!(serde_json::from_str::<Organization>(&text).unwrap(), acme);
    }
}
