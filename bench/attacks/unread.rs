//! Answers that are asked for and never taken.

use crate::{
    Measured, Outcome,
    caller::{Fared, GET, connect_from, pause},
    http2,
    installation::{REDIRECT_URI, Server},
};
use std::time::Duration;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    sync::mpsc,
    time::{Instant, timeout},
};

const CONNECTIONS: usize = 700;
const STREAMS: u32 = 127;

/// What may be resident at any moment, in MB.
const MOST_RESIDENT: f64 = 256.0;

/// How much an answer repeats of this is what makes it large.
const STATE: usize = 7_000;

#[derive(Clone, Copy)]
pub struct Attack {
    /// The window of each stream, in bytes.
    pub window: u8,
    /// Whether rates are limited as they are by default.
    pub paced: bool,
    /// Whether what is asked for is in the head of the answer, which no window holds back.
    pub head: bool,
}

impl Attack {
    const fn name(self) -> &'static str {
        match self {
            Self { head: true, .. } => {
                "700 HTTP/2 connections ask 127 times each for a redirect of 10 KB and read nothing, rates off"
            }
            Self { paced: true, .. } => {
                "700 HTTP/2 connections ask 127 times each for authorization, windows of 0 bytes, default rates"
            }
            Self { window: 0, .. } => {
                "700 HTTP/2 connections ask 127 times each for authorization, windows of 0 bytes, rates off"
            }
            Self { .. } => {
                "700 HTTP/2 connections ask 127 times each for authorization, windows of 1 byte, rates off"
            }
        }
    }
}

pub async fn answers(attack: Attack) -> Outcome<Measured> {
    let limits = if attack.paced { "" } else { "enabled = false\n" };
    let links = "[links]\nsign_in = \"https://app.example.com/sign-in\"";
    let server = Server::start("", &format!("[limits]\n{limits}{links}")).await?;
    let before = server.resident()?;
    let path = format!(
        "/connect/authorize?response_type=code&client_id=web&redirect_uri={REDIRECT_URI}&\
         scope=openid&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&\
         code_challenge_method=S256&state={}",
        "x".repeat(STATE)
    );
    let accept = if attack.head { "text/html" } else { "application/json" };
    // Others are served all the while.
    let (stop, mut stopped) = mpsc::channel::<()>(1);
    let address = server.address;
    let others = tokio::spawn(async move {
        let mut fared = Fared::default();
        while stopped.try_recv().is_err() {
            fared.ask(200, address, GET, &[200]).await;
            pause(100).await?;
        }
        Outcome::Ok(fared)
    });
    let began = Instant::now();
    let mut held = Vec::new();
    let mut asked = 0;
    for number in 0..CONNECTIONS {
        // From several addresses: one could not have so many connections.
        let host = u8::try_from(2 + number % 10)?;
        let mut stream = connect_from(host, server.address).await?;
        asked += ask(&mut stream, attack, &path, accept).await;
        held.push(stream);
    }
    let took = began.elapsed();
    pause(3_000).await?;
    let _ = stop.send(()).await;
    let fared = others.await??;
    let (peak, after) = (server.peak()?, server.resident()?);
    let mut failures: Vec<String> = fared.failure().into_iter().collect();
    if peak > MOST_RESIDENT {
        failures.push(format!("{peak:.0} MB were resident, and {MOST_RESIDENT} may be"));
    }
    drop(held);
    Ok(Measured {
        attack: attack.name(),
        took: format!(
            "{asked} requests in {} s; {before:.0} MB resident before, {peak:.0} MB at most, \
             {after:.0} MB at the end",
            took.as_secs()
        ),
        others: fared.told(),
        failures,
    })
}

/// Asks on every stream of a connection; returns how often it could.
async fn ask(stream: &mut TcpStream, attack: Attack, path: &str, accept: &str) -> usize {
    let mut asked = 0;
    let asking = async {
        stream.write_all(&http2::opening(attack.window)).await?;
        for number in 0..STREAMS {
            stream.write_all(&http2::get(2 * number + 1, path, accept)).await?;
            asked += 1;
        }
        std::io::Result::Ok(())
    };
    // A server that takes no more, or closes the connection, ends this one's attempt.
    let _ = timeout(Duration::from_secs(5), asking).await;
    asked
}
