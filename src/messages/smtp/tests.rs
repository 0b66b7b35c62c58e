//! The sender against mail servers that behave badly, each on a loopback port of its own.

use super::*;
use crate::{domain::Secret, outbound::DnsResolver};
use std::sync::Arc;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};

/// What a server says to a command; an empty text is no answer at all.
type Script = fn(&str) -> &'static str;

/// A server that follows a script, and what it heard.
struct Peer {
    port: u16,
    connections: Arc<Mutex<Vec<Vec<String>>>>,
    /// Woken when a command stays without an answer.
    silent: Arc<Notify>,
    _tasks: JoinSet<()>,
}

impl Peer {
    async fn following(greeting: &'static str, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let silent = Arc::new(Notify::new());
        let (heard, told) = (connections.clone(), silent.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let place = {
                    let mut heard = heard.lock().unwrap();
                    heard.push(Vec::new());
                    heard.len() - 1
                };
                let (heard, told) = (heard.clone(), told.clone());
                let note = move |line: &str| heard.lock().unwrap()[place].push(line.to_owned());
                talks.spawn(async move { talk(stream, (greeting, script), note, &told).await });
            }
        });
        Self { port, connections, silent, _tasks: tasks }
    }

    fn heard(&self) -> Vec<Vec<String>> {
        self.connections.lock().unwrap().clone()
    }

    fn sender(&self, credentials: Option<Credentials>) -> SmtpSender {
        let (host, port) = ("127.0.0.1".to_owned(), self.port);
        SmtpSender::new(
            Smtp { implicit_tls: false, host, port, credentials },
            None,
            Arc::new(DnsResolver::of_system()),
        )
        .unwrap()
    }
}

async fn talk(
    stream: TcpStream,
    (greeting, script): (&str, Script),
    note: impl Fn(&str),
    silent: &Notify,
) {
    let mut stream = BufReader::new(stream);
    let _ = stream.write_all(format!("{greeting}\r\n").as_bytes()).await;
    let (mut line, mut in_content) = (String::new(), false);
    loop {
        line.clear();
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let command = line.trim_end();
        if in_content && command != "." {
            continue;
        }
        note(command);
        let answer = script(command);
        if answer.is_empty() {
            silent.notify_one();
            continue;
        }
        in_content = answer.starts_with("354");
        let _ = stream.write_all(format!("{answer}\r\n").as_bytes()).await;
        if answer.starts_with("421") {
            return;
        }
    }
}

/// Takes every mail.
fn well(command: &str) -> &'static str {
    match command {
        "DATA" => "354 go on",
        "." => "250 taken",
        ehlo if ehlo.starts_with("EHLO") => "250 peer",
        _ => "250 fine",
    }
}

async fn send(sender: &SmtpSender) -> Result<(), DeliveryFailure> {
    let address = |text: &str| text.parse::<Address>().unwrap();
    let (from, to) = (address("id@example.com"), address("ana@acme.test"));
    let (content, class) = (b"Subject: x\r\n\r\n402913\r\n", DeliveryClass::Code);
    sender.send(&Envelope { from: &from, to: &to, content, class }).await
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let peer = Peer::following("220 peer", well).await;
    let sender = peer.sender(None);
    for _ in 0..3 {
        assert_eq!(send(&sender).await, Ok(()));
    }
    let heard = peer.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].iter().filter(|line| *line == ".").count(), 3);
}

#[tokio::test]
async fn a_password_is_not_told_to_a_server_without_tls() {
    for offer in ["250 AUTH PLAIN LOGIN", "250-STARTTLS\r\n250 AUTH PLAIN LOGIN"] {
        let script: Script = match offer {
            "250 AUTH PLAIN LOGIN" => |command| match command {
                ehlo if ehlo.starts_with("EHLO") => "250-peer\r\n250 AUTH PLAIN LOGIN",
                other => well(other),
            },
            // Offers TLS and then speaks none.
            _ => |command| match command {
                ehlo if ehlo.starts_with("EHLO") => {
                    "250-peer\r\n250-STARTTLS\r\n250 AUTH PLAIN LOGIN"
                }
                "STARTTLS" => "220 go on\r\n250 no TLS here",
                other => well(other),
            },
        };
        let peer = Peer::following("220 peer", script).await;
        let password = Secret::new("open sesame");
        let sender = peer.sender(Some(Credentials { user: "ana".to_owned(), password }));
        assert!(matches!(send(&sender).await, Err(DeliveryFailure::TopicRests(_))), "{offer}");
        let heard = peer.heard().concat();
        let told = |line: &String| line.starts_with("AUTH") || line.starts_with("MAIL");
        assert!(!heard.iter().any(told), "{heard:?}");
    }
}

