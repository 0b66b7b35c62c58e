//! Lists of Users and Groups: by index or by cursor, filtered and sorted.

use super::{
    call::ScimCall,
    filtered::{self, UserEntry, Walk},
    group_view::{self, MOST_SHOWN},
    outcome::{Answer, Outcome},
    user_change,
    user_view::{self, Member},
};
use crate::{
    actors::{Bound, Entry},
    domain::{
        membership::MEMBERS,
        organization::{self, Role},
        scim::{
            error::ScimError,
            filter::{Filter, MemberNeed},
            list_response::{Position, list_response},
            query::{Query, Start},
        },
    },
    http::answer::scim::ScimRefusal,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

type Documents = Vec<Map<String, Value>>;

/// Answers with a page of Users.
pub async fn users(call: &ScimCall, query: &Query) -> Answer {
    let seen = call.app.views.organizations.look_anew(call.slug()).await?;
    let home = seen.machine.known().ok_or_else(user_change::missing)?;
    if let Some(filter) = &query.filter
        && let Some(lookup) = filter.lookup()
    {
        let found = filtered::pinned(call, home, (filter, &lookup)).await?;
        return Ok(page_of(found.into_iter().collect(), query));
    }
    match &query.start {
        Start::Cursor(_) if query.sort.is_some() => {
            let detail = "a list that goes on by a cursor is not sorted: use startIndex";
            Err(ScimError::invalid_value(detail).into())
        }
        Start::Cursor(cursor) => by_cursor(call, home, query, cursor.as_deref()).await,
        Start::Index(start) => by_index(call, home, query, *start).await,
    }
}

/// Answers with a page of what was found whole.
fn page_of(found: Documents, query: &Query) -> Outcome {
    let total = found.len();
    let (start, position) = match &query.start {
        Start::Index(start) => (*start, Position::Index(*start)),
        Start::Cursor(_) => (1, Position::Cursor(None)),
    };
    let skipped = usize::try_from(start - 1).unwrap_or(usize::MAX);
    let page = found.into_iter().skip(skipped).take(as_usize(query.count)).collect();
    answer(page, Some(total), query, &position)
}

fn answer(page: Documents, total: Option<usize>, query: &Query, position: &Position) -> Outcome {
    let shown = page.into_iter().map(|document| Value::Object(query.projection.apply(document)));
    Outcome::of(list_response(shown.collect(), total.map(|total| total as u64), position))
}

async fn by_index(
    call: &ScimCall,
    home: &organization::Known,
    query: &Query,
    start: u64,
) -> Answer {
    let part = (as_usize(start - 1), as_usize(query.count));
    let (page, total) = users_from(call, home, query, part).await?;
    Ok(answer(page, Some(total), query, &Position::Index(start)))
}

/// Returns so many Users after the first `from`, and how many there are.
async fn users_from(
    call: &ScimCall,
    home: &organization::Known,
    query: &Query,
    (from, count): (usize, usize),
) -> Result<(Documents, usize), ScimRefusal> {
    if query.filter.is_some() || query.sort.is_some() {
        let _scan = call.app.limits.scans.begin(call.slug())?;
        let mut walk = Walk::new(call, home, query.filter.as_ref(), Default::default());
        return walk.all(query.sort.as_ref(), (from, count)).await;
    }
    let total = call.app.store.counted(MEMBERS, call.slug()).await?;
    let mut page = Vec::new();
    if count > 0 && from < total {
        let bound = Bound::asked(u32::try_from(count).unwrap_or(u32::MAX));
        let list = (MEMBERS, call.slug());
        let from = u32::try_from(from).unwrap_or(u32::MAX);
        let entries = call.app.views.memberships.page_from(list, from, bound).await?;
        for (_, Entry { id, machine, version }) in &entries {
            if let Some(member) = Member::of(machine, call.slug()) {
                page.push(user_view::document(call, home, (id, *version), &member).await?);
            }
        }
    }
    Ok((page, total))
}

/// Answers with a page of Users and, after them, Groups (RFC 7644 §3.4.3): each is asked by its own schema.
pub async fn everything(call: &ScimCall, of_users: &Query, of_groups: &Query) -> Answer {
    let Start::Index(start) = of_users.start else {
        let detail = "a list of several types does not go on by a cursor: use startIndex";
        return Err(ScimError::invalid_value(detail).into());
    };
    let home = call.app.views.organizations.look_anew(call.slug()).await?;
    let home = home.machine.known().ok_or_else(user_change::missing)?;
    let (from, count) = (as_usize(start - 1), as_usize(of_users.count));
    let (users, user_count) = users_from(call, home, of_users, (from, count)).await?;
    let part = (from.saturating_sub(user_count), count - users.len());
    let (groups, group_count) = groups_from(call, home, of_groups, part).await?;
    let show = |query: &Query, page: Documents| {
        let shown = page.into_iter().map(|one| Value::Object(query.projection.apply(one)));
        shown.collect::<Vec<_>>()
    };
    let mut page = show(of_users, users);
    page.extend(show(of_groups, groups));
    let total = Some((user_count + group_count) as u64);
    Ok(Outcome::of(list_response(page, total, &Position::Index(start))))
}

async fn by_cursor(
    call: &ScimCall,
    home: &organization::Known,
    query: &Query,
    cursor: Option<&str>,
) -> Answer {
    let after = match cursor.filter(|cursor| !cursor.is_empty()) {
        None => Default::default(),
        Some(text) => read_cursor(call.slug(), text)?,
    };
    let count = as_usize(query.count);
    let (total, _scan) = match &query.filter {
        None => (Some(call.app.store.counted(MEMBERS, call.slug()).await?), None),
        // How many there are would take a look at all of them.
        Some(_) => (None, Some(call.app.limits.scans.begin(call.slug())?)),
    };
    let mut walk = Walk::new(call, home, query.filter.as_ref(), after);
    let (page, is_last) = walk.next(count).await?;
    let last = page.last().filter(|_| !is_last);
    let next = last.map(|UserEntry { place, .. }| write_cursor(call.slug(), place));
    let page = page.into_iter().map(|found| found.document).collect();
    Ok(answer(page, total, query, &Position::Cursor(next)))
}

/// A cursor names the last User of a page, within one organization.
fn write_cursor(slug: &str, (rank, id): &(String, String)) -> String {
    URL_SAFE_NO_PAD.encode(format!("{slug}\0{rank}\0{id}"))
}

fn read_cursor(slug: &str, text: &str) -> Result<(String, String), ScimError> {
    let read = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
        let mut parts = text.split('\0');
        let (of, rank, id) = (parts.next()?, parts.next()?, parts.next()?);
        let is_own = of == slug && parts.next().is_none();
        is_own.then(|| (rank.to_owned(), id.to_owned()))
    };
    read().ok_or_else(|| ScimError::invalid_cursor("the cursor is not one of this list"))
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Answers with a page of Groups: an organization has few, and they are one row.
pub async fn groups(call: &ScimCall, query: &Query) -> Answer {
    let seen = call.app.views.organizations.look_anew(call.slug()).await?;
    let home = seen.machine.known().ok_or_else(user_change::missing)?;
    let (from, by_cursor) = match &query.start {
        Start::Index(start) => (as_usize(start - 1), false),
        Start::Cursor(cursor) => (group_cursor(call.slug(), cursor.as_deref())?, true),
    };
    let part = (from, as_usize(query.count));
    let (page, total) = groups_from(call, home, query, part).await?;
    let end = from.saturating_add(page.len());
    let next = || write_cursor(call.slug(), &("groups".to_owned(), end.to_string()));
    let position = if by_cursor {
        Position::Cursor((end < total).then(next))
    } else {
        Position::Index(from as u64 + 1)
    };
    Ok(answer(page, Some(total), query, &position))
}

/// Returns so many Groups after the first `from`, and how many there are.
async fn groups_from(
    call: &ScimCall,
    home: &organization::Known,
    query: &Query,
    (from, count): (usize, usize),
) -> Result<(Documents, usize), ScimRefusal> {
    let mut roles: Vec<&Role> = home.roles.iter().collect();
    roles.sort_by(|one, other| one.name.cmp(&other.name));
    let mut admitted: Vec<(&Role, Map<String, Value>)> = Vec::new();
    let mut budget = MOST_SHOWN;
    for role in roles {
        let members = match &query.filter {
            None => None,
            Some(filter) => needed(call, filter, role, &mut budget).await?,
        };
        let document = group_view::document(&call.base, role, members.as_deref());
        if query.filter.as_ref().is_none_or(|filter| filter.matches(&document)) {
            admitted.push((role, document));
        }
    }
    if let Some(sort) = &query.sort {
        admitted.sort_by(|(_, one), (_, other)| sort.compare(&sort.key(one), &sort.key(other)));
    }
    let total = admitted.len();
    let mut page = Vec::new();
    let mut budget = MOST_SHOWN;
    for (role, document) in admitted.into_iter().skip(from).take(count) {
        if !query.projection.wants("members") {
            page.push(document);
            continue;
        }
        let members = group_view::all_members(call, &role.name, budget).await?;
        budget -= members.len();
        page.push(group_view::document(&call.base, role, Some(&members)));
    }
    Ok((page, total))
}

fn group_cursor(slug: &str, cursor: Option<&str>) -> Result<usize, ScimError> {
    let Some(text) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(0) };
    let (list, from) = read_cursor(slug, text)?;
    let from = from.parse().ok().filter(|_| list == "groups");
    from.ok_or_else(|| ScimError::invalid_cursor("the cursor is not one of this list"))
}

/// Reads those members of a Group that a filter must see.
async fn needed(
    call: &ScimCall,
    filter: &Filter,
    role: &Role,
    budget: &mut usize,
) -> Result<Option<Vec<String>>, ScimRefusal> {
    match filter.member_need() {
        MemberNeed::None => Ok(None),
        MemberNeed::These(ids) => {
            let mut held = Vec::new();
            for id in ids {
                let seen = call.app.views.memberships.peek(&id).await?;
                let member = Member::of(&seen.machine, call.slug());
                if member.is_some_and(|member| member.roles().contains(&role.name)) {
                    held.push(id);
                }
            }
            Ok(Some(held))
        }
        MemberNeed::All => {
            let members = group_view::all_members(call, &role.name, *budget).await?;
            *budget -= members.len();
            Ok(Some(members))
        }
    }
}
