//! Ten thousand uses of what hangs on a session, a grant or a link that was ended: none is accepted once
//! the end was answered.
//!
//! Only by its name. A person signs in; the portal gets tokens; an agent exchanges the access token, and
//! exchanges again what it got. Each use is first seen to be accepted on every node. Then all connections
//! go on asking, the end is asked for on the first node, and what is begun after its answer is counted.

use super::code::Exchange;
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, thousands},
    load::{Script as _, Turn},
    portal::Portal,
    report::Section,
    request::{Field, delete, get, parameters, post_form},
    scene::Scene,
    servers::{Server, Stage, TOKEN, porteiro::Installation, store::new_schema},
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;

pub const NAME: &str = "revoked";

const USES: usize = 10_000;
/// Of a short run.
const FEW: usize = 500;
const CONNECTIONS: usize = 16;
/// Uses go on for so long before the end is asked for.
const BEFORE: Duration = Duration::from_millis(50);

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";
const INTROSPECT: &str = "/connect/introspect";
const REVOKE: &str = "/connect/revoke";
const USERINFO: &str = "/connect/userinfo";

/// What is ended, and with it everything below.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Session,
    Grant,
    /// The first of two exchanges.
    Link,
}

impl End {
    const ALL: [Self; 3] = [Self::Session, Self::Grant, Self::Link];

    fn name(self) -> &'static str {
        match self {
            Self::Session => "the session (`DELETE /me/sessions/{id}`)",
            Self::Grant => "the grant (its refresh token is revoked)",
            Self::Link => "the first exchange (its token is revoked)",
        }
    }
}

/// How a use shows that it was accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shows {
    /// 200 with `active`.
    Active,
    /// Any success.
    Success,
}

/// A use, at one node.
struct Use {
    request: Vec<u8>,
    shows: Shows,
    /// It can be made before the end as well: a refresh token is good for one use.
    repeats: bool,
}

/// A session, a grant and two exchanges below it.
pub(super) struct Tree {
    session: String,
    session_id: String,
    pub(super) access: String,
    pub(super) refresh: String,
    links: [String; 2],
}

/// What became of the uses of one kind of end.
#[derive(Default)]
struct Tally {
    tried: usize,
    accepted: usize,
}

pub async fn measure(stage: &Stage, share: f64) -> Outcome<Section> {
    let uses = if share < 1.0 { FEW } else { USES };
    let mut section = Section::new("After a revoke was answered");
    section.line(&format!(
        "Uses (introspection, userinfo, `/me`, exchange, refresh) of what hangs on what was ended, begun after \
         the end was answered, from {CONNECTIONS} connections that were busy with the same before. With two \
         nodes the end is asked for on one of them, and every second connection is to the other.",
    ));
    section.table(&["nodes", "ended", "uses tried", "accepted"]);
    let one = Installation::prepare(stage, "revoked-one")?;
    run(stage, (&[&one], "one, SQLite"), uses, &mut section).await?;
    let first = Installation::prepare(stage, "revoked-two")?;
    let second = first.join("revoked-two-second")?;
    run(stage, (&[&first, &second], "two, one SQLite file"), uses, &mut section).await?;
    if let Ok(server) = std::env::var("PORTEIRO_TEST_POSTGRES") {
        let store = new_schema(&server).await?;
        let first = Installation::prepare_at(stage, "revoked-postgres", &store)?;
        let second = first.join("revoked-postgres-second")?;
        run(stage, (&[&first, &second], "two, PostgreSQL"), uses, &mut section).await?;
    } else {
        eprintln!("skipped: two nodes on PostgreSQL, for PORTEIRO_TEST_POSTGRES is not set");
        section.line("Two nodes on PostgreSQL were not tried: PORTEIRO_TEST_POSTGRES is not set.");
    }
    Ok(section)
}

