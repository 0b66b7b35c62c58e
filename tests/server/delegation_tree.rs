//! What clients hold of others as a tree, for administrators and for the person, and how a link is ended
//! (adr/0098).

use crate::{
    api_caller::{Api, DIRECTORY},
    exchange::{AGENTS, agents, token_of},
    me::{delete_in, get_in},
    page_forms::{LANGUAGES, Visitor, open},
    person::{claims, text},
    support::{INVOICES, TestServer},
};
use hyper::Method;
use serde_json::{Value, json};

const ANA: &str = "ana@acme.test";
const RITA: &str = "rita@acme.test";
const TREE: &str = "/api/organizations/acme/clients/agent/tree";
const ACTIVITY: &str = "/api/organizations/acme/clients/agent/activity";

/// A person's tokens, what an agent got for them, and what the next one got for that.
struct Chain {
    session: String,
    tokens: Value,
    below: String,
    last: String,
}

async fn chain(server: &TestServer) -> Chain {
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, "web", "openid invoices:read invoices:write").await;
    let tokens = server.redeem("web", &code).await.json();
    let below = server.exchanged("agent", text(&tokens["access_token"]), "invoices:read").await;
    let last = server.exchanged("second", &below, "").await;
    Chain { session, tokens, below, last }
}

fn items(answer: &crate::http::Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["items"].as_array().unwrap().clone()
}

/// The only branch below another.
#[track_caller]
fn only(branch: &Value) -> &Value {
    let [one] = &branch["holds"].as_array().unwrap()[..] else { panic!("{branch}") };
    one
}

/// The id of what a client holds, wherever it is below these.
fn held_by(branches: &[Value], client: &str) -> Option<String> {
    branches.iter().find_map(|branch| {
        let is_it = branch["client_id"] == client;
        let below = || held_by(branch["holds"].as_array().unwrap(), client);
        is_it.then(|| text(&branch["id"]).to_owned()).or_else(below)
    })
}

