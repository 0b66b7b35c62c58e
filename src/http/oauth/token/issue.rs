//! Issues what a person's grant confers, over everything that limits it now, with idempotent retries.
//!
//! 1. the family says what it is about;
//! 2. membership, organization and API are looked at, and become requirements of the commit: if one
//!    has changed meanwhile, they are looked at again, and so is the account;
//! 3. the family decides, and commits; where it is not known whether it did, it is asked again;
//! 4. what it grants is signed while it commits, and answered only if that succeeds (adr/0101).

use super::TokenResponse;
use crate::{
    actors::Failure,
    crypto::OpaqueKind,
    domain::{
        Machine as _,
        authority::{Scopes, Widening},
        authorization_details::Details,
        client::{Client, KnownClient},
        client_assertion::ClientAssertion,
        external_identity::ExternalIdentity,
        grant::Grant,
        requested_claims,
        session::Session,
        signing_keys::SigningAlgorithm,
        token_family::{Command, Issuing, Malformed, Narrowing, Refusal, Reply, TokenFamily},
        upstream_session::UpstreamSession,
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form, possession},
        grants::{
            added_claims::{self, About, Place},
            limits::{self, GrantLimits},
        },
        issuing::{FamilySigner, audience, check_client, lifetimes},
        people::ceilings,
        reading::{
            Reading,
            retries::{FinalFailure, Retries},
        },
    },
};
use serde_json::{Map, Value};
use std::sync::Arc;

pub const INVALID_GRANT: OAuthError =
    OAuthError::new(Code::InvalidGrant, "the code or token is not valid, or not for this client");

/// A token request: a client presents a code or a token of this family.
pub struct TokenRequest<'a> {
    pub caller: &'a Caller,
    pub family: &'a str,
    /// Whether a refresh token is due.
    pub refreshable: bool,
    pub narrowing: Narrowing,
}

/// Reads what a client asks of its grant; the family judges it.
pub fn narrowing(app: &App, form: &Form) -> Narrowing {
    let scopes = form.get("scope").map(Scopes::parse);
    let details = form.get("authorization_details").map(Details::parse);
    let target = form.resource();
    let malformed = match (&scopes, &target, &details) {
        (Some(Err(_)), ..) => Some(Malformed::Scope),
        (_, Err(_), _) => Some(Malformed::Target),
        (.., Some(Err(_))) => Some(Malformed::Details),
        _ => None,
    };
    Narrowing {
        scopes: scopes.and_then(Result::ok),
        details: details.and_then(Result::ok),
        audience: target.ok().flatten().map(|name| audience(app, name)),
        organization: form.get("organization").map(str::to_owned),
        malformed,
    }
}

/// Issues what the family grants to the command that `command` makes.
pub async fn issue(
    app: &App,
    presented: TokenRequest<'_>,
    command: impl Fn(Issuing) -> Command,
) -> Result<TokenResponse, OAuthError> {
    let TokenRequest { caller, family, refreshable, narrowing } = presented;
    let (context, client) = (&caller.context, caller.client());
    check_client(app, client)?;
    let possession = caller.possession()?;
    // Before anything is spent: what cannot be signed is not asked for.
    for algorithm in [SigningAlgorithm::Es256, client.id_token_algorithm()] {
        if !app.crypto.keys.borrow().can_sign(algorithm) {
            return Err(OAuthError::unavailable().because("there is no key to sign with"));
        }
    }
    let shown = app.entities.families.ask(context, family, Command::Show).await;
    let shown = shown.map_err(FinalFailure::Failed).map_err(refuse)?;
    let Reply::Shown(shown) = shown.reply else {
        return Err(OAuthError::unavailable());
    };
    // The client may have changed since the code was sent there.
    if shown.redirect_uri.as_ref().is_some_and(|uri| !client.has_redirect_uri(uri)) {
        return Err(INVALID_GRANT.because("its redirect URI is no longer the client's"));
    }
    // Before anything is spent as well: without the claims of the operator nothing is issued.
    let profile = Arc::new(profile(app, client, &shown.grant).await?);
    // Drawn once for all tries: by it the family knows a command that it has carried out.
    let next = OpaqueKind::RefreshToken.mint(family, &app.crypto.vault.now(), &*app.dice);
    let mut tries = Retries::new();
    let mut issued = loop {
        let limited =
            limits::gather(app, client, &shown.grant, Reading::anew_if(tries.anew())).await;
        let GrantLimits { limits, roles, requirements } = tries.read(limited).map_err(refuse)?;
        let issuing = Issuing {
            client_id: client.client_id.clone(),
            narrowing: narrowing.clone(),
            next: next.fingerprint,
            limits,
            requirements,
            lifetimes: lifetimes(app),
            possession: possession.clone(),
        };
        let signer = FamilySigner {
            app: app.clone(),
            client: caller.seen().clone(),
            family: family.to_owned(),
            nonce: shown.nonce.clone(),
            profile: profile.clone(),
            roles,
            bound: possession.bound,
        };
        let asked = (context, family, false);
        let work = move |reply: &Reply| signer.sign(reply);
        match app.entities.families.ask_and_work(asked, command(issuing), work).await {
            Ok((_, Some(issued))) => break issued?,
            Ok((_, None)) => return Err(OAuthError::unavailable()),
            Err(Failure::Unmet {
                kind:
                    kind @ (Session::KIND
                    | TokenFamily::KIND
                    | Client::KIND
                    | ExternalIdentity::KIND
                    | UpstreamSession::KIND),
            }) => {
                return Err(INVALID_GRANT.because(format!("its {kind} is over")));
            }
            Err(Failure::Taken { space: ClientAssertion::KIND }) => {
                return Err(possession::USED_BEFORE);
            }
            Err(failure) => tries.after(failure).await.map_err(refuse)?,
        }
    };
    issued.refresh_token = refreshable.then_some(next.text);
    // A code was redeemed: the client holds one more.
    if let (None, Some(account)) = (&shown.refresh, &shown.grant.account) {
        ceilings::keep_families(app, context, account, &client.client_id).await;
    }
    Ok(issued)
}

