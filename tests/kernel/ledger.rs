//! The machine these tests drive: an account book of numbers, with one command for every thing a
//! decision can ask for.

use porteiro::domain::{
    Birth, Decision, DeliveryClass, DeliveryKey, Dispatch, Listing, Machine, Name, Record,
    Requirement, Secret, SubCommand, Timestamp,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    pub entries: Vec<u64>,
    name: Option<String>,
    owner: Option<String>,
    closed: bool,
    forget_at: Option<Timestamp>,
}

#[derive(Clone, Debug)]
pub enum Command {
    Append(u64),
    /// Appends and records, whether or not it is there already: done twice, it shows.
    Push(u64),
    /// Appends, or shows what is there if the entry is.
    Ensure(u64),
    /// Appends while the other fact holds.
    AppendIf(u64, Requirement),
    /// Reads while the other fact holds.
    ReadIf(Requirement),
    /// Appends and opens another book with one entry in it, named as asked.
    AppendAndBear {
        entry: u64,
        child: String,
        name: Option<String>,
    },
    /// Appends, and has other books decide in the same commit. Their replies are added to the answer; if one
    /// refuses, so does this one.
    AppendAndPassOn(u64, Vec<(String, Command)>),
    /// Changes nothing itself, and has another book decide.
    Pass(String, Box<Command>),
    /// Appends; another book is told, and may refuse.
    AppendAndSuggest(u64, String, Box<Command>),
    /// Appends and takes a name, giving up the one held.
    AppendAndName(u64, Option<String>),
    /// Joins a list of that owner.
    Join(String),
    /// Refuses, but keeps the entry and records it: a refusal may commit.
    RefuseAndKeep(u64),
    /// Appends and writes to the security log.
    AppendAndRecord(u64),
    /// Appends what the security log counts and does not keep.
    AppendAndCount(u64),
    /// Appends and leaves a message.
    AppendAndPost {
        entry: u64,
        topic: &'static str,
        text: String,
        expires_at: Timestamp,
    },
    /// Appends and leaves messages of any class.
    AppendAndDispatch(u64, Vec<Dispatch>),
    Close,
    ForgetAt(Timestamp),
    Read,
    /// Reads what is in memory, however old.
    Glance,
    Panic,
}

#[derive(Clone, Debug)]
pub enum Event {
    Appended(u64),
    Named(Option<String>),
    Joined(String),
    Closed,
    Dated(Timestamp),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    AlreadyThere,
    Closed,
    OnPrinciple,
}

/// Has another book decide, and adds its reply to one's own.
fn passing(id: &str, command: &Command) -> SubCommand<Ledger> {
    SubCommand::to::<Ledger>(id, command.clone(), |outcome, reply: &mut Vec<u64>| {
        reply.extend(outcome?);
        Ok(())
    })
}

