//! Lists that are much to look at or to show: a page ends, says so, and the list goes on; no part of one looks like the whole.

use crate::{
    person::text,
    scim_caller::{Scim, USER, id, refused},
    support::{TestOptions, TestServer},
};
use porteiro::http::{Limits, limits::scim_bounds::ScimBounds};
use serde_json::{Value, json};

const SEARCH: &str = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";

async fn opened(bounds: ScimBounds) -> (TestServer, Scim) {
    let limits = Limits { scim: bounds, ..Limits::default() };
    let options = TestOptions { limits, rates: None, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let scim = Scim::of(&server, "acme").await;
    (server, scim)
}

/// Makes Users without an address, each with a title, and returns their paths.
async fn titled(scim: &Scim, titles: impl Iterator<Item = &'static str>) -> Vec<String> {
    let mut users = Vec::new();
    for (number, title) in titles.enumerate() {
        let body =
            json!({ "schemas": [USER], "userName": format!("u{number:03}"), "title": title });
        users.push(scim.made("/Users", &body).await);
    }
    users
}

fn ids(page: &Value) -> Vec<String> {
    let resources = page["Resources"].as_array().unwrap();
    assert_eq!(page["itemsPerPage"], resources.len(), "{page}");
    resources.iter().map(|one| text(&one["id"]).to_owned()).collect()
}

/// Goes through a list by its cursors, and returns the ids of each page.
async fn by_cursor(scim: &Scim, list: &str) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = scim.get(&format!("/{list}&cursor={cursor}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let page = page.json();
        pages.push(ids(&page));
        let Some(next) = page["nextCursor"].as_str() else { return pages };
        next.clone_into(&mut cursor);
        assert!(pages.len() < 200, "it comes to an end");
    }
}

/// Goes through a list by index.
async fn by_index(scim: &Scim, list: &str) -> Vec<Vec<String>> {
    let (mut pages, mut start) = (Vec::new(), 1);
    loop {
        let page = scim.get(&format!("/{list}&startIndex={start}")).await;
        assert_eq!(page.status, 200, "{page:?}");
        let found = ids(&page.json());
        if found.is_empty() {
            assert_eq!(page.json()["totalResults"], start - 1, "nothing was passed over");
            return pages;
        }
        start += found.len();
        pages.push(found);
    }
}

fn sorted(pages: &[Vec<String>]) -> Vec<String> {
    let mut all = pages.concat();
    all.sort();
    all
}

fn ids_of(paths: &[&String]) -> Vec<String> {
    let mut ids: Vec<String> = paths.iter().map(|path| id(path).to_owned()).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn a_filter_that_looks_at_much_goes_on_by_its_cursor_and_passes_over_none() {
    let bounds = ScimBounds { looked_at: 30, looked_at_a_page: 10, ..ScimBounds::default() };
    let (server, scim) = opened(bounds).await;
    let titles = (0..40).map(|number| if number % 13 == 5 { "Rare" } else { "Clerk" });
    let users = titled(&scim, titles).await;
    let rare = ids_of(&[&users[5], &users[18], &users[31]]);
    let pages = by_cursor(&scim, "Users?filter=title+eq+%22Rare%22&count=2").await;
    assert_eq!(sorted(&pages), rare);
    // Forty-two Users, ten of them for a page: some have none of the three, and say how it goes on.
    assert!(pages.len() >= 5 && pages.iter().all(|page| page.len() <= 2), "{pages:?}");
    let clerks = by_cursor(&scim, "Users?filter=title+eq+%22Clerk%22&count=7").await;
    assert_eq!(clerks.concat().len(), 37);
    assert_eq!(by_cursor(&scim, "Users?filter=title+eq+%22None%22").await.concat().len(), 0);
    // How many there are takes a look at all of them: beyond what is looked at that is refused, and never guessed.
    for list in [
        "filter=title+eq+%22Rare%22",
        "filter=title+eq+%22Rare%22&count=1",
        "filter=title+pr&count=0",
        "filter=title+pr&count=0&cursor=",
        "sortBy=userName",
    ] {
        refused(&scim.get(&format!("/Users?{list}")).await, 400, Some("tooMany"));
    }
    let body = json!({ "schemas": [SEARCH], "filter": "title pr" });
    refused(&scim.post("/.search", &body).await, 400, Some("tooMany"));
    // Without a filter none need be looked at.
    assert_eq!(sorted(&by_cursor(&scim, "Users?count=9").await).len(), 42);
    assert_eq!(scim.get("/Users?count=0&cursor=").await.json()["totalResults"], 42);
    server.stop().await;
}

#[tokio::test]
async fn as_many_users_as_are_looked_at_are_a_list() {
    let bounds = ScimBounds { looked_at: 8, ..ScimBounds::default() };
    let (server, scim) = opened(bounds).await;
    titled(&scim, ["x"; 6].into_iter()).await;
    assert_eq!(scim.found("Users", "title eq \"X\"").await["totalResults"], 6);
    let counted = scim.get("/Users?filter=title+pr&count=0&cursor=").await.json();
    assert_eq!((&counted["totalResults"], &counted["nextCursor"]), (&json!(6), &Value::Null));
    scim.user("one.more").await;
    refused(&scim.get("/Users?filter=title+pr").await, 400, Some("tooMany"));
    server.stop().await;
}

#[tokio::test]
async fn a_cursor_is_good_for_one_list_by_one_filter() {
    let (server, scim) = opened(ScimBounds::default()).await;
    titled(&scim, ["x"; 3].into_iter()).await;
    let of = async |path: &str| text(&scim.get(path).await.json()["nextCursor"]).to_owned();
    let filtered = of("/Users?cursor&count=1&filter=title+pr").await;
    let plain = of("/Users?cursor&count=1").await;
    let groups = of("/Groups?cursor&count=1").await;
    let good = scim.get(&format!("/Users?filter=title+pr&cursor={filtered}")).await;
    assert_eq!(ids(&good.json()).len(), 2);
    let other = Scim::of(&server, "other").await;
    for (caller, path) in [
        (&scim, format!("/Users?cursor={filtered}")),
        (&scim, format!("/Users?filter=title+eq+%22x%22&cursor={filtered}")),
        (&scim, format!("/Users?filter=title+pr&cursor={plain}")),
        (&scim, format!("/Groups?cursor={plain}")),
        (&scim, format!("/Users?cursor={groups}")),
        (&other, format!("/Users?cursor={plain}")),
        (&other, format!("/Groups?cursor={groups}")),
    ] {
        refused(&caller.get(&path).await, 400, Some("invalidCursor"));
    }
    // In a sorted list a place says nothing.
    for list in ["Users", "Groups"] {
        let answer = scim.get(&format!("/{list}?cursor&sortBy=displayName")).await;
        refused(&answer, 400, Some("invalidValue"));
    }
    server.stop().await;
}

#[tokio::test]
async fn pages_of_a_sorted_list_are_the_parts_of_it() {
    let (server, scim) = opened(ScimBounds::default()).await;
    titled(&scim, ["b", "A", "c", "a", "B"].into_iter().cycle().take(23)).await;
    for order in ["ascending", "descending"] {
        let list = format!("Users?sortBy=title&sortOrder={order}&filter=title+pr");
        let whole = ids(&scim.get(&format!("/{list}")).await.json());
        let pages = by_index(&scim, &format!("{list}&count=4")).await;
        assert_eq!((pages.concat(), pages.len()), (whole, 6));
        let shown = scim.get(&format!("/{list}&attributes=title")).await.json();
        let shown = shown["Resources"].as_array().unwrap().iter();
        let mut titles: Vec<String> = shown.map(|one| text(&one["title"]).to_lowercase()).collect();
        let as_shown = titles.clone();
        titles.sort();
        if order == "descending" {
            titles.reverse();
        }
        assert_eq!(as_shown, titles);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_page_of_groups_ends_before_it_has_too_many_members() {
    let bounds = ScimBounds { shown_members: 5, ..ScimBounds::default() };
    let (server, scim) = opened(bounds).await;
    let users = titled(&scim, ["x"; 6].into_iter()).await;
    let users: Vec<&str> = users.iter().map(String::as_str).collect();
    let mut groups = vec!["/Groups/clerk".to_owned(), "/Groups/manager".to_owned()];
    for name in ["g0", "g1", "g2", "g3"] {
        groups.push(scim.group(name, &users[..3]).await);
    }
    let all = ids_of(&groups.iter().collect::<Vec<_>>());
    for pages in
        [by_index(&scim, "Groups?count=200").await, by_cursor(&scim, "Groups?count=200").await]
    {
        assert_eq!(sorted(&pages), all);
        assert!(pages.len() >= 4, "two of three members are too many for a page: {pages:?}");
    }
    let whole = by_index(&scim, "Groups?excludedAttributes=members").await;
    assert_eq!((whole.len(), sorted(&whole)), (1, all));
    // The same beside Users.
    let body = json!({ "schemas": [SEARCH], "filter": "id pr", "startIndex": 8 });
    let page = scim.post("/.search", &body).await.json();
    assert_eq!((ids(&page).len(), &page["totalResults"]), (3, &json!(8 + 6)), "{page}");

    // One that has more by itself is shown without them.
    let large = scim.group("g4", &users[..3]).await;
    let rest: Vec<Value> = users[3..].iter().map(|path| json!({ "value": id(path) })).collect();
    let add = json!([{ "op": "add", "path": "members", "value": rest }]);
    assert_eq!(scim.patch(&large, &add).await.status, 204);
    let shown = scim.get("/Groups?startIndex=5").await.json();
    assert_eq!((ids(&shown), &shown["totalResults"]), (vec!["g3".to_owned()], &json!(7)));
    refused(&scim.get("/Groups?startIndex=6").await, 400, Some("tooMany"));
    refused(&scim.get("/Groups/g4").await, 400, Some("tooMany"));
    refused(&scim.get("/Groups?filter=members.value+co+%22-%22").await, 400, Some("tooMany"));
    let without = scim.get("/Groups?startIndex=6&excludedAttributes=members").await.json();
    assert_eq!(ids(&without), ["g4", "manager"]);
    server.stop().await;
}

#[tokio::test]
async fn no_group_is_passed_over_where_another_is_deleted_between_two_pages() {
    let (server, scim) = opened(ScimBounds::default()).await;
    for name in ["a0", "a1", "a2", "a3"] {
        scim.group(name, &[]).await;
    }
    let first = scim.get("/Groups?count=2&cursor").await.json();
    assert_eq!(ids(&first), ["a0", "a1"]);
    assert_eq!(scim.delete("/Groups/a0").await.status, 204);
    assert_eq!(scim.delete("/Groups/a1").await.status, 204);
    let next = text(&first["nextCursor"]);
    let rest = scim.get(&format!("/Groups?cursor={next}")).await.json();
    assert_eq!(ids(&rest), ["a2", "a3", "clerk", "manager"]);
    assert_eq!(rest["nextCursor"], Value::Null);
    server.stop().await;
}