#[tokio::test]
async fn an_offer_of_tls_that_fails_is_no_reason_to_send_in_clear() {
    let script: Script = |command| match command {
        ehlo if ehlo.starts_with("EHLO") => "250-peer\r\n250 STARTTLS",
        "STARTTLS" => "454 not now",
        other => well(other),
    };
    let peer = Peer::following("220 peer", script).await;
    assert!(matches!(send(&peer.sender(None)).await, Err(DeliveryFailure::TopicRests(_))));
    assert!(!peer.heard().concat().iter().any(|line| line.starts_with("MAIL")));
}

#[tokio::test]
async fn only_a_refusal_of_this_mail_gives_it_up() {
    let cases: [(Script, bool); 8] = [
        (|c| if c.starts_with("EHLO") { "554 go away" } else { well(c) }, false),
        (|c| if c.starts_with("MAIL") { "550 not your name" } else { well(c) }, false),
        (|c| if c.starts_with("MAIL") { "421 closing" } else { well(c) }, false),
        (|c| if c.starts_with("RCPT") { "451 ana@acme.test later" } else { well(c) }, false),
        (|c| if c.starts_with("RCPT") { "550 ana@acme.test unknown" } else { well(c) }, true),
        (|c| if c == "DATA" { "452 full" } else { well(c) }, false),
        (|c| if c == "." { "554 402913 is spam" } else { well(c) }, true),
        (|c| if c == "." { "nonsense" } else { well(c) }, false),
    ];
    for (number, (script, given_up)) in cases.into_iter().enumerate() {
        let peer = Peer::following("220 peer", script).await;
        let outcome = send(&peer.sender(None)).await;
        let (why, never) = match &outcome {
            Err(DeliveryFailure::Never(why)) => (why, true),
            Err(DeliveryFailure::Later(why) | DeliveryFailure::TopicRests(why)) => (why, false),
            other => panic!("case {number}: {other:?}"),
        };
        assert_eq!(never, given_up, "case {number}: {why}");
        assert!(!why.contains("acme") && !why.contains("402913"), "{why}");
    }
    for greeting in ["554 no service", "SSH-2.0-OpenSSH", "220"] {
        let peer = Peer::following(greeting, |_| "500 what?").await;
        let outcome = send(&peer.sender(None)).await;
        assert!(matches!(outcome, Err(DeliveryFailure::TopicRests(_))), "{greeting}: {outcome:?}");
    }
}

#[tokio::test]
async fn after_a_refusal_the_connection_serves_the_next_mail() {
    let script: Script = |c| if c.starts_with("RCPT") { "550 unknown" } else { well(c) };
    let peer = Peer::following("220 peer", script).await;
    let sender = peer.sender(None);
    for _ in 0..2 {
        assert!(matches!(send(&sender).await, Err(DeliveryFailure::Never(_))));
    }
    let heard = peer.heard();
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0].iter().filter(|line| *line == "RSET").count(), 2);
}

#[tokio::test]
async fn a_connection_whose_mail_was_cut_off_is_never_used_again() {
    // The answer to the mail is still to come: the next command must not be answered by it.
    let peer = Peer::following("220 peer", |c| if c == "." { "" } else { well(c) }).await;
    let sender = peer.sender(None);
    for _ in 0..2 {
        tokio::select! {
            sent = send(&sender) => panic!("nothing was answered: {sent:?}"),
            () = peer.silent.notified() => {}
        }
    }
    let heard = peer.heard();
    assert_eq!(heard.len(), 2, "each on a connection of its own: {heard:?}");
}

#[tokio::test]
async fn while_the_server_is_away_one_mail_asks_and_the_others_do_not_wait() {
    let peer = Peer::following("220 peer", well).await;
    let sender = peer.sender(None);
    sender.is_away.store(true, Relaxed);
    let probe = sender.probe.acquire().await.unwrap();
    let why = DeliveryFailure::TopicRests("the mail server is away".to_owned());
    assert_eq!(send(&sender).await, Err(why));
    assert!(peer.heard().is_empty(), "no second connection");
    drop(probe);
    assert_eq!(send(&sender).await, Ok(()), "it is back");
    assert!(!sender.is_away.load(Relaxed));
    let gone = Peer::following("554 closed", well).await;
    let sender = gone.sender(None);
    assert!(send(&sender).await.is_err() && sender.is_away.load(Relaxed));
}
