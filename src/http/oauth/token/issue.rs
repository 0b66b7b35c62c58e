//! Issues what a person's grant confers, over everything that limits it now.
//!
//! 1. the family says what it is about;
//! 2. membership, organization and API are looked at, and become requirements of the commit: if one
//!    has changed meanwhile, they are looked at again;
//! 3. the family decides, and commits;
//! 4. only then is anything signed.

use super::Issued;
use crate::{
    actors::{Failure, ViewError},
    crypto::{Minted, OpaqueKind, draw_text},
    domain::{
        Fingerprint, Machine as _, Requirement,
        access_token::{Claims, Mint},
        account::Account,
        authority::{Audience, Scopes, Widening},
        client::KnownClient,
        grant::{Grant, Held, Limits},
        id_token::{self, IdToken},
        membership::Membership,
        organization::Organization,
        session::Session,
        signing_keys::SigningAlgorithm,
        token_family::{Command, Issue, Lifetimes, Nonsense, Refusal, Repeated, Reply},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::form::Form,
        facts::target,
    },
};

pub const INVALID_GRANT: OAuthError =
    OAuthError::new(Code::InvalidGrant, "the code or token is not valid, or not for this client");

/// How often a decision is tried while what it rests on changes.
const TRIES: usize = 4;

/// Who asks which family.
#[derive(Clone, Copy)]
pub struct Occasion<'a> {
    pub family: &'a str,
    pub client: &'a KnownClient,
    /// Whether a refresh token is due.
    pub refreshable: bool,
}

/// What a command to the family is made of.
pub struct Facts {
    /// Of the refresh token to be issued.
    pub next: Option<Fingerprint>,
    pub limits: Limits,
    pub requirements: Vec<Requirement>,
    pub lifetimes: Lifetimes,
}

/// What limits a grant, and the roles a token will name.
struct Gathered {
    limits: Limits,
    roles: Vec<String>,
    requirements: Vec<Requirement>,
}

/// Reads what a client says again of a grant; its family judges it.
pub fn said(app: &App, form: &Form) -> Repeated {
    let scopes = form.get("scope").map(Scopes::parse);
    let target = form.resource();
    let nonsense = match (&scopes, &target) {
        (Some(Err(_)), _) => Some(Nonsense::Scope),
        (_, Err(_)) => Some(Nonsense::Target),
        _ => None,
    };
    let audience = |resource: &str| {
        if resource == app.issuer {
            Audience::Issuer
        } else {
            Audience::Resource(resource.to_owned())
        }
    };
    Repeated {
        scopes: scopes.and_then(Result::ok),
        audience: target.ok().flatten().map(audience),
        organization: form.get("organization").map(str::to_owned),
        nonsense,
    }
}

/// Issues what the family grants to the command that `command` makes of the facts.
pub async fn issue(
    app: &App,
    occasion: Occasion<'_>,
    command: impl Fn(Facts) -> Command,
) -> Result<Issued, OAuthError> {
    let Occasion { family, client, refreshable } = occasion;
    // A token that anyone could use is not what such a client has asked for.
    if client.demands_bound_tokens() {
        let why = "the client wants bound tokens, which are not offered yet";
        return Err(OAuthError::new(Code::UnauthorizedClient, why));
    }
    // Before anything is spent: what cannot be signed is not asked for.
    for algorithm in [SigningAlgorithm::Es256, signing_algorithm(client)] {
        if app.keys.borrow().signer(algorithm).is_none() {
            return Err(OAuthError::unavailable().because("there is no key to sign with"));
        }
    }
    let lifetimes = Lifetimes {
        access_token: app.lifetimes.access_token,
        refresh_idle: app.lifetimes.refresh_idle,
        refresh_ceiling: app.lifetimes.refresh_ceiling,
    };
    for number in 0..TRIES {
        let shown = app.families.ask(family, Command::Show).await.map_err(refuse)?;
        let Reply::Shown(shown) = shown else { return Err(OAuthError::unavailable()) };
        let Gathered { limits, roles, requirements } =
            gather(app, client, &shown.grant, number > 0).await?;
        let mint = || OpaqueKind::RefreshToken.mint(family, &app.vault.now(), &*app.dice);
        let refresh = refreshable.then(mint);
        let next = refresh.as_ref().map(|minted| minted.fingerprint);
        let command = command(Facts { next, limits, requirements, lifetimes });
        match app.families.ask(family, command).await {
            Ok(Reply::Issue(issue)) => {
                return sign(app, occasion, *issue, &roles, refresh);
            }
            Ok(_) => return Err(OAuthError::unavailable()),
            Err(Failure::Unmet { kind: kind @ (Session::KIND | Account::KIND) }) => {
                return Err(INVALID_GRANT.because(format!("its {kind} is over")));
            }
            Err(Failure::Unmet { .. }) => {}
            Err(failure) => return Err(refuse(failure)),
        }
    }
    Err(OAuthError::unavailable().because("what the grant rests on keeps changing"))
}

