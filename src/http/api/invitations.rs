//! `/api/organizations/{organization}/invitations`: who is asked to become a member.

use super::{
    call::{Answer, Call, gone, shown},
    page::PageRequest,
};
use crate::{
    domain::{
        Locale,
        account::normalise_email,
        invitation::{Command, INVITATIONS, Invitation as Machine, Pending},
    },
    http::{
        answer::error::Problem,
        limits::attempts::Attempt,
        people::inviter::{self, InvitationDraft},
        time::rfc3339,
    },
};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An invitation that can be accepted.
#[derive(Serialize, ToSchema)]
pub struct Invitation {
    id: String,
    email: String,
    roles: Vec<String>,
    created_at: String,
    expires_at: String,
}

/// Who is invited, and to which roles.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewInvitation {
    email: String,
    #[serde(default)]
    roles: Vec<String>,
    /// The language of the mail: `en` or `pt`.
    #[serde(default)]
    #[schema(nullable = false)]
    locale: Option<String>,
}

const NO_MAIL: Problem = Problem::new(
    StatusCode::CONFLICT,
    "mail_not_configured",
    "no mail is sent by this installation: invite by the operator's command",
);

impl Invitation {
    fn of(id: &str, pending: &Pending) -> Self {
        Self {
            id: id.to_owned(),
            email: pending.email.clone(),
            roles: pending.roles.clone(),
            created_at: rfc3339(pending.created_at),
            expires_at: rfc3339(pending.expires_at),
        }
    }
}

pub async fn list(call: Call) -> Answer {
    let asked = PageRequest::of(&call, INVITATIONS)?;
    let slug = &call.caller.organization;
    let page = call
        .app
        .views
        .invitations
        .page(INVITATIONS, slug, asked.after_rank(), asked.bound())
        .await?;
    let last = asked.last(&page);
    let now = call.app.clock.now();
    let shown = page.iter().filter_map(|(_, one)| Some((&one.id, one.machine.pending(now)?)));
    Ok(asked.answer(shown.map(|(id, pending)| Invitation::of(id, pending)).collect(), last))
}

pub async fn create(mut call: Call) -> Answer {
    let NewInvitation { email, roles, locale } = call.body()?;
    let locale = match locale.as_deref() {
        None => call.app.settings.locale,
        Some(tag) => Locale::of_tag(tag)
            .ok_or_else(|| Problem::wrong_member("#/locale", "is neither `en` nor `pt`"))?,
    };
    if !call.app.channels().mail {
        return Err(NO_MAIL);
    }
    let to = email.trim().to_owned();
    let no_address = || Problem::wrong_member("#/email", "is no e-mail address");
    let charged_to = normalise_email(&to).ok_or_else(no_address)?;
    let mut change = call.begin().await?;
    change.grants_roles(&roles, "#/roles")?;
    let Call { app, caller, .. } = &call;
    let charged =
        app.limits.attempts.charge_invitation(&caller.context, &caller.organization, &charged_to);
    let charged = charged.await?;
    let inviter = call.caller.holder.inviter();
    let draft = InvitationDraft { email: to.clone(), roles, inviter, locale };
    let (id, make) = draft.into_command(app, &change.authority.home);
    // A new invitation takes the place of the former.
    let slug = &call.caller.organization;
    let former = inviter::pending(&call.app, slug, &to).await?;
    change.withdraw(former).await?;
    let made = change.commit.decide::<Machine>(&id, &make).await?;
    made.map_err(|_| no_address())?;
    change.finish().await?;
    // They stay charged, and come back with time.
    charged.into_iter().for_each(Attempt::failed);
    let seen = call.app.views.invitations.look_anew(&id).await?;
    let pending = seen.machine.pending(call.app.clock.now()).ok_or(Problem::NOT_FOUND)?;
    Ok(shown(StatusCode::CREATED, seen.version, &Invitation::of(&id, pending)))
}

pub async fn withdraw(call: Call) -> Answer {
    let id = call.param("invitation").to_owned();
    let mut change = call.begin().await?;
    let now = call.app.clock.now();
    let pending = change.commit.look::<Machine>(&id).await?.pending(now);
    let is_own = pending.is_some_and(|one| one.organization == call.caller.organization);
    if !is_own {
        return Err(Problem::NOT_FOUND);
    }
    let decided = change.commit.decide::<Machine>(&id, &Command::Withdraw).await?;
    decided.map_err(|_| Problem::NOT_FOUND)?;
    change.finish().await?;
    Ok(gone())
}
