use super::*;
use crate::domain::scim::any_json::any_json;
use proptest::prelude::*;

const BASE: &str = "https://id.example/scim/v2/acme";

fn read(body: Value) -> Result<Bulk, ScimError> {
    let Value::Object(mut body) = body else { panic!("no object") };
    body.entry("schemas").or_insert_with(|| json!([BULK_REQUEST]));
    Bulk::read(&body)
}

fn post(bulk_id: &str, data: &Value) -> Value {
    json!({ "method": "POST", "path": "/Users", "bulkId": bulk_id, "data": data })
}

/// Does each operation with success; the identifier of a new resource is its bulkId in capitals.
fn run(bulk: &mut Bulk) -> Vec<BulkOperation> {
    let mut done = Vec::new();
    while let Some(operation) = bulk.take_next() {
        let bulk_id = bulk.entries[operation.place].bulk_id.clone();
        let id = operation.id.clone().or_else(|| bulk_id.map(|id| id.to_uppercase()));
        let location = id.as_ref().map(|id| format!("https://id.example/{id}"));
        let status = if operation.method == Method::Post { 201 } else { 200 };
        bulk.report(operation.place, BulkResult { status, id, location, ..BulkResult::default() });
        done.push(operation);
    }
    done
}

fn statuses(bulk: &Bulk) -> Vec<String> {
    let response = bulk.response(BASE);
    let all = response["Operations"].as_array().unwrap();
    all.iter().map(|one| one["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn operations_are_given_out_and_answered_as_the_rfc_writes_it() {
    let mut bulk = read(json!({ "failOnErrors": 1, "Operations": [
        post("qwerty", &json!({ "userName": "Alice" })),
        { "method": "put", "path": "/Users/b7", "bulkId": "p", "version": "W/\"4\"", "data": { "userName": "Bob" } },
        { "method": "PATCH", "path": "/Groups/g1", "data": { "Operations": [] } },
        { "method": "DELETE", "path": "/Users/e9", "data": { "ignored": 1 } },
    ] }))
    .unwrap();
    let done = run(&mut bulk);
    assert_eq!(done.len(), 4);
    assert_eq!(done[1].version.as_deref(), Some("W/\"4\""));
    assert_eq!((done[2].endpoint, done[2].id.as_deref()), (Endpoint::Groups, Some("g1")));
    assert_eq!((done[3].method, &done[3].data), (Method::Delete, &None));
    let expected = json!({
        "schemas": [BULK_RESPONSE],
        "Operations": [
            { "method": "POST", "bulkId": "qwerty", "status": "201", "location": "https://id.example/QWERTY" },
            { "method": "PUT", "bulkId": "p", "status": "200", "location": "https://id.example/b7" },
            { "method": "PATCH", "status": "200", "location": "https://id.example/g1" },
            { "method": "DELETE", "status": "200", "location": "https://id.example/e9" },
        ],
    });
    assert_eq!(bulk.response(BASE), expected);
}

#[test]
fn what_is_referred_to_is_done_first() {
    let mut bulk = read(json!({ "Operations": [
        { "method": "POST", "path": "/Groups", "bulkId": "group",
            "data": { "displayName": "Ops", "members": [{ "value": "bulkId:alice" }, { "value": "x" }] } },
        { "method": "PATCH", "path": "/Users/bulkId:bob", "data": { "deep": [{ "a": ["bulkId:group"] }] } },
        post("alice", &json!({ "userName": "alice" })),
        post("bob", &json!({ "manager": "bulkId:alice" })),
    ] }))
    .unwrap();
    let done = run(&mut bulk);
    let places: Vec<usize> = done.iter().map(|operation| operation.place).collect();
    assert_eq!(places, [2, 0, 3, 1]);
    let members = &done[1].data.as_ref().unwrap()["members"];
    assert_eq!(members, &json!([{ "value": "ALICE" }, { "value": "x" }]));
    assert_eq!(done[3].id.as_deref(), Some("BOB"));
    assert_eq!(done[3].data.as_ref().unwrap()["deep"], json!([{ "a": ["GROUP"] }]));
    assert_eq!(
        statuses(&bulk),
        ["201", "200", "201", "201"],
        "answers keep the order of the request"
    );
}

#[test]
fn operations_in_a_circle_fail_and_others_do_not() {
    let mut bulk = read(json!({ "Operations": [
        post("a", &json!({ "x": "bulkId:b" })),
        post("b", &json!({ "x": "bulkId:a" })),
        post("self", &json!({ "x": "bulkId:self" })),
        post("c", &json!({ "x": "bulkId:a" })),
        post("d", &json!({})),
    ] }))
    .unwrap();
    assert_eq!(run(&mut bulk).len(), 1);
    assert_eq!(statuses(&bulk), ["409", "409", "409", "409", "201"]);
}

#[test]
fn what_refers_to_nothing_or_to_a_failure_fails() {
    let mut bulk = read(json!({ "Operations": [
        post("a", &json!({})),
        post("b", &json!({ "x": "bulkId:a" })),
        post("c", &json!({ "x": "bulkId:nowhere" })),
    ] }))
    .unwrap();
    let first = bulk.take_next().unwrap();
    bulk.report(first.place, BulkResult::failure(&ScimError::uniqueness("taken")));
    assert_eq!(bulk.take_next(), None);
    assert_eq!(statuses(&bulk), ["409", "409", "400"]);
    let response = bulk.response(BASE);
    assert_eq!(response["Operations"][0]["response"]["scimType"], "uniqueness");
    assert_eq!(response["Operations"][0].get("location"), None);
}

#[test]
fn every_part_but_a_failed_post_says_where_its_resource_is() {
    let mut bulk = read(json!({ "Operations": [
        post("a", &json!({})),
        { "method": "PATCH", "path": "/Groups/g1", "data": {} },
        { "method": "DELETE", "path": "Users/e9" },
        { "method": "PUT", "path": "/Users/p1", "data": {} },
        { "method": "PUT", "path": "/Users/p2" },
        { "method": "DELETE", "path": "/Users/bulkId:a" },
        { "method": "DELETE", "path": "/Users/bulkId:nowhere" },
        post("b", &json!({})),
        { "method": "DELETE", "path": "/Groups/bulkId:b" },
    ] }))
    .unwrap();
    while let Some(operation) = bulk.take_next() {
        let failed = BulkResult::failure(&ScimError::invalid_value("no"));
        let gone = BulkResult { status: 204, ..BulkResult::default() };
        let result = match (operation.method, operation.place) {
            (Method::Post, 0) => BulkResult {
                status: 201,
                id: Some("A".to_owned()),
                location: Some(format!("{BASE}/Users/A")),
                ..BulkResult::default()
            },
            (Method::Post | Method::Put, _) => failed,
            _ => gone,
        };
        bulk.report(operation.place, result);
    }
    let response = bulk.response(BASE);
    let parts = response["Operations"].as_array().unwrap().iter();
    let told: Vec<(&str, Option<&str>)> = parts
        .map(|one| (one["status"].as_str().unwrap(), one["location"].as_str()))
        .map(|(status, location)| (status, location.map(|text| text.strip_prefix(BASE).unwrap())))
        .collect();
    let expected = [
        ("201", Some("/Users/A")),
        ("204", Some("/Groups/g1")),
        ("204", Some("/Users/e9")),
        ("400", Some("/Users/p1")),
        ("400", Some("/Users/p2")),
        ("204", Some("/Users/A")),
        ("400", None),
        ("400", None),
        ("409", None),
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_is_refused_is_told_once_with_what_it_was_to_do() {
    let mut bulk = read(json!({ "Operations": [
        { "method": "PUT", "path": "/Users/1" },
        post("a", &json!({})),
        { "method": "DELETE", "path": "/Users/1" },
        5,
    ] }))
    .unwrap();
    let first = bulk.take_next().unwrap();
    let told = |bulk: &mut Bulk| {
        let refusals = bulk.take_refusals();
        refusals.iter().map(|one| (one.operation, one.error.status)).collect::<Vec<_>>()
    };
    assert_eq!(told(&mut bulk), [(Some((Method::Put, Endpoint::Users)), 400)]);
    bulk.report(first.place, BulkResult::failure(&ScimError::uniqueness("taken")));
    assert_eq!(told(&mut bulk), [(Some((Method::Post, Endpoint::Users)), 409)]);
    let second = bulk.take_next().unwrap();
    bulk.report(second.place, BulkResult { status: 204, ..BulkResult::default() });
    assert_eq!(bulk.take_next(), None);
    assert_eq!(told(&mut bulk), [(None, 400)]);
    assert!(told(&mut bulk).is_empty());
}

#[test]
fn after_too_many_failures_nothing_follows() {
    let broken = json!({ "method": "POST", "path": "/Shoes", "bulkId": "x", "data": {} });
    let mut bulk = read(json!({ "failOnErrors": 2, "Operations": [
        broken, post("a", &json!({})), { "method": "GET" }, post("b", &json!({})),
    ] }))
    .unwrap();
    assert_eq!(run(&mut bulk).len(), 1);
    assert_eq!(statuses(&bulk), ["400", "201", "400"], "the last one was not begun");
}

#[test]
fn a_malformed_operation_fails_by_itself() {
    let malformed = [
        json!(5),
        json!({}),
        json!({ "method": "GET", "path": "/Users/1" }),
        json!({ "method": "POST", "path": "/Users", "data": {} }),
        json!({ "method": "POST", "path": "/Users/1", "bulkId": "a", "data": {} }),
        json!({ "method": "POST", "path": "/Users", "bulkId": "b", "data": [] }),
        json!({ "method": "POST", "path": "/Users", "bulkId": "", "data": {} }),
        json!({ "method": "PUT", "path": "/Users", "data": {} }),
        json!({ "method": "PUT", "path": "/Users/1" }),
        json!({ "method": "PUT", "path": "/Users/", "data": {} }),
        json!({ "method": "PUT", "path": "/Users/1/2", "data": {} }),
        json!({ "method": "PUT", "path": "/Users/1?x", "data": {} }),
        json!({ "method": "PUT", "path": "/Users/a b", "data": {} }),
        json!({ "method": "PUT", "path": "/Users/%2e", "data": {} }),
        json!({ "method": "DELETE", "path": "/Bulk/1" }),
        json!({ "method": "DELETE", "path": 5 }),
        json!({ "method": "DELETE", "Method": "DELETE", "path": "/Users/1" }),
        json!({ "method": "DELETE", "path": "/Users/1", "version": 5 }),
    ];
    let count = malformed.len();
    let mut bulk = read(json!({ "Operations": malformed })).unwrap();
    assert_eq!(bulk.take_next(), None);
    assert_eq!(statuses(&bulk), vec!["400"; count]);
}

#[test]
fn a_malformed_request_is_refused_as_a_whole() {
    let refuse = |body: Value, status: u16| {
        let why = read(body.clone()).expect_err(&body.to_string());
        assert_eq!(why.status, status, "{body}");
    };
    refuse(json!({}), 400);
    refuse(json!({ "Operations": {} }), 400);
    refuse(json!({ "Operations": [], "schemas": [] }), 400);
    for number in [json!(0), json!(-1), json!("1"), json!(1.5)] {
        refuse(json!({ "Operations": [], "failOnErrors": number }), 400);
    }
    refuse(json!({ "Operations": [post("a", &json!({})), post("a", &json!({}))] }), 400);
    let many: Vec<Value> =
        (0..=MAX_BULK_OPERATIONS).map(|n| post(&n.to_string(), &json!({}))).collect();
    refuse(json!({ "Operations": many }), 413);
}

#[test]
fn a_long_chain_of_references_is_done_from_its_end() {
    let chain = (0..MAX_BULK_OPERATIONS)
        .map(|n| post(&n.to_string(), &json!({ "x": format!("bulkId:{}", n + 1) })));
    let mut operations: Vec<Value> = chain.collect();
    operations[MAX_BULK_OPERATIONS - 1] = post(&(MAX_BULK_OPERATIONS - 1).to_string(), &json!({}));
    let mut bulk = read(json!({ "Operations": operations })).unwrap();
    let places: Vec<usize> = run(&mut bulk).iter().map(|operation| operation.place).collect();
    assert_eq!(places, (0..MAX_BULK_OPERATIONS).rev().collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn any_request_comes_to_its_end(
        data in any_json(),
        references in prop::collection::vec((0_usize..6, 0_usize..8), 0..12),
    ) {
        let mut operations: Vec<Value> = (0..6).map(|n| post(&n.to_string(), &json!({ "refs": [] }))).collect();
        for (from, to) in references {
            let list = operations[from]["data"]["refs"].as_array_mut().unwrap();
            list.push(json!({ "value": format!("bulkId:{to}") }));
        }
        operations.push(data);
        let mut bulk = read(json!({ "Operations": operations })).unwrap();
        for operation in run(&mut bulk) {
            let shown = Value::Object(operation.data.unwrap_or_default()).to_string();
            prop_assert!(!shown.contains("bulkId:"), "{}", shown);
        }
        prop_assert_eq!(bulk.response(BASE)["Operations"].as_array().unwrap().len(), operations.len());
    }
}
