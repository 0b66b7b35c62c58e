//! `POST /connect/sso/{id}/logout`: a provider says that a person has signed out there (OpenID Connect Back-Channel
//! Logout 1.0 §2.5).
//!
//! 1. The logout token is judged by the keys of the connection's provider, as one for our client there.
//! 2. What it names is ended: the session of its `sid`, or every session of its subject at this connection. What rests on
//!    such a session is over at the next request, on every node; nothing else is touched (adr/0135).
//! 3. However many there are, all of them are ended, a page in each commit. That the token was used is written with the last
//!    page: a second time it is refused, on every node, and what fails on the way may be told again.
//! 4. A session of ours that rested on nothing else ends, and its clients are told.

use super::ConnectionId;
use crate::{
    actors::{Bound, CommitError, HydrateError},
    domain::{
        Context, Fingerprint,
        assurance::SingleSignOn,
        client_assertion::{self, ClientAssertion},
        connection::Known,
        external_identity::{EXTERNAL_IDENTITIES, identity_name},
        session::{self, SESSIONS},
        upstream::LogoutNotice,
        upstream_session::{self, UPSTREAM_SESSIONS, UPSTREAM_SIDS, UpstreamSession, sid_of},
    },
    http::{
        answer::{
            error::{Code, OAuthError, Problem},
            never_stored,
        },
        app::App,
        extract::{
            context::RequestContext,
            form::{self, Form},
            origin::Origin,
        },
        flows::sign_on,
    },
};
use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use std::collections::BTreeSet;

/// Bytes.
const LONGEST_TOKEN: usize = 16 * 1024;

/// How many are ended in one commit.
const PAGE: Bound = Bound::new(100);

/// How often it is decided while other changes come between.
const TRIES: usize = 4;

const REFUSED: OAuthError =
    OAuthError::new(Code::InvalidRequest, "the logout token is not one of this connection");

pub async fn post(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    Origin(_): Origin,
    ConnectionId(connection): ConnectionId,
    request: Request,
) -> Result<Response, OAuthError> {
    let (head, body) = request.into_parts();
    let (body, _permit) = form::arrived(&head, body, &app).await?;
    let form = Form::parse(&body)?;
    let token = form.get("logout_token").filter(|token| token.len() <= LONGEST_TOKEN);
    let seen = app.views.connections.look_anew(&connection).await?;
    let known = seen.machine.known().ok_or(REFUSED)?;
    let client = sign_on::client(&app, known).map_err(|_| OAuthError::unavailable())?;
    let notice = app.upstreams.logout_notice(&client, token.ok_or(REFUSED)?).await;
    let notice = notice.map_err(|error| {
        tracing::info!(%error, connection, "a logout token was refused");
        if error.is_unavailable() { OAuthError::unavailable() } else { REFUSED }
    })?;
    Box::pin(Logout { app: &app, context, known, notice: &notice }.end()).await?;
    let mut answer = StatusCode::OK.into_response();
    never_stored(&mut answer);
    Ok(answer)
}

/// What a provider wants to be ended.
struct Logout<'a> {
    app: &'a App,
    context: Context,
    known: &'a Known,
    notice: &'a LogoutNotice,
}

/// A part of what is listed.
struct ListedSessions {
    /// Ids, each with its account.
    named: Vec<(String, String)>,
    /// Where the next page begins.
    next: Option<(String, String)>,
}

/// Upstream sessions that have ended, and whose they were.
#[derive(Default)]
struct EndedSessions {
    ids: BTreeSet<String>,
    accounts: BTreeSet<String>,
}

