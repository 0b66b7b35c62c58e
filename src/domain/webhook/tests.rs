use super::{
    feed::{Advance, Feed},
    *,
};
use crate::domain::trail::{Entry, EntryParts};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn home(enabled: bool) -> organization::Known {
    let mut organization = organization::Organization::default();
    let draft = organization::Draft {
        slug: "acme".to_owned(),
        enabled: Some(enabled),
        ..organization::Draft::default()
    };
    let decided = organization.decide(&organization::Command::Provision(draft), NOW);
    for event in &decided.events {
        organization.apply(event);
    }
    organization.known().unwrap().clone()
}

fn create(url: &str, events: &[&str]) -> Order {
    Order::Create(Create {
        id: "w".to_owned(),
        place: 3,
        url: url.to_owned(),
        events: events.iter().map(|&event| event.to_owned()).collect(),
        secret: SealedSecret::new(*b"first"),
    })
}

fn decide(webhook: &mut Webhook, command: &Command, now: Timestamp) -> Decision<Webhook> {
    let decision = webhook.decide(command, now);
    for event in &decision.events {
        webhook.apply(event);
    }
    decision
}

fn ask(webhook: &mut Webhook, order: Order) -> Result<Reply, Refusal> {
    decide(webhook, &Command::order(order, &home(true)), NOW).outcome
}

fn made(events: &[&str]) -> Webhook {
    let mut webhook = Webhook::default();
    let made = ask(&mut webhook, create("https://hooks.example.com/in", events));
    assert_eq!(made, Ok(Reply::Done));
    webhook
}

fn records(decision: &Decision<Webhook>) -> Vec<&'static str> {
    decision.effects.records.iter().map(|record| record.event).collect()
}

#[test]
fn a_url_or_a_filter_that_cannot_stand_is_refused() {
    let refused =
        |url: &str, events: &[&str]| ask(&mut Webhook::default(), create(url, events)).unwrap_err();
    for url in [
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "https://user:pw@hooks.example.com/",
        "https://hooks.example.com/#part",
        "hooks.example.com",
        "",
    ] {
        assert!(matches!(refused(url, &[]), Refusal::Url(_)), "{url}");
    }
    let long = format!("https://hooks.example.com/{}", "a".repeat(LONGEST_URL));
    assert_eq!(refused(&long, &[]), Refusal::LongUrl);
    for filter in ["", "*", "a", ".", "a.", ".b", "A.b", "a.b.c", "a.b*", "a*.b", "a b.c", "a.**"] {
        let refused = refused("https://hooks.example.com/", &["account.*", filter]);
        assert_eq!(refused, Refusal::Event { place: 1 }, "{filter}");
    }
    let many = vec!["account.created"; MOST_EVENTS + 1];
    assert_eq!(refused("https://hooks.example.com/", &many), Refusal::ManyEvents);
}

#[test]
fn an_endpoint_is_sent_what_its_own_organization_did_since_it_was_enabled() {
    let webhook = made(&["account.*", "client.created"]);
    let endpoint = webhook.known().unwrap();
    assert!(endpoint.wants("acme", "account.suspended", NOW));
    assert!(endpoint.wants("acme", "client.created", NOW));
    assert!(!endpoint.wants("acme", "client.changed", NOW));
    assert!(!endpoint.wants("acme", "accounts.changed", NOW), "another noun");
    assert!(!endpoint.wants("other", "account.suspended", NOW));
    assert!(!endpoint.wants("acme", "account.suspended", NOW - Duration::from_millis(1)));
    let all = made(&[]);
    assert!(all.known().unwrap().wants("acme", "anything.done", NOW));
}

