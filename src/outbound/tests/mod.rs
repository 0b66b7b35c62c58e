//! The client against peers that behave badly, each on a loopback port of its own.

mod addresses;
mod answers;
mod limits;
mod peer;
mod tls;

use super::{Addresses, OutboundClient, Policy, Request, Resolver};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use url::Url;

/// Longer than any peer here needs, so that only a peer that stalls runs into it.
const PATIENT: Duration = Duration::from_secs(20);
const HASTY: Duration = Duration::from_millis(250);

/// Gives the first set of addresses on the first question, the second on the second; then the
/// last one for ever.
struct Script {
    answers: Vec<Vec<IpAddr>>,
    questions: AtomicUsize,
}

impl Script {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |set: &&[&str]| set.iter().map(|text| text.parse().unwrap()).collect();
        Arc::new(Self {
            answers: answers.iter().map(parse).collect(),
            questions: AtomicUsize::new(0),
        })
    }

    fn questions(&self) -> usize {
        self.questions.load(Ordering::SeqCst)
    }
}

impl Resolver for Script {
    fn addresses_of<'a>(&'a self, _host: &'a str) -> Addresses<'a> {
        let question = self.questions.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers[question.min(self.answers.len() - 1)].clone();
        Box::pin(async move { Ok(answer) })
    }
}

fn loopback() -> Policy {
    Policy { allow_private_networks: true, time_limit: PATIENT, ..Policy::default() }
}

/// A client that may call loopback and resolves every name to it.
fn client(policy: Policy) -> OutboundClient {
    OutboundClient::new(policy, Script::of(&[&["127.0.0.1"]])).unwrap()
}

fn plain(url: &str) -> Request {
    Request::get(Url::parse(url).unwrap()).allow_plain_http()
}
