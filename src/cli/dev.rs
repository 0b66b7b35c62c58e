//! `porteiro dev`: a server to try things with, in one command, on this machine alone.

use super::{
    Failure, apply, say, serve,
    settings::{
        CommandSettings, DEV_FOLDER, complete_options, dev_store, lifetimes, links,
        password_policy, rates, read_folder, security_txt, sign_up, workbench_at,
    },
};
use crate::{
    clock::SystemClock,
    config::{Config, Document, LoadedConfig, Origin as ValueOrigin, Section},
    crypto::{
        SystemDice, draw_text,
        keys::{DevKeys, Folder, Generator, Origin},
    },
    domain::{Clock as _, password::Policy},
    http::{Hosts, routes},
    messages::{Mailbox, Messages},
    server::{Issuer, OperatorAddress, Plan, RunningServer, ServerError},
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
const DEMO_ACCOUNT: &str = "ana@demo.test";
const PLAYGROUND_CLIENT: &str = "playground";
const DEMO_FILE: &str = "demo.toml";
/// Says where the server was last started, for commands that print links to it.
const ISSUER_FILE: &str = "issuer";

#[derive(Debug, Args)]
pub(super) struct Dev {
    /// A loopback address; its port becomes the issuer's
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
}

/// Where it listens by default.
const USUAL: &str = "127.0.0.1:8080";
const USUAL_PORT: u16 = 8080;

/// Reads an address, or the port of one.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    let port = port.parse().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let address = port.or_else(|_| text.parse());
    address.map_err(|_| "it is an address like 127.0.0.1:8081")
}

pub(super) async fn run(Dev { listen }: Dev, given: CommandSettings) -> Result<(), Failure> {
    let folder = Path::new(DEV_FOLDER);
    let loaded = configuration(given, listen, folder)?;
    let mut signals = serve::Signals::listen()?;
    let starting = Box::pin(start(&loaded, folder));
    let Some(running) = signals.unless_ended(starting).await? else { return Ok(()) };
    note_issuer(folder, &running.issuer)?;
    welcome(&running, folder, loaded.config.screens.enabled)?;
    signals.serve(running).await
}

async fn start(loaded: &LoadedConfig, folder: &Path) -> Result<RunningServer, Failure> {
    let config = &loaded.config;
    let mut first = None;
    let mut runtime_options = complete_options(config, &mut |reason| {
        first.get_or_insert(reason);
    });
    if let Some(reason) = first {
        return Err(Failure::Configuration(vec![reason]));
    }
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|error| unusable(folder, &error))?;
    let keys = folder.join("keys");
    make_keys(&keys)?;
    let port = Some(config.listen.port()).filter(|port| *port != 0).unwrap_or(USUAL_PORT);
    provide_demo(folder, &keys, Demo { policy: password_policy(loaded), port }).await?;
    let operator = match (loaded.origin("operator.listen"), config.listen.port()) {
        (Some(origin), _) if *origin != ValueOrigin::Default => OperatorAddress::At,
        (_, USUAL_PORT) => OperatorAddress::Perhaps,
        // A second one beside it takes whatever is free.
        _ => |usual: SocketAddr| OperatorAddress::Perhaps(SocketAddr::new(usual.ip(), 0)),
    };
    let also = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), config.listen.port());
    let store = dev_store(folder);
    let clock = Arc::new(SystemClock);
    runtime_options.messages =
        Messages::configured(config, clock.clone(), Some(Mailbox::new(clock)))
            .map_err(Failure::Configuration)?;
    let started = Box::pin(RunningServer::start(Plan {
        issuer: Issuer::Localhost,
        store: store.clone(),
        read_folder: Arc::new(move || Folder::load(&keys, DevKeys::Accepted)),
        // `localhost` is either of the two.
        listen: vec![config.listen, also],
        tls: None,
        mtls: None,
        operator: operator(config.operator.listen),
        lifetimes: lifetimes(&config.lifetimes, &config.assurance),
        screens: config.screens.enabled,
        links: links(&config.links),
        security_txt: security_txt(&config.security_txt),
        locale: config.screens.default_locale,
        hosts: Hosts::Loopback,
        proxies: Vec::new(),
        dpop_nonce: config.dpop.nonce,
        registration: config.registration.open,
        sign_up: sign_up(&config.sign_up),
        rates: rates(&config.limits),
        quiet_hours: config.limits.quiet_hours,
        runtime_options,
    }))
    .await;
    started.map_err(|error| match error {
        ServerError::Listen { address, source }
            if address == config.listen && source.kind() == io::ErrorKind::AddrInUse =>
        {
            let why = format!("{address} is in use: try `porteiro dev --listen 127.0.0.1:8081`");
            Failure::Failed(why.into())
        }
        other => serve::refused(other, &store),
    })
}

