//! With screens off every path of a screen is answered as a path that never existed, byte for byte.
//!
//! The paths come from the router's own table, so that a page that is new cannot be forgotten.

use crate::{
    http::get,
    links::node,
    support::{TestOptions, TestServer},
};
use porteiro::http::router::{Extras, paths};
use std::{collections::BTreeSet, net::SocketAddr};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// The paths of screens that the contract names, and what a development server has.
const KNOWN: [&str; 20] = [
    "/sign-in",
    "/sign-up",
    "/verify-email",
    "/reset-password",
    "/consent",
    "/device",
    "/approve",
    "/account",
    "/account/security",
    "/account/sessions",
    "/account/applications",
    "/account/organizations",
    "/account/history",
    "/account/data",
    "/organization",
    "/sign-out",
    "/assets/porteiro.css",
    "/assets/brand/acme.css",
    "/playground",
    "/favicon.ico",
];

const NOWHERE: &str = "/never-existed";

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

const NAVIGATION: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n\
    Accept-Language: pt-PT\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: none\r\n\
    Sec-Fetch-Dest: document\r\nCookie: porteiro=x; porteiro_screen=pt.dark\r\n";
const PROGRAM: &str = "Accept: application/json\r\nContent-Type: application/json\r\n";
const FORM: &str = "Accept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\n\
    Origin: http://localhost:8080\r\nSec-Fetch-Site: same-origin\r\n";
const PREFLIGHT: &str = "Origin: https://app.example.com\r\n\
    Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: content-type\r\n";

const ON: Extras = Extras { security_txt: false, ..Extras::ALL };
const OFF: Extras = Extras { screens: false, change_password: false, ..ON };

/// Every path of the router's that is there only with screens, its parameters filled in.
fn only_with_screens() -> Vec<String> {
    let without: BTreeSet<&str> = paths(OFF).collect();
    let only = paths(ON).filter(|path| !without.contains(path));
    only.map(|path| path.replace(['{', '}', '*'], "")).collect()
}

/// Sends one request and returns every byte of the answer, beside what is never the same.
async fn answer(address: SocketAddr, method: &str, path: &str, headers: &str) -> String {
    let body =
        if ["POST", "PUT", "PATCH"].contains(&method) { "flow=flw_x&step=password" } else { "" };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n{headers}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let varies =
        |line: &str| ["x-request-id: ", "date: "].iter().any(|name| line.starts_with(name));
    let lines = answer.split_inclusive("\r\n");
    let same: String = lines
        .map(|line| if varies(line) { line.split_once(' ').unwrap().0 } else { line })
        .collect();
    // So is the id of a flow that a program has begun.
    match same.split_once("\"flw_") {
        Some((before, after)) => format!("{before}{}", after.split_once('"').unwrap().1),
        None => same,
    }
}

/// Lists the assets that a page of a node with screens names.
async fn assets(server: &TestServer) -> Vec<String> {
    let page = server.get("/sign-in").await.text();
    let quoted = page.split('"').filter(|text| text.starts_with("/assets/"));
    quoted.map(|path| path.split('#').next().unwrap().to_owned()).collect()
}

#[test]
fn the_router_knows_more_with_screens_than_without() {
    let only = only_with_screens();
    assert!(only.contains(&"/sign-in".to_owned()), "{only:?}");
    assert!(only.contains(&"/assets/file".to_owned()), "{only:?}");
    let with: BTreeSet<&str> = paths(ON).collect();
    assert!(paths(OFF).all(|path| with.contains(path)), "screens take nothing away");
}

#[tokio::test]
async fn with_screens_off_every_screen_is_answered_as_a_path_that_never_existed() {
    let with = TestServer::open_in(TestOptions { screens: true, rates: None, ..node() }).await;
    let without = with.beside(TestOptions { screens: false, rates: None, ..node() }).await;
    let mut paths: BTreeSet<String> = only_with_screens().into_iter().collect();
    paths.extend(KNOWN.map(str::to_owned));
    paths.extend(assets(&with).await);
    assert!(paths.len() > KNOWN.len(), "{paths:?}");
    let mut asked = 0;
    for method in METHODS {
        for headers in ["", NAVIGATION, PROGRAM, FORM, PREFLIGHT] {
            for query in ["", "?flow=flw_AAAAAAAAAAAAAAAAAAAAAAAAAAA", "?ui_locales=pt&theme=dark"]
            {
                let unknown =
                    answer(without.address, method, &format!("{NOWHERE}{query}"), headers).await;
                assert!(unknown.starts_with("HTTP/1.1 404 "), "{unknown}");
                assert!(!unknown.contains("set-cookie"), "{unknown}");
                for path in &paths {
                    let path = format!("{path}{query}");
                    let screen = answer(without.address, method, &path, headers).await;
                    assert_eq!(screen, unknown, "{method} {path}: {headers}");
                    asked += 1;
                }
                asked += 1;
            }
        }
    }
    // They are counted as one, and no label tells that there could be pages.
    let metrics = get(without.operator(), "/metrics").await.text();
    for path in only_with_screens() {
        let label = format!("route=\"{path}\"");
        assert!(!metrics.contains(&label), "{label}");
    }
    let counted =
        format!("porteiro_http_requests_total{{route=\"(none)\",status=\"404\"}} {asked}\n");
    assert!(metrics.contains(&counted), "{counted}");
    without.stop().await;
    with.stop().await;
}

#[tokio::test]
async fn what_is_no_screen_answers_a_program_the_same_with_screens_and_without() {
    let with = TestServer::open_in(TestOptions { screens: true, rates: None, ..node() }).await;
    let without = with.beside(TestOptions { screens: false, rates: None, ..node() }).await;
    for path in paths(OFF) {
        let path = path.replace(['{', '}', '*'], "");
        for method in METHODS {
            for headers in [PROGRAM, PREFLIGHT] {
                let one = answer(with.address, method, &path, headers).await;
                let other = answer(without.address, method, &path, headers).await;
                assert_eq!(one, other, "{method} {path}: {headers}");
            }
        }
    }
    without.stop().await;
    with.stop().await;
}
