//! What directories send (RFC 7644).

use super::{Outcome, text, two};
use crate::domain::{
    scim::{
        bulk::Bulk,
        error::ScimError,
        filter::Filter,
        group::{Group, GroupChange},
        patch::Patch,
        query::Query,
        resource::{Meta, User},
        schema::{GROUP, USER},
    },
    strict_json,
};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

const MOST_MEMBERS: usize = 1_000;

static SOMEONE: LazyLock<User> = LazyLock::new(|| {
    let body = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": "ana@acme.example", "externalId": "7", "active": true,
        "name": { "givenName": "Ana", "familyName": "Sousa" },
        "emails": [{ "value": "ana@acme.example", "type": "work", "primary": true },
                   { "value": "ana@home.example", "type": "home" }],
    });
    let body: Map<String, Value> = serde_json::from_value(body).expect("an object");
    User::read(&body).expect("a User")
});

fn shown(user: &User) -> Map<String, Value> {
    let meta = Meta {
        created: "2026-01-01T00:00:00Z",
        last_modified: "2026-01-01T00:00:00Z",
        location: "https://id.example.com/scim/v2/acme/Users/1",
        version: "W/\"1\"",
    };
    user.show("1", &meta)
}

fn kind(error: &ScimError) -> (u16, Option<&'static str>) {
    (error.status, error.scim_type)
}

/// A filter, and a query with it.
pub(super) fn filter(bytes: &[u8]) -> Outcome {
    let Some(filter) = text(bytes) else { return Outcome::NO_TEXT };
    let user = Filter::parse(filter, &USER).map(|filter| filter.matches(&shown(&SOMEONE)));
    let group = Filter::parse(filter, &GROUP).map(|filter| filter.matches(&Map::new()));
    let pairs = [("filter", filter), ("sortBy", filter), ("attributes", filter), ("count", filter)];
    let query = Query::from_pairs(&pairs, &USER).map(|_| ());
    Outcome::of(&user.map_err(|why| kind(&why))).and(Outcome::of(&(group.is_ok(), query.is_ok())))
}

/// A patch of a User and of a Group: all of it is applied, or nothing.
pub(super) fn patch(bytes: &[u8]) -> Outcome {
    let Ok(body) = strict_json::object(bytes) else { return Outcome::NO_TEXT };
    let patch = Patch::read(&body, &USER);
    let applied = patch.as_ref().map(|patch| {
        let mut user = SOMEONE.clone();
        let applied = patch.apply(&mut user);
        assert!(applied.is_ok() || user == *SOMEONE, "a patch that fails changes nothing");
        assert!(!user.user_name().is_empty(), "a User has a name");
        let mut again = user.clone();
        again.set_active(user.is_active());
        assert_eq!(again.is_active(), user.is_active());
        shown(&user);
        applied.map_err(|why| kind(&why))
    });
    let group = GroupChange::read(&body, MOST_MEMBERS).map(|changes| changes.len());
    Outcome::of(&applied.map_err(|why| why.status))
        .and(Outcome::of(&group.map_err(|why| kind(&why))))
}

/// The body of any other request, by the number in its first line.
pub(super) fn body(bytes: &[u8]) -> Outcome {
    let (kind_of_body, body) = two(bytes);
    let Ok(body) = strict_json::object(body) else { return Outcome::NO_TEXT };
    let read = match kind_of_body {
        b"group" => Group::read(&body, MOST_MEMBERS).map(|group| group.members.len()),
        b"bulk" => Bulk::read(&body).map(|mut bulk| {
            let mut taken = 0;
            while bulk.take_next().is_some() {
                taken += 1;
            }
            taken
        }),
        b"search" => Query::from_body(&body, &USER).map(|_| 0),
        _ => User::read(&body).map(|user| {
            let document = shown(&user);
            let again = User::read(&document).expect("what is shown can be sent");
            assert_eq!(again.attributes(), user.attributes());
            user.address().map_or(0, str::len)
        }),
    };
    Outcome::of(&read.map_err(|why| kind(&why)))
}
