//! What is asked of a machine, and what its decision comes to: the model's copy of `src/actors/deciding.rs` and
//! `src/actors/staging.rs`, over the very `decide` and `apply` that production runs.

use porteiro::domain::{Birth, Decision, Effects, Machine, Requirement, StagedMachine, Timestamp};

/// An answer in a word.
pub type Said = &'static str;

/// The place of an entity in its scene.
pub type Slot = u8;

/// A row as it was read; version 0 where there was none.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub state: Option<&'a str>,
    pub version: i64,
}

/// What a decision is made of.
pub struct Reading<'a> {
    pub now: Timestamp,
    /// The row of the entity that is asked.
    pub own: Option<&'a str>,
    /// What the handler had read when it asked.
    pub facts: &'a [Seen<'a>],
    /// What was drawn for this try.
    pub secret: u8,
    /// Finds the entities that the decision commands; `None` while they are not read.
    pub commanded: Option<&'a Find<'a>>,
}

/// Finds an entity by its kind and id.
pub type Find<'a> = dyn Fn(&str, &str) -> Seen<'a> + 'a;

/// A row of another entity that is written with the owner's.
pub struct Change {
    pub kind: &'static str,
    pub id: String,
    pub state: String,
    /// The version that it must have; 0 where there must be no row.
    pub version: i64,
}

/// What a decision comes to.
pub struct Decided {
    pub said: Said,
    /// The next state of the owner; `None` where nothing is written.
    pub own: Option<String>,
    pub others: Vec<Change>,
    pub requirements: Vec<Requirement>,
    /// How many messages leave with it.
    pub messages: usize,
    /// A commanded entity is not as the owner requires.
    pub unmet: Option<&'static str>,
}

impl Decided {
    fn reading(said: Said) -> Self {
        let (others, requirements) = (Vec::new(), Vec::new());
        Self { said, own: None, others, requirements, messages: 0, unmet: None }
    }
}

