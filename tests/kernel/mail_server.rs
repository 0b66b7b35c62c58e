//! Mails through the outbox to a real SMTP server, on good days and bad ones.
//!
//! `bin/python-for-tests smtp -- cargo nextest run --test kernel mail_server --run-ignored only` runs these.

use crate::{
    ledger::Command,
    smtp_server::{SmtpServer, taken, text_of},
    support::{Node, World, eventually},
};
use porteiro::{
    actors::TopicReport,
    config::{Config, Sources},
    domain::{
        Locale, Timestamp,
        message::{Mail, MailContent},
    },
    messages::Messages,
};
use rcgen::{CertificateParams, KeyPair};
use serde_json::Value;
use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

/// A node that mails, and the folder in which the server keeps what it took.
struct Post {
    world: World,
    node: Node,
    folder: PathBuf,
}

impl Post {
    /// Opens a node that sends by this transport, with more settings.
    async fn open(world: World, transport: &str, settings: &[(&str, &str)]) -> Self {
        let own = [("MAIL__TRANSPORT", transport), ("MAIL__FROM", "Example ID <id@example.com>")];
        let variable =
            |(name, value): &(&str, &str)| (format!("PORTEIRO_{name}").into(), value.into());
        let environment = own.iter().chain(settings).map(variable).collect();
        let loaded = Config::load(Sources { environment, ..Sources::default() }).unwrap();
        let messages = Messages::configured(&loaded.config, world.clock.clone(), None).unwrap();
        messages.speak_for("https://id.example.com");
        let node = world.node().await.with_couriers(messages.couriers()).await;
        let folder = kept_in(&world);
        Self { world, node, folder }
    }

    async fn send(&self, number: u64, to: &str) {
        let content = MailContent::SignInCode { code: code(number) };
        let mail = Mail::new(to, Locale::Portuguese, content);
        let dispatch = mail.dispatch(Timestamp::FOREVER);
        let command = Command::AppendAndPost {
            entry: number,
            topic: dispatch.topic,
            text: String::from_utf8(dispatch.payload.expose().to_vec()).unwrap(),
            expires_at: dispatch.expires_at,
        };
        self.node.ledgers.ask(&format!("l{number}"), command).await.unwrap();
    }

    /// What the server took.
    fn taken(&self) -> Vec<Value> {
        taken(&self.folder)
    }

    fn report(&self) -> TopicReport {
        self.node.tree.outbox()[0]
    }

    /// Lets a second pass, unless a mail is under way: a lease that ran out would send it twice.
    fn pass_a_second(&self) {
        if self.report().under_way == 0 {
            self.world.clock.advance(Duration::from_secs(1));
        }
    }

    /// Lets time pass until another try has failed.
    async fn fails_again(&self) {
        let before = self.report().deferred;
        eventually("another try", async || {
            self.pass_a_second();
            self.report().deferred > before
        })
        .await;
    }

    async fn emptied(&self) {
        let mut stranger = self.world.stranger().await;
        eventually("delivery", async || {
            self.pass_a_second();
            stranger.count("outbox").await == 0
        })
        .await;
    }

    /// Waits until a try has failed; nothing may have been taken.
    async fn put_off(&self) {
        eventually("a try", async || self.report().deferred > 0).await;
        assert!(self.taken().is_empty());
    }
}

