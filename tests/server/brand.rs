//! Pages that look as an organization does: applied, shown to whom it concerns, served for ever.

use crate::{
    binary::Installation,
    person::{PASSWORD, asking},
    shared::eventually,
    support::{TestOptions, TestServer},
    tab::{Page, Tab},
};
use porteiro::provisioning::File;
use std::fs;

const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 96 24\">\
                   <path d=\"M0 0h96v24H0z\"/></svg>";

/// The brand of Acme, and a client of theirs.
fn branded(colour: &str) -> String {
    format!(
        r#"
[[organization]]
slug = "acme"
  [organization.brand]
  colour = "{colour}"
  logo = "logo.svg"
  text.en = "Invoices for bakers."
  text.pt = "Faturas para padarias."

[[client]]
client_id = "bakery"
client_name = "Bakery"
organization = "acme"
redirect_uris = ["https://bakery.example.com/cb"]
token_endpoint_auth_method = "none"
"#
    )
}

/// A server whose Acme has a brand.
async fn scene() -> TestServer {
    let server = TestServer::open_in(TestOptions { screens: true, ..TestOptions::default() }).await;
    fs::write(server.keys().with_file_name("logo.svg"), SVG).unwrap();
    server.apply(&branded("#e8462b")).await;
    server
}

/// Comes from a client.
pub async fn come_from(tab: &mut Tab<'_>, client: &str, otherwise: &[(&str, &str)]) -> Page {
    tab.open(&format!("/connect/authorize?{}", asking(client, otherwise))).await
}

/// Signs in with a password, and returns the page that follows; a passkey is made another time.
pub async fn sign_in(tab: &mut Tab<'_>, page: &Page, email: &str) -> Page {
    let page = tab.step(page, "identifier", &[("identifier", email)]).await;
    let page = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    let asked = page.forms().iter().any(|form| form.field("step") == Some("skip"));
    if asked { tab.step(&page, "skip", &[]).await } else { page }
}

/// The path of a file of the brand that a page names.
fn named(page: &str, ending: &str) -> Option<String> {
    let mut paths = page.split('"').filter(|part| part.starts_with("/assets/brand/"));
    paths.find(|path| path.ends_with(ending)).map(str::to_owned)
}

#[tokio::test]
async fn the_pages_of_an_organizations_client_look_as_the_organization_does() {
    let server = scene().await;
    let mut tab = Tab { language: "pt", ..Tab::new(&server) };
    let page = come_from(&mut tab, "bakery", &[]).await.text;
    assert!(page.contains("<bdi>Acme Lda</bdi>") && page.contains("Faturas para padarias."));
    assert!(!page.contains("Porteiro</span>"), "{page}");
    let (style, logo) = (named(&page, ".css").unwrap(), named(&page, ".svg").unwrap());
    assert!(page.contains(&format!("<img src=\"{logo}\" alt=\"\" width=\"96\" height=\"24\">")));
    let main = page.find("/assets/porteiro-").unwrap();
    assert!(page.find(&style).unwrap() > main, "what comes later counts");
    for (path, kind, content) in
        [(&style, "text/css; charset=utf-8", "--panel:"), (&logo, "image/svg+xml", SVG)]
    {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("content-type"), Some(kind));
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.contains("sandbox"));
        assert!(!policy.contains("script-src") && answer.text().contains(content));
        assert!(answer.header("set-cookie").is_none());
    }
    server.stop().await;
}

