//! Which of the names that were reserved late are Porteiro's own in this installation (adr/0132).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | not settled | settle | names that an API has are its own still; the others are being opened | |
//! | settled | settle | names that are in use no more are being opened as well | |
//! | opening | settle | the same | |
//! | opening | advance | the roles of more organizations are widened | another node was first |
//! | opening | finish | the names are open | another node was first |
//!
//! There is one row of this kind. A name is ours once it is open, and until then permissions under it open
//! nothing of our own API. Before it is open, the role of each organization's administrators gets it.

use super::{
    Decision, Machine, Record, Timestamp,
    authority::{INSTALLATION, Permission, RESERVED_RESOURCES},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The one entity there is of this kind.
pub const NAMES: &str = "installation";

/// The names that APIs of the operator's may have had before they were reserved.
pub const RESERVED_LATE: [&str; 3] = ["connections", "domains", INSTALLATION];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservedNames {
    settled: bool,
    open: BTreeSet<String>,
    opening: Option<Opening>,
}

/// Names on their way to be ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    pub names: BTreeSet<String>,
    /// The last organization whose role was looked at.
    pub after: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `in_use`: names that an API, a role or a key of this installation still has.
    Settle { in_use: BTreeSet<String> },
    Advance {
        /// Where the caller began.
        from: String,
        to: String,
    },
    Finish {
        /// Where the caller began.
        from: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Settled { opening: BTreeSet<String> },
    Advanced { to: String },
    Opened,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another node was first")]
pub struct Elsewhere;

impl ReservedNames {
    /// As in an installation that began with all of them.
    pub fn all_open() -> Self {
        let open = RESERVED_LATE.map(str::to_owned).into();
        Self { settled: true, open, opening: None }
    }

    /// Tells whether a permission is about something of Porteiro's own here.
    pub fn reserve(&self, permission: &Permission) -> bool {
        permission.is_reserved() && self.is_open(permission.resource())
    }

    /// Tells whether a name is Porteiro's own here.
    pub fn is_open(&self, name: &str) -> bool {
        let is = |other: &&str| other.eq_ignore_ascii_case(name);
        match RESERVED_LATE.into_iter().find(is) {
            Some(late) => self.open.contains(late),
            None => RESERVED_RESOURCES.iter().any(is),
        }
    }

    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Lists the names that are the operator's still, or on their way to be ours.
    pub fn closed(&self) -> impl Iterator<Item = &'static str> {
        RESERVED_LATE.into_iter().filter(|name| !self.open.contains(*name))
    }

    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    fn settle(&self, in_use: &BTreeSet<String>) -> Decision<Self> {
        let free = |name: &&str| !in_use.contains(*name);
        let opening: BTreeSet<String> = self.closed().filter(free).map(str::to_owned).collect();
        if self.opening.is_some() || (self.settled && opening.is_empty()) {
            return Decision::accept(Vec::new(), ());
        }
        let kept = (!in_use.is_empty() && !self.settled).then(|| {
            let names: Vec<&str> = in_use.iter().map(String::as_str).collect();
            Record::new("reserved_name.in_use").with("names", names.join(" "))
        });
        let settled = Decision::accept(vec![Event::Settled { opening }], ());
        kept.into_iter().fold(settled, Decision::recording)
    }

    /// Lists what is being opened, where it is at this place.
    fn opening_at(&self, from: &str) -> Option<&Opening> {
        self.opening.as_ref().filter(|opening| opening.after == from)
    }
}

impl Opening {
    fn finish(&self) -> Decision<ReservedNames> {
        let opened = Decision::accept(vec![Event::Opened], ());
        // An installation without organizations has begun with them: there is nothing to tell.
        if self.after.is_empty() {
            return opened;
        }
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        opened.recording(Record::new("reserved_name.opened").with("names", names.join(" ")))
    }
}

impl Machine for ReservedNames {
    const KIND: &'static str = "reserved_names";
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Elsewhere;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        match command {
            Command::Settle { in_use } => self.settle(in_use),
            Command::Advance { from, to } => match self.opening_at(from) {
                Some(_) => Decision::accept(vec![Event::Advanced { to: to.clone() }], ()),
                None => Decision::refuse(Elsewhere),
            },
            Command::Finish { from } => match self.opening_at(from) {
                Some(opening) => opening.finish(),
                None => Decision::refuse(Elsewhere),
            },
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Settled { opening } => {
                self.settled = true;
                let names = opening.clone();
                self.opening = (!names.is_empty()).then(|| Opening { names, after: String::new() });
            }
            Event::Advanced { to } => {
                if let Some(opening) = &mut self.opening {
                    opening.after.clone_from(to);
                }
            }
            Event::Opened => {
                self.open.extend(self.opening.take().into_iter().flat_map(|one| one.names));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn decide(
        names: &mut ReservedNames,
        command: &Command,
    ) -> Result<Vec<&'static str>, Elsewhere> {
        let decision = names.decide(command, NOW);
        decision.events.iter().for_each(|event| names.apply(event));
        decision.outcome.map(|()| decision.effects.records.iter().map(|one| one.event).collect())
    }

    fn settle(in_use: &[&str]) -> Command {
        Command::Settle { in_use: in_use.iter().map(|name| (*name).to_owned()).collect() }
    }

    fn finish(from: &str) -> Command {
        Command::Finish { from: from.to_owned() }
    }

    fn permission(text: &str) -> Permission {
        Permission::parse(text).unwrap()
    }

    #[test]
    fn a_name_is_ours_once_it_is_open_and_the_old_ones_always_are() {
        let mut names = ReservedNames::default();
        assert!(names.reserve(&permission("audit:read")));
        assert!(!names.reserve(&permission("invoices:read")));
        for text in ["domains:read", "Domains:*", "connections:write", "installation:read"] {
            assert!(!names.reserve(&permission(text)), "{text}");
        }
        decide(&mut names, &settle(&[])).unwrap();
        assert!(!names.is_open("domains"), "not while roles are being widened");
        assert_eq!(decide(&mut names, &finish("")), Ok(Vec::new()));
        assert_eq!(names, ReservedNames::all_open());
        assert!(names.reserve(&permission("DOMAINS:read")) && names.is_open("Installation"));
        let text = serde_json::to_string(&names).unwrap();
        assert_eq!(serde_json::from_str::<ReservedNames>(&text).unwrap(), names);
    }

    #[test]
    fn a_name_in_use_stays_the_operators_until_it_is_in_use_no_more() {
        let mut names = ReservedNames::default();
        let first = decide(&mut names, &settle(&["domains"]));
        assert_eq!(first, Ok(vec!["reserved_name.in_use"]));
        decide(&mut names, &finish("")).unwrap();
        assert!(names.is_open("connections") && !names.is_open("domains"));
        assert_eq!(names.closed().collect::<Vec<_>>(), ["domains"]);
        let again = decide(&mut names, &settle(&["domains"]));
        assert_eq!((again, names.opening()), (Ok(Vec::new()), None));
        decide(&mut names, &settle(&[])).unwrap();
        assert!(!names.is_open("domains"));
        decide(&mut names, &finish("")).unwrap();
        assert_eq!(names, ReservedNames::all_open());
        assert_eq!(decide(&mut names, &settle(&["domains"])), Ok(Vec::new()));
        assert!(names.is_open("domains"), "what is ours stays ours");
    }

    #[test]
    fn of_two_nodes_that_widen_roles_one_goes_on() {
        let mut names = ReservedNames::default();
        let advance = |from: &str, to: &str| Command::Advance { from: from.into(), to: to.into() };
        assert_eq!(decide(&mut names, &advance("", "acme")), Err(Elsewhere));
        decide(&mut names, &settle(&[])).unwrap();
        decide(&mut names, &settle(&["domains"])).unwrap();
        assert_eq!(names.opening().unwrap().names.len(), 3, "what was begun is finished");
        decide(&mut names, &advance("", "acme")).unwrap();
        assert_eq!(decide(&mut names, &advance("", "acme")), Err(Elsewhere));
        assert_eq!(decide(&mut names, &finish("")), Err(Elsewhere));
        assert_eq!(decide(&mut names, &finish("acme")), Ok(vec!["reserved_name.opened"]));
        assert_eq!(decide(&mut names, &finish("acme")), Err(Elsewhere));
    }
}
