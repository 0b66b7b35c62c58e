//! Which servers are accepted, and how one behind a pooler is used.

use crate::{
    shared::straight,
    support::{Node, World, vault},
};
use porteiro::{
    crypto::{SharedVault, SystemDice, draw_text},
    domain::Clock as _,
    store::{NothingFails, OpenError, Store, StoreOptions},
    system::log_chain,
};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    task::JoinSet,
};

async fn open(world: &World, url: String) -> Result<Store, OpenError> {
    let options = StoreOptions {
        url,
        node: draw_text(&SystemDice, 16),
        chain_keys: log_chain(SharedVault::new(vault())),
        fault_injection: Arc::new(NothingFails),
    };
    Store::open(options, world.clock.now()).await
}

/// Says an error with what caused it, as a command does.
fn said(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", said(source)),
        None => error.to_string(),
    }
}

/// A database on PostgreSQL, where there is one.
#[expect(clippy::print_stdout, reason = "a test that was skipped must not look like one that ran")]
pub async fn on_postgres() -> Option<World> {
    let world = World::new().await;
    if !world.is_postgres() {
        println!("skipped: this is about servers of PostgreSQL");
        return None;
    }
    Some(world)
}

/// Tries to open a store on a server whose functions are others, and returns what was said.
async fn refused_with(shadows: &[&str]) -> Option<String> {
    let world = on_postgres().await?;
    let mut stranger = world.stranger().await;
    for shadow in shadows {
        stranger.run(format!("CREATE FUNCTION {shadow}")).await.unwrap();
    }
    // A schema that is named before that of PostgreSQL itself hides what has the same name there.
    // Straight: a pooler's transactions alone are in that schema.
    let opened = open(&world, format!("{},pg_catalog", straight(&world.url))).await;
    let error = opened.err().expect("such a server is not accepted");
    assert!(matches!(error, OpenError::Unfit(_)), "{error:?}");
    assert_eq!(stranger.count("pg_tables WHERE schemaname = current_schema()").await, 0);
    Some(said(&error))
}

#[tokio::test]
async fn a_server_that_calls_itself_otherwise_is_refused_by_its_name() {
    for (version, name) in [
        ("CockroachDB CCL v23.1.0 (x86_64-pc-linux-gnu)", "CockroachDB CCL v23.1.0"),
        ("PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64", "PostgreSQL 15.2-YB-2.25.1.0-b0"),
        ("PostgreSQL 8.0.2 on i686, Redshift 1.0.38698", "PostgreSQL 8.0.2"),
        ("PostgreSQL 14.9 on x86_64-pc-linux-gnu", "PostgreSQL 14.9"),
    ] {
        let shadow = format!("version() RETURNS text LANGUAGE sql AS $$ SELECT '{version}' $$");
        let Some(said) = refused_with(&[&shadow]).await else { return };
        assert!(said.contains(name) && said.contains("use PostgreSQL 15 or later"), "{said}");
    }
}

#[tokio::test]
async fn a_server_whose_advisory_locks_exclude_nothing_is_refused() {
    let always = "pg_try_advisory_xact_lock(integer, integer) RETURNS boolean LANGUAGE sql \
                  AS $$ SELECT true $$";
    let Some(said) = refused_with(&[always]).await else { return };
    assert!(said.contains("one advisory lock to two transactions"), "{said}");
}

#[tokio::test]
async fn a_server_that_lacks_advisory_locks_is_refused() {
    let never = "pg_try_advisory_xact_lock(integer, integer) RETURNS boolean LANGUAGE plpgsql \
                 AS $$ BEGIN RAISE feature_not_supported; END $$";
    let Some(said) = refused_with(&[never]).await else { return };
    assert!(said.contains("lacks what every PostgreSQL has"), "{said}");
}

#[tokio::test]
async fn a_server_whose_transactions_see_one_moment_only_is_refused() {
    let fixed = "pg_current_snapshot() RETURNS pg_snapshot LANGUAGE sql \
                 AS $$ SELECT pg_snapshot '10:10:' $$";
    let Some(said) = refused_with(&[fixed]).await else { return };
    assert!(said.contains("does not see what another one has committed"), "{said}");
}

