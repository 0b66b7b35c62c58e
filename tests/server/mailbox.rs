//! Messages of a whole server: into the mailbox, into files, counted for operators.

use crate::{
    binary::{Installation, Speaking, porteiro, said},
    http::get,
    shared::eventually,
    support::{TestOptions, TestServer, sealed},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Method;
use porteiro::domain::{
    Context, Decision, Locale, Machine, Timestamp,
    message::{Mail, MailContent, Sms, SmsContent},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A machine that does nothing but write to people.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Writer {
    sent: u64,
}

enum Write {
    Mail(Mail),
    Sms(Sms),
}

impl Machine for Writer {
    const KIND: &'static str = "writer";
    type Command = Write;
    type Event = ();
    type Reply = ();
    type Refusal = ();

    fn decide(&self, command: &Write, _now: Timestamp) -> Decision<Self> {
        Decision::accept(vec![()], ()).dispatching(match command {
            Write::Mail(mail) => mail.dispatch(Timestamp::FOREVER),
            Write::Sms(sms) => sms.dispatch(Timestamp::FOREVER),
        })
    }

    fn apply(&mut self, _event: &()) {
        self.sent += 1;
    }
}

fn mail(content: MailContent) -> Write {
    Write::Mail(Mail::new("ana@acme.test", Locale::English, content))
}

async fn open() -> TestServer {
    // Its pages with screens are in `playground`.
    let options = TestOptions { mailbox: true, screens: false, ..TestOptions::default() };
    TestServer::open_in(options).await
}

async fn items(server: &TestServer, count: usize) -> Vec<Value> {
    let mut items = Vec::new();
    eventually("delivery", async || {
        let answer = server.get("/mailbox").await;
        items.clone_from(answer.json()["items"].as_array().unwrap());
        items.len() >= count
    })
    .await;
    items
}

#[tokio::test]
async fn what_was_sent_is_read_at_the_mailbox_by_programs_and_people() {
    let server = open().await;
    let writers = server.running().system().host::<Writer>().await.unwrap();
    let write = async |command| {
        writers.ask(&Context::node(), "w", command).await.unwrap();
    };
    write(mail(MailContent::Nothing)).await;
    write(mail(MailContent::SignInCode { code: "402913".to_owned() })).await;
    items(&server, 1).await;
    write(mail(MailContent::PasskeyAdded { name: "<script>alert('x')</script>".to_owned() })).await;
    items(&server, 2).await;
    let (to, locale) = ("+351910000000".to_owned(), Locale::Portuguese);
    let content = SmsContent::SignInCode { code: "771204".to_owned() };
    write(Write::Sms(Sms { to, locale, content })).await;
    let items = items(&server, 3).await;
    assert_eq!(items.len(), 3, "a decoy is not kept: {items:?}");
    let channels: Vec<&Value> = items.iter().map(|item| &item["channel"]).collect();
    assert_eq!(channels, ["sms", "mail", "mail"], "newest first");
    let (sms, code) = (&items[0], &items[2]);
    assert_eq!(
        (&sms["subject"], &sms["html"], &sms["to"]),
        (&Value::Null, &Value::Null, &"+351910000000".into())
    );
    assert!(sms["text"].as_str().unwrap().contains("771204"));
    assert_eq!(code["to"], "ana@acme.test");
    assert!(code["text"].as_str().unwrap().lines().any(|line| line == "402913"));
    assert!(code["html"].as_str().unwrap().contains(">402913<"));
    let host = server.issuer().strip_prefix("http://").unwrap();
    assert!(code["subject"].as_str().unwrap().contains(host), "{code}");
    assert!(code["sent_at"].as_str().unwrap().starts_with("2027-"), "{code}");

    let browser = server.request(Method::GET, "/mailbox").header("accept", "text/html,*/*;q=0.8");
    let page = server.send(browser.body(Full::new(Bytes::new())).unwrap()).await;
    sealed(&page.headers);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let text = page.text();
    assert!(text.contains("402913") && text.contains("&lt;script&gt;"), "{text}");
    assert!(!text.contains("<script"), "{text}");
    let posted = server.request(Method::POST, "/mailbox").body(Full::new(Bytes::new())).unwrap();
    assert_eq!(server.send(posted).await.status, 405);

    let delivered = "porteiro_outbox_total{topic=\"sms\",outcome=\"delivered\"} 1";
    let mut metrics = String::new();
    eventually("the last settling", async || {
        metrics = get(server.operator(), "/metrics").await.text();
        metrics.contains(delivered)
    })
    .await;
    for line in [
        "porteiro_outbox_total{topic=\"mail\",outcome=\"delivered\"} 3",
        "porteiro_outbox_total{topic=\"mail\",outcome=\"dropped\"} 0",
        "porteiro_outbox_waiting{topic=\"sms\"} 0",
        "porteiro_outbox_overdue_seconds{topic=\"mail\"} 0",
    ] {
        assert!(metrics.lines().any(|written| written == line), "{line}\n{metrics}");
    }
    server.stop().await;
}

#[tokio::test]
async fn without_a_mailbox_the_path_is_like_any_other_that_is_not_served() {
    let server = TestServer::open().await;
    let (unserved, unknown) = (server.get("/mailbox").await, server.get("/nowhere").await);
    assert_eq!((unserved.status, &unserved.body), (unknown.status, &unknown.body));
    assert_eq!(unserved.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_production_server_has_no_mailbox() {
    let installation = Installation::new().await;
    installation.configure("[mail]\ntransport = \"log\"\n");
    let serving = installation.serve();
    assert_eq!(get(installation.address, "/mailbox").await.status, 404);
    serving.signal("-TERM");
    let (code, _) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn dev_prints_the_link_of_its_mailbox() {
    let folder = tempfile::tempdir().unwrap();
    let mut speaking =
        Speaking::start(porteiro(folder.path(), &["dev", "--listen", "127.0.0.1:0"]));
    let told = speaking.until("Ctrl-C");
    let link = told.split_whitespace().find(|word| word.ends_with("/mailbox")).unwrap();
    let address = link.strip_prefix("http://localhost:").unwrap();
    let port: u16 = address.strip_suffix("/mailbox").unwrap().parse().unwrap();
    let answer = get(([127, 0, 0, 1], port).into(), "/mailbox").await;
    assert_eq!(answer.json(), serde_json::json!({ "items": [] }), "{answer:?}");
    assert_eq!(speaking.terminate(), Some(0));
}

#[tokio::test]
async fn doctor_sends_a_test_by_mail_and_by_sms() {
    let installation = Installation::new().await;
    installation.apply("");
    let lacking = installation.run(&["doctor", "--mail-to", "ana@acme.test"]);
    assert_eq!(lacking.status.code(), Some(1));
    let told = String::from_utf8(lacking.stdout).unwrap();
    assert!(told.contains("mail.transport is not set"), "{told}");
    let folder = |name: &str| installation.path().join(name);
    installation.configure(&format!(
        "[mail]\ntransport = \"file://{}\"\n[sms]\ntransport = \"file://{}\"\n",
        folder("mails").display(),
        folder("sms").display(),
    ));
    let well = installation.run(&["doctor"]);
    assert!(well.status.success(), "{}", said(&well));
    assert!(!folder("mails").exists(), "nothing is sent unasked");
    let tested =
        installation.run(&["doctor", "--mail-to", "ana@acme.test", "--sms-to", "+351910000000"]);
    let told = String::from_utf8(tested.stdout.clone()).unwrap();
    assert!(tested.status.success(), "{told}{}", said(&tested));
    let only = |name: &str, end: &str| {
        let mut files = std::fs::read_dir(folder(name)).unwrap().map(|file| file.unwrap().path());
        let file = files.next().unwrap();
        assert!(files.next().is_none() && file.to_string_lossy().ends_with(end), "{file:?}");
        std::fs::read_to_string(file).unwrap()
    };
    let mail = only("mails", ".eml");
    assert!(mail.contains("To: ana@acme.test\r\n"), "{mail}");
    let sms: Value = serde_json::from_str(&only("sms", ".json")).unwrap();
    assert_eq!(sms["to"], "+351910000000");
    assert!(sms["text"].as_str().unwrap().contains("localhost"));
    let wrong = installation.run(&["doctor", "--mail-to", "no address"]);
    assert_eq!(wrong.status.code(), Some(1));
}

#[tokio::test]
async fn serve_refuses_what_mail_and_sms_cannot_be_sent_with() {
    let installation = Installation::new().await;
    std::fs::write(installation.path().join("ca.pem"), "no certificate").unwrap();
    installation.configure(
        "[mail]\ntransport = \"smtps://mail.example.com\"\nfrom = \"id@exa mple.com\"\n\
         [outbound]\nextra_ca = \"ca.pem\"\n[sms]\ntransport = \"https://sms.example.com/send\"\n",
    );
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78), "{}", said(&refused));
    installation.configure(
        "[mail]\ntransport = \"log\"\n[outbound]\nextra_ca = \"none.pem\"\n\
         [sms]\ntransport = \"log\"\n",
    );
    let refused = installation.run(&["serve"]);
    let named = said(&refused).matches("none.pem: there is no such file").count();
    assert_eq!((refused.status.code(), named), (Some(78), 1), "{}", said(&refused));
}
