//! One person who has given 100,000 grants reads all their lists, over four connections.

use crate::{
    Measured, Outcome,
    caller::{GET, connect_from, exchange},
    installation::{REDIRECT_URI, SECRET, Server},
};
use porteiro::domain::ClientRank;
use serde_json::Value;
use std::{
    fmt::Write as _,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

const GRANTS: usize = 100_000;
/// As many of them belong to one client.
const OF_ONE: usize = 900;
const CONNECTIONS: u8 = 4;
const MEASURED: Duration = Duration::from_secs(10);

/// How many times as long others may wait at the 99th percentile.
const MOST: f64 = 3.0;

const PATHS: [&str; 6] = [
    "/me/consents",
    "/me/sessions",
    "/me/delegations",
    "/me/approvals",
    "/me/organizations",
    "/me/blocked-clients",
];

/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn scene() -> Outcome<String> {
    let mut scene = String::from(
        "[[account]]\nemail = \"ana@acme.test\"\npassword = \"correct horse battery staple\"\n",
    );
    let names = (0..GRANTS.div_ceil(OF_ONE)).map(|number| format!("c{number}"));
    for name in names.chain(["own".to_owned()]) {
        writeln!(
            scene,
            "[[client]]\nclient_id = \"{name}\"\nclient_secret = \"{SECRET}\"\ntrusted = true\n\
             redirect_uris = [\"{REDIRECT_URI}\"]"
        )?;
    }
    Ok(scene)
}

pub async fn of_one_person() -> Outcome<Measured> {
    let server = Server::start_with("", "[limits]\nenabled = false", &scene()?).await?;
    let session = own_much(&server).await?;
    let before = latencies(server.address, MEASURED).await?;
    let (over, lists) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut readers = JoinSet::new();
    for number in 0..CONNECTIONS {
        let (over, lists, session) = (over.clone(), lists.clone(), session.clone());
        let address = server.address;
        readers.spawn(async move {
            let mut stream = connect_from(2 + number, address).await?;
            for path in PATHS.iter().cycle() {
                if over.load(Relaxed) {
                    break;
                }
                let headers = format!("X-Session-Token: {session}\r\n");
                let answer = ask(&mut stream, "GET", path, (&headers, "")).await?;
                if answer.status != 200 {
                    return Err(format!("{path}: {}", answer.status).into());
                }
                lists.fetch_add(1, Relaxed);
            }
            Outcome::Ok(())
        });
    }
    let meanwhile = latencies(server.address, MEASURED).await?;
    over.store(true, Relaxed);
    while let Some(reader) = readers.join_next().await {
        reader??;
    }
    let ratio = meanwhile.last_percent().as_secs_f64() / before.last_percent().as_secs_f64();
    let failures = (ratio > MOST).then(|| format!("others waited {ratio:.1} times as long"));
    Ok(Measured {
        attack: "one person who has given 100,000 grants reads all their lists, over 4 connections",
        took: format!("{} lists in {} s", lists.load(Relaxed), MEASURED.as_secs()),
        others: format!(
            "JWKS without: {}; meanwhile: {}; {ratio:.1} times at 99 % (wanted: ≤ {MOST})",
            before.told(),
            meanwhile.told()
        ),
        failures: failures.into_iter().collect(),
    })
}

/// How long answers took, the shortest first.
struct Latencies(Vec<Duration>);

impl Latencies {
    fn at(&self, percent: usize) -> Duration {
        let last = self.0.len().saturating_sub(1);
        self.0.get((self.0.len() * percent / 100).min(last)).copied().unwrap_or_default()
    }

    fn last_percent(&self) -> Duration {
        self.at(99)
    }

    fn told(&self) -> String {
        let millis = |percent| self.at(percent).as_secs_f64() * 1_000.0;
        format!("{} answers, median {:.2} ms, 99 % {:.2} ms", self.0.len(), millis(50), millis(99))
    }
}

/// Asks for the key set again and again, on a thread of its own: what the load does with its answers is not counted.
async fn latencies(address: SocketAddr, lasts: Duration) -> Outcome<Latencies> {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let asked = runtime
            .map_err(Into::into)
            .and_then(|runtime| runtime.block_on(ask_for_keys(address, lasts)));
        let _ = send.send(asked);
    });
    receive.await?
}

async fn ask_for_keys(address: SocketAddr, lasts: Duration) -> Outcome<Latencies> {
    let mut stream = connect_from(1, address).await?;
    let (begun, mut took) = (Instant::now(), Vec::new());
    while begun.elapsed() < lasts {
        let asked = Instant::now();
        let status = exchange(&mut stream, GET).await?;
        if status != 200 {
            return Err(format!("the key set: {status}").into());
        }
        took.push(asked.elapsed());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    took.sort();
    Ok(Latencies(took))
}

struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn json(&self) -> Outcome<Value> {
        Ok(serde_json::from_str(&self.body)?)
    }
}

