//! What both listeners speak over TLS, what they refuse, and what a hostile handshake costs.

use crate::{
    binary::{Installation, Serving, free_port, wait_until_it_listens},
    certificate_holder::{CertificateHolder, OverTls},
    programs::{run_script, shell, there_are},
};
use http_body_util::Full;
use hyper::Method;
use rcgen::{CertificateParams, KeyPair};
use std::{fs, net::SocketAddr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::rustls::pki_types::CertificateDer;

/// A binary with both listeners.
struct Secured {
    serving: Serving,
    installation: Installation,
    mtls: SocketAddr,
    trusted: CertificateDer<'static>,
}

impl Secured {
    /// Its key is RSA's: each suite that is refused could be spoken with that.
    async fn open() -> Self {
        let installation = Installation::new().await;
        let mtls = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let key = fs::read_to_string("src/crypto/keys/fixtures/rsa_2048.pem").unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&KeyPair::from_pem(&key).unwrap()).unwrap();
        fs::write(installation.path().join("cert.pem"), certificate.pem()).unwrap();
        fs::write(installation.path().join("key.pem"), key).unwrap();
        installation.configure(&format!(
            "[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n[mtls]\nlisten = \"{mtls}\"\n"
        ));
        let issuer = format!("https://localhost:{}", installation.address.port());
        let serving = installation.serve_with(&[("PORTEIRO_ISSUER", &issuer)]);
        wait_until_it_listens(mtls);
        Self { serving, installation, mtls, trusted: certificate.der().clone() }
    }

    fn addresses(&self) -> [SocketAddr; 2] {
        [self.installation.address, self.mtls]
    }

    fn over(&self, address: SocketAddr) -> OverTls<'static> {
        OverTls { address, trusted: self.trusted.clone(), holder: None }
    }
}

#[tokio::test]
async fn only_the_versions_and_suites_of_bcp_195_are_spoken() {
    if !there_are(&["openssl"]) {
        return;
    }
    let secured = Secured::open().await;
    let folder = secured.installation.path();
    for address in secured.addresses() {
        let client = format!("openssl s_client -connect {address} -servername localhost");
        for (how, spoken) in [
            ("-tls1_3", "TLSv1.3, Cipher is TLS_"),
            ("-tls1_2", "TLSv1.2, Cipher is ECDHE-RSA-"),
            (
                "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256",
                "Cipher is ECDHE-RSA-AES128-GCM-SHA256",
            ),
            (
                "-tls1_2 -cipher ECDHE-RSA-CHACHA20-POLY1305",
                "Cipher is ECDHE-RSA-CHACHA20-POLY1305",
            ),
        ] {
            let said = run_script(folder, &format!("{client} {how} </dev/null 2>&1"));
            assert!(said.contains(spoken), "{how}: {said}");
        }
        // An alert is the server's word: what the program itself would not say is not refused here.
        for how in [
            "-tls1 -cipher ALL:@SECLEVEL=0",
            "-tls1_1 -cipher ALL:@SECLEVEL=0",
            // CBC.
            "-tls1_2 -cipher ECDHE-RSA-AES128-SHA256",
            "-tls1_2 -cipher ECDHE-RSA-AES256-SHA:@SECLEVEL=0",
            // The exchange of keys by RSA: no forward secrecy.
            "-tls1_2 -cipher AES128-GCM-SHA256",
            "-tls1_2 -cipher AES256-SHA256",
            // Exchanges in groups that the server would have to choose.
            "-tls1_2 -cipher DHE-RSA-AES128-GCM-SHA256",
            "-tls1_2 -cipher aNULL:@SECLEVEL=0",
            "-tls1_3 -ciphersuites TLS_AES_128_CCM_SHA256",
        ] {
            let script = format!("{client} {how} </dev/null 2>&1");
            let refused = shell(folder, &script).output().unwrap();
            let said = String::from_utf8_lossy(&refused.stdout);
            assert!(!refused.status.success(), "{address} {how}: {said}");
            assert!(said.contains("SSL alert number"), "{address} {how}: {said}");
        }
    }
}

