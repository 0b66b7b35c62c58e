//! Ends many entities of a person, page by page: the commits of a page share transactions.

use crate::{
    actors::{Answer, Bound, Entities, Failure, HydrateError, View},
    domain::{
        Context, Machine,
        session::{self, SESSIONS, Session},
    },
    http::app::App,
};
use tokio::task::JoinSet;

/// How many are ended at once.
const PAGE: Bound = Bound::new(100);

/// How many pages there are at most: more than is kept of anything (adr/0119).
const PAGES: usize = 12;

/// What is ended, and by whom.
pub struct Ending<'a, M: Machine> {
    pub entities: &'a Entities<M>,
    pub views: &'a View<M>,
    pub context: &'a Context,
    /// The list and its owner.
    pub list: (&'static str, &'a str),
    pub command: fn() -> M::Command,
}

impl<'a> Ending<'a, Session> {
    /// Ends the sessions of an account.
    pub fn sessions(app: &'a App, context: &'a Context, account: &'a str) -> Self {
        Self {
            entities: &app.entities.sessions,
            views: &app.views.sessions,
            context,
            list: (SESSIONS, account),
            command: || session::Command::End,
        }
    }
}

impl<M: Machine> Ending<'_, M> {
    /// Ends every entity of the list but `kept`; tells how many were not ended. What is listed beyond the pages is left as it
    /// is: where it matters, an epoch has ended it.
    pub async fn all_but(&self, kept: Option<&str>) -> Result<usize, HydrateError> {
        let Self { views, list: (list, owner), .. } = *self;
        let (mut after, mut failed) = ((String::new(), String::new()), 0);
        for _ in 0..PAGES {
            let page = views.page(list, owner, (&after.0, &after.1), PAGE).await?;
            let Some((rank, last)) = page.last() else { break };
            after = (rank.clone(), last.id.clone());
            let is_last = page.len() < PAGE.most() as usize;
            let ids = page.into_iter().map(|(_, entry)| entry.id);
            failed += self.page(ids.filter(|id| Some(id.as_str()) != kept)).await;
            if is_last {
                break;
            }
        }
        Ok(failed)
    }

    async fn page(&self, ids: impl Iterator<Item = String>) -> usize {
        let mut asked: JoinSet<(String, Answer<M>)> = JoinSet::new();
        for id in ids {
            let (entities, context) = (self.entities.clone(), self.context.clone());
            let command = (self.command)();
            asked.spawn(async move {
                let answer = entities.ask_detached(&context, &id, command).await;
                (id, answer)
            });
        }
        let mut failed = 0;
        while let Some(asked) = asked.join_next().await {
            let Ok((id, answer)) = asked else {
                failed += 1;
                continue;
            };
            self.views.forget(&id);
            // One that is gone meanwhile needs no end.
            failed += usize::from(!matches!(answer, Ok(_) | Err(Failure::Refused(_))));
        }
        failed
    }
}