fn note_issuer(folder: &Path, issuer: &str) -> Result<(), Failure> {
    let path = folder.join(ISSUER_FILE);
    std::fs::write(&path, format!("{issuer}\n")).map_err(|error| unusable(&path, &error))
}

/// Returns the issuer of the development server that was last started here.
pub(super) fn issuer(folder: &Path) -> String {
    let noted = std::fs::read_to_string(folder.join(ISSUER_FILE)).unwrap_or_default();
    let port = noted.trim().strip_prefix("http://localhost:").and_then(|port| port.parse().ok());
    format!("http://localhost:{}", port.unwrap_or(USUAL_PORT))
}

/// Makes the keys of a new installation, all of them or none: beside their place, and then moved.
fn make_keys(keys: &Path) -> Result<(), Failure> {
    if keys.read_dir().is_ok_and(|mut files| files.next().is_some()) {
        return Ok(());
    }
    let folder = &keys.with_extension("new");
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(unusable(folder, &error));
        }
        _ => {}
    }
    let created_at = SystemClock.now();
    Generator { folder, origin: Origin::Dev, created_at, dice: &SystemDice }.generate_all()?;
    std::fs::rename(folder, keys).map_err(|error| unusable(keys, &error))
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()).into())
}

/// Settings may come from anywhere, but not which installation this is: a development server must
/// not put its demo into a database of others.
fn configuration(
    mut given: CommandSettings,
    listen: Option<SocketAddr>,
    folder: &Path,
) -> Result<LoadedConfig, Failure> {
    let own = vec![
        ("listen", USUAL.to_owned()),
        ("store.url", dev_store(folder)),
        ("keys.dir", folder.join("keys").display().to_string()),
        ("sign_up.open", "true".to_owned()),
    ];
    if let Some(listen) = listen {
        given = given.with_flag("listen", "--listen", listen.to_string());
    }
    let loaded = given.load_over(own, &[])?;
    let mut wrong: Vec<String> = ["store.url", "keys.dir", "issuer"]
        .into_iter()
        .filter_map(|setting| match loaded.origin(setting) {
            None | Some(ValueOrigin::Dev | ValueOrigin::Default) => None,
            Some(origin) => Some(format!("{setting} ({origin}): a development server has its own")),
        })
        .collect();
    let Config { listen, operator, .. } = &loaded.config;
    for (setting, address) in [("listen", listen), ("operator.listen", &operator.listen)] {
        if let Some(origin) = loaded.origin(setting)
            && !address.ip().is_loopback()
        {
            let why = "a development server listens on loopback only";
            wrong.push(format!("{setting} ({origin}): {address}: {why}"));
        }
    }
    if wrong.is_empty() { Ok(loaded) } else { Err(Failure::Configuration(wrong)) }
}

/// What the demo depends on.
#[derive(Clone, Copy)]
struct Demo {
    policy: Policy,
    /// Where the server was when it was made: after a sign-out people come back to it.
    port: u16,
}

