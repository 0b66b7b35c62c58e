//! Mails delivered through the outbox, beside bare lettre: ratios within one run.
//!
//! `bench/run-mail` runs this and keeps the report. Both send the same mails over eight connections
//! to the same server on loopback, in alternating rounds; the medians are compared. One server is
//! aiosmtpd, whose speed is that of a real one; the other does nothing but answer, and shows what the
//! outbox itself costs: a row written, leased, opened, rendered, sent, erased.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "measuring is what clocks and tasks are for here")]
#![expect(clippy::print_stdout, reason = "the report is printed")]
#![expect(clippy::cast_precision_loss, reason = "rates are far below 2^52")]

use lettre::{
    AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor, message::MultiPart,
    transport::smtp::PoolConfig,
};
use porteiro::{
    actors::{ReadCaches, Services, Tree, TreeOptions},
    clock::SystemClock,
    config::{Config, Sources},
    crypto::{SecretKey, SharedVault, SystemDice, Vault, draw_text},
    domain::{
        Clock as _, Context, Decision, Locale, Machine, Timestamp,
        message::{Mail, MailContent},
    },
    messages::Messages,
    store::{NothingFails, Store, StoreOptions},
    system::log_chain,
};
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

const MAILS: u64 = 600;
const ROUNDS: usize = 5;
/// As many connections as the product has.
const CONNECTIONS: u32 = 8;

/// A machine that writes many mails in one commit.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Writer {
    commits: u64,
}

impl Machine for Writer {
    const KIND: &'static str = "writer";
    /// How many mails.
    type Command = u64;
    type Event = ();
    type Reply = ();
    type Refusal = ();

    fn decide(&self, mails: &u64, _now: Timestamp) -> Decision<Self> {
        let mut decision = Decision::accept(vec![()], ());
        for number in 0..*mails {
            let content = MailContent::SignInCode { code: format!("{:06}", 400_000 + number) };
            let (to, locale) = (format!("p{number}@acme.test"), Locale::English);
            let mail = Mail::new(to, locale, content);
            decision = decision.dispatching(mail.dispatch(Timestamp::FOREVER));
        }
        decision
    }

    fn apply(&mut self, _event: &()) {
        self.commits += 1;
    }
}

/// aiosmtpd, in a process of its own.
struct Aiosmtpd {
    child: Child,
    port: u16,
}

impl Aiosmtpd {
    fn start() -> Option<Self> {
        let python = std::env::var("PORTEIRO_TEST_SMTP").ok()?;
        let mut child = Command::new(python)
            .arg("tests/smtp/server.py")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("ready ").unwrap().parse().unwrap();
        Some(Self { child, port })
    }
}

impl Drop for Aiosmtpd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers every command at once and keeps nothing.
async fn answering_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    port
}

async fn answer(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut stream = tokio::io::BufReader::new(stream);
    let (mut line, mut in_content) = (String::new(), false);
    let mut answer: &[u8] = b"220 bare\r\n";
    loop {
        if stream.write_all(answer).await.is_err() {
            return;
        }
        loop {
            line.clear();
            if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            if !in_content || line == ".\r\n" {
                break;
            }
        }
        in_content = line == "DATA\r\n";
        answer = if in_content { b"354 go on\r\n" } else { b"250 fine\r\n" };
    }
}

/// Mails per second through the outbox, from the first lease to the last row erased.
async fn ours(folder: &Path, port: u16) -> f64 {
    let name = draw_text(&SystemDice, 8);
    let vault = SharedVault::new(Vault::new(SecretKey::new(&[7; 32]), vec![]));
    let options = StoreOptions {
        url: format!("sqlite://{}", folder.join(format!("{name}.db")).display()),
        node: draw_text(&SystemDice, 16),
        chain_keys: log_chain(vault.clone()),
        fault_injection: Arc::new(NothingFails),
    };
    let store = Store::open(options, SystemClock.now()).await.unwrap();
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    let services = Arc::new(Services {
        store: store.clone(),
        caches: ReadCaches::default(),
        clock,
        dice,
        vault,
    });
    let tree = Tree::start(services, TreeOptions::default()).await.unwrap();
    let writers = tree.host::<Writer>().await.unwrap();
    writers.ask(&Context::node(), "one", MAILS).await.unwrap();
    let environment = vec![
        ("PORTEIRO_MAIL__TRANSPORT".into(), format!("smtp://127.0.0.1:{port}").into()),
        ("PORTEIRO_MAIL__FROM".into(), "Example ID <id@example.com>".into()),
    ];
    let loaded = Config::load(Sources { environment, ..Sources::default() }).unwrap();
    let messages = Messages::configured(&loaded.config, Arc::new(SystemClock), None).unwrap();
    messages.speak_for("https://id.example.com");
    let begun = Instant::now();
    tree.start_outbox(messages.couriers()).await.unwrap();
    while tree.outbox()[0].delivered < MAILS {
        assert!(begun.elapsed() < Duration::from_mins(1), "{:?}", tree.outbox());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let took = begun.elapsed();
    tree.stop(Duration::from_secs(10)).await;
    store.close().await;
    MAILS as f64 / took.as_secs_f64()
}

/// Mails per second by lettre with its own pool, from memory.
async fn bare(port: u16) -> f64 {
    let transport: AsyncSmtpTransport<Tokio1Executor> =
        AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous("127.0.0.1")
            .port(port)
            .pool_config(PoolConfig::new().max_size(CONNECTIONS))
            .build();
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for sender in 0..u64::from(CONNECTIONS) {
        let transport = transport.clone();
        tasks.spawn(async move {
            for number in (0..MAILS).filter(|number| number % u64::from(CONNECTIONS) == sender) {
                transport.send(message(number)).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    MAILS as f64 / begun.elapsed().as_secs_f64()
}

/// As long as ours.
fn message(number: u64) -> Message {
    let code = 400_000 + number;
    let text = format!("Enter this code:\n\n{code}\n\n{}\n", "It works once. ".repeat(12));
    let html = format!("<html><body>{}<p>{code}</p></body></html>\n", "<p>x</p>\n".repeat(130));
    Message::builder()
        .from("Example ID <id@example.com>".parse().unwrap())
        .to(format!("p{number}@acme.test").parse().unwrap())
        .subject("Your sign-in code for id.example.com")
        .multipart(MultiPart::alternative_plain_html(text, html))
        .unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn compare(folder: &Path, server: &str, port: u16) {
    bare(port).await;
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        mine.push(ours(folder, port).await);
        theirs.push(bare(port).await);
    }
    let (mine, theirs) = (median(mine), median(theirs));
    println!("| {server} | {mine:.0} | {theirs:.0} | **{:.2}** |", mine / theirs);
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let measured = runtime.spawn(async move {
        println!("| server | Porteiro, mails/s | bare lettre, mails/s | Porteiro ÷ lettre |");
        println!("|---|---|---|---|");
        if let Some(server) = Aiosmtpd::start() {
            compare(&path, "aiosmtpd (wanted: ≥ 0.5)", server.port).await;
        }
        compare(&path, "answers and nothing else", answering_server().await).await;
    });
    runtime.block_on(measured).unwrap();
}