#[test]
fn a_suspended_organization_changes_nothing_and_another_one_finds_nothing() {
    let mut webhook = made(&[]);
    let orders = || {
        [
            Order::Change(Change { enabled: Some(false), ..Change::default() }),
            Order::Rotate { secret: SealedSecret::new(*b"next"), overlap: Duration::ZERO },
            Order::Test { message: "m".to_owned() },
            Order::Delete,
        ]
    };
    for order in orders() {
        let refused = decide(&mut webhook, &Command::order(order, &home(false)), NOW);
        assert_eq!(refused.outcome, Err(Refusal::Suspended));
    }
    let other = organization::Known { slug: "other".to_owned(), ..home(true) };
    for order in orders() {
        let refused = decide(&mut webhook, &Command::order(order, &other), NOW);
        assert_eq!(refused.outcome, Err(Refusal::NotKnown));
    }
    let new = create("https://hooks.example.com/", &[]);
    let refused = Webhook::default().decide(&Command::order(new, &home(false)), NOW);
    assert_eq!(refused.outcome, Err(Refusal::Suspended));
    assert_eq!(webhook, made(&[]));
}

#[test]
fn after_a_rotation_both_secrets_sign_until_the_overlap_is_over() {
    let mut webhook = made(&[]);
    let rotate = |overlap| Order::Rotate { secret: SealedSecret::new(*b"second"), overlap };
    let long = LONGEST_OVERLAP + Duration::from_secs(1);
    assert_eq!(ask(&mut webhook, rotate(long)), Err(Refusal::Overlap));
    ask(&mut webhook, rotate(Duration::from_mins(1))).unwrap();
    let sign = |webhook: &Webhook, now| -> Vec<Vec<u8>> {
        let secrets = webhook.secrets().unwrap();
        secrets.that_sign(now).map(|one| one.expose().to_vec()).collect()
    };
    assert_eq!(sign(&webhook, NOW), [b"second".to_vec(), b"first".to_vec()]);
    assert_eq!(sign(&webhook, NOW + Duration::from_mins(1)), [b"second".to_vec()]);
    ask(&mut webhook, rotate(Duration::ZERO)).unwrap();
    assert_eq!(sign(&webhook, NOW), [b"second".to_vec()], "a leaked secret can end at once");
}

#[test]
fn an_endpoint_that_fails_for_days_is_disabled_and_one_success_counts_anew() {
    let mut webhook = made(&[]);
    let fail = |webhook: &mut Webhook, hours: u64| {
        let decision = decide(webhook, &Command::Failed, NOW + Duration::from_hours(hours));
        (decision.outcome.unwrap(), decision.events.len(), decision.effects.records.len())
    };
    let since = |hours| Reply::Failing(Some(NOW + Duration::from_hours(hours)));
    assert_eq!(fail(&mut webhook, 0), (since(0), 1, 0));
    assert_eq!(fail(&mut webhook, 71), (since(0), 0, 0), "known already: nothing is written");
    decide(&mut webhook, &Command::Delivered, NOW);
    assert_eq!(webhook.known().unwrap().failing_since, None);
    assert_eq!(fail(&mut webhook, 72), (since(72), 1, 0));
    let late = NOW + Duration::from_hours(72) + MOST_FAILING;
    let last = decide(&mut webhook, &Command::Failed, late);
    assert_eq!(records(&last), ["webhook.disabled"]);
    let endpoint = webhook.known().unwrap();
    assert_eq!(
        (endpoint.enabled, endpoint.disabled_because),
        (false, Some(DisabledBecause::Failing))
    );
    assert!(webhook.enabled().is_none() && webhook.listings().len() == 1);
    assert!(records(&decide(&mut webhook, &Command::Failed, late)).is_empty(), "once");
    assert_eq!(ask(&mut webhook, Order::Test { message: "m".to_owned() }), Err(Refusal::Disabled));
    let enable = Order::Change(Change { enabled: Some(true), ..Change::default() });
    let again = decide(&mut webhook, &Command::order(enable, &home(true)), late);
    assert_eq!(records(&again), ["webhook.changed"]);
    let endpoint = webhook.known().unwrap();
    assert_eq!(
        (endpoint.since, endpoint.failing_since, endpoint.disabled_because),
        (late, None, None)
    );
    let gone = decide(&mut webhook, &Command::RefusedForGood, late);
    assert_eq!(records(&gone), ["webhook.disabled"]);
}