/// Applies the demo, whose secrets are drawn once and kept where only their owner can read them.
async fn provide_demo(folder: &Path, keys: &Path, demo: Demo) -> Result<(), Failure> {
    let path = folder.join(DEMO_FILE);
    let mut file = OpenOptions::new();
    let written = match file.write(true).create_new(true).mode(0o600).open(&path) {
        Ok(mut file) => file.write_all(demo.text().as_bytes()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    };
    written.map_err(|error| unusable(&path, &error))?;
    let file = apply::read(&path)?;
    let workbench = workbench_at(&dev_store(folder), &read_folder(keys)?).await?;
    let workbench = workbench.with_password_policy(demo.policy);
    let applied = apply::carry_out(&workbench, &path, &file, false).await;
    workbench.close().await;
    applied.map(drop)
}

impl Demo {
    fn text(self) -> String {
        let draw = |bytes| draw_text(&SystemDice, bytes);
        let demo = include_str!("demo.toml").replace("{secret}", &draw(32));
        let demo = demo.replace("{port}", &self.port.to_string());
        // A byte becomes more than one character. People paste it into commands, where what begins with a hyphen
        // is an option.
        demo.replace("{password}", &draw(self.policy.min_length()).replace('-', "_"))
    }
}

/// Finds the `table` of the demo whose `key` is `id`, unless its owner has taken it out of the file.
fn demo_table(folder: &Path, table: &'static str, (key, id): (&str, &str)) -> Option<Section> {
    let text = std::fs::read_to_string(folder.join(DEMO_FILE)).ok()?;
    let mut root = Document::parse(&text).ok()?.into_root();
    // Whatever is wrong with it has been said when it was applied.
    let passed_over = &mut Vec::new();
    let sections = root.tables(table, passed_over);
    sections.into_iter().find_map(|mut section| {
        let named = section.text(key, passed_over)?;
        (named.value == id).then_some(section)
    })
}

/// Reads back a secret of the demo.
fn demo_secret(
    folder: &Path,
    table: &'static str,
    named: (&str, &str),
    name: &str,
) -> Option<String> {
    let mut found = demo_table(folder, table, named)?;
    found.text(name, &mut Vec::new()).map(|secret| secret.value)
}

fn welcome(running: &RunningServer, folder: &Path, screens: bool) -> io::Result<()> {
    let issuer = &running.issuer;
    say(&format!("Porteiro is running at {issuer}, for development on this machine only.\n"))?;
    if screens {
        let client = ("client_id", PLAYGROUND_CLIENT);
        // A folder that an older version has made: the page shows the lines that are missing.
        let ready = demo_table(folder, "client", client).is_some();
        let hint = if ready { "open it first" } else { "it needs a new client, and says how" };
        say(&format!("  playground   {issuer}{} ({hint})", routes::PLAYGROUND))?;
    }
    say(&format!("  mailbox      {issuer}{} (every mail and SMS)", routes::MAILBOX))?;
    say(&format!("  discovery    {issuer}{}", routes::OPENID_CONFIGURATION))?;
    if let Some(address) = running.operator {
        say(&format!("  metrics      http://{address}/metrics"))?;
    }
    say(&format!("  its files    ./{} (delete it to start anew)\n", folder.display()))?;
    let account = ("email", DEMO_ACCOUNT);
    let password = demo_secret(folder, "account", account, "password");
    if let Some(password) = &password {
        say(
            "Make an account with a passkey, or use that of a manager of the organization `demo`:\n",
        )?;
        say(&format!("  e-mail    {DEMO_ACCOUNT}\n  password  {password}\n"))?;
    }
    let client = ("client_id", DEMO_CLIENT);
    if let Some(secret) = demo_secret(folder, "client", client, "client_secret") {
        say("A client of that organization may read invoices:\n")?;
        say(&format!("  client_id      {DEMO_CLIENT}\n  client_secret  {secret}\n"))?;
        say("Ask for a token:\n")?;
        say(&format!("  curl -s {issuer}{} -u '{DEMO_CLIENT}:{secret}' \\", routes::TOKEN))?;
        say("       -d grant_type=client_credentials -d scope=invoices:read\n")?;
        say("Ask for scope=invoices:approve and be refused: its role does not confer that.\n")?;
    }
    if password.is_some() {
        say(
            "Begin a sign-in without pages, then post to the `href` of each step what it wants:\n",
        )?;
        say(&format!("  curl -s {issuer}{} --json '{{\"kind\": \"sign_in\"}}'\n", routes::FLOWS))?;
    }
    let file = folder.join(DEMO_FILE);
    say(&format!("Change ./{0} and run: porteiro apply {0}\n", file.display()))?;
    say("Ctrl-C ends it.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_the_demo_is_never_taken_for_an_option() {
        let demo = Demo { policy: Policy::default(), port: 8080 };
        for _ in 0..500 {
            let text = demo.text();
            let password =
                text.lines().find_map(|line| line.strip_prefix("password = \"")).unwrap();
            assert!(!password.starts_with('-'), "{password}");
        }
    }
}
