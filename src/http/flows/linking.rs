//! What a flow that links an identity tells its person, and what it must not lose on the way (adr/0139).

use super::{opened::OpenedFlow, sign_on::identities_of};
use crate::{
    actors::HydrateError,
    domain::{
        Machine as _,
        account::Known,
        connection::Connection,
        flow::{LINK, Moment, Notice, SIGN_IN},
        membership::Membership,
        message::MailContent,
        organization::Organization,
    },
    http::{app::App, people::notice},
};

/// Returns the mail that the person gets when the identity is linked.
pub async fn notices(
    app: &App,
    opened: &OpenedFlow,
    known: Option<&Known>,
) -> Result<Vec<Notice>, HydrateError> {
    let (Some(known), Some(id)) = (known, &opened.seed.connection) else { return Ok(Vec::new()) };
    let seen = app.views.connections.look(id).await?;
    let connection = seen.machine.known().map(|known| known.name.clone()).unwrap_or_default();
    let content = MailContent::IdentityLinked { connection };
    let mail = notice::mail(app, &opened.context, known, content);
    Ok(mail.map(|mail| Notice::folded(Moment::Ended, known, mail)).into_iter().collect())
}

/// Lists the identities that are the account's own credentials: those of no organization.
pub async fn own(app: &App, account: &str) -> Result<Vec<String>, HydrateError> {
    let linked = identities_of(app, account).await?.into_iter();
    let own = linked.filter(|linked| linked.organization.is_none());
    Ok(own.map(|linked| linked.id).collect())
}

/// Tells whether what has changed is what an identity was believed by: the flow cannot mend that.
pub fn rests_on(opened: &OpenedFlow, kind: &str) -> bool {
    match &*opened.seed.kind {
        LINK => [Connection::KIND, Organization::KIND, Membership::KIND].contains(&kind),
        // It may have gone on as a sign-up.
        SIGN_IN => kind == Connection::KIND,
        _ => false,
    }
}
