//! The listeners together: started, counted, drained.

use super::{
    AddressRules, ConnectionLimits, DrainLimits, Report, TlsMode,
    acceptor::accept,
    files,
    shared::{Entrance, Plan, ServerState, Stage},
};
use crate::crypto::Dice;
use axum::Router;
use std::sync::Arc;
use tokio::{net::TcpListener, task::JoinSet, time};

/// What a server is started with.
pub struct ServerOptions {
    pub listeners: Vec<Listener>,
    pub limits: ConnectionLimits,
    /// Which addresses have a limited number of connections.
    pub addresses: Arc<AddressRules>,
    pub dice: Arc<dyn Dice>,
}

/// A socket, and what is served there.
pub struct Listener {
    pub socket: TcpListener,
    /// With it the listener speaks TLS and nothing else.
    pub tls: Option<TlsMode>,
    pub router: Router,
}

/// Serves until it is drained; dropped, it stops in the middle of whatever it does.
pub struct Server {
    shared: Arc<ServerState>,
    acceptors: JoinSet<()>,
}

/// How a drain went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainOutcome {
    /// Every connection ended by itself.
    InOrder,
    /// So many connections were left when the time was up, and were cut off.
    CutOff(u64),
}

/// Reads a server's counts, also while it drains.
#[derive(Clone)]
pub struct Meter(Arc<ServerState>);

impl Meter {
    pub fn report(&self) -> Report {
        self.0.tally.report(self.0.owed())
    }
}

impl Server {
    /// Begins to serve; needs a runtime around it.
    pub fn start(options: ServerOptions) -> Self {
        let ServerOptions { listeners, mut limits, addresses, dice } = options;
        limits.max_connections = files::affordable(limits.max_connections);
        let shared = Arc::new(ServerState::build(Plan { limits, addresses, dice }));
        let mut acceptors = JoinSet::new();
        for Listener { socket, tls, router } in listeners {
            let tls = tls.map(TlsMode::acceptor);
            // Its handlers are made into routes once, and not with every request.
            let entrance = Entrance { tls, router: router.with_state(()) };
            acceptors.spawn(accept(socket, Arc::new(entrance), shared.clone()));
        }
        Self { shared, acceptors }
    }

    pub fn report(&self) -> Report {
        self.shared.tally.report(self.shared.owed())
    }

    pub fn meter(&self) -> Meter {
        Meter(self.shared.clone())
    }

    /// Stops serving without failing a request; the module says how.
    pub async fn drain(mut self, limits: DrainLimits) -> DrainOutcome {
        let DrainLimits { lame_duck, idle_grace, timeout } = limits;
        self.shared.enter(Stage::LameDuck);
        // Whichever comes first, what follows is the same.
        let _ = time::timeout(lame_duck, self.shared.tally.empty()).await;
        self.shared.enter(Stage::Shut);
        if time::timeout(idle_grace.min(timeout), self.ended()).await.is_ok() {
            return DrainOutcome::InOrder;
        }
        self.shared.enter(Stage::Emptying);
        if time::timeout(timeout.saturating_sub(idle_grace), self.ended()).await.is_ok() {
            return DrainOutcome::InOrder;
        }
        let left = self.report().open;
        self.acceptors.shutdown().await;
        DrainOutcome::CutOff(left)
    }

    /// Waits for the acceptors, each of which waits for its connections.
    async fn ended(&mut self) {
        while self.acceptors.join_next().await.is_some() {}
    }
}