/// Sends a request and reads the whole answer; the connection stays open.
async fn ask(
    stream: &mut TcpStream,
    method: &str,
    path: &str,
    (headers, body): (&str, &str),
) -> Outcome<Answer> {
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: id.example.com\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let (mut read, mut part) = (Vec::new(), vec![0; 64 * 1_024]);
    let end = loop {
        let many = stream.read(&mut part).await?;
        if many == 0 {
            return Err("the connection ended".into());
        }
        read.extend_from_slice(&part[..many]);
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&read[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|text| text.parse().ok()).unwrap_or_default();
    while read.len() < end + length {
        let many = stream.read(&mut part).await?;
        if many == 0 {
            return Err("the answer ended".into());
        }
        read.extend_from_slice(&part[..many]);
    }
    Ok(Answer { status, body: String::from_utf8_lossy(&read[end..end + length]).into_owned() })
}

fn text(value: &Value) -> Outcome<String> {
    Ok(value.as_str().ok_or_else(|| format!("no text: {value}"))?.to_owned())
}

/// Signs a person in, has them grant something once, and copies that; returns the token of the session.
async fn own_much(server: &Server) -> Outcome<String> {
    let mut stream = connect_from(1, server.address).await?;
    let json = "Content-Type: application/json\r\n";
    let begun =
        ask(&mut stream, "POST", "/flows", (json, r#"{"kind":"sign_in"}"#)).await?.json()?;
    let flow = text(&begun["id"])?;
    let mut done = Value::Null;
    for (step, body) in [
        ("identifier", r#"{"identifier":"ana@acme.test"}"#),
        ("password", r#"{"password":"correct horse battery staple"}"#),
    ] {
        let path = format!("/flows/{flow}/{step}");
        done = ask(&mut stream, "POST", &path, (json, body)).await?.json()?;
    }
    let session = text(&done["result"]["session_token"])?;
    let path = format!(
        "/connect/authorize?response_type=code&client_id=own&redirect_uri={REDIRECT_URI}&state=s\
         &scope=openid+offline_access&code_challenge={CHALLENGE}&code_challenge_method=S256"
    );
    let headers = format!("Accept: application/json\r\nX-Session-Token: {session}\r\n");
    let granted = ask(&mut stream, "GET", &path, (&headers, "")).await?.json()?;
    let to = text(&granted["result"]["redirect_to"])?;
    let code = to.split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).ok_or("no code")?;
    let form = format!(
        "grant_type=authorization_code&client_id=own&client_secret={SECRET}&code={code}\
         &redirect_uri={REDIRECT_URI}&code_verifier={VERIFIER}"
    );
    let form_type = "Content-Type: application/x-www-form-urlencoded\r\n";
    let redeemed = ask(&mut stream, "POST", "/connect/token", (form_type, &form)).await?;
    if redeemed.status != 200 {
        return Err(format!("no tokens: {} {}", redeemed.status, redeemed.body).into());
    }
    copy_grants(server)?;
    Ok(session)
}

/// Copies the one grant there is, for other clients.
fn copy_grants(server: &Server) -> Outcome<()> {
    let database = rusqlite::Connection::open(server.database())?;
    database.busy_timeout(Duration::from_secs(10))?;
    for number in 0..GRANTS.div_ceil(OF_ONE) {
        let (name, count) = (format!("c{number}"), OF_ONE.min(GRANTS - number * OF_ONE));
        let rank = ClientRank::of(&name);
        let numbers = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        );
        let copied = "WHERE kind = 'token_family' AND id NOT LIKE 'copy-%'";
        database.execute_batch(&format!(
            "BEGIN IMMEDIATE;
             {numbers} INSERT INTO entities (kind, id, version, revision, state, live_until, forget_at)
             SELECT kind, 'copy-{name}-' || i, version, revision,
                    REPLACE(state, '\"client_id\":\"own\"', '\"client_id\":\"{name}\"'), live_until, forget_at
               FROM entities CROSS JOIN n {copied};
             {numbers} INSERT INTO listings (list, owner, rank, kind, id)
             SELECT list, owner, '{}' || SUBSTR(rank, 17), kind, 'copy-{name}-' || i
               FROM listings CROSS JOIN n {copied};
             COMMIT",
            rank.above()
        ))?;
    }
    Ok(())
}
