//! Whether a client holds something of a person that is good now.

use crate::{
    actors::Bound,
    domain::{
        ClientRank,
        grant::Grant,
        token_family::{FAMILIES, MOST_FAMILIES},
    },
    http::{answer::error::OAuthError, app::App, grants::token_validity},
};

/// As many are kept, and as many are looked at.
const BOUND: Bound = Bound::new(MOST_FAMILIES);

/// How many are read at once: nearly always the first that is read is good.
const PAGE: Bound = Bound::new(20);

/// Tells whether the person has a live grant to the client that is `meant`.
pub async fn exists(
    app: &App,
    (account, client_id): (&str, &str),
    meant: impl Fn(&Grant) -> bool,
) -> Result<bool, OAuthError> {
    let client = ClientRank::of(client_id);
    let below = client.below();
    let mut after = (client.above().to_owned(), String::new());
    let mut left = BOUND.most();
    while left > 0 {
        let from = (after.0.as_str(), after.1.as_str());
        let page =
            app.views.families.page_below((FAMILIES, account), (from, Some(&below)), PAGE).await?;
        for (_, entry) in &page {
            let Some(grant) = entry.machine.grant() else { continue };
            if grant.client_id == client_id
                && meant(grant)
                && token_validity::of_grant(app, grant, &entry.id, None).await?.is_some()
            {
                return Ok(true);
            }
        }
        let Some((rank, last)) = page.last().filter(|_| page.len() == PAGE.most() as usize) else {
            break;
        };
        after = (rank.clone(), last.id.clone());
        left = left.saturating_sub(PAGE.most());
    }
    Ok(false)
}