fn kept_in(world: &World) -> PathBuf {
    let folder = world.folder().join("taken");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn code(number: u64) -> String {
    format!("{:06}", 400_000 + number)
}

/// A certificate for localhost that vouches for itself: its file, and that of its key.
fn certificate(folder: &Path) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (cert_path, key_path) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&cert_path, certificate.pem()).unwrap();
    std::fs::write(&key_path, key.serialize_pem()).unwrap();
    (cert_path.display().to_string(), key_path.display().to_string())
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn a_mail_arrives_with_its_code_alone_on_a_line() {
    let world = World::new().await;
    let server = SmtpServer::start(&kept_in(&world), &[]);
    let post = Post::open(world, &format!("smtp://127.0.0.1:{}", server.port), &[]).await;
    post.send(1, "ana@acme.test").await;
    post.emptied().await;
    let [mail] = &post.taken()[..] else { panic!("one mail: {:?}", post.taken()) };
    assert_eq!(
        (&mail["from"], &mail["to"][0]),
        (&"id@example.com".into(), &"ana@acme.test".into())
    );
    let content = mail["content"].as_str().unwrap();
    for header in [
        "From: \"Example ID\" <id@example.com>\r\n",
        "To: ana@acme.test\r\n",
        "Auto-Submitted: auto-generated\r\n",
        "Content-Type: multipart/alternative;",
        "Content-Type: text/html; charset=utf-8\r\n",
    ] {
        assert!(content.contains(header), "{header}: {content}");
    }
    let text = text_of(mail);
    assert!(text.lines().any(|line| line == code(1)), "{text}");
    assert!(text.contains("Se não o pediu"), "in the person's language: {text}");
    // The message is removed before it is counted.
    eventually("its count", async || post.report().under_way == 0).await;
    let report = post.report();
    assert_eq!((report.topic, report.delivered, report.dropped), ("mail", 1, 0));
    post.node.stop().await;
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn while_the_server_is_down_nothing_is_lost_and_then_each_mail_arrives_once() {
    let world = World::new().await;
    let folder = kept_in(&world);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let post = Post::open(world, &format!("smtp://127.0.0.1:{port}"), &[]).await;
    for number in 0..5 {
        post.send(number, "ana@acme.test").await;
    }
    for _ in 0..8 {
        post.fails_again().await;
    }
    assert_eq!(post.world.stranger().await.count("outbox").await, 5);
    let _server = SmtpServer::start(&folder, &["--port", &port.to_string()]);
    post.emptied().await;
    let mut texts: Vec<String> = post.taken().iter().map(text_of).collect();
    texts.sort();
    let expected = (0..5).map(code);
    assert!(texts.len() == 5 && expected.zip(&texts).all(|(code, text)| text.contains(&code)));
    post.node.stop().await;
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn a_server_that_is_restarted_between_two_mails_gets_both() {
    let world = World::new().await;
    let folder = kept_in(&world);
    let server = SmtpServer::start(&folder, &[]);
    let port = server.port;
    let post = Post::open(world, &format!("smtp://127.0.0.1:{port}"), &[]).await;
    post.send(1, "ana@acme.test").await;
    post.emptied().await;
    // The connection that was kept is of no use any more.
    drop(server);
    std::fs::rename(folder.join("0.json"), folder.join("first.json")).unwrap();
    let _server = SmtpServer::start(&folder, &["--port", &port.to_string()]);
    post.send(2, "ana@acme.test").await;
    post.emptied().await;
    assert_eq!((post.taken().len(), post.report().deferred), (2, 0), "at the first try");
    post.node.stop().await;
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn a_slow_server_gets_every_mail_once_over_few_connections() {
    let world = World::new().await;
    let server = SmtpServer::start(&kept_in(&world), &["--delay", "0.2"]);
    let post = Post::open(world, &format!("smtp://127.0.0.1:{}", server.port), &[]).await;
    for number in 0..24 {
        post.send(number, &format!("p{number}@acme.test")).await;
    }
    let mut stranger = post.world.stranger().await;
    // The clock stands still: a lease that ran out would send a mail twice.
    eventually("delivery", async || stranger.count("outbox").await == 0).await;
    let taken = post.taken();
    assert_eq!(taken.len(), 24);
    let most = taken.iter().map(|mail| mail["connections"].as_u64().unwrap()).max().unwrap();
    assert!((2..=8).contains(&most), "{most} connections");
    post.node.stop().await;
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn a_refused_recipient_is_given_up_visibly_and_the_others_get_their_mail() {
    let world = World::new().await;
    let behaviour =
        ["--refuse", "gone@acme.test", "--put-off", "busy@acme.test", "--stall", "mute@acme.test"];
    let server = SmtpServer::start(&kept_in(&world), &behaviour);
    let post = Post::open(world, &format!("smtp://127.0.0.1:{}", server.port), &[]).await;
    let people = ["mute", "gone", "busy", "ana", "bruno"];
    for (number, name) in people.iter().enumerate() {
        post.send(number as u64, &format!("{name}@acme.test")).await;
    }
    eventually("delivery", async || {
        post.world.clock.advance(Duration::from_millis(100));
        post.taken().len() == 3
    })
    .await;
    let mut taken: Vec<String> =
        post.taken().iter().map(|mail| mail["to"][0].as_str().unwrap().to_owned()).collect();
    taken.sort();
    assert_eq!(taken, ["ana@acme.test", "bruno@acme.test", "busy@acme.test"]);
    let mut stranger = post.world.stranger().await;
    assert_eq!(stranger.count("security_log WHERE event = 'outbox.dropped'").await, 1);
    eventually("the last settling", async || post.report().delivered == 3).await;
    let report = post.report();
    assert_eq!((report.dropped, report.deferred), (1, 1));
    assert_eq!(stranger.count("outbox").await, 1, "the one without an answer is kept");
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn a_password_goes_over_tls_alone() {
    let world = World::new().await;
    let (folder, (cert, key)) = (kept_in(&world), certificate(&world.folder()));
    let login = ["--user", "id@example.com", "--password", "p@ss:word"];
    let tls = ["--cert", &cert, "--key", &key];
    let server = SmtpServer::start(&folder, &[&login[..], &tls].concat());
    let url = format!("smtp://id%40example.com:p%40ss%3Aword@localhost:{}", server.port);
    let trusted = [("OUTBOUND__EXTRA_CA", cert.as_str())];
    let post = Post::open(world, &url, &trusted).await;
    post.send(1, "ana@acme.test").await;
    post.emptied().await;
    let [mail] = &post.taken()[..] else { panic!("one mail") };
    assert_eq!((&mail["tls"], &mail["user"]), (&true.into(), &"id@example.com".into()));
    post.node.stop().await;

    // A certificate that is not trusted, a wrong password.
    let wrong = url.replace("p%40ss", "guess");
    for (url, settings) in [(&url, &[][..]), (&wrong, &trusted[..])] {
        let post = Post::open(World::new().await, url, settings).await;
        post.send(1, "ana@acme.test").await;
        post.put_off().await;
        post.node.stop().await;
    }

    // A server that offers no TLS is not told the password, though it would take it.
    let clear = SmtpServer::start(&folder, &login);
    let url = url.replace(&server.port.to_string(), &clear.port.to_string());
    let post = Post::open(World::new().await, &url, &trusted).await;
    post.send(1, "ana@acme.test").await;
    post.put_off().await;
    post.node.stop().await;
}

#[tokio::test]
#[ignore = "needs an SMTP server: bin/python-for-tests"]
async fn tls_from_the_first_byte_and_tls_that_is_offered_are_used() {
    for (scheme, implicit) in [("smtps", &["--implicit"][..]), ("smtp", &[])] {
        let world = World::new().await;
        let (cert, key) = certificate(&world.folder());
        let behaviour = [&["--cert", &cert, "--key", &key], implicit].concat();
        let server = SmtpServer::start(&kept_in(&world), &behaviour);
        let url = format!("{scheme}://localhost:{}", server.port);
        let post = Post::open(world, &url, &[("OUTBOUND__EXTRA_CA", &cert)]).await;
        post.send(1, "ana@acme.test").await;
        post.emptied().await;
        assert_eq!(post.taken()[0]["tls"], true, "{scheme}");
        post.node.stop().await;
        // Offered and not to be trusted is no reason to go on in clear.
        let post = Post::open(World::new().await, &url, &[]).await;
        post.send(1, "ana@acme.test").await;
        post.put_off().await;
        post.node.stop().await;
    }
}