#[test]
fn a_test_leaves_one_message_for_this_endpoint_and_a_deleted_one_keeps_nothing() {
    let mut webhook = made(&["client.created"]);
    let test = Order::Test { message: "m".to_owned() };
    let tested = decide(&mut webhook, &Command::order(test, &home(true)), NOW);
    let [dispatch] = &*tested.effects.dispatches else { panic!("one message") };
    let delivery = Delivery::read(&dispatch.payload).unwrap();
    assert_eq!((&*delivery.webhook, &*delivery.id), ("w", "m"));
    assert!(delivery.body.contains("\"type\":\"webhook.test\""), "{}", delivery.body);
    assert_eq!(webhook.names(), [Name::new(WEBHOOK_PLACES, "acme 3")]);
    ask(&mut webhook, Order::Delete).unwrap();
    assert_eq!(webhook, Webhook::Deleted { at: NOW });
    assert!(webhook.names().is_empty() && webhook.listings().is_empty());
    assert_eq!(ask(&mut webhook, Order::Delete), Err(Refusal::NotKnown));
    assert!(webhook.forget_at().is_some());
}

#[test]
fn what_is_stored_is_read_back_and_debug_tells_no_secret() {
    let webhook = made(&["account.*"]);
    let text = serde_json::to_string(&webhook).unwrap();
    assert_eq!(serde_json::from_str::<Webhook>(&text).unwrap(), webhook);
    assert!(!format!("{webhook:?}").contains("first"));
}

fn delivery() -> Delivery {
    let entry = Entry::of(&EntryParts {
        lane: "node-1",
        seq: 7,
        at: NOW,
        event: "client.created",
        kind: "client",
        id: "app",
        detail: "{\"a\":1}",
    });
    Delivery::of_entry(made(&[]).known().unwrap(), &entry)
}

#[test]
fn a_message_has_the_form_of_the_standard_and_an_id_without_a_full_stop() {
    let delivery = delivery();
    assert_eq!(delivery.id, "node-1_7");
    let body: serde_json::Value = serde_json::from_str(&delivery.body).unwrap();
    assert_eq!(
        body,
        serde_json::json!({
            "type": "client.created",
            "timestamp": "2027-01-15T08:00:00Z",
            "data": {
                "id": "node-1.7",
                "at": "2027-01-15T08:00:00Z",
                "event": "client.created",
                "subject": { "kind": "client", "id": "app" },
                "detail": { "a": 1 },
            },
        })
    );
}

#[test]
fn of_two_readers_of_the_same_rows_one_moves_the_cursor() {
    let mut feed = Feed::default();
    let advance = |from, to| {
        feed::Command::Advance(Advance {
            lane: "a".to_owned(),
            from,
            to,
            deliveries: vec![delivery()],
        })
    };
    assert_eq!(feed.decide(&advance(0, 5), NOW).outcome, Err(feed::Elsewhere), "it rests");
    let begin = feed::Command::Begin([("a".to_owned(), 4)].into());
    for event in &feed.decide(&begin, NOW).events {
        feed.apply(event);
    }
    assert_eq!((feed.place("a"), feed.place("new")), (Some(4), Some(0)));
    assert!(feed.decide(&begin, NOW).events.is_empty());
    let first = feed.decide(&advance(4, 9), NOW);
    assert_eq!((first.effects.dispatches.len(), first.effects.records.len()), (1, 0));
    for event in &first.events {
        feed.apply(event);
    }
    let second = feed.decide(&advance(4, 9), NOW);
    assert_eq!(second.outcome, Err(feed::Elsewhere));
    assert!(second.effects.dispatches.is_empty());
    for event in &feed.decide(&feed::Command::Rest, NOW).events {
        feed.apply(event);
    }
    assert_eq!(feed, Feed::Resting);
}