/// Returns the claims that the ID token tells of the person: those that were asked for,
/// and those that the operator's own server adds.
async fn profile(
    app: &App,
    client: &KnownClient,
    grant: &Grant,
) -> Result<Map<String, Value>, OAuthError> {
    let person = grant.account.as_deref().filter(|_| grant.scopes.contains("openid"));
    let Some(account) = person else { return Ok(Map::new()) };
    let mut profile = Map::new();
    // Who is meant is worked out for the hook alone.
    if app.claims_hook.is_some() {
        let about = About {
            subject: &app.subject(client, account),
            account,
            client_id: &client.client_id,
            organization: grant.organization(),
            scope: &grant.scopes.to_string(),
        };
        profile = added_claims::ask(app, Place::IdToken, about).await?;
    }
    let mut names: Vec<&str> = grant.claims.id_token.iter().map(String::as_str).collect();
    if client.claims_in_id_token {
        for name in requested_claims::of_scopes(&grant.scopes) {
            names.push(name);
        }
    }
    if !names.is_empty() {
        let seen = app.views.accounts.look(account).await?;
        profile.extend(seen.machine.known().map(|known| known.tell(&names)).unwrap_or_default());
    }
    Ok(profile)
}

/// The reason goes to the log; the caller hears the same of all of them.
fn refuse(stopped: FinalFailure<Refusal>) -> OAuthError {
    let too_much = |why: &Widening| {
        OAuthError::new(Code::InvalidScope, "a scope is more than was granted or is held now")
            .naming_if(why.scope())
            .because(why.to_string())
    };
    let refusal = match stopped {
        FinalFailure::Failed(Failure::Refused(refusal)) => refusal,
        FinalFailure::Failed(other) => return OAuthError::unavailable().because(other.to_string()),
        FinalFailure::Unreadable(error) => return error.into(),
        FinalFailure::Unknown => return OAuthError::OUTCOME_UNKNOWN,
    };
    match refusal {
        Refusal::Widening(Widening::OtherOrganization) => {
            INVALID_GRANT.because("the person no longer speaks for the organization")
        }
        Refusal::Widening(Widening::OutOfReach) => {
            INVALID_GRANT.because("the person holds nothing there any more")
        }
        Refusal::Widening(why @ (Widening::DetailsNotOffered | Widening::DetailsNotConferred)) => {
            INVALID_GRANT.because(why.to_string())
        }
        Refusal::Widening(Widening::DetailsBeyondGrant) => OAuthError::new(
            Code::InvalidAuthorizationDetails,
            "the authorization_details are more than was granted",
        ),
        Refusal::MalformedDetails => OAuthError::new(
            Code::InvalidAuthorizationDetails,
            "the authorization_details are malformed",
        ),
        Refusal::Widening(why) => too_much(&why),
        Refusal::MalformedScope => OAuthError::new(Code::InvalidScope, "a scope is malformed"),
        Refusal::OtherAudience => {
            OAuthError::new(Code::InvalidTarget, "the grant is for another resource")
        }
        why @ (Refusal::Replayed | Refusal::Reused) => {
            tracing::warn!(%why, "a token family has ended");
            INVALID_GRANT.because(why.to_string())
        }
        why => INVALID_GRANT.because(why.to_string()),
    }
}