/// The algorithm of a client's ID tokens (OIDC Registration §2: RS256 unless it says otherwise).
fn signing_algorithm(client: &KnownClient) -> SigningAlgorithm {
    client.metadata.id_token_signed_response_alg.unwrap_or(SigningAlgorithm::Rs256)
}

fn sign(
    app: &App,
    occasion: Occasion<'_>,
    issue: Issue,
    roles: &[String],
    refresh: Option<Minted>,
) -> Result<Issued, OAuthError> {
    let Occasion { family, client, .. } = occasion;
    let Issue { grant, granted, nonce } = issue;
    let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    let now = app.clock.now();
    let claims = Claims::from(Mint {
        issuer: &app.issuer,
        subject: &grant.account,
        client_id: &client.client_id,
        granted: &granted,
        roles: &roles,
        jti: draw_text(&*app.dice, 16),
        under: Some((&grant, family)),
        now,
        lifetime: app.lifetimes.access_token,
    });
    let access_token = app.sign(SigningAlgorithm::Es256, "at+jwt", &claims)?;
    let scope = claims.scope;
    let id_token = if granted.scopes().contains("openid") {
        let algorithm = signing_algorithm(client);
        let hashed = (algorithm != SigningAlgorithm::EdDsa).then_some(access_token.as_str());
        let claims = IdToken::from(id_token::Mint {
            issuer: &app.issuer,
            grant: &grant,
            nonce: nonce.as_deref(),
            access_token: hashed,
            now,
            lifetime: app.lifetimes.id_token,
        });
        Some(app.sign(algorithm, "JWT", &claims)?)
    } else {
        None
    };
    Ok(Issued {
        access_token,
        token_type: "Bearer",
        expires_in: app.lifetimes.access_token.as_secs(),
        refresh_token: refresh.map(|minted| minted.text),
        id_token,
        scope,
    })
}

/// Looks at everything that limits a grant.
async fn gather(
    app: &App,
    client: &KnownClient,
    grant: &Grant,
    anew: bool,
) -> Result<Gathered, ViewError> {
    let offered = target::offered(app, &grant.audience, anew).await?;
    let mut gathered = Gathered {
        limits: Limits { ceiling: client.ceiling(), held: None, offered },
        roles: Vec::new(),
        requirements: Vec::new(),
    };
    let Some(seat) = &grant.seat else { return Ok(gathered) };
    let membership = app.memberships.look_if(anew, &seat.membership).await?;
    let home = app.organizations.look_if(anew, &seat.organization).await?;
    let (Some(member), Some(organization)) = (membership.machine.known(), home.machine.known())
    else {
        return Ok(gathered);
    };
    if member.enabled && organization.enabled && member.organization == organization.slug {
        gathered.roles = member.roles_at(organization).into_iter().map(str::to_owned).collect();
        gathered.limits.held = Some(Held {
            organization: organization.slug.clone(),
            permissions: organization.confers(&member.roles),
        });
        gathered.requirements = vec![
            Requirement::unchanged::<Membership>(&*seat.membership, membership.version),
            Requirement::unchanged::<Organization>(&*seat.organization, home.version),
        ];
    }
    Ok(gathered)
}

/// The reason goes to the log; the caller hears the same of all of them.
fn refuse(failure: Failure<Refusal>) -> OAuthError {
    let too_much = |why: &Widening| {
        OAuthError::new(Code::InvalidScope, "a scope is more than was granted or is held now")
            .because(why.scope().unwrap_or_default())
    };
    match failure {
        Failure::Refused(Refusal::Widening(Widening::OtherOrganization)) => {
            INVALID_GRANT.because("the person no longer speaks for the organization")
        }
        Failure::Refused(Refusal::Widening(Widening::OutOfReach)) => {
            INVALID_GRANT.because("the person holds nothing there any more")
        }
        Failure::Refused(Refusal::Widening(why)) => too_much(&why),
        Failure::Refused(Refusal::MalformedScope) => {
            OAuthError::new(Code::InvalidScope, "a scope is malformed")
        }
        Failure::Refused(Refusal::OtherAudience) => {
            OAuthError::new(Code::InvalidTarget, "the grant is for another resource")
        }
        Failure::Refused(why @ (Refusal::Replayed | Refusal::Reused)) => {
            tracing::warn!(%why, "a token family has ended");
            INVALID_GRANT.because(why.to_string())
        }
        Failure::Refused(why) => INVALID_GRANT.because(why.to_string()),
        other => OAuthError::unavailable().because(other.to_string()),
    }
}