/// What is known of a decision so far.
pub enum Put {
    /// These entities are commanded and must be read first.
    Commands(Vec<(&'static str, String)>),
    Decided(Decided),
}

/// How an ask reaches the store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// An actor that owns the entity on its node, and remembers its row.
    Actor,
    /// The same, of a command that tolerates what is not a second old.
    TolerantActor,
    /// A commit of its own, as of `/api` and of workers, which begins anew so many times.
    Commit(u8),
}

/// Something that a caller may ask of an entity.
pub struct Ask {
    pub name: &'static str,
    pub of: Slot,
    /// The facts that the handler reads before it asks.
    pub reads: &'static [Slot],
    pub by: By,
    /// What its handler asks next.
    pub next: fn(Said) -> Option<usize>,
    pub decide: Box<dyn Fn(&Reading<'_>) -> Put>,
}

impl Ask {
    /// A command for a real machine; `say` puts its answer into a word.
    pub fn of<M: Machine>(
        (name, of): (&'static str, Slot),
        command: impl Fn(&Reading<'_>) -> M::Command + 'static,
        say: fn(&Result<M::Reply, M::Refusal>) -> Said,
    ) -> Self {
        Self::bent((name, of), command, say, |_: &M, decision, _| decision)
    }

    /// The same, with a mistake in the rule.
    pub fn bent<M: Machine>(
        (name, of): (&'static str, Slot),
        command: impl Fn(&Reading<'_>) -> M::Command + 'static,
        say: fn(&Result<M::Reply, M::Refusal>) -> Said,
        bend: impl Fn(&M, Decision<M>, &Reading<'_>) -> Decision<M> + 'static,
    ) -> Self {
        let decide = move |reading: &Reading<'_>| {
            let machine: M =
                reading.own.map_or_else(M::default, |text| serde_json::from_str(text).unwrap());
            let decision = machine.decide(&command(reading), reading.now);
            let decision = bend(&machine, decision, reading);
            carry_out(&machine, decision, reading, say)
        };
        let next = (|_| None) as fn(Said) -> Option<usize>;
        Self { name, of, reads: &[], by: By::Actor, next, decide: Box::new(decide) }
    }

    /// A fact that changes: to this state, once.
    pub fn fact((name, of): (&'static str, Slot), to: &'static str) -> Self {
        let decide = move |reading: &Reading<'_>| {
            let own = (reading.own != Some(to)).then(|| to.to_owned());
            Put::Decided(Decided { own, ..Decided::reading("changed") })
        };
        let next = (|_| None) as fn(Said) -> Option<usize>;
        Self { name, of, reads: &[], by: By::Commit(2), next, decide: Box::new(decide) }
    }

    pub fn reading(self, reads: &'static [Slot]) -> Self {
        Self { reads, ..self }
    }

    pub fn by(self, by: By) -> Self {
        Self { by, ..self }
    }

    pub fn then(self, next: fn(Said) -> Option<usize>) -> Self {
        Self { next, ..self }
    }
}

/// An entity that is commanded, as it was read and as it would be.
struct Staged {
    id: String,
    version: i64,
    machine: Box<dyn StagedMachine>,
    kind: &'static str,
}

fn carry_out<M: Machine>(
    machine: &M,
    decision: Decision<M>,
    reading: &Reading<'_>,
    say: fn(&Result<M::Reply, M::Refusal>) -> Said,
) -> Put {
    let Decision { events, effects, commands, mut outcome } = decision;
    let mut writes = !(events.is_empty() && effects.write_nothing());
    let Effects { mut births, mut requirements, records: _, dispatches } = effects;
    let mut messages = dispatches.len();
    let mut staged: Vec<Staged> = Vec::new();
    if let Ok(reply) = &mut outcome
        && !commands.is_empty()
    {
        let Some(find) = reading.commanded else {
            let named = commands.iter().map(|one| (one.entity.kind, one.id.clone()));
            return Put::Commands(named.collect());
        };
        for command in commands {
            let (kind, id) = (command.entity, command.id.clone());
            let known = staged.iter().position(|one| one.kind == kind.kind && one.id == id);
            let place = known.unwrap_or_else(|| {
                let Seen { state, version } = find(kind.kind, &id);
                let machine = state.map_or_else(kind.unborn, |text| (kind.parse)(text).unwrap());
                staged.push(Staged { id, version, machine, kind: kind.kind });
                staged.len() - 1
            });
            match command.run(&mut *staged[place].machine, reply, reading.now) {
                Ok(effects) => {
                    writes |= !effects.write_nothing();
                    births.extend(effects.births);
                    requirements.extend(effects.requirements);
                    messages += effects.dispatches.len();
                }
                Err(refusal) => return Put::Decided(Decided::reading(say(&Err(refusal)))),
            }
        }
        if let Some(kind) = judge(&staged, &mut requirements, reading.now) {
            let unmet = Decided { unmet: Some(kind), ..Decided::reading("unmet") };
            return Put::Decided(unmet);
        }
    }
    let mut others = Vec::new();
    for one in &staged {
        let Staged { id, version, machine, kind } = one;
        let kind = *kind;
        if machine.is_changed() {
            let Birth { state, .. } = machine.stored(id);
            others.push(Change { kind, id: id.clone(), state, version: *version });
        } else if *version > 0 {
            let (id, version) = (id.clone(), *version);
            requirements.push(Requirement::Unchanged { kind, id, version });
        }
    }
    writes |= !others.is_empty();
    others.extend(births.into_iter().map(|birth| {
        let Birth { kind, id, state, .. } = birth;
        Change { kind, id, state, version: 0 }
    }));
    let own = writes.then(|| {
        let mut next = machine.clone();
        for event in &events {
            next.apply(event);
        }
        serde_json::to_string(&next).unwrap()
    });
    let said = say(&outcome);
    Put::Decided(Decided { said, own, others, requirements, messages, unmet: None })
}

/// Judges what is required of entities that are commanded, and takes it out.
fn judge(
    staged: &[Staged],
    requirements: &mut Vec<Requirement>,
    now: Timestamp,
) -> Option<&'static str> {
    let mut unmet = None;
    requirements.retain(|fact| {
        let read = staged.iter().find(|one| one.kind == fact.kind() && one.id == fact.id());
        let Some(Staged { version, machine, .. }) = read else { return true };
        let holds = match fact {
            Requirement::Unchanged { version: required, .. } => required == version,
            Requirement::Live { .. } if machine.is_changed() => machine.was_live(now),
            Requirement::Live { .. } => return true,
        };
        if !holds {
            unmet = Some(fact.kind());
        }
        false
    });
    unmet
}
