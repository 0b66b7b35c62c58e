//! Users that a filter admits: found by a name where the filter pins one, else by looking at all of them.

use super::{
    call::ScimCall,
    user_view::{self, Member},
};
use crate::{
    actors::{Bound, Entry},
    domain::{
        account::{EMAIL_ADDRESSES, normalise_email},
        membership::{
            MEMBERS, MEMBERSHIP_PAIRS, Membership, SCIM_EXTERNAL_IDS, SCIM_USER_NAMES,
            external_id_in, pair, user_name_in,
        },
        organization,
        scim::{
            error::ScimError,
            filter::{Filter, Lookup},
            query::{Sort, SortKey},
        },
    },
    http::answer::scim::ScimRefusal,
};
use serde_json::{Map, Value};

/// So many Users are looked at for one request at most.
pub const MOST_SCANNED: usize = 200_000;

/// So many are looked at for one page of a list that goes on by a cursor.
const MOST_SCANNED_A_PAGE: usize = 20_000;

/// How many are read and judged at once; other requests of this thread run between two parts.
const PART: Bound = Bound::new(100);

/// A User, and where it stands in the list.
pub struct UserEntry {
    pub place: (String, String),
    pub document: Map<String, Value>,
}

/// Finds the one User that a filter pins.
pub async fn pinned(
    call: &ScimCall,
    home: &organization::Known,
    (filter, lookup): (&Filter, &Lookup),
) -> Result<Option<Map<String, Value>>, ScimRefusal> {
    let (store, slug) = (&call.app.store, call.slug());
    let found = match lookup {
        Lookup::Id(id) => Some(id.clone()),
        Lookup::ExternalId(text) => {
            let found = store.find(SCIM_EXTERNAL_IDS, &external_id_in(slug, text)).await?;
            found.map(|(_, id)| id)
        }
        Lookup::UserName(text) => {
            let found = store.find(SCIM_USER_NAMES, &user_name_in(slug, text)).await?;
            match found {
                Some((_, id)) => Some(id),
                None => by_account(call, text).await?,
            }
        }
        Lookup::DisplayName(_) | Lookup::Member(_) => None,
    };
    let Some(id) = found else { return Ok(None) };
    let seen = call.app.views.memberships.peek(&id).await?;
    let Some(member) = Member::of(&seen.machine, slug) else { return Ok(None) };
    let document = user_view::document(call, home, (&id, seen.version), &member).await?;
    Ok(Some(document).filter(|document| filter.matches(document)))
}

/// Finds the membership of the account that has an address, which is the `userName` where no directory gave one.
async fn by_account(call: &ScimCall, address: &str) -> Result<Option<String>, ScimRefusal> {
    let Some(normal) = normalise_email(address) else { return Ok(None) };
    let Some((_, account)) = call.app.store.find(EMAIL_ADDRESSES, &normal).await? else {
        return Ok(None);
    };
    let found = call.app.store.find(MEMBERSHIP_PAIRS, &pair(&account, call.slug())).await?;
    Ok(found.map(|(_, id)| id))
}

/// Looks at Users one after the other.
pub struct Walk<'a> {
    call: &'a ScimCall,
    home: &'a organization::Known,
    filter: Option<&'a Filter>,
    after: (String, String),
    pub looked_at: usize,
    pub is_over: bool,
}

impl<'a> Walk<'a> {
    pub fn new(
        call: &'a ScimCall,
        home: &'a organization::Known,
        filter: Option<&'a Filter>,
        after: (String, String),
    ) -> Self {
        Self { call, home, filter, after, looked_at: 0, is_over: false }
    }

    /// Reads the next part, and returns those of it that the filter admits.
    async fn part(&mut self, bound: Bound) -> Result<Vec<UserEntry>, ScimRefusal> {
        let (call, slug) = (self.call, self.call.slug());
        let after = (self.after.0.as_str(), self.after.1.as_str());
        let page = call.app.views.memberships.page(MEMBERS, slug, after, bound).await?;
        self.looked_at += page.len();
        self.is_over = page.len() < bound.most() as usize;
        if let Some((rank, entry)) = page.last() {
            self.after = (rank.clone(), entry.id.clone());
        }
        let mut found = Vec::new();
        for (rank, Entry { id, machine, version }) in &page {
            let document = self.admitted(id, machine, *version).await?;
            let place = || (rank.clone(), id.clone());
            found.extend(document.map(|document| UserEntry { place: place(), document }));
        }
        Ok(found)
    }

    async fn admitted(
        &self,
        id: &str,
        machine: &Membership,
        version: i64,
    ) -> Result<Option<Map<String, Value>>, ScimRefusal> {
        let Some(member) = Member::of(machine, self.call.slug()) else { return Ok(None) };
        let document = user_view::document(self.call, self.home, (id, version), &member).await?;
        let is_admitted = self.filter.is_none_or(|filter| filter.matches(&document));
        Ok(is_admitted.then_some(document))
    }

    /// Returns the next that are admitted, at most `count`; fewer where that would take too long, and then others may
    /// follow.
    pub async fn next(&mut self, count: usize) -> Result<(Vec<UserEntry>, bool), ScimRefusal> {
        // Without a filter all that are read are shown, and one more tells whether others follow.
        let all = Bound::asked(u32::try_from(count + 1).unwrap_or(u32::MAX));
        let bound = if self.filter.is_none() { all } else { PART };
        let mut page = Vec::new();
        while !self.is_over && page.len() <= count && self.looked_at < MOST_SCANNED_A_PAGE {
            page.extend(self.part(bound).await?);
        }
        let is_last = self.is_over && page.len() <= count;
        page.truncate(count);
        if page.is_empty() && !is_last && count > 0 {
            return Err(too_wide());
        }
        Ok((page, is_last))
    }

    /// Looks at all of them, and returns those from `from` on, at most `count`, in the order that is asked for; and how
    /// many there are.
    pub async fn all(
        &mut self,
        sort: Option<&Sort>,
        (from, count): (usize, usize),
    ) -> Result<(Vec<Map<String, Value>>, usize), ScimRefusal> {
        let mut keyed: Vec<(SortKey, String)> = Vec::new();
        let (mut total, mut page) = (0, Vec::new());
        while !self.is_over {
            if self.looked_at >= MOST_SCANNED {
                return Err(too_wide());
            }
            for UserEntry { place: (_, id), document } in self.part(PART).await? {
                if let Some(sort) = sort {
                    keyed.push((sort.key(&document), id));
                } else if total >= from && page.len() < count {
                    page.push(document);
                }
                total += 1;
            }
        }
        let Some(sort) = sort else { return Ok((page, total)) };
        keyed
            .sort_by(|one, other| sort.compare(&one.0, &other.0).then_with(|| one.1.cmp(&other.1)));
        // Their documents are read again: all of them at once would be too much to keep.
        for (_, id) in keyed.into_iter().skip(from).take(count) {
            let seen = self.call.app.views.memberships.peek(&id).await?;
            page.extend(self.admitted(&id, &seen.machine, seen.version).await?);
        }
        Ok((page, total))
    }
}

fn too_wide() -> ScimRefusal {
    let detail = "the filter makes the server look at too many Users: \
                  ask for userName, externalId or id with eq";
    ScimError::too_many(detail).into()
}