#[tokio::test]
async fn every_answer_over_https_says_to_come_by_https_alone() {
    let secured = Secured::open().await;
    let mut seen = Vec::new();
    for address in secured.addresses() {
        for (method, path) in [
            (Method::GET, "/.well-known/openid-configuration"),
            (Method::GET, "/none"),
            (Method::GET, "/connect/userinfo"),
            (Method::POST, "/connect/token"),
            (Method::DELETE, "/connect/token"),
        ] {
            let over = secured.over(address);
            let request = over.request(method, path).body(Full::default()).unwrap();
            let answer = over.send(request).await;
            let policy = answer.header("strict-transport-security");
            assert_eq!(policy, Some("max-age=31536000"), "{address} {path} {answer:?}");
            seen.push(answer.status.as_u16());
        }
    }
    for status in [200, 404, 401, 405] {
        assert!(seen.contains(&status), "{seen:?}");
    }
}

/// Records of a handshake whose one message is so long.
fn hello(bytes: usize) -> Vec<u8> {
    let length = u32::try_from(bytes).unwrap().to_be_bytes();
    let message = [&[1], &length[1..], &vec![3; bytes]].concat();
    let record = |part: &[u8]| {
        let length = u16::try_from(part.len()).unwrap().to_be_bytes();
        [&[22, 3, 1], &length[..], part].concat()
    };
    message.chunks(16 * 1024).flat_map(record).collect()
}

/// Sends what it can; returns once the server has closed.
async fn send(address: SocketAddr, bytes: Vec<u8>) {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut reading, mut writing) = stream.into_split();
    let sending = async {
        let _ = writing.write_all(&bytes).await;
        std::future::pending::<()>().await;
    };
    let ended = async { while reading.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {} };
    tokio::select! {
        () = sending => {}
        () = ended => {}
    }
}

const MEGABYTES: usize = 1024 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_handshake_is_refused_and_fills_no_memory() {
    let secured = Secured::open().await;
    let warm = async |secured: &Secured| {
        for address in secured.addresses() {
            let over = secured.over(address);
            let path = "/connect/userinfo";
            let request = over.request(Method::GET, path).body(Full::default()).unwrap();
            assert_eq!(over.send(request).await.status, 401);
        }
    };
    warm(&secured).await;
    let before = secured.serving.peak_memory();
    let mut hostile = JoinSet::new();
    for address in secured.addresses() {
        for _ in 0..10 {
            for bytes in [
                hello(10 * MEGABYTES),
                vec![0; 10 * MEGABYTES],
                vec![b'A'; 10 * MEGABYTES],
                b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(100_000),
                // A hello of SSL 2, and empty records without end.
                vec![0x80, 0x2e, 1, 0, 2],
                [22, 3, 1, 0, 0].repeat(MEGABYTES),
                [22, 3, 1, 0xff, 0xff].repeat(MEGABYTES),
            ] {
                hostile.spawn(timeout(Duration::from_mins(1), send(address, bytes)));
            }
        }
    }
    // The message by which a client shows its certificate, within a handshake that is well begun.
    let mut holder = CertificateHolder::self_signed("agent");
    holder.chain.push(vec![0x30; 10 * MEGABYTES].into());
    for _ in 0..3 {
        let over = OverTls { holder: Some(&holder), ..secured.over(secured.mtls) };
        let path = "/connect/userinfo";
        let request = over.request(Method::GET, path).body(Full::default()).unwrap();
        assert!(over.try_send(request).await.is_err());
    }
    for ended in hostile.join_all().await {
        ended.expect("the server ends what leads nowhere");
    }
    let grown = secured.serving.peak_memory() - before;
    // What is read of a chain is bounded before anything of it is kept.
    assert!(grown < 30 * MEGABYTES as u64, "{grown} bytes");
    warm(&secured).await;
}
