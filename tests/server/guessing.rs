//! Codes that are guessed from a thousand addresses: few of the guesses are judged, and the person
//! gets in all the same.

use crate::{
    browser::Browser,
    http::Answer,
    mails::{begin, code, sent},
    outside::Outside,
    passkeys::device_of,
    person::{PASSWORD, text},
    support::{TestOptions, TestServer},
};
use porteiro::http::limits::pace::Rates;
use serde_json::{Value, json};
use std::{ops::Range, time::Duration};
use tokio::task::JoinSet;

const ANA: &str = "ana@acme.test";
/// How many flows guesses are made in: enough for a hundred that are judged.
const FLOWS: usize = 14;

fn address(number: usize) -> String {
    format!("198.{}.{}.{}", 18 + number / 65_536, number / 256 % 256, number % 256)
}

/// A flow in which a code was sent to the victim; and the code.
async fn asked(server: &TestServer, from: &str) -> (Value, String) {
    let headers = [("x-forwarded-for", from)];
    let flow = server.post_json("/flows", &json!({ "kind": "sign_in" }), &headers).await.json();
    let path = format!("/flows/{}/identifier", text(&flow["id"]));
    server.post_json(&path, &json!({ "identifier": ANA }), &headers).await;
    let right = code(&sent(server, &flow, "email_code/send").await);
    (flow, right)
}

/// Tries wrong codes in one flow at once, each from another address.
async fn guess(server: Outside, flow: &Value, right: &str, addresses: Range<usize>) -> Vec<Answer> {
    let (right, path) = (right.parse::<usize>().unwrap(), text(&flow["id"]));
    let mut racers = JoinSet::new();
    for number in addresses {
        let path = format!("/flows/{path}/email_code");
        let guess = format!("{:06}", (right + 1 + number) % 1_000_000);
        racers.spawn(async move {
            let from = address(number);
            let headers = [("x-forwarded-for", from.as_str())];
            server.post_json(&path, &json!({ "code": guess }), &headers).await
        });
    }
    racers.join_all().await
}

/// Makes so many guesses in each flow, with time between the flows, each guess from an address of its
/// own; returns how many were judged.
async fn attack(server: &TestServer, guesses: usize) -> usize {
    let mut judged = 0;
    for number in 0..3 * FLOWS {
        let first = number * guesses;
        let (flow, right) = asked(server, &address(first)).await;
        let answers = guess(**server, &flow, &right, first..first + guesses).await;
        assert!(answers.iter().all(|answer| answer.status != 200), "{answers:?}");
        let of_this = answers.iter().filter(|answer| answer.status == 401).count();
        assert!(of_this <= 10, "{of_this} were judged for one code");
        judged += of_this;
        // Under load some are told to come back later, and are not judged.
        if number + 1 >= FLOWS && (judged >= 100 || of_this == 0) {
            break;
        }
        // Time gives the guesses back that a pace allows, and never those that failed.
        server.clock.advance(Duration::from_mins(5));
    }
    judged
}

/// A server that has been attacked, as the victim finds it.
async fn attacked(rates: Option<Rates>, guesses: usize) {
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let options = TestOptions { rates, proxies, mailbox: true, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let mut device = device_of(&server, ANA).await;
    let mut known = Browser { server: &server, cookies: Vec::new() };
    assert_eq!(known.password(ANA, PASSWORD).await.json()["state"], "done");
    known.forget_session();
    server.quiet().await;

    let judged = attack(&server, guesses).await;
    assert!((1..=100).contains(&judged), "{judged} were judged for one authenticator");
    // The one who guesses does not get in by the right one either.
    let (flow, right) = asked(&server, "203.0.113.7").await;
    let refused = server.step(&flow, "email_code", json!({ "code": right })).await;
    refused.problem(429, "too_many_requests");

    // A browser in which the victim signed in before.
    let flow = known.post("/flows", &json!({ "kind": "sign_in" })).await.json();
    let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
    known.post(&path("identifier"), &json!({ "identifier": ANA })).await;
    let before = crate::mails::mails(&server).await.len();
    known.post(&path("email_code/send"), &json!({})).await;
    let mail = crate::mails::wait_for(&server, before + 1).await.swap_remove(0);
    let done = known.post(&path("email_code"), &json!({ "code": code(&mail) })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    // Another authenticator of theirs, from anywhere.
    server.sign_in_by_passkey(&mut device).await;
    let flow = begin(&server, "sign_in").await;
    let done = server.prove(&flow, ANA).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_addresses_get_no_more_guesses_than_one() {
    attacked(Some(Rates::default()), 1_000_usize.div_ceil(FLOWS)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_limits_a_code_bears_ten_guesses_and_an_authenticator_a_hundred() {
    attacked(None, 20).await;
}
