//! `[[organization.domain]]`: domains that an organization is to prove, and what is wrong with those there are.

use super::{
    lines::Declaration,
    lists::Entries,
    table::{Reading, Table, excerpt},
    warnings::Warning,
};
use crate::{
    actors::HydrateError,
    config::{DocumentValue, Section},
    domain::{
        DomainName, Timestamp,
        domain_claim::{
            DOMAINS, DomainClaim, Known, LOST_AFTER_MISSING, LOST_UNANSWERED, Standing,
        },
        organization::{ORGANIZATIONS, Organization},
    },
    store::Store,
};
use std::time::Duration;

/// What a plan and `doctor` call a domain.
pub(super) const DOMAIN: &str = "domain";

/// So long a domain may be pending before it is spoken of.
const PENDING_FOR: Duration = Duration::from_hours(7 * 24);

/// A domain that a file gives to an organization; it is proved elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainEntry {
    /// The slug.
    pub organization: String,
    pub domain: DomainName,
}

/// Reads the domains of an organization.
pub(super) fn read(sections: Vec<Section>, slug: Option<&str>, reading: &mut Reading) {
    for section in sections {
        let mut table = Table::new("organization.domain", section, reading);
        table.demand(&["domain"]);
        let text = table.text("domain");
        let parsed =
            text.and_then(|DocumentValue { value, line }| match DomainName::parse(&value) {
                Ok(domain) => Some((domain, line)),
                Err(why) => {
                    table.complain_of("domain", line, &format!("`{}` {why}", excerpt(&value)));
                    None
                }
            });
        let lines = table.finish();
        if let (Some((domain, line)), Some(slug)) = (parsed, slug) {
            reading.once("domain", &format!("{domain} of {slug}"), line);
            let draft = DomainEntry { organization: slug.to_owned(), domain };
            reading.domains.push(Declaration { draft, lines });
        }
    }
}

/// The domains of an installation, as `doctor` sees them.
#[derive(Default)]
pub struct DomainSurvey {
    pub warnings: Vec<Warning>,
    /// Some of them, for whose records DNS can be asked.
    pub asked_for: Vec<Known>,
    /// How many more there are.
    pub unasked: usize,
}

/// For how many records `doctor` asks.
const ASKED_FOR: usize = 20;

impl DomainSurvey {
    /// Looks at the domains of all organizations, until there are so many warnings.
    pub async fn read(store: &Store, now: Timestamp, most: usize) -> Result<Self, HydrateError> {
        let mut survey = Self::default();
        let mut homes = Entries::<Organization>::in_store(store, ORGANIZATIONS, "");
        while let Some((slug, home)) = homes.next().await?.filter(|_| survey.warnings.len() < most)
        {
            // What is to be erased needs no mending.
            if home.known().is_none_or(|home| home.deletion.is_some()) {
                continue;
            }
            let mut claims = Entries::<DomainClaim>::in_store(store, DOMAINS, &slug);
            while let Some((_, claim)) = claims.next().await? {
                let Some(known) = claim.known() else { continue };
                survey.warnings.extend(warning(known, now));
                if survey.asked_for.len() < ASKED_FOR {
                    survey.asked_for.push(known.clone());
                } else {
                    survey.unasked += 1;
                }
            }
        }
        survey.warnings.truncate(most);
        Ok(survey)
    }
}

fn warning(known: &Known, now: Timestamp) -> Option<Warning> {
    let days = |time: Duration| time.as_secs() / 86_400;
    let left = |since: Timestamp, most: Duration| days(most.saturating_sub(now.since(since)));
    let text = match &known.standing {
        Standing::Lost { at, because } => format!(
            "was lost {} days ago ({}): publish its record again and verify it, or remove it",
            days(now.since(*at)),
            because.name()
        ),
        Standing::Verified(held) => match (held.missing_since, held.not_found_since) {
            (Some(since), _) => format!(
                "has no record {} any more: publish it again, or it is lost in {} days",
                known.domain.challenge(),
                left(since, LOST_AFTER_MISSING)
            ),
            (None, Some(since)) => format!(
                "could not be checked for {} days: it is lost in {} days unless DNS answers",
                days(now.since(since)),
                left(since, LOST_UNANSWERED)
            ),
            (None, None) => return None,
        },
        Standing::Pending if now.since(known.created_at) >= PENDING_FOR => format!(
            "was added {} days ago and never proved: publish its record and verify it, or remove it",
            days(now.since(known.created_at))
        ),
        Standing::Pending => return None,
    };
    Some(Warning { kind: DOMAIN, id: named(known), text })
}

/// What people know a domain by: several organizations may have added the same.
fn named(known: &Known) -> String {
    format!("{} of {}", known.domain, known.organization)
}

/// Says what the records that DNS has now mean for a domain, where the server does not know it yet.
pub fn news_of_record(known: &Known, is_there: bool) -> Option<Warning> {
    let text = match (&known.standing, is_there) {
        (Standing::Verified(held), false) if held.missing_since.is_none() => format!(
            "is verified, and its record {} is not there: publish it again, or the domain is lost seven \
             days after a server has missed it",
            known.domain.challenge()
        ),
        (Standing::Pending, true) => {
            "is not verified, and its record is there: verify it".to_owned()
        }
        (Standing::Lost { .. }, true) => {
            "was lost, and its record is there again: verify it".to_owned()
        }
        _ => return None,
    };
    Some(Warning { kind: DOMAIN, id: named(known), text })
}
