//! What is shown, to whom, and what happens when it changes.

use super::{client::*, identity::*, *};
use rcgen::{CertificateParams, KeyPair};
use std::{fs, path::Path};
use tokio::task::JoinSet;

fn fault(cert: &Path, key: &Path) -> TlsFault {
    TlsIdentity::load(cert, key).map(|_| ()).unwrap_err()
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_over_both_versions_of_tls() {
    let authority = Authority::new();
    let started = start_with(ConnectionLimits::default(), Some(authority.identity())).await;
    for version in rustls::ALL_VERSIONS {
        let stream =
            authority.connect_by(started.address, &["h2", "http/1.1"], &[version]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        let own = stream.get_ref().0.local_addr().unwrap();
        let mut client = Client2::over(stream).await.unwrap();
        assert_eq!(client.get("/peer").await.body(), format!("{own} true"));
        for protocols in [&["http/1.1"][..], &[]] {
            let stream =
                authority.connect_by(started.address, protocols, &[version]).await.unwrap();
            let own = stream.get_ref().0.local_addr().unwrap();
            let mut client = Client::new(stream);
            for _ in 0..2 {
                assert_eq!(client.get("/peer").await.unwrap().body, format!("{own} true"));
            }
        }
    }
}

#[tokio::test]
async fn a_refusal_is_dressed_over_tls_too() {
    let authority = Authority::new();
    let started = start_with(ConnectionLimits::default(), Some(authority.identity())).await;
    let mut client = Client::new(authority.connect(started.address, &[]).await.unwrap());
    client.send("rubbish\r\n\r\n").await.unwrap();
    let answer = soon(client.answer()).await.unwrap();
    assert_eq!((answer.status, answer.header("cache-control")), (400, Some("no-store")));
    assert_eq!(client.farewell().await, "");
}

#[tokio::test]
async fn http2_that_was_not_agreed_on_is_not_spoken() {
    let authority = Authority::new();
    let started = start_with(ConnectionLimits::default(), Some(authority.identity())).await;
    let mut client = Client::new(authority.connect(started.address, &[]).await.unwrap());
    client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    assert_eq!(client.farewell().await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_under_load_loses_no_request_and_newcomers_see_the_new_certificate() {
    let authority = Arc::new(Authority::new());
    let identity = authority.identity();
    let started = start_with(ConnectionLimits::default(), Some(identity.clone())).await;
    let address = started.address;
    let (enough, rounds) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mut tasks = JoinSet::new();
    for keeps in [true, true, false, false] {
        let (authority, enough, rounds) = (authority.clone(), enough.clone(), rounds.clone());
        tasks.spawn(async move {
            let mut client = Client::new(authority.connect(address, &[]).await.unwrap());
            while enough.try_acquire().is_err() {
                assert_eq!(client.get("/").await.unwrap().body, "hello");
                rounds.add_permits(1);
                if !keeps {
                    client = Client::new(authority.connect(address, &[]).await.unwrap());
                }
            }
        });
    }
    for _ in 0..3 {
        let before = shown(&authority.connect(address, &[]).await.unwrap());
        soon(rounds.acquire_many(20)).await.unwrap().forget();
        authority.issue();
        identity.reload().unwrap();
        let after = shown(&authority.connect(address, &[]).await.unwrap());
        assert_ne!(before, after);
    }
    enough.add_permits(4);
    while let Some(ended) = soon(tasks.join_next()).await {
        ended.unwrap();
    }
    assert_eq!(started.server.report().handshakes_failed, 0);
}

#[tokio::test]
async fn a_reload_that_fails_leaves_the_old_certificate_in_place() {
    let authority = Authority::new();
    let identity = authority.identity();
    let started = start_with(ConnectionLimits::default(), Some(identity.clone())).await;
    let before = shown(&authority.connect(started.address, &[]).await.unwrap());
    fs::write(authority.key(), KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert!(matches!(identity.reload(), Err(TlsFault::Mismatch { .. })));
    fs::remove_file(authority.cert()).unwrap();
    assert!(matches!(identity.reload(), Err(TlsFault::Unreadable { .. })));
    let stream = authority.connect(started.address, &[]).await.unwrap();
    assert_eq!(shown(&stream), before);
    assert_eq!(Client::new(stream).get("/").await.unwrap().body, "hello");
}

#[test]
fn a_key_is_read_in_each_of_its_forms() {
    let folder = tempfile::tempdir().unwrap();
    let cert = folder.path().join("cert.pem");
    let fixtures = Path::new("src/crypto/keys/fixtures");
    for (name, same_key) in
        [("p256", "p256_sec1"), ("rsa_2048", "rsa_2048_pkcs1"), ("ed25519", "ed25519")]
    {
        let [key, same_key] =
            [name, same_key].map(|name| fixtures.join(name).with_extension("pem"));
        let pair = KeyPair::from_pem(&fs::read_to_string(&key).unwrap()).unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        fs::write(&cert, params.self_signed(&pair).unwrap().pem()).unwrap();
        assert!(TlsIdentity::load(&cert, &key).is_ok(), "{name}");
        assert!(TlsIdentity::load(&cert, &same_key).is_ok(), "{name}");
    }
}

#[test]
fn a_fault_names_the_file_and_quotes_nothing() {
    let authority = Authority::new();
    let (cert, key) = (authority.cert(), authority.key());
    let other = authority.folder().join("other.pem");
    let secret = "c2VjcmV0c2VjcmV0";
    let told = |text: String| {
        fs::write(&other, text).unwrap();
        let (as_cert, as_key) = (fault(&other, &key), fault(&cert, &other));
        for fault in [&as_cert, &as_key] {
            let mut text = format!("{fault} {fault:?}");
            let mut source = std::error::Error::source(fault);
            while let Some(error) = source {
                text += &error.to_string();
                source = error.source();
            }
            assert!(text.contains("other.pem"), "{text}");
            assert!(!text.contains(secret), "{text}");
            assert!(!text.contains("99, 50, 86"), "{text}");
        }
        (as_cert, as_key)
    };
    let (as_cert, as_key) = told(secret.to_owned());
    assert!(matches!(as_cert, TlsFault::NoCertificate { .. }));
    assert!(matches!(as_key, TlsFault::NoKey { .. }));
    let block = |kind: &str| format!("-----BEGIN {kind}-----\n{secret}\n-----END {kind}-----\n");
    assert!(matches!(told(block("CERTIFICATE")).0, TlsFault::UnusableCertificate { .. }));
    assert!(matches!(told(block("PRIVATE KEY")).1, TlsFault::UnusableKey { .. }));
    assert!(matches!(told(block("ENCRYPTED PRIVATE KEY")).1, TlsFault::NoKey { .. }));
    let cut = |kind: &str| format!("-----BEGIN {kind}-----\n{secret}\n");
    assert!(matches!(told(cut("CERTIFICATE")).0, TlsFault::NotPem { .. }));
    assert!(matches!(told(cut("PRIVATE KEY")).1, TlsFault::NotPem { .. }));
    let told_of_absent = fault(&authority.folder().join("absent.pem"), &key).to_string();
    assert!(told_of_absent.contains("absent.pem"));
}