impl Machine for Ledger {
    const KIND: &'static str = "ledger";
    type Command = Command;
    type Event = Event;
    type Reply = Vec<u64>;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, _now: Timestamp) -> Decision<Self> {
        let entry = match command {
            Command::Read | Command::Glance => {
                return Decision::accept(vec![], self.entries.clone());
            }
            Command::ReadIf(fact) => {
                return Decision::accept(vec![], self.entries.clone()).requiring(fact.clone());
            }
            Command::Pass(id, command) => {
                return Decision::accept(vec![], vec![]).commanding(passing(id, command));
            }
            Command::Panic => panic!("a ledger was told to panic"),
            Command::Close => return Decision::accept(vec![Event::Closed], vec![]),
            Command::ForgetAt(at) => return Decision::accept(vec![Event::Dated(*at)], vec![]),
            Command::Join(owner) => {
                return Decision::accept(vec![Event::Joined(owner.clone())], vec![]);
            }
            Command::Ensure(entry) if self.entries.contains(entry) => {
                return Decision::accept(vec![], self.entries.clone());
            }
            Command::Append(entry)
            | Command::Ensure(entry)
            | Command::Push(entry)
            | Command::AppendIf(entry, _)
            | Command::AppendAndBear { entry, .. }
            | Command::AppendAndPassOn(entry, _)
            | Command::AppendAndSuggest(entry, ..)
            | Command::AppendAndName(entry, _)
            | Command::RefuseAndKeep(entry)
            | Command::AppendAndRecord(entry)
            | Command::AppendAndCount(entry)
            | Command::AppendAndDispatch(entry, _)
            | Command::AppendAndPost { entry, .. } => *entry,
        };
        if self.closed {
            return Decision::refuse(Refusal::Closed);
        }
        if self.entries.contains(&entry) && !matches!(command, Command::Push(_)) {
            return Decision::refuse(Refusal::AlreadyThere);
        }
        let appended = vec![Event::Appended(entry)];
        let after: Vec<u64> = self.entries.iter().copied().chain([entry]).collect();
        let record = || Record::new("ledger.appended").with("entry", entry);
        match command {
            Command::RefuseAndKeep(_) => {
                Decision::refuse_and_record(appended, Refusal::OnPrinciple).recording(record())
            }
            Command::AppendIf(_, fact) => Decision::accept(appended, after).requiring(fact.clone()),
            Command::AppendAndBear { child, name, .. } => {
                let book = Ledger { entries: vec![entry], name: name.clone(), ..Self::default() };
                Decision::accept(appended, after).bearing(Birth::of(child.clone(), &book))
            }
            Command::AppendAndPassOn(_, commands) => {
                let decision = Decision::accept(appended, after);
                commands.iter().fold(decision, |decision, (id, command)| {
                    decision.commanding(passing(id, command))
                })
            }
            Command::AppendAndSuggest(_, id, command) => {
                let ignore = |_, _: &mut Vec<u64>| Ok(());
                let command = SubCommand::to::<Self>(id.clone(), (**command).clone(), ignore);
                Decision::accept(appended, after).commanding(command)
            }
            Command::AppendAndName(_, name) => {
                Decision::accept(vec![Event::Appended(entry), Event::Named(name.clone())], after)
            }
            Command::AppendAndRecord(_) | Command::Push(_) => {
                Decision::accept(appended, after).recording(record().in_organization("org-1"))
            }
            Command::AppendAndCount(_) => {
                Decision::accept(appended, after).recording(Record::counted("ledger.appended"))
            }
            Command::AppendAndPost { topic, text, expires_at, .. } => {
                Decision::accept(appended, after).dispatching(Dispatch {
                    topic,
                    class: DeliveryClass::Code,
                    key: DeliveryKey::installation(),
                    payload: Secret::new(text.as_bytes()),
                    expires_at: *expires_at,
                })
            }
            Command::AppendAndDispatch(_, messages) => {
                let decision = Decision::accept(appended, after);
                messages.iter().cloned().fold(decision, Decision::dispatching)
            }
            _ => Decision::accept(appended, after),
        }
    }

    fn apply(&mut self, event: &Event) {
        match event {
            Event::Appended(entry) => self.entries.push(*entry),
            Event::Named(name) => self.name.clone_from(name),
            Event::Joined(owner) => self.owner = Some(owner.clone()),
            Event::Closed => self.closed = true,
            Event::Dated(at) => self.forget_at = Some(*at),
        }
    }

    fn live_until(&self) -> Timestamp {
        if self.closed { Timestamp::NEVER } else { Timestamp::FOREVER }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        self.forget_at
    }

    fn names(&self) -> Vec<Name> {
        self.name.iter().map(|name| Name::new("ledger_name", name)).collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let rank = format!("{:04}", self.entries.len());
        self.owner.iter().map(|owner| Listing::new("ledgers", owner, &rank)).collect()
    }

    fn tolerates_stale(command: &Command) -> bool {
        matches!(command, Command::Glance | Command::ReadIf(_))
    }
}
