//! `[client.agent]`, the agent limits: who answers for an agent, what it is for, until when, and its limits, which replace
//! those held.

use super::table::{Reading, Table};
use crate::{
    config::{DocumentValue, Section},
    domain::{
        Timestamp,
        authorization_details::Fixed,
        client::{AgentLimits, DailyLimit, Unit},
    },
};

pub(super) fn read(section: Section, reading: &mut Reading) -> Option<AgentLimits> {
    let mut table = Table::new("client.agent", section, reading);
    table.demand(&["purpose"]);
    let purpose = table.name("purpose");
    let owner = table.name("owner");
    let expires_at = expires_at(&mut table);
    let sections = table.tables("limit").unwrap_or_default();
    let limits = sections.into_iter().filter_map(|section| limit(section, &mut table)).collect();
    table.finish();
    Some(AgentLimits { purpose: purpose?, owner, expires_at, limits })
}

fn expires_at(table: &mut Table<'_>) -> Option<Timestamp> {
    let DocumentValue { value, line } = table.text("expires_at")?;
    let at = Timestamp::from_rfc3339(&value);
    if at.is_none() {
        table.complain_of("expires_at", line, "is no time as in \"2027-01-31T00:00:00Z\"");
    }
    at
}

fn limit(section: Section, agent: &mut Table<'_>) -> Option<DailyLimit> {
    let mut table = Table::new("client.agent.limit", section, agent.reading);
    table.demand(&["type", "member", "per_day"]);
    let kind = table.text("type");
    let member = table.text("member");
    let per_day = table.text("per_day");
    let unit = (table.text("unit"), table.text("of"));
    let amount = per_day.as_ref().and_then(|one| Fixed::parse(&one.value));
    if let (Some(DocumentValue { line, .. }), None) = (&per_day, amount) {
        table.complain_of(
            "per_day",
            *line,
            "is no amount as in \"500.00\", with six places at most",
        );
    }
    let unit = match unit {
        (None, None) => None,
        (Some(member), Some(is)) => Some(Unit { member: member.value, is: is.value }),
        (Some(DocumentValue { line, .. }), None) | (None, Some(DocumentValue { line, .. })) => {
            table.complain_of("unit", line, "goes with `of`, and `of` with it");
            None
        }
    };
    table.finish();
    Some(DailyLimit { kind: kind?.value, member: member?.value, unit, per_day: amount? })
}
