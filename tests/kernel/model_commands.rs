//! A decision that commands another entity, model-checked over the real machine: the allowance of an agent
//! and the families that it pays for (adr/0124).
//!
//! A store, two nodes and three requests of one agent, each of which is repeated while its outcome is not
//! known. An actor reads its own row, then the family's; both are committed by compare-and-swap, or neither.
//! Every order is visited in which nodes read, commit, die before a commit, lose track of one that lands, and
//! in which another writer changes the allowance between. In every world what was taken is exactly what was
//! granted, and never more than the limit.

use porteiro::domain::{
    EntityKind, Fingerprint, Machine as _, StagedMachine, Timestamp,
    agent_allowance::{AgentAllowance, AllowedGrant, Command},
    assurance::Level,
    authority::{Audience, Scopes},
    authorization_details::{Details, Fixed},
    client::Taking,
    grant::{Grant, Limits},
    possession::Possession,
    requested_claims::RequestedClaims,
    token_family::{Issuing, Lifetimes, Narrowing, Reply, Start, TokenFamily},
};
use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const REQUESTS: usize = 3;

/// Each takes 40 of 100: two of three can be granted.
const AMOUNTS: [&str; REQUESTS] = ["40", "40", "40"];

/// How often one decision is tried, as the kernel does.
const ATTEMPTS: u8 = 2;

/// A mistake that the model must find.
#[derive(Clone, Copy, PartialEq)]
enum Bug {
    None,
    /// The commanded entity is committed although the owner has changed meanwhile.
    OwnerNotCompared,
    /// The owner forgets what it has paid for.
    NothingRemembered,
    /// A commit of unknown fate may leave one half.
    TornCommit,
}

/// A row: its state as stored, and its version; 0 where there is none.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Row {
    state: Option<String>,
    version: u8,
}

impl Row {
    const NONE: Self = Self { state: None, version: 0 };

    fn next(&self, state: String) -> Self {
        Self { state: Some(state), version: self.version + 1 }
    }

    fn allowance(&self) -> AgentAllowance {
        self.state
            .as_deref()
            .map_or_else(AgentAllowance::default, |text| serde_json::from_str(text).unwrap())
    }

    fn staged_family(&self) -> Box<dyn StagedMachine> {
        let kind = EntityKind::of::<TokenFamily>();
        self.state.as_deref().map_or_else(kind.unborn, |text| (kind.parse)(text).unwrap())
    }

    fn is_granted(&self) -> bool {
        let family = |text: &str| serde_json::from_str::<TokenFamily>(text).unwrap();
        self.state.as_deref().is_some_and(|text| family(text).grant().is_some())
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Stage {
    /// The owner's row was read; the family's is not.
    Read(Row),
    /// Decided, on its way into the store.
    Committing { owner: Row, family: Row, next_owner: String, next_family: Option<String> },
}

/// A request that an actor is busy with.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Work {
    request: usize,
    attempt: u8,
    /// Its handler still waits for the answer.
    attended: bool,
    stage: Stage,
}

/// What the client of a request knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Client {
    Waiting,
    /// The outcome is not known: it is asked again, with the same family.
    InDoubt,
    Granted,
    Refused,
    /// It was told that nothing was spent.
    ComeBack,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    allowance: Row,
    families: [Row; REQUESTS],
    nodes: [Option<Work>; 2],
    clients: [Client; REQUESTS],
    doubts: u8,
}

fn start(request: usize) -> Start {
    let grant = Grant {
        sign_on: None,
        client_id: "agent".to_owned(),
        account: None,
        epoch: 0,
        session: None,
        parents: Vec::new(),
        membership: None,
        audience: Audience::Issuer,
        scopes: Scopes::default(),
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: NOW,
        level: Level::Aal1,
        methods: Vec::new(),
        delegation: None,
    };
    let hour = Duration::from_hours(1);
    let lifetimes = Lifetimes { access_token: hour, refresh_idle: hour, refresh_ceiling: hour };
    let issuing = Issuing {
        client_id: "agent".to_owned(),
        narrowing: Narrowing::default(),
        next: Fingerprint::of(&[u8::try_from(request).unwrap()]),
        limits: Limits::default(),
        requirements: Vec::new(),
        lifetimes,
        possession: Possession::default(),
    };
    Start { grant, refreshable: false, issuing }
}

