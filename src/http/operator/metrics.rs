//! Everything that is counted, in one scrape.
//!
//! Labels are kinds of machines, parts of the tree, routes, statuses, grants and reasons: lists that
//! are in the source. No traffic adds one.

use super::{Operator, exposition::Exposition};
use crate::{actors::KindReport, http::vitals::Vitals, store::views::StoreReport};

pub fn scrape(operator: &Operator) -> String {
    let mut text = Exposition::default();
    text.gauge("porteiro_build_info", "Which binary this is.")
        .sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    requests(&mut text, &operator.vitals);
    connections(&mut text, operator);
    kinds(&mut text, &operator.system.kinds());
    let mut restarts =
        text.counter("porteiro_restarts_total", "Parts of the tree that were started again.");
    for (child, count) in operator.system.restarts() {
        restarts.sample(&[("child", child)], count);
    }
    commits(&mut text, &operator.system.store_report());
    hashing(&mut text, operator);
    outbox(&mut text, operator);
    text.into_text()
}

fn requests(text: &mut Exposition, vitals: &Vitals) {
    let routes: Vec<_> = vitals.routes().collect();
    let mut answered =
        text.counter("porteiro_http_requests_total", "Requests answered, by route and status.");
    for route in &routes {
        for (status, count) in &route.statuses {
            answered.sample(&[("route", route.route), ("status", status)], *count);
        }
    }
    let mut times =
        text.histogram("porteiro_http_request_seconds", "Time from head to answer, by route.");
    for route in &routes {
        times.times(&[("route", route.route)], &route.times);
    }
    let mut issued = text.counter("porteiro_tokens_issued_total", "Tokens issued, by grant.");
    for (grant, count) in vitals.tokens() {
        issued.sample(&[("grant", grant)], count);
    }
    let mut refused = text.counter("porteiro_refusals_total", "Requests refused, by reason.");
    for (reason, count) in vitals.refusals() {
        refused.sample(&[("reason", reason)], count);
    }
    let mut limited = text.counter("porteiro_limited_total", "Requests over a limit, by what for.");
    for (purpose, count) in vitals.limits() {
        limited.sample(&[("purpose", purpose)], count);
    }
    let help = "New passwords looked up among leaked ones, by what came of it.";
    let mut looked_up = text.counter("porteiro_breach_checks_total", help);
    for (outcome, count) in vitals.lookups() {
        looked_up.sample(&[("outcome", outcome)], count);
    }
}

fn connections(text: &mut Exposition, operator: &Operator) {
    let report = operator.meter.report();
    text.gauge("porteiro_connections_open", "Connections to the public listener.")
        .sample(&[], report.open);
    text.counter("porteiro_connections_accepted_total", "Connections accepted since the start.")
        .sample(&[], report.accepted);
    text.counter("porteiro_connections_closed_total", "Connections closed by us, by why.")
        .sample(&[("why", "too_many_of_address")], report.refused)
        .sample(&[("why", "idle_and_full")], report.closed_idle)
        .sample(&[("why", "answers_not_read")], report.cut_off);
    text.counter("porteiro_tls_handshakes_failed_total", "TLS handshakes that failed.")
        .sample(&[], report.handshakes_failed);
    text.gauge("porteiro_requests_under_way", "Requests whose answer has not been sent in full.")
        .sample(&[], report.requests_under_way);
    text.gauge("porteiro_requests_owed_bytes", "Memory of requests and answers under way.")
        .sample(&[], report.owed_bytes);
}

type Count = fn(&KindReport) -> u64;

