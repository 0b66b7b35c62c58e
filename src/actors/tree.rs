//! Starts the supervision tree and stops it in reverse.

use super::{
    domain_checks::DomainChecks,
    domain_records::DomainRecords,
    entities::Entities,
    feed::WebhookFeed,
    gate::Gate,
    host::{Host, IdlePolicy},
    janitor::{Janitor, JanitorOptions},
    key_keeper::{KeeperArguments, KeyKeeper, KeyOptions, KeySnapshot, ReadFolder},
    kind_shared::KindContext,
    metrics::KindReport,
    multi_commit::{MultiCommit, MultiCommits},
    organization_eraser,
    outbox::{Couriers, Outbox, OutboxArguments},
    outbox_metrics::{OutboxMetrics, TopicReport},
    repeated_work::{RepeatedWork, Repeater},
    root::{Child, Message, RestartBudget, Restarts, Root, RootArguments},
    services::Services,
    view::{NameView, View},
};
use crate::domain::{Context, Machine, signing_keys::SigningKeys};
use ractor::{Actor, ActorRef, SpawnErr};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time,
};

/// How the tree works; the defaults are for production.
#[derive(Clone, Copy, Debug)]
pub struct TreeOptions {
    /// After how long without a command an entity's actor ends.
    pub idle: Duration,
    /// How many entities of a kind may stay in memory for so long; beyond, only those in use do.
    pub max_awake: usize,
    /// How long an ask may take unless it says otherwise.
    pub timeout: Duration,
    /// How many asks may be under way at once.
    pub most_asks: u32,
    pub restarts: RestartBudget,
    /// How often the outbox looks for messages of other nodes.
    pub outbox_every: Duration,
    /// How often the security log is read for webhooks.
    pub feed_every: Duration,
    /// How often verified domains are looked for whose check is due.
    pub domains_every: Duration,
    /// How often those are looked for who are still to be invited.
    pub inviter_every: Duration,
    pub janitor: JanitorOptions,
    pub keys: KeyOptions,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            idle: Duration::from_mins(2),
            // At some 7 KB each.
            max_awake: 4_096,
            timeout: Duration::from_secs(5),
            most_asks: 4_096,
            restarts: RestartBudget { restarts: 5, within: Duration::from_mins(1) },
            outbox_every: Duration::from_secs(1),
            feed_every: Duration::from_secs(1),
            domains_every: Duration::from_secs(10),
            inviter_every: Duration::from_mins(1),
            janitor: JanitorOptions {
                every: Duration::from_secs(1),
                anchor_every: Duration::from_mins(10),
                keep_log: Some(Duration::from_hours(400 * 24)),
            },
            keys: KeyOptions {
                every: Duration::from_secs(10),
                published_for: Duration::from_mins(10),
                longest_token: Duration::from_mins(5),
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

/// What the rest of the system uses of the keys.
pub struct Keys {
    /// Signers and the published set, as they are now and whenever they change.
    pub snapshots: watch::Receiver<KeySnapshot>,
    /// The states of all keys; where one is revoked.
    pub states: Entities<SigningKeys>,
    /// Has the folder read at once.
    pub reload: Arc<Notify>,
}

/// The running tree.
pub struct Tree {
    services: Arc<Services>,
    options: TreeOptions,
    gate: Gate,
    root: ActorRef<Message>,
    given_up: watch::Receiver<Option<&'static str>>,
    /// The kinds that have a host, and how to ask how they are.
    hosted: Mutex<BTreeMap<&'static str, Report>>,
    restarts: Arc<Restarts>,
    /// Of the outbox, once it was started.
    outbox: OnceLock<Arc<OutboxMetrics>>,
}

impl Tree {
    /// Starts the root; hosts and workers are added one by one.
    pub async fn start(services: Arc<Services>, options: TreeOptions) -> Result<Self, StartError> {
        let (tell, given_up) = watch::channel(None);
        let clock = services.clock.clone();
        let restarts = Arc::new(Restarts::default());
        let (budget, counted) = (options.restarts, restarts.clone());
        let arguments = RootArguments { clock, budget, restarts: counted, given_up: tell };
        let spawned = Actor::spawn(None, Root, arguments).await;
        let (root, _ended) =
            spawned.map_err(|source| StartError { child: "root", source: Some(source) })?;
        let (gate, hosted) = (Gate::new(options.most_asks), Mutex::default());
        let outbox = OnceLock::new();
        Ok(Self { services, options, gate, root, given_up, hosted, restarts, outbox })
    }

    /// Hosts the entities of a kind and returns how to ask them.
    pub async fn host<M: Machine>(&self) -> Result<Entities<M>, StartError> {
        let shared = Arc::new(KindContext::<M>::new(self.services.clone()));
        {
            // Two hosts of a kind would give an entity two owners.
            let mut hosted = self.hosted.lock().unwrap_or_else(PoisonError::into_inner);
            let Entry::Vacant(entry) = hosted.entry(M::KIND) else {
                return Err(StartError { child: M::KIND, source: None });
            };
            let asked = shared.clone();
            entry.insert(Box::new(move || asked.report()));
        }
        let entities = Entities::new(shared.clone(), self.gate.clone(), self.options.timeout);
        let TreeOptions { idle, max_awake, .. } = self.options;
        let idle_policy = IdlePolicy { idle, max_awake };
        let host = move || (Host::<M>::new(), (shared.clone(), idle_policy));
        self.start_child(Child::new(M::KIND, host)).await?;
        Ok(entities)
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
    pub fn multi_commit(&self, context: &Context) -> MultiCommit {
        self.multi_commits().begin(context)
    }

    pub fn multi_commits(&self) -> MultiCommits {
        MultiCommits::new(self.services.clone())
    }

    /// Reads the entities of a kind, and lists of them, without starting their actors.
    pub fn view<M: Machine>(&self) -> View<M> {
        View::new(self.services.clone())
    }

    /// Reads which entities hold the names of a space.
    pub fn names(&self, space: &'static str) -> NameView {
        NameView::new(self.services.clone(), space)
    }

    /// Starts the outbox with the couriers it knows.
    pub async fn start_outbox(&self, couriers: Couriers) -> Result<(), StartError> {
        let (services, every) = (self.services.clone(), self.options.outbox_every);
        let topics = couriers.keys().copied();
        let metrics = self.outbox.get_or_init(|| Arc::new(OutboxMetrics::new(topics))).clone();
        let couriers = Arc::new(couriers);
        let arguments = move || OutboxArguments {
            services: services.clone(),
            couriers: couriers.clone(),
            metrics: metrics.clone(),
            every,
        };
        self.start_child(Child::new("outbox", move || (Outbox, arguments()))).await
    }

    /// Says how the messages of each topic fare.
    pub fn outbox(&self) -> Vec<TopicReport> {
        self.outbox.get().map(|metrics| metrics.report()).unwrap_or_default()
    }

    /// Starts what reads the security log for webhooks.
    pub async fn start_feed(&self) -> Result<(), StartError> {
        let (services, every) = (self.services.clone(), self.options.feed_every);
        self.start_child(Child::new("feed", move || (WebhookFeed, (services.clone(), every)))).await
    }

    /// Starts what looks after verified domains.
    pub async fn start_domain_checks(&self, records: DomainRecords) -> Result<(), StartError> {
        let (services, every) = (self.services.clone(), self.options.domains_every);
        let arguments = move || (services.clone(), records.clone(), every);
        self.start_child(Child::new("domain checks", move || (DomainChecks, arguments()))).await
    }

    /// Starts the janitor.
    pub async fn start_janitor(&self) -> Result<(), StartError> {
        let (services, options) = (self.services.clone(), self.options.janitor);
        self.start_child(Child::new("janitor", move || (Janitor, (services.clone(), options))))
            .await
    }

    /// Starts what erases organizations.
    pub async fn start_organization_eraser(&self) -> Result<(), StartError> {
        let every = self.options.janitor.every;
        self.start_repeated(organization_eraser::erasing(self.services.clone(), every)).await
    }

    /// Starts work that is done again and again.
    pub async fn start_repeated(&self, work: RepeatedWork) -> Result<(), StartError> {
        self.start_child(Child::new(work.name, move || (Repeater, work.clone()))).await
    }

    /// Starts the key keeper.
    pub async fn start_key_keeper(&self, read_folder: ReadFolder) -> Result<Keys, StartError> {
        let (tell, snapshots) = watch::channel(KeySnapshot::default());
        let reload = Arc::new(Notify::new());
        let states = self.host::<SigningKeys>().await?;
        let arguments = KeeperArguments {
            services: self.services.clone(),
            read_folder,
            options: self.options.keys,
            keys: states.clone(),
            published: Arc::new(tell),
            reload: reload.clone(),
        };
        self.start_child(Child::new("key keeper", move || (KeyKeeper, arguments.clone()))).await?;
        Ok(Keys { snapshots, states, reload })
    }

    async fn start_child(&self, child: Child) -> Result<(), StartError> {
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

    /// Admits no more commands, waits for what is under way, and ends every actor; the store stays
    /// open.
    ///
    /// Returns false where something was still under way when the time was up.
    pub async fn stop(&self, timeout: Duration) -> bool {
        let orderly = self.gate.close(timeout).await;
        let (reply, closing) = oneshot::channel();
        if self.root.send_message(Message::Closing(reply)).is_ok() {
            let _ = time::timeout(timeout, closing).await;
        }
        let root = self.root.get_cell();
        root.stop_children_and_wait(None, Some(timeout)).await;
        let stopped = root.stop_and_wait(None, Some(timeout)).await.is_ok();
        orderly && stopped
    }
}

impl Drop for Tree {
    /// A tree that is dropped and not stopped ends at once, with all its actors.
    fn drop(&mut self) {
        self.root.stop(None);
    }
}
