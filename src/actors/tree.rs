//! Plants the supervision tree and takes it down in reverse.

use super::{
    entities::Entities,
    gate::Gate,
    host::{Hospitality, Host},
    janitor::{Janitor, JanitorHabits},
    key_keeper::{KeeperArguments, KeyHabits, KeyKeeper, KeySnapshot, ReadFolder},
    lent::Lent,
    outbox::{Couriers, Outbox, OutboxArguments},
    roll::Roll,
    room::Room,
    root::{Child, Message, RestartBudget, Restarts, Root, RootArguments},
    together::Together,
    view::{Holders, View},
    vitals::KindReport,
};
use crate::domain::{Machine, signing_keys::SigningKeys};
use ractor::{Actor, ActorRef, SpawnErr};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::timeout,
};

/// How the tree works; the defaults are for production.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// After how long without a command an entity rests.
    pub idle: Duration,
    /// How many entities of a kind may stay awake for so long; beyond, only those in use do.
    pub crowd: usize,
    /// How long an ask may take unless it says otherwise.
    pub patience: Duration,
    /// How many asks may be under way at once.
    pub most_asks: u32,
    pub restarts: RestartBudget,
    /// How often the outbox is looked into for messages of other nodes.
    pub outbox_every: Duration,
    pub janitor: JanitorHabits,
    pub keys: KeyHabits,
}

impl Default for Habits {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(2),
            // At some 7 KB each.
            crowd: 4_096,
            patience: Duration::from_secs(5),
            most_asks: 4_096,
            restarts: RestartBudget { restarts: 5, within: Duration::from_mins(1) },
            outbox_every: Duration::from_secs(1),
            janitor: JanitorHabits {
                every: Duration::from_secs(1),
                anchor_every: Duration::from_mins(10),
                keep_log: None,
            },
            keys: KeyHabits {
                every: Duration::from_secs(10),
                published_for: Duration::from_mins(10),
                retired_for: Duration::from_hours(1),
            },
        }
    }
}

/// A part of the tree could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the supervision tree could not start {child}")]
pub struct StartError {
    child: &'static str,
    #[source]
    source: Option<SpawnErr>,
}

type Report = Box<dyn Fn() -> KindReport + Send + Sync>;

/// What the house knows of its keys.
pub struct KeyDoors {
    /// Signers and the published set, as they are now and whenever they change.
    pub snapshots: watch::Receiver<KeySnapshot>,
    /// The states of all keys; where one is revoked.
    pub states: Entities<SigningKeys>,
    /// Has the folder read at once.
    pub bell: Arc<Notify>,
}

/// The planted tree.
pub struct Tree {
    lent: Arc<Lent>,
    habits: Habits,
    gate: Gate,
    root: ActorRef<Message>,
    given_up: watch::Receiver<Option<&'static str>>,
    /// The kinds that have a host, and how to ask how they are.
    hosted: Mutex<BTreeMap<&'static str, Report>>,
    restarts: Arc<Restarts>,
}

impl Tree {
    /// Starts the root; hosts and workers are added one by one.
    pub async fn plant(lent: Arc<Lent>, habits: Habits) -> Result<Self, StartError> {
        let (tell, given_up) = watch::channel(None);
        let clock = lent.clock.clone();
        let restarts = Arc::new(Restarts::default());
        let (budget, counted) = (habits.restarts, restarts.clone());
        let arguments = RootArguments { clock, budget, restarts: counted, given_up: tell };
        let spawned = Actor::spawn(None, Root, arguments).await;
        let (root, _ended) =
            spawned.map_err(|source| StartError { child: "root", source: Some(source) })?;
        let (gate, hosted) = (Gate::new(habits.most_asks), Mutex::default());
        Ok(Self { lent, habits, gate, root, given_up, hosted, restarts })
    }

    /// Hosts the entities of a kind and returns the door to them.
    pub async fn host<M: Machine>(&self) -> Result<Entities<M>, StartError> {
        let room = Arc::new(Room::<M>::new(self.lent.clone()));
        {
            // Two hosts of a kind would give an entity two owners.
            let mut hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
            let Entry::Vacant(place) = hosted.entry(M::KIND) else {
                return Err(StartError { child: M::KIND, source: None });
            };
            let asked = room.clone();
            place.insert(Box::new(move || asked.report()));
        }
        let door = Entities::new(room.clone(), self.gate.clone(), self.habits.patience);
        let Habits { idle, crowd, .. } = self.habits;
        let hospitality = Hospitality { idle, crowd };
        let host = move || (Host::<M>::new(), (room.clone(), hospitality));
        self.start(Child::new(M::KIND, host)).await?;
        Ok(door)
    }