#[tokio::test]
async fn an_organization_that_a_stranger_names_is_not_shown_before_its_member_signs_in() {
    let server = scene().await;
    // Any page can lead to this address: the client is for people of any organization.
    let mut tab = Tab::new(&server);
    let page = come_from(&mut tab, "app", &[("organization", "acme")]).await;
    let other = come_from(&mut Tab::new(&server), "app", &[("organization", "unheard-of")]).await;
    let plain = |page: &Page| {
        let flow = page.flow();
        let nonce = page.text.split("nonce=\"").nth(1).unwrap().split('"').next().unwrap();
        page.text.replace(&flow, "FLOW").replace(nonce, "NONCE")
    };
    assert_eq!(plain(&page), plain(&other));
    assert!(!page.text.contains("/assets/brand/") && !page.text.contains("Acme"));
    // Whose member has signed in sees whom the tokens would speak for.
    let consent = sign_in(&mut tab, &page, "ana@acme.test").await.text;
    assert!(named(&consent, ".css").is_some() && consent.contains("<bdi>Acme Lda</bdi>"));
    // A client of one organization that is led to another is shown as neither.
    let page = come_from(&mut Tab::new(&server), "bakery", &[("organization", "other")]).await;
    assert!(!page.text.contains("/assets/brand/"));
    server.stop().await;
}

#[tokio::test]
async fn a_chosen_organization_is_that_of_the_pages_that_follow() {
    let server = scene().await;
    let mut tab = Tab::new(&server);
    let page = come_from(&mut tab, "app", &[]).await;
    let choice = sign_in(&mut tab, &page, "bruno@acme.test").await;
    assert!(named(&choice.text, ".css").is_none(), "nothing is chosen yet");
    let consent = tab.step(&choice, "organization", &[("organization", "acme")]).await;
    assert!(named(&consent.text, ".css").is_some(), "{}", consent.text);
    server.stop().await;
}

#[tokio::test]
async fn a_file_of_an_older_brand_is_gone_and_a_suspended_organization_has_none() {
    let server = scene().await;
    let page = come_from(&mut Tab::new(&server), "bakery", &[]).await.text;
    let (style, logo) = (named(&page, ".css").unwrap(), named(&page, ".svg").unwrap());
    server.apply(&branded("#2b46e8")).await;
    let newer = async || {
        let page = come_from(&mut Tab::new(&server), "bakery", &[]).await.text;
        named(&page, ".css").filter(|newer| *newer != style)
    };
    eventually("the newer brand", async || newer().await.is_some()).await;
    let newer = newer().await.unwrap();
    assert_eq!(server.get(&newer).await.status, 200);
    assert_eq!(server.get(&logo).await.status, 200, "the logo is the same");
    let name = newer.strip_prefix("/assets/brand/acme-").unwrap();
    for wrong in [
        style.clone(),
        format!("/assets/brand/other-{name}"),
        format!("/assets/brand/unheard-of-{name}"),
        newer.replace(".css", ".svg"),
        logo.replace(".svg", ".png"),
        logo.replace(".svg", ".css"),
        "/assets/brand/acme.css".to_owned(),
        "/assets/brand/acme-.css".to_owned(),
        "/assets/brand/%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9.css"
            .to_owned(),
        "/assets/brand/..%2Fporteiro.css".to_owned(),
        format!("/assets/brand/{}.css", "a".repeat(5_000)),
    ] {
        let answer = server.get(&wrong).await;
        assert_eq!(answer.status, 404, "{wrong}");
        assert_eq!(answer.json()["code"], "not_found", "{wrong}");
        assert!(answer.header("cache-control").is_none_or(|kept| !kept.contains("immutable")));
    }
    server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    eventually("the suspension", async || server.get(&newer).await.status == 404).await;
    assert_eq!(server.get(&logo).await.status, 404);
    let page = come_from(&mut Tab::new(&server), "bakery", &[]).await.text;
    assert!(!page.contains("Acme") && !page.contains("/assets/brand/"));
    server.stop().await;
}