fn kinds(text: &mut Exposition, kinds: &[(&'static str, KindReport)]) {
    let gauges: [(&'static str, &'static str, Count); 2] = [
        ("porteiro_entities_awake", "Live actors.", |report| report.awake),
        ("porteiro_entities_quarantined", "Entities that keep failing.", |report| {
            report.quarantined
        }),
    ];
    let counters: [(&'static str, &'static str, Count); 7] = [
        ("porteiro_asks_total", "Commands asked for.", |report| report.asks),
        ("porteiro_entities_woken_total", "Actors started.", |report| report.woken),
        ("porteiro_entities_rested_total", "Idle actors ended.", |report| report.rested),
        ("porteiro_conflicts_total", "Decisions made anew.", |report| report.conflicts),
        ("porteiro_entity_failures_total", "Actors that died in a command.", |report| {
            report.failures
        }),
        ("porteiro_unknown_outcomes_total", "Commands of unknown outcome.", |report| {
            report.unknown
        }),
        ("porteiro_asks_shed_total", "Commands turned away.", |report| report.shed),
    ];
    for (name, help, count) in gauges {
        let mut family = text.gauge(name, help);
        for (kind, report) in kinds {
            family.sample(&[("kind", kind)], count(report));
        }
    }
    for (name, help, count) in counters {
        let mut family = text.counter(name, help);
        for (kind, report) in kinds {
            family.sample(&[("kind", kind)], count(report));
        }
    }
    let mut waits =
        text.histogram("porteiro_mailbox_wait_seconds", "Time a command lay in a mailbox.");
    for (kind, report) in kinds {
        waits.times(&[("kind", kind)], &report.waits);
    }
}

fn commits(text: &mut Exposition, report: &StoreReport) {
    text.counter("porteiro_reads_total", "Queries for entities, names and lists.")
        .sample(&[], report.reads);
    text.counter("porteiro_commits_total", "Commits, by what became of them.")
        .sample(&[("outcome", "durable")], report.commits)
        .sample(&[("outcome", "refused")], report.refused)
        .sample(&[("outcome", "failed")], report.failed)
        .sample(&[("outcome", "unknown")], report.unknown);
    text.counter("porteiro_commit_groups_rewritten_total", "Transactions written again, by why.")
        .sample(&[("why", "contested")], report.contested)
        .sample(&[("why", "passing")], report.passing)
        .sample(&[("why", "failed")], report.reruns);
    text.counter("porteiro_committer_panics_total", "Panics a committer survived.")
        .sample(&[], report.panics);
    let counted = "Failed attempts against identifiers without an account; the log keeps none.";
    text.counter("porteiro_attempts_without_account_total", counted).sample(&[], report.counted);
    text.histogram("porteiro_commit_group_size", "Commits that shared a transaction.")
        .sizes(&[], &report.sizes);
    text.histogram("porteiro_commit_seconds", "Time a transaction took.").times(&[], &report.times);
}

fn hashing(text: &mut Exposition, operator: &Operator) {
    let pool = operator.system.hashing().vitals();
    text.gauge("porteiro_hashing_workers_busy", "Threads that hash a password.")
        .sample(&[], pool.busy);
    text.gauge("porteiro_hashing_permits_free", "Passwords that could be taken now.")
        .sample(&[], pool.free as u64);
    text.counter("porteiro_hashing_total", "Passwords, by what became of them.")
        .sample(&[("outcome", "done")], pool.done)
        .sample(&[("outcome", "refused")], pool.refused)
        .sample(&[("outcome", "abandoned")], pool.abandoned)
        .sample(&[("outcome", "panicked")], pool.panicked);
}

fn outbox(text: &mut Exposition, operator: &Operator) {
    let topics = operator.system.outbox();
    let now = operator.system.clock().now();
    let mut tries =
        text.counter("porteiro_outbox_total", "Tries to deliver, by what became of them.");
    for report in &topics {
        let topic = ("topic", report.topic);
        tries
            .sample(&[topic, ("outcome", "delivered")], report.delivered)
            .sample(&[topic, ("outcome", "deferred")], report.deferred)
            .sample(&[topic, ("outcome", "dropped")], report.dropped);
    }
    let mut waiting = text.gauge("porteiro_outbox_waiting", "Messages that are not delivered yet.");
    for report in &topics {
        waiting.sample(&[("topic", report.topic)], report.waiting);
    }
    let under_way = "Messages that this node is delivering.";
    let mut under_way = text.gauge("porteiro_outbox_under_way", under_way);
    for report in &topics {
        under_way.sample(&[("topic", report.topic)], report.under_way);
    }
    let late = "How long the next message has been due.";
    let mut overdue = text.gauge("porteiro_outbox_overdue_seconds", late);
    for report in &topics {
        let since = report.due.map_or(0, |due| now.since(due).as_secs());
        overdue.sample(&[("topic", report.topic)], since);
    }
}
