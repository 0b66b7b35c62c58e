//! Turns what machines decided into what the store commits.

use super::services::Services;
use crate::{
    crypto::draw_id_at,
    domain::{Context, Dispatch, Effects, Machine, Record, Timestamp},
    store::{Change, Commit, Delta, EntityRecord, ExpectedRow, Message},
};

/// What outbox payloads are sealed for.
pub(super) const OUTBOX_PURPOSE: &str = "outbox";

/// A commit of nothing yet, decided at `at`.
pub(super) fn nothing_yet(at: Timestamp) -> Commit {
    let (changes, requirements, records, messages) = (vec![], vec![], vec![], vec![]);
    Commit { at, changes, requirements, locks_requirements: true, records, messages }
}

/// The step of one entity from `before`, read at `version`, to `next`.
pub(super) fn step<M: Machine>(id: &str, before: &M, next: &M, version: i64) -> Change {
    Change {
        kind: M::KIND,
        id: id.to_owned(),
        expected: ExpectedRow::read(version),
        revision: M::REVISION,
        id_is_derived: M::ID_IS_DERIVED,
        state: serde_json::to_string(next).expect("a machine is plain data with text keys"),
        live_until: next.live_until(),
        forget_at: next.forget_at(),
        names: Delta::between(&before.names(), &next.names()),
        listings: Delta::between(&before.listings(), &next.listings()),
    }
}

/// Whose decision it is, and on whose behalf.
#[derive(Clone, Copy)]
pub(super) struct Author<'a> {
    pub(super) kind: &'static str,
    pub(super) id: &'a str,
    pub(super) context: &'a Context,
    pub(super) services: &'a Services,
}

/// Adds to `commit` what a decision wants beside its events; records get the context they lack.
pub(super) fn add_effects(commit: &mut Commit, effects: Effects, author: &Author<'_>) {
    let Author { kind, id, context, services } = *author;
    let Effects { births, requirements, records, dispatches } = effects;
    commit.changes.extend(births.into_iter().map(Change::from));
    commit.requirements.extend(requirements);
    let own = |record: Record| EntityRecord {
        kind,
        id: id.to_owned(),
        record: record.in_context(context),
    };
    commit.records.extend(records.into_iter().map(own));
    let at = commit.at;
    commit.messages.extend(dispatches.iter().map(|dispatch| seal(dispatch, services, at)));
}

/// What a sealed payload is bound to, so that it cannot be sent another way or at another time.
pub(super) fn outbox_context(id: &str, topic: &str, expires_at: Timestamp) -> Vec<u8> {
    format!("{}:{id}{}:{topic}{}", id.len(), topic.len(), expires_at.millis()).into_bytes()
}

fn seal(dispatch: &Dispatch, services: &Services, at: Timestamp) -> Message {
    let id = draw_id_at(&*services.dice, at);
    let content = dispatch.payload.expose();
    let context = outbox_context(&id, dispatch.topic, dispatch.expires_at);
    let payload = services.vault.now().seal(OUTBOX_PURPOSE, &context, content, &*services.dice);
    Message {
        id,
        topic: dispatch.topic,
        class: dispatch.class.number(),
        queue: dispatch.key.as_str().to_owned(),
        payload,
        expires_at: dispatch.expires_at,
    }
}