    /// Says how the entities of each hosted kind are.
    pub fn kinds(&self) -> Vec<(&'static str, KindReport)> {
        let hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
        hosted.iter().map(|(kind, report)| (*kind, report())).collect()
    }

    /// Says how often each part of the tree had to be started again.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts.report()
    }

    /// Begins decisions over several entities that are committed together.
    pub fn together(&self) -> Together {
        Together::new(self.lent.clone())
    }

    /// Looks at the entities of a kind without waking them.
    pub fn view<M: Machine>(&self) -> View<M> {
        View::new(self.lent.clone())
    }

    /// Looks at the lists called `list`, all of entities of one kind.
    pub fn roll<M: Machine>(&self, list: &'static str) -> Roll<M> {
        Roll::new(self.lent.clone(), list)
    }

    /// Looks up who holds the names of a space.
    pub fn holders(&self, space: &'static str) -> Holders {
        Holders::new(self.lent.clone(), space)
    }

    /// Starts the outbox with the couriers it knows.
    pub async fn deliver_by(&self, couriers: Couriers) -> Result<(), StartError> {
        let (lent, every) = (self.lent.clone(), self.habits.outbox_every);
        let couriers = Arc::new(couriers);
        let arguments =
            move || OutboxArguments { lent: lent.clone(), couriers: couriers.clone(), every };
        self.start(Child::new("outbox", move || (Outbox, arguments()))).await
    }

    /// Starts the janitor.
    pub async fn keep_tidy(&self) -> Result<(), StartError> {
        let (lent, habits) = (self.lent.clone(), self.habits.janitor);
        self.start(Child::new("janitor", move || (Janitor, (lent.clone(), habits)))).await
    }

    /// Starts the key keeper; the bell has it read the folder at once.
    pub async fn keep_keys(&self, read_folder: ReadFolder) -> Result<KeyDoors, StartError> {
        let (tell, snapshots) = watch::channel(KeySnapshot::default());
        let bell = Arc::new(Notify::new());
        let states = self.host::<SigningKeys>().await?;
        let arguments = KeeperArguments {
            lent: self.lent.clone(),
            read_folder,
            habits: self.habits.keys,
            keys: states.clone(),
            published: Arc::new(tell),
            bell: bell.clone(),
        };
        self.start(Child::new("key keeper", move || (KeyKeeper, arguments.clone()))).await?;
        Ok(KeyDoors { snapshots, states, bell })
    }

    async fn start(&self, child: Child) -> Result<(), StartError> {
        let name = child.name;
        let failed = |source| StartError { child: name, source };
        let (reply, started) = oneshot::channel();
        self.root.send_message(Message::Start(child, reply)).map_err(|_| failed(None))?;
        started.await.map_err(|_| failed(None))?.map_err(|source| failed(Some(source)))
    }

    /// Waits until a child has spent its restart budget and returns its name.
    pub async fn given_up(&self) -> &'static str {
        let mut given_up = self.given_up.clone();
        match given_up.wait_for(Option::is_some).await {
            Ok(name) => (*name).unwrap_or("root"),
            Err(_root_is_gone) => "root",
        }
    }

    /// Lets nobody in, waits for what is under way, and ends every actor; the store stays open.
    ///
    /// Returns false where something was still under way when patience ran out.
    pub async fn take_down(&self, patience: Duration) -> bool {
        let orderly = self.gate.close(patience).await;
        let (reply, closing) = oneshot::channel();
        if self.root.send_message(Message::Closing(reply)).is_ok() {
            let _ = timeout(patience, closing).await;
        }
        let root = self.root.get_cell();
        root.stop_children_and_wait(None, Some(patience)).await;
        let stopped = root.stop_and_wait(None, Some(patience)).await.is_ok();
        orderly && stopped
    }
}

impl Drop for Tree {
    /// A tree that is dropped and not taken down ends at once, with all that hangs on it.
    fn drop(&mut self) {
        self.root.stop(None);
    }
}
