//! SCIM: ten thousand Users come and go, what a request costs as an organization grows, who waits for a filter that looks
//! at all Users, and how long a deleted User is believed.
//!
//! Only by its name: it takes minutes. Users are made through SCIM itself, at a domain that the organization has proved, so
//! that each is a member with an account. Each size is a store of its own with a server of its own, and they are asked in
//! turn: what the machine does meanwhile falls on all sizes alike.

mod batch;
mod beside;
mod client;
mod deleted;
mod sizes;
mod whole;
mod zone;

use crate::{
    Outcome,
    figures::thousands,
    load::Plan,
    report::{Picture, Section},
    servers::{Server, Stage, porteiro::Installation, store::new_schema},
};
use batch::Batch;
use client::Directory;
use zone::Zone;

pub const NAME: &str = "scim";

/// How many Users are made by one batch while a store is filled.
const PART: usize = 5_000;

/// Where rows are kept.
#[derive(Clone)]
enum Engine {
    Sqlite,
    /// On this server.
    Postgres(String),
}

impl Engine {
    fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    async fn install<'a>(&self, stage: &'a Stage, name: &str) -> Outcome<(Installation<'a>, Zone)> {
        let zone = Zone::open().await?;
        let dns = format!("[dns]\nservers = [\"{}\"]\n", zone.address);
        let name = format!("{NAME}-{}-{name}", self.name());
        let store = match self {
            Self::Sqlite => None,
            Self::Postgres(server) => Some(new_schema(server).await?),
        };
        let installation = Installation::prepare_with(stage, &name, (store.as_deref(), &dns))?;
        installation.apply()?;
        Ok((installation, zone))
    }
}

/// A server with an organization that a directory looks after.
struct Home {
    size: usize,
    server: Server,
    directory: Directory,
    /// The ids of its Users, in the order in which they were made.
    users: Vec<String>,
    _zone: Zone,
}

impl Home {
    /// Starts a server, proves the domain, and makes so many Users.
    async fn open(
        (stage, engine): (&Stage, &Engine),
        (size, connections): (usize, usize),
    ) -> Outcome<Self> {
        let (installation, mut zone) = engine.install(stage, &size.to_string()).await?;
        let server = installation.started().await?;
        let directory = Directory::of(&installation, &server, &stage.scene.organization)?;
        directory.prove_domain(&mut zone).await?;
        let mut home = Self { size, server, directory, users: Vec::new(), _zone: zone };
        while home.users.len() < size {
            let part = PART.min(size - home.users.len());
            let made = home.make(home.users.len()..home.users.len() + part, connections).await?;
            home.users.extend(made.ids()?);
            eprintln!(
                "{NAME} {} {}/{size} Users {:.0}/s",
                engine.name(),
                home.users.len(),
                made.rate
            );
        }
        Ok(home)
    }

    async fn make(&self, numbers: std::ops::Range<usize>, connections: usize) -> Outcome<Batch> {
        let requests = numbers.map(|number| self.directory.create(number)).collect();
        batch::send(&self.server, requests, connections).await
    }

    async fn close(self) -> Outcome<()> {
        self.server.process.stop().await
    }
}

pub async fn measure(
    stage: &Stage,
    (plan, rounds): (Plan, usize),
    share: f64,
) -> Outcome<(Vec<Section>, Picture)> {
    let mut engines = vec![Engine::Sqlite];
    match std::env::var("PORTEIRO_TEST_POSTGRES") {
        Ok(server) => engines.push(Engine::Postgres(server)),
        Err(_) => eprintln!("skipped: PostgreSQL, for PORTEIRO_TEST_POSTGRES is not set"),
    }
    let (mut sections, mut picture) = (Vec::new(), None);
    for engine in &engines {
        let of = (stage, engine);
        sections.push(whole::measure(of, plan.connections, share).await?);
        let (found, drawn) = sizes::measure(of, (plan, rounds), share).await?;
        sections.extend(found);
        picture.get_or_insert(drawn);
        sections.push(deleted::measure(of).await?);
    }
    if engines.len() == 1 {
        let mut missing = Section::new("PostgreSQL");
        missing.line("Was not asked: PORTEIRO_TEST_POSTGRES is not set.");
        sections.push(missing);
    }
    Ok((sections, picture.ok_or("there is no picture")?))
}

fn counted(number: usize) -> String {
    thousands(&number.to_string())
}