#[tokio::test]
async fn without_screens_a_brand_leaves_no_trace() {
    let server = scene().await;
    let page = come_from(&mut Tab::new(&server), "bakery", &[]).await.text;
    let bare = server.beside(TestOptions { screens: false, ..TestOptions::default() }).await;
    let unknown = bare.get("/no-such-path").await;
    for path in [named(&page, ".css").unwrap(), named(&page, ".svg").unwrap()] {
        let answer = bare.get(&path).await;
        assert_eq!((answer.status, &answer.body), (unknown.status, &unknown.body));
        let names = |answer: &crate::http::Answer| {
            answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names(&answer), names(&unknown));
    }
    bare.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn the_command_reads_the_logo_beside_the_file_and_says_what_it_would_do() {
    let installation = Installation::new().await;
    fs::create_dir(installation.path().join("pictures")).unwrap();
    fs::write(installation.path().join("pictures/logo.svg"), SVG).unwrap();
    let plain = "[[organization]]\nslug = \"acme\"\n";
    let branded = format!("{plain}[organization.brand]\nlogo = \"pictures/logo.svg\"\n");
    assert_eq!(installation.apply(plain), "+ created organization acme\n");
    fs::write(installation.path().join("file.toml"), &branded).unwrap();
    let tried = installation.run(&["apply", "file.toml", "--dry-run"]);
    let tried = String::from_utf8(tried.stdout).unwrap();
    assert!(tried.starts_with("~ changed organization acme (brand)\n"), "{tried}");
    assert_eq!(installation.apply(&branded), "~ changed organization acme (brand)\n");
    assert_eq!(installation.apply(&branded), "= unchanged organization acme\n");
    fs::write(installation.path().join("pictures/logo.svg"), SVG.replace("M0", "M1")).unwrap();
    assert_eq!(installation.apply(&branded), "~ changed organization acme (brand)\n");
    assert_eq!(installation.apply(plain), "= unchanged organization acme\n");
    let none = format!("{plain}[organization.brand]\n");
    assert_eq!(installation.apply(&none), "~ changed organization acme (brand)\n");
}

#[test]
fn a_brand_that_cannot_be_shown_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("large.png", &[b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; 33_000]].concat());
    write("page.png", b"<!doctype html><p>");
    write("script.svg", b"<svg viewBox=\"0 0 1 1\"><script>alert(1)</script></svg>");
    write("broken.png", b"\x89PNG\r\n\x1a\n");
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (line, wrong) in [
        ("colour = \"red\"", "`organization.brand.colour` is none: a colour is # and six"),
        ("colour = 7", "`organization.brand.colour` must be a text"),
        ("logo = \"large.png\"", "is larger than 32 KiB"),
        ("logo = \"page.png\"", "is no PNG, JPEG, WebP or SVG picture"),
        ("logo = \"script.svg\"", "has `script` in it"),
        ("logo = \"broken.png\"", "is broken off"),
        ("logo = \"absent.png\"", "there is no such file"),
        ("logo = \"folder\"", "is not a file"),
        ("logo = \"a\\u0000b\"", "NUL"),
        ("icon = \"a.png\"", "icon"),
        ("text = \"one for all\"", "`organization.brand.text` must be"),
        ("text.en = \"one\"", "pt"),
        ("text = { en = \"\", pt = \"b\" }", "must not be empty"),
        ("text = { en = \"a\", pt = \"b\\u202Ec\" }", "cannot be seen"),
        ("text = { en = \"a\", pt = \"b\", de = \"c\" }", "de"),
    ] {
        let text = format!("[[organization]]\nslug = \"o\"\n[organization.brand]\n{line}\n");
        let said = File::parse_beside(&text, folder.path()).expect_err(line);
        let said: Vec<String> =
            said.iter().map(|one| format!("{}: {}", one.line, one.text)).collect();
        assert_eq!(said.len(), 1, "{line}: {said:?}");
        let at_line = ["4: ", "3: "].iter().any(|at| said[0].starts_with(at));
        assert!(at_line && said[0].contains(wrong), "{line}: {said:?}");
    }
    let text = "[[organization]]\nslug = \"o\"\n[organization.brand]\nlogo = \"large.png\"\n";
    let said = File::parse(text).expect_err("there is no folder");
    assert!(said[0].text.contains("no folder"), "{said:?}");
}
