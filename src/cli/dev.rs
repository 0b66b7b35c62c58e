//! `porteiro dev`: a server to try things with, in one command, on this machine alone.

use super::{
    Failure, apply, say, serve,
    settings::{DEV_FOLDER, Given, dev_store, read_folder, workbench_at},
};
use crate::{
    clock::SystemClock,
    config::{Config, Origin as ValueOrigin},
    crypto::{
        SystemDice, draw_text,
        keys::{DevKeys, Folder, Generator, Origin},
    },
    domain::Clock as _,
    http::{Hosts, Lifetimes},
    server::{Issuer, Manners, OperatorAddress, Plan, Running},
};
use clap::Args;
use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write as _},
    net::{Ipv6Addr, SocketAddr},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    sync::Arc,
};

const DEMO_CLIENT: &str = "demo-service";
const DEMO_FILE: &str = "demo.toml";

#[derive(Debug, Args)]
pub(super) struct Dev {
    /// A loopback address; its port becomes the issuer's
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
}

pub(super) async fn run(Dev { listen }: Dev, given: Given) -> Result<(), Failure> {
    let folder = Path::new(DEV_FOLDER);
    let config = configuration(given, listen, folder)?;
    if !config.listen.ip().is_loopback() {
        let why = format!("{}: a development server listens on loopback only", config.listen);
        return Err(Failure::Configuration(vec![why]));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let keys = folder.join("keys");
    if !keys.exists() {
        let created_at = SystemClock.now();
        let folder = &keys;
        Generator { folder, origin: Origin::Dev, created_at, dice: &SystemDice }.generate_all()?;
    }
    provide_demo(folder, &keys).await?;
    let operator = match (listen.port(), config.operator.listen) {
        (8080, usual) => OperatorAddress::Perhaps(usual),
        // A second one beside it takes whatever is free.
        (_, usual) => OperatorAddress::Perhaps(SocketAddr::new(usual.ip(), 0)),
    };
    let also = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), config.listen.port());
    let signals = serve::Signals::listen()?;
    let running = serve::start(Plan {
        issuer: Issuer::Localhost,
        store: dev_store(folder),
        read_folder: Arc::new(move || Folder::load(&keys, DevKeys::Accepted)),
        // `localhost` is either of the two.
        listen: vec![config.listen, also],
        tls: None,
        operator,
        lifetimes: Lifetimes { access_token: config.lifetimes.access_token },
        hosts: Hosts::Loopback,
        proxies: Vec::new(),
        manners: Manners::default(),
    })
    .await?;
    welcome(&running, folder)?;
    signals.serve(running).await
}

/// Settings may come from anywhere, but not which installation this is: a development server must
/// not put its demo into somebody's database.
fn configuration(given: Given, listen: SocketAddr, folder: &Path) -> Result<Config, Failure> {
    let own = vec![
        ("issuer", format!("http://localhost:{}", listen.port())),
        ("store.url", dev_store(folder)),
        ("keys.dir", folder.join("keys").display().to_string()),
        ("sign_up.open", "true".to_owned()),
    ];
    let loaded = given.with_flag("listen", "--listen", listen.to_string()).load_over(own, &[])?;
    let foreign: Vec<String> = ["store.url", "keys.dir", "issuer"]
        .into_iter()
        .filter_map(|setting| match loaded.origin(setting) {
            None | Some(ValueOrigin::Dev | ValueOrigin::Default) => None,
            Some(origin) => Some(format!("{setting} ({origin}): a development server has its own")),
        })
        .collect();
    if foreign.is_empty() { Ok(loaded.config) } else { Err(Failure::Configuration(foreign)) }
}

/// Applies the demo, whose secret is drawn once and kept where only its owner can read it.
async fn provide_demo(folder: &Path, keys: &Path) -> Result<(), Failure> {
    let path = folder.join(DEMO_FILE);
    let mut file = OpenOptions::new();
    match file.write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => file.write_all(demo(&draw_text(&SystemDice, 32)).as_bytes())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    let file = apply::read(&path)?;
    let workbench = workbench_at(&dev_store(folder), &read_folder(keys)?).await?;
    let applied = apply::carry_out(&workbench, &path, &file, false).await;
    workbench.close().await;
    applied.map(drop)
}

fn demo(secret: &str) -> String {
    include_str!("demo.toml").replace("{secret}", secret)
}

/// Reads back the demo client's secret, unless its owner has taken it out of the file.
fn demo_secret(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(DEMO_FILE)).ok()?;
    let line = text.lines().find_map(|line| line.trim().strip_prefix("client_secret = \""))?;
    Some(line.trim_end_matches('"').to_owned())
}

fn welcome(running: &Running, folder: &Path) -> io::Result<()> {
    let issuer = &running.issuer;
    say(&format!("Porteiro is running at {issuer}, for development on this machine only.\n"))?;
    say(&format!("  discovery    {issuer}/.well-known/openid-configuration"))?;
    say(&format!("  keys         {issuer}/connect/jwks"))?;
    if let Some(address) = running.operator {
        say(&format!("  metrics      http://{address}/metrics"))?;
    }
    say(&format!("  its files    ./{} (delete it to start anew)\n", folder.display()))?;
    if let Some(secret) = demo_secret(folder) {
        say("There is an organization `demo` and a client in it that may read invoices:\n")?;
        say(&format!("  client_id      {DEMO_CLIENT}\n  client_secret  {secret}\n"))?;
        say("Ask for a token:\n")?;
        say(&format!("  curl -s {issuer}/connect/token -u '{DEMO_CLIENT}:{secret}' \\"))?;
        say("       -d grant_type=client_credentials -d scope=invoices:read\n")?;
        say("Ask for scope=invoices:approve and be refused: its role does not confer that.")?;
    }
    let file = folder.join(DEMO_FILE);
    say(&format!("Change ./{0} and run: porteiro apply {0}\n", file.display()))?;
    say("Ctrl-C ends it.")
}