impl Logout<'_> {
    async fn end(&self) -> Result<(), OAuthError> {
        let mut ended = EndedSessions::default();
        let mut next = Some((String::new(), String::new()));
        while let Some(after) = next {
            next = self.end_page(&after, &mut ended).await?;
        }
        for account in &ended.accounts {
            // What rested on it is over already: the answer does not depend on this.
            if let Err(error) = self.end_sessions(account, &ended.ids).await {
                tracing::error!(%error, "sessions that rest on nothing could not be ended");
            }
        }
        Ok(())
    }

    /// Ends a page of what is listed, and says where the next one begins. The last one spends the token.
    async fn end_page(
        &self,
        after: &(String, String),
        ended: &mut EndedSessions,
    ) -> Result<Option<(String, String)>, OAuthError> {
        for _ in 0..TRIES {
            let ListedSessions { named, next } = self.listed(after).await?;
            let mut commit = self.app.multi_commit(&self.context);
            let used = client_assertion::Command::Use { expires_at: self.notice.expires_at };
            let decided = commit.decide::<ClientAssertion>(&self.token_id(), &used).await?;
            decided.map_err(|_| REFUSED)?;
            if next.is_some() {
                // It could be used; that it was is written with the last page.
                commit = self.app.multi_commit(&self.context);
            }
            for (id, _) in &named {
                let end = upstream_session::Command::End;
                // One that has ended meanwhile needs no end.
                let _ = commit.decide::<UpstreamSession>(id, &end).await?;
            }
            match commit.commit().await {
                Ok(()) => {
                    for (id, account) in named {
                        ended.ids.insert(id);
                        ended.accounts.insert(account);
                    }
                    return Ok(next);
                }
                Err(
                    CommitError::Conflict | CommitError::Unmet { .. } | CommitError::Taken { .. },
                ) => {}
                Err(CommitError::Unavailable | CommitError::Unknown) => {
                    return Err(OAuthError::unavailable());
                }
            }
        }
        Err(OAuthError::unavailable())
    }

    /// Lists what the notice names beyond this place.
    async fn listed(&self, after: &(String, String)) -> Result<ListedSessions, OAuthError> {
        let none = || ListedSessions { named: Vec::new(), next: None };
        let Self { app, known, notice, .. } = self;
        let identity = match &notice.subject {
            None => None,
            Some(subject) => {
                let name = identity_name(&known.id, subject);
                let found = app.store.find(EXTERNAL_IDENTITIES, &name).await;
                let found = found.map_err(Problem::from).map_err(|_| OAuthError::unavailable())?;
                // A subject that is linked to no account has no sessions here.
                let Some((_, id)) = found else { return Ok(none()) };
                Some(id)
            }
        };
        let (list, owner) = match (&notice.session, &identity) {
            (Some(sid), _) => (UPSTREAM_SIDS, sid_of(&known.id, sid)),
            (None, Some(identity)) => (UPSTREAM_SESSIONS, identity.clone()),
            (None, None) => return Ok(none()),
        };
        let after = (&*after.0, &*after.1);
        let page = app.views.upstream_sessions.page(list, &owner, after, PAGE).await?;
        let last = page.last().filter(|_| page.len() == PAGE.most() as usize);
        let next = last.map(|(rank, entry)| (rank.clone(), entry.id.clone()));
        let named = |open: &&upstream_session::Open| {
            identity.as_ref().is_none_or(|identity| *identity == open.identity)
        };
        let of = |entry: crate::actors::Entry<UpstreamSession>| {
            let account = entry.machine.open().filter(named)?.account.clone();
            Some((entry.id, account))
        };
        let named = page.into_iter().filter_map(|(_, entry)| of(entry)).collect();
        Ok(ListedSessions { named, next })
    }

    /// Ends the sessions of an account that rested on these alone.
    async fn end_sessions(
        &self,
        account: &str,
        over: &BTreeSet<String>,
    ) -> Result<(), HydrateError> {
        let app = self.app;
        let now = app.clock.now();
        let is_over = |one: &SingleSignOn| over.contains(&one.session);
        let mut after = (String::new(), String::new());
        // There are no more of each sort than are kept.
        loop {
            let page =
                app.views.sessions.page(SESSIONS, account, (&after.0, &after.1), PAGE).await?;
            let Some((rank, last)) = page.last() else { return Ok(()) };
            after = (rank.clone(), last.id.clone());
            for (_, entry) in page {
                let Some(open) = entry.machine.owned_by(account, now) else { continue };
                let evidence = open.person_at(now).evidence;
                if !evidence.sign_ons().any(is_over) {
                    continue;
                }
                if evidence.without_sign_ons(is_over).shown_level(now).is_none() {
                    let end = session::Command::End;
                    let _ = app.entities.sessions.ask_detached(&self.context, &entry.id, end).await;
                    app.views.sessions.forget(&entry.id);
                }
            }
        }
    }

    /// The id under which the use of the token is kept. No client id contains a NUL: a logout token is taken for no assertion
    /// of a client and no proof of a key.
    fn token_id(&self) -> String {
        let text = format!("\0\0{}\0{}", self.known.id, self.notice.jti);
        Fingerprint::of(text.as_bytes()).into()
    }
}