fn command(request: usize) -> Command {
    let amount = |text: &str| Fixed::parse(text).unwrap();
    let taking = Taking {
        limit: "payment".to_owned(),
        amount: amount(AMOUNTS[request]),
        per_day: amount("100"),
    };
    let (takings, family) = (vec![taking], request.to_string());
    Command::Grant(Box::new(AllowedGrant { takings, family, start: start(request) }))
}

impl World {
    fn new() -> Self {
        Self {
            allowance: Row::NONE,
            families: [const { Row::NONE }; REQUESTS],
            nodes: [None, None],
            clients: [Client::Waiting; REQUESTS],
            doubts: 0,
        }
    }

    /// What holds in every world.
    fn check(&self) -> Result<(), String> {
        let granted = self.families.iter().filter(|row| row.is_granted()).count();
        let taken = self.allowance.allowance().taken("payment", NOW);
        let expected = Fixed::parse(&(granted * 40).to_string()).unwrap();
        if taken != expected {
            return Err(format!("{granted} were granted, and {taken:?} was taken"));
        }
        if granted > 2 {
            return Err("more was granted than the limit".to_owned());
        }
        for (request, client) in self.clients.iter().enumerate() {
            let is_granted = self.families[request].is_granted();
            match client {
                Client::Granted if !is_granted => return Err("an answer was lost".to_owned()),
                Client::Refused | Client::ComeBack if is_granted => {
                    return Err("a client was told that nothing was spent".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn successors(&self, bug: Bug) -> Vec<Self> {
        let mut next = Vec::new();
        for node in 0..2 {
            match &self.nodes[node] {
                None => {
                    for request in 0..REQUESTS {
                        let asks =
                            matches!(self.clients[request], Client::Waiting | Client::InDoubt);
                        let mut works = self.nodes.iter().flatten();
                        let attended = works.any(|work| work.request == request && work.attended);
                        if asks && !attended {
                            next.push(self.begin(node, (request, 0, true)));
                        }
                    }
                }
                Some(work) => {
                    next.push(self.step(node, work, bug));
                    // The actor dies, or the outcome of its commit is not heard; whichever, the client asks again.
                    if self.doubts < 2 {
                        next.extend(self.lose_track(node, work, bug));
                    }
                    // The timeout passes: the handler asks again, and the actor works on.
                    if self.doubts < 2 && work.attended {
                        next.push(self.be_late(node, work));
                    }
                }
            }
        }
        next
    }

    fn begin(&self, node: usize, (request, attempt, attended): (usize, u8, bool)) -> Self {
        let mut world = self.clone();
        let stage = Stage::Read(self.allowance.clone());
        world.nodes[node] = Some(Work { request, attempt, attended, stage });
        world
    }

    fn be_late(&self, node: usize, work: &Work) -> Self {
        let mut world = self.clone();
        world.nodes[node] = Some(Work { attended: false, ..work.clone() });
        world.clients[work.request] = Client::InDoubt;
        world.doubts += 1;
        world
    }

    fn ended(&self, node: usize, request: usize, client: Client) -> Self {
        let mut world = self.clone();
        let work = world.nodes[node].take();
        if work.is_some_and(|work| work.attended) {
            world.clients[request] = client;
        }
        world
    }

    fn step(&self, node: usize, work: &Work, bug: Bug) -> Self {
        let request = work.request;
        match &work.stage {
            Stage::Read(owner) => self.decide(node, work, owner, bug),
            Stage::Committing { .. } => match self.commit(work, bug) {
                Some(world) => world.ended(node, request, Client::Granted),
                None if work.attempt + 1 < ATTEMPTS => {
                    self.begin(node, (request, work.attempt + 1, work.attended))
                }
                // A repeat that contends leaves the client in doubt, as before it.
                None if self.clients[request] == Client::InDoubt => {
                    self.ended(node, request, Client::InDoubt)
                }
                None => self.ended(node, request, Client::ComeBack),
            },
        }
    }

    /// The owner decides on the row that it has read, and the family on its row as it is now.
    fn decide(&self, node: usize, work: &Work, owner: &Row, bug: Bug) -> Self {
        let request = work.request;
        let mut allowance = owner.allowance();
        if bug == Bug::NothingRemembered {
            let mut text: serde_json::Value = serde_json::to_value(&allowance).unwrap();
            text.as_object_mut().unwrap().remove("paid");
            allowance = serde_json::from_value(text).unwrap();
        }
        let decision = allowance.decide(&command(request), NOW);
        let Ok(mut reply) = decision.outcome else {
            // What changes nothing rests on the row's present version.
            return if *owner == self.allowance {
                self.ended(node, request, Client::Refused)
            } else {
                self.begin(node, (request, work.attempt, work.attended))
            };
        };
        let family = self.families[request].clone();
        let mut staged = family.staged_family();
        for command in decision.commands {
            assert_eq!(command.entity.kind, TokenFamily::KIND);
            command.run(&mut *staged, &mut reply, NOW).unwrap();
        }
        assert!(matches!(reply, Some(Reply::Issue(_))));
        let next_family = staged.is_changed().then(|| staged.stored("family").state);
        if decision.events.is_empty() && next_family.is_none() {
            return if *owner == self.allowance {
                self.ended(node, request, Client::Granted)
            } else {
                self.begin(node, (request, work.attempt, work.attended))
            };
        }
        for event in &decision.events {
            allowance.apply(event);
        }
        let next_owner = serde_json::to_string(&allowance).unwrap();
        let stage = Stage::Committing { owner: owner.clone(), family, next_owner, next_family };
        let mut world = self.clone();
        world.nodes[node] = Some(Work { stage, ..work.clone() });
        world
    }

    /// Both rows, or neither.
    fn commit(&self, work: &Work, bug: Bug) -> Option<Self> {
        let Stage::Committing { owner, family, next_owner, next_family } = &work.stage else {
            return None;
        };
        let current = &self.families[work.request];
        let owner_stands = self.allowance.version == owner.version || bug == Bug::OwnerNotCompared;
        let family_stands = current.version == family.version;
        if !(owner_stands && family_stands) {
            return None;
        }
        let mut world = self.clone();
        world.allowance = self.allowance.next(next_owner.clone());
        if let Some(next) = next_family {
            world.families[work.request] = current.next(next.clone());
        }
        Some(world)
    }

    fn lose_track(&self, node: usize, work: &Work, bug: Bug) -> Vec<Self> {
        let in_doubt = |world: &Self| {
            let mut world = world.ended(node, work.request, Client::InDoubt);
            world.doubts += 1;
            world
        };
        let mut next = vec![in_doubt(self)];
        if let Some(landed) = self.commit(work, bug) {
            if bug == Bug::TornCommit {
                let mut torn = landed.clone();
                torn.families.clone_from(&self.families);
                next.push(in_doubt(&torn));
            }
            next.push(in_doubt(&landed));
        }
        next
    }
}

/// Visits every world; returns how many there are, or how one of them breaks what must hold.
fn explore(bug: Bug) -> Result<(usize, HashSet<Client>), String> {
    let (mut seen, mut queue) = (HashSet::new(), VecDeque::from([World::new()]));
    let mut ends = HashSet::new();
    while let Some(world) = queue.pop_front() {
        if !seen.insert(world.clone()) {
            continue;
        }
        world.check()?;
        ends.extend(world.clients);
        queue.extend(world.successors(bug));
    }
    Ok((seen.len(), ends))
}

#[test]
fn no_order_of_events_takes_more_or_less_than_was_granted() {
    let (worlds, ends) = explore(Bug::None).unwrap();
    assert!(worlds > 2_000, "less was shown than is said: {worlds}");
    for end in [Client::Granted, Client::Refused, Client::InDoubt, Client::ComeBack] {
        assert!(ends.contains(&end));
    }
}

#[test]
fn an_owner_that_is_not_compared_is_found() {
    assert!(explore(Bug::OwnerNotCompared).is_err());
}

#[test]
fn an_owner_that_forgets_what_it_has_paid_for_is_found() {
    assert!(explore(Bug::NothingRemembered).is_err());
}

#[test]
fn a_torn_commit_is_found() {
    assert!(explore(Bug::TornCommit).is_err());
}
