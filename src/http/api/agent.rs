//! The member `agent` of a client, its agent limits: who answers for it, what it is for, until when, and how much it may do in
//! a day (adr/0093, adr/0098).
//!
//! Here it is only narrowed. What an operator has set is not widened by an organization, and what an
//! organization has set is widened by the operator alone.

use crate::{
    domain::{
        Timestamp,
        authorization_details::Fixed,
        client::{AgentLimits, DailyLimit, Unit},
        is_hidden,
    },
    http::{answer::error::Problem, extract::json::shaped, time::rfc3339},
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// What a client is held to that acts for others.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// What it is for, as people read it.
    purpose: String,
    /// Who answers for it: a person or a team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    owner: Option<String>,
    /// From then on it is as if the client were not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<String>,
    /// A type of `authorization_details` that is named here is closed beside these limits.
    #[serde(default)]
    limits: Vec<Limit>,
}

/// How much of a type of details a client may take within a day of UTC.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentLimit)]
pub struct Limit {
    #[serde(rename = "type")]
    kind: String,
    /// Where the amount stands in a detail, as in `amount.value`.
    member: String,
    /// Where its unit stands, as in `amount.currency`; it goes with `of`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unit: Option<String>,
    /// The unit that is meant, as in `EUR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    of: Option<String>,
    /// A decimal in text, with six places at most.
    per_day: String,
}

/// Characters of a text.
const LONGEST: usize = 200;
const MOST_LIMITS: usize = 20;

const WIDENED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "agent_widened",
    "what a client may do for others is only narrowed here: the operator widens it",
);

impl Agent {
    pub fn of(agent_limits: &AgentLimits) -> Self {
        let limit = |one: &DailyLimit| Limit {
            kind: one.kind.clone(),
            member: one.member.clone(),
            unit: one.unit.as_ref().map(|unit| unit.member.clone()),
            of: one.unit.as_ref().map(|unit| unit.is.clone()),
            per_day: one.per_day.to_string(),
        };
        Self {
            purpose: agent_limits.purpose.clone(),
            owner: agent_limits.owner.clone(),
            expires_at: agent_limits.expires_at.map(rfc3339),
            limits: agent_limits.limits.iter().map(limit).collect(),
        }
    }

    fn agent_limits(self) -> Result<AgentLimits, Problem> {
        let Self { purpose, owner, expires_at, limits } = self;
        let expires_at = expires_at.map(|text| {
            let why = "is no time as RFC 3339 writes it";
            Timestamp::from_rfc3339(&text).ok_or_else(|| wrong("expires_at", why))
        });
        if limits.len() > MOST_LIMITS {
            return Err(wrong("limits", "holds more than 20 limits"));
        }
        let limits = limits.into_iter().enumerate();
        let limits = limits.map(|(place, limit)| limit.read(&format!("limits/{place}")));
        Ok(AgentLimits {
            purpose: text("purpose", purpose)?,
            owner: owner.map(|owner| text("owner", owner)).transpose()?,
            expires_at: expires_at.transpose()?,
            limits: limits.collect::<Result<_, _>>()?,
        })
    }
}

impl Limit {
    fn read(self, at: &str) -> Result<DailyLimit, Problem> {
        let Self { kind, member, unit, of, per_day } = self;
        let text = |name: &str, given: String| text(&format!("{at}/{name}"), given);
        let unit = match (unit, of) {
            (None, None) => None,
            (Some(member), Some(is)) => {
                Some(Unit { member: text("unit", member)?, is: text("of", is)? })
            }
            _ => return Err(wrong(&format!("{at}/unit"), "goes with `of`, and `of` with it")),
        };
        let amount = Fixed::parse(&per_day);
        let why = "is no amount as in \"500.00\", with six places at most";
        Ok(DailyLimit {
            kind: text("type", kind)?,
            member: text("member", member)?,
            unit,
            per_day: amount.ok_or_else(|| wrong(&format!("{at}/per_day"), why))?,
        })
    }
}

/// Takes the member out of a body, and reads what it makes of what is held; none where it is not given.
pub fn take(
    members: &mut Map<String, Value>,
    held: Option<&AgentLimits>,
) -> Result<Option<AgentLimits>, Problem> {
    let given = match members.remove("agent") {
        None => return Ok(None),
        Some(Value::Null) if held.is_none() => return Ok(None),
        Some(Value::Null) => return Err(WIDENED),
        Some(Value::Object(given)) => given,
        Some(_) => return Err(Problem::wrong_member("#/agent", "has the wrong type")),
    };
    // A merge patch (RFC 7396): what is not given stays, null takes away.
    let held_now =
        held.map(|agent_limits| serde_json::to_value(Agent::of(agent_limits)).unwrap_or_default());
    let mut merged = match held_now {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    for (name, value) in given {
        match value {
            Value::Null => drop(merged.remove(&name)),
            value => drop(merged.insert(name, value)),
        }
    }
    let body = Map::from_iter([("agent".to_owned(), Value::Object(merged))]);
    let agent_limits = shaped::<AgentMember>(body)?.agent.agent_limits()?;
    if agent_limits.names_twice() {
        return Err(wrong("limits", "holds two limits of the same amount"));
    }
    match held {
        Some(held) if !agent_limits.narrows(held) => Err(WIDENED),
        _ => Ok(Some(agent_limits)),
    }
}

#[derive(Deserialize)]
struct AgentMember {
    agent: Agent,
}

fn wrong(name: &str, detail: &str) -> Problem {
    Problem::wrong_member(format!("#/agent/{name}"), detail)
}

fn text(name: &str, given: String) -> Result<String, Problem> {
    let fits = !given.trim().is_empty() && given.chars().count() <= LONGEST;
    if fits && !given.chars().any(is_hidden) {
        return Ok(given);
    }
    Err(wrong(name, "has 1 to 200 printable characters"))
}
