//! Built with `otel`, the server sends its spans to a collector.

use crate::{binary::Installation, http::get};
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    time::Duration,
};

/// Takes one request after the other and returns everything that was sent.
fn collect(listener: &TcpListener) -> Vec<u8> {
    let mut all = Vec::new();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let (mut sent, mut piece) = (Vec::new(), vec![0; 65_536]);
        while let Ok(many @ 1..) = stream.read(&mut piece) {
            sent.extend_from_slice(&piece[..many]);
            let text = String::from_utf8_lossy(&sent).to_lowercase();
            let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.unwrap().trim().parse().unwrap();
            let body = sent.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
            if sent.len() >= body + length {
                break;
            }
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            .unwrap();
        all.extend_from_slice(&sent);
        if all.windows(12).any(|bytes| bytes == b"http.request") {
            break;
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_reach_a_collector_over_otlp() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap());
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(collect(&collector)));
    let installation = Installation::new().await;
    let serving = installation.serve_with(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)]);
    assert_eq!(get(installation.address, "/connect/jwks").await.status, 200);
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0), "{log:?}");
    let sent =
        String::from_utf8_lossy(&told.recv_timeout(Duration::from_secs(20)).unwrap()).into_owned();
    assert!(sent.starts_with("POST /v1/traces"), "{sent}");
    for word in ["http.request", "/connect/jwks", "porteiro"] {
        assert!(sent.contains(word), "{word}");
    }
}
