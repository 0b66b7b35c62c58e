//! SIGHUP, under load, at the listener that asks for certificates: a new certificate of the server, and other
//! authorities for clients.

use crate::{
    binary::{Installation, free_port, wait_until_it_listens},
    certificate_holder::{CertificateHolder, OverTls, Partners},
    shared::eventually,
    support::ACME,
};
use rcgen::SanType;
use std::{
    fs,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::task::JoinSet;
use tokio_rustls::rustls::pki_types::CertificateDer;

/// Writes a new certificate for the server, and the authorities whose clients it trusts.
fn renew(installation: &Installation, site: &Partners, authorities: &[&Partners]) {
    let own = site.issue_with("localhost", |params| {
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
    });
    let folder = installation.path();
    fs::write(folder.join("cert.pem"), own.pem()).unwrap();
    fs::write(folder.join("key.pem"), own.key.serialize_pem()).unwrap();
    let all: String = authorities.iter().map(|one| one.authority()).collect();
    fs::write(folder.join("ca.pem"), all).unwrap();
}

/// What clients that ask without pause have in common.
struct Load {
    address: SocketAddr,
    trusted: CertificateDer<'static>,
    over: AtomicBool,
    answered: AtomicUsize,
}

impl Load {
    fn connect<'a>(&self, holder: &'a CertificateHolder) -> OverTls<'a> {
        OverTls { address: self.address, trusted: self.trusted.clone(), holder: Some(holder) }
    }

    async fn status(&self, client: &str, holder: &CertificateHolder) -> u16 {
        self.connect(holder).ask(client, "invoices:read").await.status.as_u16()
    }

    /// Asks again and again, over one connection or each time over another; none may fail.
    async fn keep_asking(&self, client: &str, holder: &CertificateHolder, keeps: bool) {
        let over = self.connect(holder);
        let mut connection = over.open().await.unwrap();
        while !self.over.load(SeqCst) {
            let request = over.asking(client, "invoices:read");
            let answer = connection.send(request).await.expect("the connection is not dropped");
            assert_eq!(answer.status, 200, "{client} {answer:?}");
            self.answered.fetch_add(1, SeqCst);
            if !keeps {
                connection = over.open().await.unwrap();
            }
        }
    }

    /// Waits until some more was answered.
    async fn goes_on(&self) {
        let before = self.answered.load(SeqCst);
        eventually("more answers", async || self.answered.load(SeqCst) > before + 20).await;
    }
}

const CLIENTS: &str = r#"
[[client]]
client_id = "issued"
organization = "acme"
roles = ["clerk"]
token_endpoint_auth_method = "tls_client_auth"
tls_client_auth_subject_dn = "CN=issued,O=Acme"
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_authorities_and_a_new_certificate_fail_no_request_and_end_the_former_clients() {
    let installation = Installation::new().await;
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let (site, former, next) = (Partners::new(), Partners::new(), Partners::new());
    renew(&installation, &site, &[&former]);
    installation.configure(&format!(
        "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n\
         [mtls]\nlisten = \"{address}\"\nclient_ca = \"ca.pem\"\n"
    ));
    let own = Arc::new(CertificateHolder::self_signed("own"));
    installation.apply(ACME);
    installation.apply(&format!("{CLIENTS}{}", own.registration("own")));
    let serving = installation.serve();
    wait_until_it_listens(address);
    let trusted = site.authority_der();
    let load = Load { address, trusted, over: false.into(), answered: 0.into() };
    let load = Arc::new(load);
    let old = Arc::new(former.issue("issued"));
    let new = Arc::new(next.issue("issued"));
    assert_eq!(load.status("issued", &old).await, 200);
    assert_eq!(load.status("issued", &new).await, 401);
    let shown = async || load.connect(&own).shown().await.unwrap();
    let first = shown().await;

    let spawn = |tasks: &mut JoinSet<()>, client: &'static str, holder: &Arc<CertificateHolder>| {
        for keeps in [true, false] {
            let (load, holder) = (load.clone(), holder.clone());
            tasks.spawn(async move { load.keep_asking(client, &holder, keeps).await });
        }
    };
    // Both authorities are trusted for a while, and nothing is refused on the way there.
    let mut tasks = JoinSet::new();
    spawn(&mut tasks, "own", &own);
    spawn(&mut tasks, "issued", &old);
    load.goes_on().await;
    renew(&installation, &site, &[&former, &next]);
    serving.signal("-HUP");
    eventually("the next authority", async || load.status("issued", &new).await == 200).await;
    load.goes_on().await;
    let second = shown().await;
    assert_ne!(first, second);
    // A connection that was made while the former authority was trusted.
    let over = load.connect(&old);
    let mut kept = over.open().await.unwrap();
    assert_eq!(kept.send(over.asking("issued", "invoices:read")).await.unwrap().status, 200);
    load.over.store(true, SeqCst);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    load.over.store(false, SeqCst);

    // Then the former is not.
    spawn(&mut tasks, "own", &own);
    spawn(&mut tasks, "issued", &new);
    load.goes_on().await;
    renew(&installation, &site, &[&next]);
    serving.signal("-HUP");
    eventually("the end of the former", async || load.status("issued", &old).await == 401).await;
    load.goes_on().await;
    assert_ne!(second, shown().await);
    let refused = kept.send(over.asking("issued", "invoices:read")).await.unwrap();
    refused.refused(401, "invalid_client");
    // What cannot be read changes nothing.
    fs::write(installation.path().join("ca.pem"), "nonsense").unwrap();
    serving.signal("-HUP");
    tokio::time::sleep(Duration::from_millis(200)).await;
    load.goes_on().await;
    assert_eq!(load.status("issued", &old).await, 401);
    load.over.store(true, SeqCst);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0), "{log:?}");
}