#[tokio::test]
async fn a_server_that_does_not_keep_a_time_out_is_refused() {
    for name in ["lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"] {
        let endless = format!(
            "current_setting(asked text) RETURNS text LANGUAGE sql AS $$ \
             SELECT CASE asked WHEN '{name}' THEN '0' ELSE pg_catalog.current_setting(asked) END $$"
        );
        let Some(said) = refused_with(&[&endless]).await else { return };
        assert!(
            said.contains(&format!("{name} of the server is not what was asked for")),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_server_that_takes_no_changes_is_refused_with_what_to_do() {
    let Some(world) = on_postgres().await else { return };
    let url =
        straight(&world.url).replacen('?', "?options=-cdefault_transaction_read_only%3Don&", 1);
    let error = open(&world, url).await.err().expect("nothing can be written there");
    assert!(matches!(error, OpenError::ReadOnly(_)), "{error:?}");
    assert!(said(&error).contains("give the address of the primary"), "{}", said(&error));
}

#[tokio::test]
async fn a_server_that_answers_before_a_commit_is_on_its_disk_is_refused() {
    let Some(world) = on_postgres().await else { return };
    for (setting, is_good) in [("off", false), ("local", true)] {
        let given = format!("?options=-csynchronous_commit%3D{setting}&");
        let opened = open(&world, straight(&world.url).replacen('?', &given, 1)).await;
        match opened {
            Ok(store) => store.close().await,
            Err(error) => {
                assert!(matches!(error, OpenError::Unfit(_)), "{error:?}");
                assert!(said(&error).contains("synchronous_commit is off"), "{}", said(&error));
                assert!(!is_good, "{setting}");
                continue;
            }
        }
        assert!(is_good, "{setting}");
    }
}

#[tokio::test]
async fn a_standby_is_refused() {
    let standby = "pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS $$ SELECT true $$";
    let Some(said) = refused_with(&[standby]).await else { return };
    assert!(said.contains("let the address lead to the primary"), "{said}");
}

/// What stands in front of the server does with start-up options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Options {
    /// As a server does.
    Passes,
    /// As poolers do.
    Refuses,
    /// As poolers do that were told to ignore them.
    Drops,
}

/// What a client has sent: the type of a message, and its body.
type Sent = Arc<Mutex<Vec<(u8, Vec<u8>)>>>;

/// Stands in front of the server, and keeps what clients send after their start.
pub struct InFront {
    port: u16,
    sent: Sent,
    _carrying: JoinSet<()>,
}

impl InFront {
    pub async fn of(world: &World, options: Options) -> Self {
        let address = world.url.split('@').nth(1).unwrap().split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = Sent::default();
        let (mut carrying, kept) = (JoinSet::new(), sent.clone());
        carrying.spawn(async move {
            let mut lines = JoinSet::new();
            loop {
                let (near, _) = listener.accept().await.unwrap();
                let (address, kept) = (address.clone(), kept.clone());
                lines.spawn(async move {
                    let far = TcpStream::connect(address).await.unwrap();
                    let _ = carry(near, far, options, kept).await;
                });
            }
        });
        Self { port, sent, _carrying: carrying }
    }

    /// The same database by way of this.
    pub fn url(&self, world: &World) -> String {
        let (before, after) = world.url.split_once("127.0.0.1:").unwrap();
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        format!("{before}127.0.0.1:{}{after}", self.port)
    }
}

async fn carry(
    mut near: TcpStream,
    mut far: TcpStream,
    options: Options,
    sent: Sent,
) -> std::io::Result<()> {
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let mut start = body(&mut near).await?;
    // A request for TLS.
    if start == 80_877_103_u32.to_be_bytes() {
        near.write_all(b"N").await?;
        start = body(&mut near).await?;
    }
    let (version, parameters) = start.split_at(4);
    let mut words: Vec<&[u8]> = parameters.split(|byte| *byte == 0).collect();
    let given = words.iter().position(|word| *word == b"options");
    if let Some(place) = given.filter(|_| options != Options::Passes) {
        if options == Options::Refuses {
            let error = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
            near.write_all(b"E").await?;
            near.write_all(&u32::try_from(error.len() + 4).unwrap().to_be_bytes()).await?;
            return near.write_all(error).await;
        }
        words.drain(place..place + 2);
    }
    let start = [version, &words.join(&0)].concat();
    let length = u32::try_from(start.len() + 4).unwrap().to_be_bytes();
    far.write_all(&[&length[..], &start].concat()).await?;
    let ((near_in, mut near_out), (mut far_in, far_out)) = (near.into_split(), far.into_split());
    tokio::select! {
        done = copy(&mut far_in, &mut near_out) => done.map(drop),
        done = listen(near_in, far_out, sent) => done,
    }
}

async fn body(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let length = from.read_u32().await?;
    let mut body = vec![0; length as usize - 4];
    from.read_exact(&mut body).await?;
    Ok(body)
}

async fn listen(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    sent: Sent,
) -> std::io::Result<()> {
    loop {
        let kind = from.read_u8().await?;
        let length = from.read_u32().await?;
        let mut body = vec![0; length as usize - 4];
        from.read_exact(&mut body).await?;
        to.write_all(&[&[kind], &length.to_be_bytes()[..], &body].concat()).await?;
        sent.lock().unwrap().push((kind, body));
    }
}

/// Counts the messages that a client waits for an answer to: simple queries, and the ends of others.
fn round_trips(sent: &[(u8, Vec<u8>)]) -> usize {
    sent.iter().filter(|(kind, _)| matches!(kind, b'Q' | b'S')).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_pooler_each_transaction_sets_its_time_outs_and_no_statement_stays_prepared() {
    for options in [Options::Refuses, Options::Drops] {
        let Some(world) = on_postgres().await else { return };
        let in_front = InFront::of(&world, options).await;
        let node = Node::start(&world, &in_front.url(&world)).await;
        // What the search for the way has sent is of no interest.
        in_front.sent.lock().unwrap().clear();
        for entry in 0..5 {
            node.append("a", entry).await.unwrap();
        }
        assert_eq!(node.entries("a").await, [0, 1, 2, 3, 4], "{options:?}");
        assert!(node.store.find("email", "x").await.unwrap().is_none());
        assert!(node.store.verify_log(&[]).await.unwrap().findings.is_empty());
        let sent = in_front.sent.lock().unwrap().clone();
        node.stop().await;
        let mut parsed = 0;
        for (kind, body) in &sent {
            let text = String::from_utf8_lossy(body);
            match kind {
                // The name of a statement ends with a zero: an unnamed one begins with it.
                b'P' => {
                    parsed += 1;
                    assert!(body.starts_with(b"\0"), "{options:?}: {text}");
                    assert!(!text.contains("COMMIT"), "one message, not three: {text}");
                }
                b'Q' if text.starts_with("BEGIN") => {
                    for timeout in ["'lock_timeout', E'5000'", "'statement_timeout', E'10000'"] {
                        assert!(text.contains(timeout), "{options:?}: {text}");
                    }
                    assert!(text.contains("search_path"), "{options:?}: {text}");
                }
                _ => {}
            }
        }
        assert!(parsed > 5, "{options:?}: {parsed}");
        assert!(round_trips(&sent) <= parsed * 4, "{options:?}: {}", round_trips(&sent));
        let begun = sent.iter().filter(|(kind, text)| *kind == b'Q' && text.starts_with(b"BEGIN"));
        let ended = sent.iter().filter(|(kind, text)| *kind == b'Q' && text.starts_with(b"COMMIT"));
        assert!(begun.count() >= ended.count().max(5), "{options:?}");
    }
}

/// A node straight at a server, and what it sends there.
#[expect(clippy::print_stdout, reason = "a test that was skipped must not look like one that ran")]
async fn without_a_pooler() -> Option<(World, InFront, Node)> {
    let world = on_postgres().await?;
    if std::env::var_os("PORTEIRO_TEST_POOLER").is_some() {
        println!("skipped: there is a pooler");
        return None;
    }
    let in_front = InFront::of(&world, Options::Passes).await;
    let node = Node::start(&world, &in_front.url(&world)).await;
    Some((world, in_front, node))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_pooler_statements_stay_prepared_and_reads_need_no_transaction() {
    let Some((_world, in_front, node)) = without_a_pooler().await else { return };
    node.append("a", 1).await.unwrap();
    assert_eq!(node.entries("a").await, [1]);
    in_front.sent.lock().unwrap().clear();
    for _ in 0..20 {
        assert!(node.store.version("ledger", "a").await.unwrap() > 0);
    }
    let sent = in_front.sent.lock().unwrap().clone();
    node.stop().await;
    let read = sent.iter().filter(|(kind, _)| *kind == b'B').count();
    assert!(read >= 20, "{read}");
    // What the node does by itself may come to a connection for the first time.
    let trips = round_trips(&sent);
    assert!(trips <= read + 8, "{trips} round trips for {read} statements");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_pooler_a_commit_is_one_round_trip_on_a_connection_that_is_good() {
    let Some((_world, in_front, node)) = without_a_pooler().await else { return };
    for entry in 0..8 {
        node.append("a", entry).await.unwrap();
    }
    in_front.sent.lock().unwrap().clear();
    for entry in 8..68 {
        node.append("a", entry).await.unwrap();
    }
    let trips = round_trips(&in_front.sent.lock().unwrap());
    node.stop().await;
    // By several statements each would be five; what the node reads by itself comes in between.
    assert!((60..180).contains(&trips), "{trips} round trips for 60 commits");
}
