//! How soon a code's mail is handed over while 10^5 other messages wait: invitations of one organization, notices, and
//! webhooks to endpoints that do not answer.
//!
//! `bench/run-codes` runs this and keeps the report. A code is written every few milliseconds; its time runs from the answer
//! to the commit until the mail server has its content. Wanted: 2 s at the 99th percentile.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "measuring is what clocks and tasks are for here")]
#![expect(clippy::print_stdout, reason = "the report is printed")]

use porteiro::{
    actors::{
        Courier, DeliveryFailure, DeliveryFuture, Entities, OutboxMessage, ReadCaches, Services,
        Tree, TreeOptions,
    },
    clock::SystemClock,
    config::{Config, Sources},
    crypto::{SecretKey, SharedVault, SystemDice, Vault, draw_text},
    domain::{
        Clock as _, Context, Decision, DeliveryClass, DeliveryKey, Dispatch, Locale, Machine,
        Secret, Timestamp,
        message::{Mail, MailContent},
        webhook::WEBHOOK,
    },
    messages::Messages,
    store::{NothingFails, Store, StoreOptions},
    system::log_chain,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

const CODES: usize = 300;
const EVERY: Duration = Duration::from_millis(20);
/// How long the server takes for a mail that is no code: a real one is not faster.
const SLOW: Duration = Duration::from_millis(20);

/// A machine that leaves messages.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Writer {
    commits: u64,
}

impl Machine for Writer {
    const KIND: &'static str = "writer";
    type Command = Vec<Dispatch>;
    type Event = ();
    type Reply = ();
    type Refusal = ();

    fn decide(&self, messages: &Vec<Dispatch>, _now: Timestamp) -> Decision<Self> {
        let decision = Decision::accept(vec![()], ());
        messages.iter().cloned().fold(decision, Decision::dispatching)
    }

    fn apply(&mut self, _event: &()) {
        self.commits += 1;
    }
}

/// An endpoint that takes ten seconds to fail.
struct DeadEndpoints;

impl Courier for DeadEndpoints {
    fn deliver<'a>(&'a self, _: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Err(DeliveryFailure::QueueRests(Some(Duration::from_secs(5)), "no answer".to_owned()))
        })
    }
}

type Arrivals = Arc<Mutex<HashMap<String, Instant>>>;

/// A mail server that notes when the mail of each recipient was taken.
async fn mail_server(arrivals: Arrivals) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(take_mails(stream, arrivals.clone()));
        }
    });
    port
}

async fn take_mails(stream: TcpStream, arrivals: Arrivals) {
    stream.set_nodelay(true).unwrap();
    let mut stream = BufReader::new(stream);
    let (mut line, mut in_content, mut to) = (String::new(), false, String::new());
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
        if in_content {
            if to.starts_with("code") {
                arrivals.lock().unwrap().entry(to.clone()).or_insert_with(Instant::now);
            } else {
                tokio::time::sleep(SLOW).await;
            }
        }
        if let Some(rest) = line.strip_prefix("RCPT TO:<") {
            to = rest.split('>').next().unwrap_or_default().to_owned();
        }
        in_content = line == "DATA\r\n";
        answer = if in_content { b"354 go on\r\n" } else { b"250 fine\r\n" };
    }
}

fn mail(to: String, content: MailContent) -> Mail {
    Mail::new(to, Locale::English, content)
}

/// The messages that wait, in portions that are committed together.
fn crowd(messages: usize) -> Vec<Vec<Dispatch>> {
    let later = Timestamp::FOREVER;
    let message = |number: usize| match number % 10 {
        0..6 => {
            let link = "https://id.example.com/sign-up?token=x".to_owned();
            let organization = "Globex".to_owned();
            let content = MailContent::Invitation { link, organization, administrator: false };
            let invitation = mail(format!("p{number}@globex.test"), content);
            invitation.dispatch(later).keyed(DeliveryKey::organization("globex"))
        }
        6..9 => {
            let notice = mail(format!("p{number}@acme.test"), MailContent::PasswordChanged);
            notice.dispatch(later).keyed(DeliveryKey::account(&number.to_string()))
        }
        _ => Dispatch {
            topic: WEBHOOK,
            class: DeliveryClass::Endpoint,
            key: DeliveryKey::endpoint("globex", &(number / 10 % 10).to_string()),
            payload: Secret::new("{}"),
            expires_at: later,
        },
    };
    let all: Vec<usize> = (0..messages).collect();
    all.chunks(1_000)
        .map(|portion| portion.iter().map(|number| message(*number)).collect())
        .collect()
}