#[tokio::test]
async fn an_administrator_sees_from_the_session_down_who_holds_what_through_whom() {
    let server = agents().await;
    let Chain { tokens, below, .. } = chain(&server).await;
    let api = Api::of(&server, RITA, "clients:read clients:write audit:read").await;
    let trees = items(&api.get(TREE).await);
    let [session] = &trees[..] else { panic!("{trees:?}") };
    let of_person = claims(&tokens["access_token"]);
    assert_eq!((&session["kind"], &session["id"]), (&json!("session"), &of_person["sid"]));
    let grant = only(session);
    assert_eq!((&grant["kind"], &grant["client_id"]), (&json!("grant"), &json!("web")));
    assert_eq!(grant["scopes"], json!(["openid", "invoices:read", "invoices:write"]));
    let link = only(grant);
    assert_eq!((&link["kind"], &link["client_id"]), (&json!("delegation"), &json!("agent")));
    assert_eq!((&link["act"], &link["scopes"]), (&json!(["agent"]), &json!(["invoices:read"])));
    assert_eq!((&link["resource"], &link["organization"]), (&json!(INVOICES), &json!("acme")));
    assert_eq!(link["account"], of_person["sub"]);
    let until = claims(&json!(below))["exp"].as_i64().unwrap();
    let told = porteiro::domain::Timestamp::from_rfc3339(text(&link["expires_at"])).unwrap();
    assert_eq!(told.seconds(), until);
    let last = only(link);
    assert_eq!((&last["client_id"], &last["act"]), (&json!("second"), &json!(["second", "agent"])));
    assert_eq!(last["holds"], json!([]));
    // From the agent at the end the same way is seen.
    let from_below = items(&api.get("/api/organizations/acme/clients/second/tree").await);
    assert_eq!(from_below, trees);
    // A role that is taken away takes scopes away.
    let less = "[[account]]\nemail = \"ana@acme.test\"\n\
                memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]\n";
    server.apply(less).await;
    let trees = items(&api.get(TREE).await);
    let grant = only(&trees[0]);
    assert_eq!(grant["scopes"], json!(["openid", "invoices:read"]), "{trees:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_tree_begins_with_an_api_key_or_a_client_where_no_person_is_behind_it() {
    let server = agents().await;
    let token = server.token("billing", "invoices:read").await;
    server.exchanged("agent", &token, "").await;
    let api = Api::of(&server, RITA, "clients:read apikeys:read apikeys:write").await;
    let made = json!({ "name": "Nightly", "permissions": ["invoices:read"] });
    let key = api.post("/api/organizations/acme/apikeys", &made).await.json();
    server.exchanged("agent", text(&key["key"]), "").await;
    let trees = items(&api.get(TREE).await);
    let mut roots: Vec<_> =
        trees.iter().map(|one| (text(&one["kind"]), text(&one["id"]))).collect();
    roots.sort_unstable();
    assert_eq!(roots, [("api_key", text(&key["id"])), ("client", "billing")]);
    assert!(trees.iter().all(|one| only(one)["client_id"] == "agent"), "{trees:?}");
    server.stop().await;
}

#[tokio::test]
async fn what_has_ended_is_in_no_tree_from_then_on() {
    let server = agents().await;
    let api = Api::of(&server, RITA, "clients:read clients:write").await;
    // The link is ended.
    let Chain { below, last, .. } = chain(&server).await;
    let trees = items(&api.get(TREE).await);
    let link = only(only(&trees[0]));
    let path = format!("/api/organizations/acme/clients/agent/delegations/{}", text(&link["id"]));
    let ended = api.call(Method::DELETE, &path, None, &[]).await;
    assert_eq!(ended.status, 204, "{ended:?}");
    assert!(items(&api.get(TREE).await).is_empty());
    let of_second = "/api/organizations/acme/clients/second/tree";
    assert!(items(&api.get(of_second).await).is_empty());
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    // The root's token alone is revoked.
    let Chain { tokens, .. } = chain(&server).await;
    let root = [("token", text(&tokens["access_token"]))];
    server.post_as("web", "/connect/revoke", &root).await;
    assert!(items(&api.get(TREE).await).is_empty());
    // The consent of the person is withdrawn.
    let Chain { session, .. } = chain(&server).await;
    assert_eq!(items(&api.get(TREE).await).len(), 1);
    let connected = items(&get_in(&server, &session, "/me/consents").await);
    let agent = connected.iter().find(|one| one["client"]["client_id"] == "agent").unwrap();
    let path = format!("/me/consents/{}", text(&agent["id"]));
    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    assert!(items(&api.get(TREE).await).is_empty());
    // Its time is over.
    chain(&server).await;
    server.clock.advance(std::time::Duration::from_secs(301));
    let api = Api::of(&server, RITA, "clients:read").await;
    assert!(items(&api.get(TREE).await).is_empty());
    server.stop().await;
}

#[tokio::test]
async fn another_organization_sees_nothing_of_a_tree_and_nothing_of_what_was_done() {
    let server = agents().await;
    chain(&server).await;
    let otto = Api::of(&server, "otto@other.test", "clients:read clients:write audit:read").await;
    for path in [TREE, ACTIVITY] {
        otto.get(path).await.problem(403, "other_organization");
        let own = path.replace("acme", "other");
        assert!(items(&otto.get(&own).await).is_empty(), "{own}");
    }
    // One that it is not about is ended by no other organization.
    let rita = Api::of(&server, RITA, "clients:read").await;
    let trees = items(&rita.get(TREE).await);
    let link = text(&only(only(&trees[0]))["id"]).to_owned();
    let path = format!("/api/organizations/other/clients/agent/delegations/{link}");
    otto.call(Method::DELETE, &path, None, &[]).await.problem(404, "not_found");
    assert_eq!(items(&rita.get(TREE).await), trees);
    server.stop().await;
}

#[tokio::test]
async fn what_an_agent_did_is_told_the_newest_first_and_page_by_page() {
    let server = agents().await;
    let token = token_of(&server, ANA, "invoices:read").await;
    for _ in 0..3 {
        server.clock.advance(std::time::Duration::from_secs(1));
        server.exchanged("agent", &token, "").await;
    }
    server.exchanged("second", &token, "").await;
    let api = Api::of(&server, RITA, "audit:read").await;
    let all = items(&api.get(ACTIVITY).await);
    assert_eq!(all.len(), 3, "{all:?}");
    assert!(all.iter().all(|one| one["event"] == "token.exchanged"), "{all:?}");
    assert!(all.iter().all(|one| one["detail"]["act"] == "agent"), "{all:?}");
    assert!(text(&all[0]["at"]) > text(&all[2]["at"]));
    let first = api.get(&format!("{ACTIVITY}?limit=2")).await;
    assert_eq!(items(&first), all[..2]);
    let cursor = text(&first.json()["next_cursor"]).to_owned();
    let rest = items(&api.get(&format!("{ACTIVITY}?limit=2&cursor={cursor}")).await);
    assert_eq!(rest, all[2..]);
    // A cursor of one client is none of another's.
    let other = format!("/api/organizations/acme/clients/second/activity?cursor={cursor}");
    api.get(&other).await.problem(400, "invalid_request");
    for bad in ["limit=0", "cursor=x", "client=agent", "since=yesterday"] {
        api.get(&format!("{ACTIVITY}?{bad}")).await.problem(400, "invalid_request");
    }
    assert!(items(&api.get(&format!("{ACTIVITY}?event=token.issued")).await).is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_person_sees_their_own_tree_and_ends_a_link_with_all_below() {
    let server = agents().await;
    let Chain { session, tokens, below, last } = chain(&server).await;
    let tree = items(&get_in(&server, &session, "/me/delegations").await);
    let [begun] = &tree[..] else { panic!("{tree:?}") };
    assert_eq!(begun["kind"], "session");
    let grant = only(begun);
    let link = only(grant);
    assert_eq!((&grant["client_id"], &link["client_id"]), (&json!("web"), &json!("agent")));
    assert_eq!(grant["client_name"], "Web");
    let path = format!("/me/delegations/{}", text(&link["id"]));
    // It is of no other person, and what is no id is none.
    let bruno = server.sign_in("bruno@acme.test").await;
    assert!(items(&get_in(&server, &bruno, "/me/delegations").await).is_empty());
    delete_in(&server, &bruno, &path).await.problem(404, "not_found");
    for unknown in ["AAAA", "%00", "a.b", &"A".repeat(3_000), text(&begun["id"])] {
        let path = format!("/me/delegations/{unknown}");
        delete_in(&server, &session, &path).await.problem(404, "not_found");
    }
    get_in(&server, "nothing", "/me/delegations").await.problem(401, "session_required");
    delete_in(&server, "nothing", &path).await.problem(401, "session_required");
    assert!(server.is_active(&last).await);
    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    assert!(!server.is_active(&below).await && !server.is_active(&last).await);
    assert!(server.is_active(text(&tokens["access_token"])).await, "what is above goes on");
    let tree = items(&get_in(&server, &session, "/me/delegations").await);
    assert_eq!(only(&tree[0])["holds"], json!([]));
    delete_in(&server, &session, &path).await.problem(404, "not_found");
    // The grant itself is ended in the same way.
    let path = format!("/me/delegations/{}", text(&only(&tree[0])["id"]));
    assert_eq!(delete_in(&server, &session, &path).await.status, 204);
    assert!(!server.is_active(text(&tokens["access_token"])).await);
    let refresh = text(&tokens["refresh_token"]);
    server.refresh("web", refresh).await.refused(400, "invalid_grant");
    server.stop().await;
}

#[tokio::test]
async fn the_pages_show_the_tree_and_end_a_link_in_both_languages() {
    let server = open().await;
    server.apply(DIRECTORY).await;
    server.apply(AGENTS).await;
    for language in LANGUAGES {
        let Chain { session, below, last, tokens } = chain(&server).await;
        let at = "/organization?organization=acme&section=clients&id=agent";
        let mut rita = Visitor::signed_in(&server, language, RITA, ("/organization", at)).await;
        rita.go(at).await;
        assert_eq!(rita.answer.status, 200);
        let title = rita.in_words("What applications hold now", "O que as aplicações têm agora");
        assert!(rita.says(title), "{}", rita.html());
        assert!(rita.says("second → agent"), "{}", rita.html());
        assert!(rita.says("token.exchanged"), "what it did: {}", rita.html());
        // The last link, which another agent holds.
        let forms = rita.forms();
        let held = |form: &&crate::page_forms::PageForm| form.field("holder") == Some("second");
        let form = forms.iter().find(held).unwrap_or_else(|| panic!("{}", rita.html())).clone();
        let fields: Vec<(&str, &str)> =
            form.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        rita.submit("/organization", &fields).await;
        rita.follow().await;
        assert!(rita.says(rita.in_words("Done.", "Feito.")), "{}", rita.html());
        assert!(!rita.says("second → agent"), "{}", rita.html());
        assert!(server.is_active(&below).await && !server.is_active(&last).await);
        // The person ends the other.
        let page = "/account/applications";
        let mut ana = Visitor::signed_in(&server, language, ANA, ("/account", page)).await;
        ana.go(page).await;
        assert!(ana.says(title), "{}", ana.html());
        let tree = items(&get_in(&server, &session, "/me/delegations").await);
        let link = held_by(&tree, "agent").unwrap();
        let of_link = |form: &&crate::page_forms::PageForm| {
            form.field("step") == Some("end_delegation") && form.field("id") == Some(&*link)
        };
        let forms = ana.forms();
        let form = forms.iter().find(of_link).unwrap_or_else(|| panic!("{}", ana.html())).clone();
        let fields: Vec<(&str, &str)> =
            form.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        ana.submit(&form.action, &fields).await;
        ana.follow().await;
        assert_eq!(ana.answer.status, 200);
        assert!(ana.says(ana.in_words("Done.", "Feito.")), "{}", ana.html());
        assert!(!server.is_active(&below).await);
        assert!(server.is_active(text(&tokens["access_token"])).await);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_member_without_the_permission_sees_no_tree_and_ends_no_link_on_the_page() {
    let server = open().await;
    server.apply(DIRECTORY).await;
    server.apply(AGENTS).await;
    let Chain { below, .. } = chain(&server).await;
    let api = Api::of(&server, RITA, "clients:read").await;
    let trees = items(&api.get(TREE).await);
    let link = text(&only(only(&trees[0]))["id"]).to_owned();
    let at = "/organization?organization=acme&section=clients&id=agent";
    let mut bruno = Visitor::signed_in(
        &server,
        "en",
        "bruno@acme.test",
        ("/organization", "/organization?organization=acme"),
    )
    .await;
    bruno.go(at).await;
    assert!(bruno.says("You do not hold the permission for this."), "{}", bruno.html());
    let fields = [
        ("organization", "acme"),
        ("section", "clients"),
        ("step", "endDelegation"),
        ("id", "agent"),
        ("holder", "agent"),
        ("delegation", &*link),
    ];
    bruno.submit("/organization", &fields).await;
    assert!(server.is_active(&below).await);
    server.stop().await;
}
