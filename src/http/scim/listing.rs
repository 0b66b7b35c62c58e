//! Lists of Users and Groups: by index or by cursor, filtered and sorted.

use super::{
    call::ScimCall,
    filtered::{self, Place, Walk},
    group_list,
    outcome::{Answer, Outcome},
    turns::Turns,
    user_change,
    user_view::{self, Member},
    version,
};
use crate::{
    actors::{Bound, Entry},
    domain::{
        membership::MEMBERS,
        organization,
        scim::{
            error::ScimError,
            list_response::{Position, list_response},
            query::{Query, Start},
        },
    },
    http::answer::scim::ScimRefusal,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use tokio::task::yield_now;

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
        Start::Cursor(_) if query.sort.is_some() => Err(unsorted()),
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
        let mut turns = Turns::new(0);
        for (_, Entry { id, machine, .. }) in &entries {
            let Some(member) = Member::of(machine, call.slug()) else { continue };
            let document = user_view::document(call, home, id, &member).await?;
            if turns.count(&document) {
                yield_now().await;
            }
            page.push(document);
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
    let found = group_list::admitted(call, home, of_groups).await?;
    let rest = found.get(from.saturating_sub(user_count)..).unwrap_or_default();
    let part = (count - users.len(), users.len());
    let groups = group_list::page(call, of_groups, rest, part).await?;
    let show = |query: &Query, page: Documents| {
        let shown = page.into_iter().map(|one| Value::Object(query.projection.apply(one)));
        shown.collect::<Vec<_>>()
    };
    let mut page = show(of_users, users);
    page.extend(show(of_groups, groups));
    let total = Some((user_count + found.len()) as u64);
    Ok(Outcome::of(list_response(page, total, &Position::Index(start))))
}

fn unsorted() -> ScimRefusal {
    let detail = "a list that goes on by a cursor is not sorted: use startIndex";
    ScimError::invalid_value(detail).into()
}

async fn by_cursor(
    call: &ScimCall,
    home: &organization::Known,
    query: &Query,
    cursor: Option<&str>,
) -> Answer {
    let list = ListName::of(call, query);
    let after = list.read_cursor(cursor)?.unwrap_or_default();
    let count = as_usize(query.count);
    let filter = query.filter.as_ref();
    if count == 0 {
        // The number is asked for alone.
        let (_, total) = users_from(call, home, query, (0, 0)).await?;
        return Ok(answer(Vec::new(), Some(total), query, &Position::Cursor(None)));
    }
    let (total, _scan) = match filter {
        None => (Some(call.app.store.counted(MEMBERS, call.slug()).await?), None),
        // How many there are would take a look at all of them.
        Some(_) => (None, Some(call.app.limits.scans.begin(call.slug())?)),
    };
    let (page, after) = Walk::new(call, home, filter, after).next(count).await?;
    let next = after.map(|place| list.write_cursor(&place));
    let page = page.into_iter().map(|found| found.document).collect();
    Ok(answer(page, total, query, &Position::Cursor(next)))
}

/// What a cursor is good for: one list of one organization, by one filter.
struct ListName {
    slug: String,
    of: String,
}

impl ListName {
    fn of(call: &ScimCall, query: &Query) -> Self {
        let filter = query.filter.as_ref().map(ToString::to_string).unwrap_or_default();
        let of = format!("{}\0{filter}", query.projection.resource_type().name);
        Self { slug: call.slug().to_owned(), of: version::digest(&of) }
    }

    /// A cursor names the place of the last resource that was looked at.
    fn write_cursor(&self, (rank, id): &Place) -> String {
        let Self { slug, of } = self;
        URL_SAFE_NO_PAD.encode(format!("{slug}\0{of}\0{rank}\0{id}"))
    }

    /// Returns the place that a cursor names; the first page has none.
    fn read_cursor(&self, cursor: Option<&str>) -> Result<Option<Place>, ScimError> {
        let Some(text) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
        let read = || {
            let text = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
            let parts: Vec<&str> = text.split('\0').collect();
            let [slug, of, rank, id] = *parts else { return None };
            let is_own = slug == self.slug && of == self.of;
            is_own.then(|| (rank.to_owned(), id.to_owned()))
        };
        let refuse = || ScimError::invalid_cursor("the cursor is not one of this list");
        read().map(Some).ok_or_else(refuse)
    }
}

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Answers with a page of Groups.
pub async fn groups(call: &ScimCall, query: &Query) -> Answer {
    if matches!(query.start, Start::Cursor(_)) && query.sort.is_some() {
        return Err(unsorted());
    }
    let seen = call.app.views.organizations.look_anew(call.slug()).await?;
    let home = seen.machine.known().ok_or_else(user_change::missing)?;
    let list = ListName::of(call, query);
    let found = group_list::admitted(call, home, query).await?;
    let from = match &query.start {
        Start::Index(start) => found.len().min(as_usize(start - 1)),
        // By their names, so that none is passed over where one before it is deleted meanwhile.
        Start::Cursor(cursor) => match list.read_cursor(cursor.as_deref())? {
            None => 0,
            Some((_, last)) => found.partition_point(|one| one.role.name <= last),
        },
    };
    let page = group_list::page(call, query, &found[from..], (as_usize(query.count), 0)).await?;
    let end = from + page.len();
    let position = match &query.start {
        Start::Index(start) => Position::Index(*start),
        Start::Cursor(_) => {
            let last = found[from..end].last().filter(|_| end < found.len());
            let next = last.map(|last| (String::new(), last.role.name.clone()));
            Position::Cursor(next.map(|place| list.write_cursor(&place)))
        }
    };
    Ok(answer(page, Some(found.len()), query, &position))
}