/// An outbox on a database of its own, with so many messages in it.
struct Outbox {
    store: Store,
    tree: Tree,
    writers: Entities<Writer>,
    arrivals: Arrivals,
}

impl Outbox {
    async fn with(folder: &Path, messages: usize) -> Self {
        let name = draw_text(&SystemDice, 8);
        let vault = SharedVault::new(Vault::new(SecretKey::new(&[7; 32]), vec![]));
        let url = std::env::var("PORTEIRO_TEST_POSTGRES").unwrap_or_else(|_| {
            format!("sqlite://{}", folder.join(format!("{name}.db")).display())
        });
        let options = StoreOptions {
            url,
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
        for portion in crowd(messages) {
            let limit = Duration::from_mins(1);
            writers.ask_within(limit, &Context::node(), "crowd", portion).await.unwrap();
        }
        let arrivals = Arrivals::default();
        let port = mail_server(arrivals.clone()).await;
        let environment = vec![
            ("PORTEIRO_MAIL__TRANSPORT".into(), format!("smtp://127.0.0.1:{port}").into()),
            ("PORTEIRO_MAIL__FROM".into(), "Example ID <id@example.com>".into()),
        ];
        let loaded = Config::load(Sources { environment, ..Sources::default() }).unwrap();
        let mails = Messages::configured(&loaded.config, Arc::new(SystemClock), None).unwrap();
        mails.speak_for("https://id.example.com");
        let mut couriers = mails.couriers();
        couriers.insert(WEBHOOK, Arc::new(DeadEndpoints));
        tree.start_outbox(couriers).await.unwrap();
        Self { store, tree, writers, arrivals }
    }

    /// Sends codes and returns how long each took, the shortest first.
    async fn codes(&self) -> Vec<Duration> {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut written = HashMap::new();
        for number in 0..CODES {
            let to = format!("code{number}@acme.test");
            let code = mail(to.clone(), MailContent::SignInCode { code: "402913".to_owned() });
            let code = code.dispatch(Timestamp::FOREVER).keyed(DeliveryKey::client("app"));
            self.writers.ask(&Context::node(), &to, vec![code]).await.unwrap();
            written.insert(to, Instant::now());
            tokio::time::sleep(EVERY).await;
        }
        let begun = Instant::now();
        while self.arrivals.lock().unwrap().len() < CODES {
            assert!(begun.elapsed() < Duration::from_mins(2), "{:?}", self.tree.outbox());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let arrivals = self.arrivals.lock().unwrap();
        let mut took: Vec<Duration> = written
            .iter()
            .map(|(to, written)| arrivals[to].saturating_duration_since(*written))
            .collect();
        took.sort();
        took
    }

    async fn waiting(&self) -> u64 {
        self.store.messages_waiting().await.unwrap().iter().map(|topic| topic.count).sum()
    }
}

async fn measure(folder: &Path, messages: usize) {
    let outbox = Outbox::with(folder, messages).await;
    let took = outbox.codes().await;
    let waiting = outbox.waiting().await;
    let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)].as_millis();
    println!("| {messages} | {waiting} | {} | {} | **{}** | {} |", at(50), at(90), at(99), at(100));
    assert!(took[took.len() * 99 / 100] <= Duration::from_secs(2), "more than two seconds");
    outbox.tree.stop(Duration::from_secs(10)).await;
    outbox.store.close().await;
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let measured = runtime.spawn(async move {
        println!(
            "| messages posted before | still waiting after | median, ms | 90 %, ms | 99 %, ms (wanted: ≤ 2000) | longest, ms |"
        );
        println!("|---|---|---|---|---|---|");
        for messages in [0, 1_000, 100_000] {
            measure(&path, messages).await;
        }
    });
    runtime.block_on(measured).unwrap();
}
