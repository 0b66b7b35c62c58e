//! Logos of clients: fetched by us, never by a page, and from sites that behave badly.

use crate::{
    brand::{come_from, sign_in},
    shared::eventually,
    site::{Conduct, Site},
    support::{TestOptions, TestServer},
    tab::Tab,
};
use hyper::{Method, StatusCode};
use porteiro::client_documents::Fetcher;
use serde_json::json;
use std::time::Duration;

const LONG: Duration = Duration::from_mins(1);
const SHORT: Duration = Duration::from_secs(1);

/// The smallest PNG of 48 by 48 points that says how large it is, and then some bytes.
fn png(more: usize) -> Vec<u8> {
    let mut bytes =
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x30\0\0\0\x30\x08\x06\0\0\0abcd".to_vec();
    bytes.extend(b"\0\0\0\0IDATabcd");
    bytes.extend(vec![0; more]);
    bytes
}

/// A server, and a client whose logo is at the site.
async fn scene(site: &Site, fetcher: Fetcher) -> TestServer {
    let options = TestOptions {
        client_documents: Some(fetcher),
        screens: true,
        rates: None,
        ..TestOptions::default()
    };
    let server = TestServer::open_in(options).await;
    let logo = format!("[[client]]\nclient_id = \"app\"\nlogo_uri = \"{}\"\n", site.url);
    server.apply(&logo).await;
    server
}

/// The page on which a person is asked to let a client in.
pub async fn consent(server: &TestServer) -> String {
    let mut tab = Tab::new(server);
    let page = come_from(&mut tab, "app", &[]).await;
    let page = sign_in(&mut tab, &page, "ana@acme.test").await.text;
    assert!(page.contains("class=\"avatar"), "{page}");
    page
}

pub fn path_in(page: &str) -> Option<&str> {
    page.split('"').find(|part| part.starts_with("/assets/client/"))
}

#[tokio::test]
async fn a_logo_is_fetched_beside_the_page_and_shown_from_here() {
    let site = Site::new(Conduct::Bytes(png(0))).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    eventually("the logo", async || path_in(&consent(&server).await).is_some()).await;
    let page = consent(&server).await;
    assert_eq!(site.asked(), 1, "it is kept");
    assert!(!page.contains("127.0.0.1:") && page.contains("alt=\"\" width=\"52\" height=\"52\""));
    let path = path_in(&page).unwrap();
    let answer = server.get(path).await;
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &png(0)[..]));
    assert_eq!(answer.header("content-type"), Some("image/png"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(
        answer.header("content-security-policy"),
        Some("default-src 'none'; frame-ancestors 'none'; sandbox")
    );
    assert!(answer.header("cache-control").unwrap().contains("immutable"));
    for wrong in
        [path.replace(".png", ".svg"), path.replace(".png", ""), "/assets/client/x.png".into()]
    {
        let answer = server.get(&wrong).await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["code"].as_str()),
            (404, Some("not_found"))
        );
    }
    // It is looked at again now and then, and kept where the site is gone.
    site.now(Conduct::Answer(StatusCode::NOT_FOUND, String::new()));
    server.clock.advance(Duration::from_mins(61));
    assert!(path_in(&consent(&server).await).is_some());
    eventually("another look", async || site.asked() == 2).await;
    assert!(path_in(&consent(&server).await).is_some());
    assert_eq!(site.asked(), 2, "and not again at once");
    server.clock.advance(Duration::from_hours(24));
    assert!(path_in(&consent(&server).await).is_none(), "but not for ever");
    server.stop().await;
}

#[tokio::test]
async fn a_site_that_behaves_badly_costs_the_page_nothing_and_is_left_alone() {
    let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\"><script/></svg>";
    for (what, conduct) in [
        ("says nothing", Conduct::Hang),
        ("never ends", Conduct::Endless),
        ("leads elsewhere", Conduct::Answer(StatusCode::FOUND, String::new())),
        ("sends a drawing", Conduct::Answer(StatusCode::OK, svg.to_owned())),
        ("sends a page", Conduct::Answer(StatusCode::OK, "<script>alert(1)</script>".to_owned())),
        ("sends nothing", Conduct::Answer(StatusCode::OK, String::new())),
        ("sends too much", Conduct::Bytes(png(33_000))),
    ] {
        let site = Site::new(conduct).await;
        let server = scene(&site, site.fetcher(SHORT)).await;
        for _ in 0..3 {
            let page = consent(&server).await;
            assert!(path_in(&page).is_none() && !page.contains("<img"), "{what}: {page}");
        }
        eventually("a look", async || site.asked() == 1).await;
        server.clock.advance(Duration::from_mins(1));
        assert!(path_in(&consent(&server).await).is_none(), "{what}");
        assert_eq!(site.asked(), 1, "{what}");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_logo_inside_our_network_is_not_fetched() {
    let site = Site::new(Conduct::Bytes(png(0))).await;
    let server = scene(&site, Fetcher::default()).await;
    for _ in 0..3 {
        assert!(path_in(&consent(&server).await).is_none());
    }
    assert_eq!(site.asked(), 0);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_registered_itself_has_initials_and_no_logo() {
    let site = Site::new(Conduct::Bytes(png(0))).await;
    let server = scene(&site, site.fetcher(LONG)).await;
    let wanted = json!({
        "client_name": "Bank of Acme",
        "redirect_uris": ["https://app.example.com/cb"],
        "token_endpoint_auth_method": "none",
        "logo_uri": site.url,
    });
    let request = server.request(Method::POST, "/connect/register");
    let request = request.header("content-type", "application/json");
    let request = request.body(wanted.to_string().into_bytes().into()).unwrap();
    let client = server.send(request).await.json();
    let client = client["client_id"].as_str().unwrap();
    // The logo of another client is known by now, and at the same address.
    eventually("the logo", async || path_in(&consent(&server).await).is_some()).await;
    let mut tab = Tab::new(&server);
    let asked = [("client_id", client)];
    let page = come_from(&mut tab, "app", &asked).await;
    let page = sign_in(&mut tab, &page, "ana@acme.test").await.text;
    assert!(path_in(&page).is_none() && page.contains(">BO</span>"), "{page}");
    server.stop().await;
}