async fn run(
    stage: &Stage,
    (nodes, name): (&[&Installation<'_>], &str),
    uses: usize,
    section: &mut Section,
) -> Outcome<()> {
    nodes[0].apply()?;
    let mut servers = Vec::new();
    for node in nodes {
        servers.push(node.started().await?);
    }
    let addresses: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
    let people = &stage.scene.people;
    let rounds = people.len().max(End::ALL.len());
    let mut tallies = [Tally::default(), Tally::default(), Tally::default()];
    for round in 0..rounds {
        let which = round % End::ALL.len();
        let email = &people[round % people.len()];
        let share = uses.div_ceil(rounds);
        let tree = Tree::grow(&stage.scene, &servers[0], email).await?;
        let tally = fell(&stage.scene, &addresses, (&tree, End::ALL[which]), share).await?;
        tallies[which].tried += tally.tried;
        tallies[which].accepted += tally.accepted;
        eprintln!("{NAME} {name} {}/{rounds} {} of {}", round + 1, tally.accepted, tally.tried);
    }
    for server in servers {
        server.process.stop().await?;
    }
    for (end, Tally { tried, accepted }) in End::ALL.iter().zip(&tallies) {
        let tried = thousands(&tried.to_string());
        section.row(&[name, end.name(), &tried, &accepted.to_string()]);
    }
    let tried: usize = tallies.iter().map(|one| one.tried).sum();
    let accepted: usize = tallies.iter().map(|one| one.accepted).sum();
    println!("{NAME}: {name}: {accepted} of {tried} uses were accepted");
    let what = format!("{NAME}: uses accepted of {tried}, {name}");
    section.verdicts.push(Bound::Ceiling(0.0).judge(what, accepted as f64, ""));
    if accepted > 0 {
        return Err(format!("{name}: {accepted} of {tried} uses were accepted").into());
    }
    Ok(())
}

impl Tree {
    /// Signs a person in, and has everything below given out.
    pub(super) async fn grow(scene: &Scene, server: &Server, email: &str) -> Outcome<Self> {
        let portal = Portal::at(server, scene);
        let cookie = portal.sign_in(scene, email).await?;
        let session = cookie.split_once('=').ok_or("no session")?.1.to_owned();
        let mut connection = Connection::open(server.address).await?;
        let mut exchange = Exchange::new(portal, &cookie);
        let tokens: Value = loop {
            let answer = connection.exchange(exchange.request()).await?;
            if let Turn::Done = exchange.answered(&answer)? {
                break serde_json::from_slice(answer.body)?;
            }
        };
        let access = text(&tokens, "access_token")?;
        let mut links = Vec::new();
        let mut subject = access.clone();
        for _ in 0..2 {
            let request = exchanging(scene, server.address, &subject);
            let answer = connection.exchange(&request).await?;
            answer.success()?;
            subject = text(&serde_json::from_slice(answer.body)?, "access_token")?;
            links.push(subject.clone());
        }
        let own = [("Accept", "application/json"), ("X-Session-Token", session.as_str())];
        let answer = connection.exchange(&get(server.address, "/me/sessions", &own)).await?;
        answer.success()?;
        let listed: Value = serde_json::from_slice(answer.body)?;
        let items = listed["items"].as_array().ok_or("no list of sessions")?;
        let current = items.iter().find(|one| one["current"] == true).ok_or("no session")?;
        let links = links.try_into().map_err(|_| "there are two exchanges")?;
        let (session_id, refresh) = (text(current, "id")?, text(&tokens, "refresh_token")?);
        Ok(Self { session, session_id, access, refresh, links })
    }

    /// What is tried at a node, of what ends.
    fn uses(&self, scene: &Scene, at: SocketAddr, end: End) -> Vec<Use> {
        let mut uses = Vec::new();
        let mut add = |request, shows, repeats| uses.push(Use { request, shows, repeats });
        for link in &self.links {
            add(introspecting(scene, at, (&scene.agent, link)), Shows::Active, true);
            add(asking(at, link), Shows::Success, true);
            add(exchanging(scene, at, link), Shows::Success, true);
        }
        if end == End::Link {
            return uses;
        }
        add(introspecting(scene, at, (&scene.portal, &self.access)), Shows::Active, true);
        add(asking(at, &self.access), Shows::Success, true);
        add(exchanging(scene, at, &self.access), Shows::Success, true);
        let credentials = scene.credentials(&scene.portal);
        let form = parameters(&[("grant_type", "refresh_token"), ("refresh_token", &self.refresh)]);
        let refreshing = post_form(at, TOKEN, &[("Authorization", &credentials)], &form);
        add(refreshing, Shows::Success, false);
        if end == End::Session {
            let own = [("Accept", "application/json"), ("X-Session-Token", &*self.session)];
            add(get(at, "/me", &own), Shows::Success, true);
        }
        uses
    }

    /// The request by which it is ended.
    fn ending(&self, scene: &Scene, at: SocketAddr, end: End) -> Vec<u8> {
        let revoking = |client: &str, token: &str| {
            let credentials = scene.credentials(client);
            let fields = [("Authorization", credentials.as_str())];
            post_form(at, REVOKE, &fields, &parameters(&[("token", token)]))
        };
        match end {
            End::Session => {
                let path = format!("/me/sessions/{}", self.session_id);
                delete(at, &path, &[("X-Session-Token", &self.session)])
            }
            End::Grant => revoking(&scene.portal, &self.refresh),
            End::Link => revoking(&scene.agent, &self.links[0]),
        }
    }
}

/// Ends a part of a tree while it is in use, and counts what is accepted afterwards.
async fn fell(
    scene: &Scene,
    nodes: &[SocketAddr],
    (tree, end): (&Tree, End),
    uses: usize,
) -> Outcome<Tally> {
    for at in nodes {
        let mut connection = Connection::open(*at).await?;
        for one in tree.uses(scene, *at, end).iter().filter(|one| one.repeats) {
            if !one.is_accepted_on(&mut connection).await? {
                return Err("a use is refused before anything was ended".into());
            }
        }
    }
    let ended = Arc::new(AtomicBool::new(false));
    let mut using: JoinSet<Outcome<Tally>> = JoinSet::new();
    for place in 0..CONNECTIONS {
        let at = nodes[place % nodes.len()];
        let mut connection = Connection::open(at).await?;
        let (tried, ended) = (tree.uses(scene, at, end), ended.clone());
        using.spawn(async move {
            let mut tally = Tally::default();
            // Each connection begins at another use.
            for one in tried.iter().cycle().skip(place) {
                let counts = ended.load(Ordering::Acquire);
                if !counts && !one.repeats {
                    tokio::task::yield_now().await;
                    continue;
                }
                let accepted = one.is_accepted_on(&mut connection).await?;
                if counts {
                    tally.tried += 1;
                    tally.accepted += usize::from(accepted);
                }
                if tally.tried >= uses.div_ceil(CONNECTIONS) {
                    break;
                }
            }
            Ok(tally)
        });
    }
    tokio::time::sleep(BEFORE).await;
    let mut connection = Connection::open(nodes[0]).await?;
    connection.exchange(&tree.ending(scene, nodes[0], end)).await?.success()?;
    ended.store(true, Ordering::Release);
    let mut all = Tally::default();
    while let Some(tally) = using.join_next().await {
        let Tally { tried, accepted } = tally??;
        all.tried += tried;
        all.accepted += accepted;
    }
    Ok(all)
}

impl Use {
    /// Tries it; an answer that is neither is a failure of the run.
    async fn is_accepted_on(&self, connection: &mut Connection) -> Outcome<bool> {
        let answer = connection.exchange(&self.request).await?;
        match (self.shows, answer.status) {
            (Shows::Active, 200) => {
                let said: Value = serde_json::from_slice(answer.body)?;
                said["active"].as_bool().ok_or_else(|| format!("not said: {said}").into())
            }
            (Shows::Success, 200) => Ok(true),
            (Shows::Success, 400 | 401) => Ok(false),
            _ => Err(answer.unexpected()),
        }
    }
}

pub(super) fn introspecting(
    scene: &Scene,
    at: SocketAddr,
    (client, token): (&str, &str),
) -> Vec<u8> {
    let credentials = scene.credentials(client);
    let fields = [("Authorization", credentials.as_str())];
    post_form(at, INTROSPECT, &fields, &parameters(&[("token", token)]))
}

pub(super) fn asking(at: SocketAddr, token: &str) -> Vec<u8> {
    let bearer = format!("Bearer {token}");
    let fields: [Field<'_>; 2] = [("Accept", "application/json"), ("Authorization", &bearer)];
    get(at, USERINFO, &fields)
}

fn exchanging(scene: &Scene, at: SocketAddr, token: &str) -> Vec<u8> {
    let credentials = scene.credentials(&scene.agent);
    let form = parameters(&[
        ("grant_type", EXCHANGE),
        ("subject_token", token),
        ("subject_token_type", ACCESS_TOKEN),
    ]);
    post_form(at, TOKEN, &[("Authorization", &credentials)], &form)
}

fn text(document: &Value, name: &str) -> Outcome<String> {
    let found = document[name].as_str().ok_or_else(|| format!("no {name}: {document}"))?;
    Ok(found.to_owned())
}
