//! How many requests of one client wait for one person: as many as it has places.
//!
//! A place is a unique name that a request holds while it waits (`domain::backchannel_request`): of two requests that want
//! the same place the second is told so, on whichever node, and looks for another.

use crate::{
    actors::Failure,
    crypto::Dice,
    domain::{
        Context, Dispatch,
        backchannel_request::{APPROVAL_PLACES, BackchannelRequest, Command, Pending, Refusal},
    },
    http::{
        answer::{error::OAuthError, retry_after::RetryAfter},
        app::App,
        reading::{new_entity, retries::FinalFailure},
    },
};

/// The places of one client with people.
pub(super) struct Places<'a> {
    pub(super) app: &'a App,
    pub(super) context: &'a Context,
    pub(super) client_id: &'a str,
}

impl Places<'_> {
    /// Returns a place that is free, where places are limited; refuses the client if none is.
    pub(super) async fn find(&self, account: &str) -> Result<Option<u32>, OAuthError> {
        let Some(most) = self.app.limits.attempts.most_pending_approvals() else { return Ok(None) };
        let (now, mut ends) = (self.app.clock.now(), None);
        for place in shuffled(most, &*self.app.dice) {
            let name = BackchannelRequest::place_name(account, self.client_id, place);
            let Some((_, holder)) = self.app.store.find(APPROVAL_PLACES, &name).await? else {
                return Ok(Some(place));
            };
            let seen = self.app.views.backchannel_requests.peek(&holder).await?;
            if let Some(pending) = seen.machine.pending(now) {
                let end = pending.request.expires_at;
                ends = Some(ends.map_or(end, |first| end.min(first)));
                continue;
            }
            // It has expired and is not forgotten yet, or was decided a moment ago.
            let requests = &self.app.entities.backchannel_requests;
            if requests.ask(self.context, &holder, Command::Vacate).await.is_ok() {
                return Ok(Some(place));
            }
        }
        Err(RetryAfter::until(ends.unwrap_or(now), now).into())
    }

    /// Has a request wait for the person it names, in a place that is free.
    pub(super) async fn begin(
        &self,
        id: &str,
        pending: Pending,
        message: Option<Dispatch>,
    ) -> Result<(), OAuthError> {
        // Each place that another request takes meanwhile is one less: there is an end to it.
        let tries = self.app.limits.attempts.most_pending_approvals().unwrap_or(0) + 1;
        for _ in 0..tries {
            let place = self.find(&pending.request.account).await?;
            let pending = Box::new(Pending { place, ..pending.clone() });
            let begin = Command::Begin { pending, message: message.clone() };
            let is_there = |refusal: &Refusal| *refusal == Refusal::NotPending;
            let (requests, asked) = (&self.app.entities.backchannel_requests, (self.context, id));
            match new_entity::begin(requests, asked, begin, is_there).await {
                Err(FinalFailure::Failed(Failure::Taken { space: APPROVAL_PLACES })) => {}
                begun => return begun.map_err(OAuthError::from),
            }
        }
        Err(OAuthError::unavailable())
    }
}

/// The numbers below `most` in any order, so that requests at once do not all want the same place.
fn shuffled(most: u32, dice: &dyn Dice) -> impl Iterator<Item = u32> {
    let [first, second] = crate::crypto::draw::<2>(dice);
    let start = u32::from(u16::from_be_bytes([first, second]));
    (0..most).map(move |place| (start + place) % most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;

    #[test]
    fn every_place_is_looked_at_once() {
        for most in [1, 2, 10, 100] {
            let mut all: Vec<u32> = shuffled(most, &SystemDice).collect();
            all.sort_unstable();
            assert_eq!(all, (0..most).collect::<Vec<_>>());
        }
    }
}
