//! The servers, each a process of its own on loopback.

pub mod cluster;
pub mod limit;
pub mod peer;
pub mod porteiro;
pub mod store;

use crate::{Outcome, connection::fetch, process::Process, scene::Scene, secured};
use jsonwebtoken::jwk::JwkSet;
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::{Duration, Instant},
};

pub const DISCOVERY: &str = "/.well-known/openid-configuration";
pub const JWKS: &str = "/connect/jwks";
pub const AUTHORIZE: &str = "/connect/authorize";
pub const TOKEN: &str = "/connect/token";
pub const PAR: &str = "/connect/par";
pub const INTROSPECT: &str = "/connect/introspect";
pub const USERINFO: &str = "/connect/userinfo";
pub const REVOKE: &str = "/connect/revoke";
pub const REGISTER: &str = "/connect/register";
pub const DEVICE: &str = "/connect/device";
pub const CIBA: &str = "/connect/ciba";
pub const SIGN_IN: &str = "/sign-in";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Porteiro,
    /// Another build of Porteiro, to compare with.
    Former,
    Limit,
    Peer,
}

impl Who {
    pub const ALL: [Self; 3] = [Self::Porteiro, Self::Limit, Self::Peer];

    pub fn name(self) -> &'static str {
        match self {
            Self::Porteiro => "porteiro",
            Self::Former => "former",
            Self::Limit => "limit",
            Self::Peer => "peer",
        }
    }
}

/// A server that answers.
pub struct Server {
    pub who: Who,
    pub address: SocketAddr,
    pub issuer: String,
    /// The keys it publishes.
    pub keys: JwkSet,
    pub process: Process,
    /// Where Porteiro tells what it has done.
    pub operator: Option<SocketAddr>,
}

impl Server {
    /// Returns how many commits somebody has waited for since the start, if it tells.
    pub async fn commits(&self) -> Outcome<Option<f64>> {
        let Some(operator) = self.operator else { return Ok(None) };
        let metrics = String::from_utf8(fetch(operator, "/metrics").await?)?;
        let counts = metrics.lines().filter(|line| line.starts_with("porteiro_commits_total{"));
        let mut total = None;
        // Each is counted when its caller is answered, whatever became of it.
        for line in counts {
            let (_, count) = line.rsplit_once(' ').ok_or("a count is missing")?;
            total = Some(total.unwrap_or(0.0) + count.parse::<f64>()?);
        }
        Ok(Some(total.ok_or("no commits are told")?))
    }
}

/// From what servers are started.
pub struct Stage {
    pub scene: Scene,
    /// Everything that is written lies in here and goes with the run.
    pub folder: PathBuf,
    /// The `porteiro` to be measured.
    pub binary: PathBuf,
    /// Another `porteiro` that is measured in turn with it.
    pub former: Option<PathBuf>,
    /// Where `server.mjs` and what it needs were installed.
    pub peer: Option<PathBuf>,
    pub cast: Vec<Who>,
    /// A PostgreSQL server that rows are kept on, instead of files.
    pub postgres: Option<String>,
}

impl Stage {
    /// Starts whoever takes part, Porteiro first: the limit serves its documents.
    pub async fn raise(&self) -> Outcome<Vec<Server>> {
        let mut servers = Vec::new();
        for who in &self.cast {
            servers.push(self.start(*who).await?);
        }
        Ok(servers)
    }

    pub async fn start(&self, who: Who) -> Outcome<Server> {
        match who {
            Who::Porteiro => porteiro::start(self).await,
            Who::Former => porteiro::start_former(self).await,
            Who::Limit => limit::start(self).await,
            Who::Peer => peer::start(self).await,
        }
        .map_err(|error| format!("{} could not be started: {error}", who.name()).into())
    }

    /// Where the documents lie that Porteiro publishes, for the limit to serve.
    fn published(&self, name: &str) -> PathBuf {
        self.folder.join(format!("published-{name}"))
    }

    /// The keys folder that Porteiro and the limit sign from.
    fn keys(&self) -> PathBuf {
        self.folder.join("keys")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

pub fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Waits for the first 200 on a path.
pub async fn until_ready(process: &mut Process, address: SocketAddr, path: &str) -> Outcome<()> {
    let begun = Instant::now();
    loop {
        process.check()?;
        let tried = fetch(address, path).await;
        match tried {
            Ok(_) => return Ok(()),
            Err(error) if begun.elapsed() > Duration::from_secs(30) => {
                return Err(format!("not ready within 30 s: {error}").into());
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// Waits until it answers, and learns its keys.
async fn greet(who: Who, mut process: Process, port: u16) -> Outcome<Server> {
    let address = loopback(port);
    until_ready(&mut process, address, DISCOVERY).await?;
    let keys = serde_json::from_slice(&fetch(address, JWKS).await?)?;
    let scheme = if secured::config_of(address).is_some() { "https" } else { "http" };
    let issuer = format!("{scheme}://{address}");
    Ok(Server { who, address, issuer, keys, process, operator: None })
}
