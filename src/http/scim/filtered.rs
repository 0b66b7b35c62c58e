//! Users that a filter admits: found by a name where the filter pins one, else by looking at all of them.

use super::{
    call::ScimCall,
    turns::Turns,
    user_view::{self, Member},
};
use crate::{
    actors::{Bound, Entry},
    domain::{
        account::{EMAIL_ADDRESSES, normalise_email},
        membership::{
            MEMBERS, MEMBERSHIP_PAIRS, SCIM_EXTERNAL_IDS, SCIM_USER_NAMES, external_id_in, pair,
            user_name_in,
        },
        organization,
        scim::{
            error::ScimError,
            filter::{Filter, Lookup},
            query::{Sort, SortPlace},
        },
    },
    http::answer::scim::ScimRefusal,
};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use tokio::task::yield_now;

/// So many bytes of what a list is sorted by are kept for one request.
const MOST_SORTED: usize = 32 * 1024 * 1024;

/// Where a User stands in the list: its rank and its id.
pub type Place = (String, String);

/// A User, and where it stands in the list.
pub struct UserEntry {
    pub place: Place,
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
    let document = user_view::document(call, home, &id, &member).await?;
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
    /// The place of the last one that was looked at.
    after: Place,
    looked_at: usize,
    is_over: bool,
    turns: Turns,
}

impl<'a> Walk<'a> {
    pub fn new(
        call: &'a ScimCall,
        home: &'a organization::Known,
        filter: Option<&'a Filter>,
        after: Place,
    ) -> Self {
        let turns = Turns::new(filter.map_or(0, Filter::comparisons));
        Self { call, home, filter, after, looked_at: 0, is_over: false, turns }
    }

    /// Reads the next part, and returns those of it that the filter admits.
    async fn part(&mut self, most: usize) -> Result<Vec<UserEntry>, ScimRefusal> {
        let bound = Bound::asked(u32::try_from(most).unwrap_or(u32::MAX));
        let (call, slug) = (self.call, self.call.slug());
        let after = (self.after.0.as_str(), self.after.1.as_str());
        let page = call.app.views.memberships.page(MEMBERS, slug, after, bound).await?;
        self.looked_at += page.len();
        self.is_over = page.len() < bound.most() as usize;
        if let Some((rank, entry)) = page.last() {
            self.after = (rank.clone(), entry.id.clone());
        }
        let mut found = Vec::new();
        for (rank, Entry { id, machine, .. }) in page {
            let Some(member) = Member::of(&machine, slug) else { continue };
            let document = user_view::document(call, self.home, &id, &member).await?;
            let is_others_turn = self.turns.count(&document);
            if self.filter.is_none_or(|filter| filter.matches(&document)) {
                found.push(UserEntry { place: (rank, id), document });
            }
            if is_others_turn {
                yield_now().await;
            }
        }
        yield_now().await;
        Ok(found)
    }

    /// Returns the next that are admitted, at most `count`, and the place from which others may follow. There are fewer,
    /// or none, where so many were looked at that the client is to ask again.
    pub async fn next(
        &mut self,
        count: usize,
    ) -> Result<(Vec<UserEntry>, Option<Place>), ScimRefusal> {
        let most = self.call.app.limits.scim.looked_at_a_page;
        let mut page = Vec::new();
        while !self.is_over && page.len() <= count && self.looked_at < most {
            let part = match self.filter {
                // All that are read are shown, and one more tells whether others follow.
                None => count + 1,
                Some(_) => self.turns.begin_part().min(most - self.looked_at),
            };
            page.extend(self.part(part).await?);
        }
        if page.len() > count {
            page.truncate(count);
            let last = page.last().map(|last| last.place.clone());
            return Ok((page, last));
        }
        let after = (!self.is_over).then(|| self.after.clone());
        Ok((page, after))
    }

    /// Looks at all of them, and returns those from `from` on, at most `count`, in the order that is asked for; and how
    /// many there are.
    pub async fn all(
        &mut self,
        sort: Option<&Sort>,
        (from, count): (usize, usize),
    ) -> Result<(Vec<Map<String, Value>>, usize), ScimRefusal> {
        let most = self.call.app.limits.scim.looked_at;
        let mut sorted =
            SortedPlaces::up_to(if count > 0 { from.saturating_add(count) } else { 0 });
        let (mut total, mut page) = (0, Vec::new());
        while !self.is_over {
            let part = self.turns.begin_part();
            let found = self.part(part).await?;
            if self.looked_at > most {
                return Err(too_wide());
            }
            for UserEntry { place: (_, id), document } in found {
                if let Some(sort) = sort {
                    sorted.insert(sort.place(&document, id));
                } else if total >= from && page.len() < count {
                    page.push(document);
                }
                total += 1;
            }
            if sorted.bytes > MOST_SORTED {
                return Err(too_wide());
            }
        }
        // Their documents are read again: all of them at once would be too much to keep.
        for SortPlace { id, .. } in sorted.places.into_iter().skip(from).take(count) {
            let seen = self.call.app.views.memberships.peek(&id).await?;
            let Some(member) = Member::of(&seen.machine, self.call.slug()) else { continue };
            let document = user_view::document(self.call, self.home, &id, &member).await?;
            // It may have changed meanwhile.
            if self.filter.is_none_or(|filter| filter.matches(&document)) {
                page.push(document);
            }
        }
        Ok((page, total))
    }
}

/// The first places of a sorted list.
struct SortedPlaces {
    most: usize,
    places: BTreeSet<SortPlace>,
    bytes: usize,
}

impl SortedPlaces {
    fn up_to(most: usize) -> Self {
        Self { most, places: BTreeSet::new(), bytes: 0 }
    }

    fn insert(&mut self, place: SortPlace) {
        let bytes = place.bytes();
        if self.places.insert(place) {
            self.bytes += bytes;
        }
        if self.places.len() > self.most {
            self.bytes -= self.places.pop_last().map_or(0, |last| last.bytes());
        }
    }
}

fn too_wide() -> ScimRefusal {
    let detail = "the list makes the server look at too many Users: \
                  ask for userName, externalId or id with eq, or go on by a cursor";
    ScimError::too_many(detail).into()
}
