//! Whose pages the pages of a flow are: those of an organization, or ours (adr/0076).

use super::parts::Client;
use crate::domain::flow::{Open, Seed};

/// Returns the organization that the person was found to act for, or has chosen among their own.
pub fn decided(open: &Open) -> Option<String> {
    let asked = open.question.as_deref().and_then(|question| question.organization.as_ref());
    asked.map(|choice| choice.slug.clone()).or_else(|| open.chosen.clone())
}

/// Returns the organization of a client. Another that its request names is not shown before it is known
/// that the person belongs to it: anyone can write a request of a client that anyone may use.
pub fn of_client(client: Option<&Client>, asked: Option<&str>) -> Option<String> {
    let own = client?.organization.as_deref()?;
    asked.is_none_or(|asked| asked == own).then(|| own.to_owned())
}

/// Returns the organization that has invited the holder of this flow.
pub fn inviting(seed: &Seed) -> Option<String> {
    let choice = seed.invited.as_ref()?.organization.as_ref();
    choice.map(|choice| choice.slug.clone())
}
