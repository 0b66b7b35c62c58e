//! Whom a client asks, and whether it may (contract §5, CIBA).

use super::parameters::Hint;
use crate::{
    domain::{
        Fingerprint, Machine as _,
        account::{Account, EMAIL_ADDRESSES, Known},
        approval_block::{ApprovalBlock, Sides},
        authorization::{AuthorizationFacts, RequestedGrant},
        client::KnownClient,
    },
    http::{
        answer::{
            authorization_error::{AuthorizationError, refusal_of},
            error::{Code, OAuthError},
        },
        app::App,
        authorization::request_facts::FactsReader,
        grants::live_grant,
        reading::{LivenessReading, Reading},
    },
};

/// Bytes; no account has a longer id, and a database could not be asked about everything.
const LONGEST_ID: usize = 64;

const UNKNOWN: OAuthError =
    OAuthError::new(Code::UnknownUserId, "no person is known by this hint to the client");

const BLOCKED: OAuthError =
    OAuthError::new(Code::AccessDenied, "the person wants no requests from this client");

/// Finds the person, and the organization that the tokens will speak for. All is read before anything
/// is said.
pub(super) async fn find(
    app: &App,
    (client, client_version): (&KnownClient, i64),
    hint: &Hint,
    wanted: &mut RequestedGrant,
) -> Result<Known, OAuthError> {
    let id = match hint {
        Hint::Email(email) => app.store.find(EMAIL_ADDRESSES, email).await?.map(|(_, id)| id),
        Hint::Account(id) => Some(id.clone()).filter(|id| id.len() <= LONGEST_ID),
    };
    let id = id.filter(|id| !id.contains('\0')).unwrap_or_else(|| decoy(hint));
    let sides = Sides { account: id.clone(), client_id: client.client_id.clone() };
    let sides = sides.id();
    let asked = [(Account::KIND, id.as_str()), (ApprovalBlock::KIND, sides.as_str())];
    let found = app.store.liveness(&asked).await?;
    let now = Reading::At(&LivenessReading { asked: &asked, found: &found });
    let seen = now.see(&app.views.accounts, &id).await?;
    let facts = {
        let (redirect_uri, chosen, anew) = (None, None, false);
        let (account, wanted) = (id.as_str(), &*wanted);
        let reader = FactsReader {
            app,
            client,
            client_version,
            wanted,
            redirect_uri,
            account,
            chosen,
            anew,
        };
        Box::pin(reader.gather()).await?
    };
    let block = now.see(&app.views.approval_blocks, &sides).await?;
    let reached = reaches(app, client, &id, &facts).await?;
    let known = seen.machine.known().filter(|known| reached && known.admits(app.clock.now()));
    let known = known.ok_or(UNKNOWN)?;
    if block.machine.blocked().is_some() {
        return Err(BLOCKED);
    }
    if wanted.organization.is_none() {
        wanted.organization = organization(client, &facts)?;
    }
    wanted.question(&facts).map_err(|denial| {
        let AuthorizationError { code, description, subject } = refusal_of(&denial);
        OAuthError::new(code, description).about(subject)
    })?;
    Ok(known.clone())
}

/// Returns an id that no account has. It is another one for each hint: reading it costs what reading an account does,
/// the first time and later.
fn decoy(hint: &Hint) -> String {
    let (Hint::Email(text) | Hint::Account(text)) = hint;
    Fingerprint::of(text.as_bytes()).into()
}

/// Tells whether the client may ask this person anything.
async fn reaches(
    app: &App,
    client: &KnownClient,
    account: &str,
    facts: &AuthorizationFacts,
) -> Result<bool, OAuthError> {
    if client.is_self_registered() {
        return live_grant::exists(app, (account, &client.client_id), |_| true).await;
    }
    let Some(home) = &client.organization else { return Ok(true) };
    let is_member = |one: &crate::domain::authorization::MembershipChoice| {
        one.membership.is_some() && one.organization == *home
    };
    Ok(facts.memberships.iter().any(is_member))
}

/// Says which organization is spoken for where the request names none: the only one, else the client's
/// own. No person is here to choose.
fn organization(
    client: &KnownClient,
    facts: &AuthorizationFacts,
) -> Result<Option<String>, OAuthError> {
    if client.organization.is_some() && !client.is_self_registered() {
        return Ok(client.organization.clone());
    }
    let mut usable = facts.memberships.iter().filter(|one| one.enabled);
    match (usable.next(), usable.next()) {
        (Some(_), Some(_)) => Err(OAuthError::new(
            Code::InvalidRequest,
            "the person belongs to several organizations: name one by organization",
        )),
        (only, _) => Ok(only.map(|one| one.organization.clone())),
    }
}
