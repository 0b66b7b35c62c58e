//! What a subject token stands for: an access token of ours, or an API key.

use super::{INVALID_SUBJECT, WRONG_ORGANIZATION};
use crate::{
    actors::EntitySnapshot,
    crypto::API_KEY_PREFIX,
    domain::{
        Requirement, Timestamp,
        access_token::Claims,
        api_key::Issuer,
        authority::{Audience, Permission, Scopes},
        authorization_details::Details,
        delegation::{Person, PersonProof, PresentedAuthority, Root, Subject},
        grant::{Grant, MembershipRef},
        membership::Membership,
        organization::Organization,
        requested_claims::RequestedClaims,
        token_family::{Malformed, Narrowing, TokenFamily},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form},
        grants::{
            api_key::{self, KeyLookup, LiveKey},
            target::{self, Sought},
            token_validity,
        },
        issuing::{self, SubjectToken},
        reading::{Reading, read_token::ReadToken},
    },
};
use std::sync::Arc;

/// Reads the subject token, which must be good now.
pub(super) async fn read(
    app: &App,
    caller: &Caller,
    form: &Form,
    asked: &Narrowing,
) -> Result<(PresentedAuthority, Option<SubjectToken>), OAuthError> {
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter subject_token is missing");
    let token = form.get("subject_token").ok_or(missing)?;
    if token.starts_with(API_KEY_PREFIX) {
        let found = api_key::find(app, token, &[]).await?;
        return match found.0 {
            KeyLookup::Good(live) => {
                api_key::note_use(app, &caller.context, &live);
                Ok((of_key(app, caller, *live, asked).await?, None))
            }
            KeyLookup::Suspended => Err(WRONG_ORGANIZATION),
            KeyLookup::Nothing => Err(INVALID_SUBJECT),
        };
    }
    let claims = app.read_held_token(token, &caller.proved.held).ok_or(INVALID_SUBJECT)?;
    let family = family(app, &claims).await?;
    let grant = grant(family.as_deref())?;
    // Before it is looked at: where they change meanwhile, the commit finds out.
    let seen = seen(app, grant).await?;
    if token_validity::of_token_before_commit(app, &claims).await?.is_none() {
        check(app, &claims).await?;
    }
    let epoch = match grant {
        None => client_epoch(app, &claims.client_id).await?,
        Some(grant) => grant.epoch,
    };
    let presented = of_token(app, Claims::clone(&claims), (grant, epoch))?;
    Ok((presented, Some(SubjectToken { claims, seen })))
}

/// Refuses a token that is not good now.
pub(super) async fn check(app: &App, claims: &ReadToken) -> Result<(), OAuthError> {
    if token_validity::of_token(app, claims, None).await?.is_some() {
        return Ok(());
    }
    let family = family(app, claims).await?;
    let lost = lost_organization(app, claims, grant(family.as_deref())?).await?;
    Err(if lost { WRONG_ORGANIZATION } else { INVALID_SUBJECT })
}

/// Returns what the person's authority follows from.
async fn seen(app: &App, grant: Option<&Grant>) -> Result<Vec<Requirement>, OAuthError> {
    let Some(MembershipRef { id, organization, .. }) =
        grant.and_then(|one| one.membership.as_ref())
    else {
        return Ok(Vec::new());
    };
    let home = app.views.organizations.look(organization).await?;
    let mut seen = vec![Requirement::unchanged::<Organization>(&**organization, home.version)];
    if let Some(id) = id {
        let member = app.views.memberships.look(id).await?;
        seen.push(Requirement::unchanged::<Membership>(&**id, member.version));
    }
    Ok(seen)
}

type Seen = Arc<EntitySnapshot<TokenFamily>>;

/// Returns the family of a token; what a family stands for never changes.
async fn family(app: &App, claims: &Claims<'_>) -> Result<Option<Seen>, OAuthError> {
    match claims.family() {
        None => Ok(None),
        Some(family) => Ok(Some(app.views.families.look(family).await?)),
    }
}

fn grant(family: Option<&EntitySnapshot<TokenFamily>>) -> Result<Option<&Grant>, OAuthError> {
    family.map(|seen| seen.machine.grant().ok_or(INVALID_SUBJECT)).transpose()
}

/// How often a client was enabled again.
async fn client_epoch(app: &App, client_id: &str) -> Result<u64, OAuthError> {
    let seen = app.views.clients.look(client_id).await?;
    Ok(seen.machine.known().map_or(0, |client| client.epoch))
}

/// Tells whether the token is void because it speaks for its organization no more.
async fn lost_organization(
    app: &App,
    claims: &Claims<'_>,
    grant: Option<&Grant>,
) -> Result<bool, OAuthError> {
    let Some(slug) = &claims.org else { return Ok(false) };
    let home = Reading::Anew.see(&app.views.organizations, slug).await?;
    if !home.machine.known().is_some_and(|known| known.enabled) {
        return Ok(true);
    }
    let membership = grant.and_then(|grant| grant.membership.as_ref());
    let Some(id) = membership.and_then(|one| one.id.as_deref()) else { return Ok(false) };
    let member = Reading::Anew.see(&app.views.memberships, id).await?;
    Ok(!member.machine.known().is_some_and(|known| known.enabled))
}

fn of_token(
    app: &App,
    claims: Claims<'static>,
    (grant, epoch): (Option<&Grant>, u64),
) -> Result<PresentedAuthority, OAuthError> {
    let audience = issuing::audience(app, &claims.aud);
    let scopes = Scopes::parse(&claims.scope).map_err(|_| INVALID_SUBJECT)?;
    let families = claims.families().map(str::to_owned).collect();
    let until = claims.expires_at();
    let Some(grant) = grant else {
        // A client in its own name.
        let client_id = claims.client_id.into_owned();
        let membership = claims.org.map(|slug| MembershipRef {
            id: None,
            organization: slug.into_owned(),
            epoch: claims.epoch,
        });
        return Ok(PresentedAuthority {
            root: Root::Token(claims.jti),
            through: vec![client_id.clone()],
            act: None,
            impersonation: false,
            may_act: claims.may_act,
            until,
            subject: Subject::Other { name: client_id, epoch },
            families,
            membership,
            audience,
            scopes,
            details: claims.authorization_details,
        });
    };
    let delegation = grant.delegation.as_deref();
    let subject = match &grant.account {
        None => {
            let name = delegation.and_then(|one| one.subject.clone());
            Subject::Other { name: name.ok_or(INVALID_SUBJECT)?, epoch: grant.epoch }
        }
        Some(account) => Subject::Person(Box::new(Person {
            account: account.clone(),
            epoch: grant.epoch,
            session: grant.bound_session().map(str::to_owned),
            claims: grant.claims.clone(),
            sign_on: grant.sign_on.clone(),
            proved: grant.rests_on_proof().then(|| PersonProof {
                at: grant.authenticated_at,
                level: grant.level,
                methods: grant.methods.clone(),
            }),
        })),
    };
    Ok(PresentedAuthority {
        root: delegation.map_or(Root::Token(claims.jti), |one| one.root.clone()),
        through: grant.clients().map(str::to_owned).collect(),
        act: claims.act,
        impersonation: delegation.is_some_and(|one| one.administrator.is_some()),
        may_act: claims.may_act,
        until,
        subject,
        families,
        membership: grant.membership.clone(),
        audience,
        scopes,
        details: claims.authorization_details,
    })
}

/// A key has no recipient and no scopes of its own: both are as asked, within what it permits.
async fn of_key(
    app: &App,
    caller: &Caller,
    live: LiveKey,
    asked: &Narrowing,
) -> Result<PresentedAuthority, OAuthError> {
    let LiveKey { key, permissions, .. } = live;
    let client = caller.client();
    if asked.malformed == Some(Malformed::Scope) {
        return Err(OAuthError::new(Code::InvalidScope, "a scope is malformed"));
    }
    let resource = match &asked.audience {
        None => None,
        Some(Audience::Resource(identifier)) => Some(identifier.as_str()),
        Some(Audience::Issuer) => {
            let why = "an API key is for APIs, and the issuer is none";
            return Err(OAuthError::new(Code::InvalidTarget, why));
        }
    };
    let details = Details::default();
    let scopes = match &asked.scopes {
        Some(scopes) => scopes.clone(),
        None => all_of(app, &key.permissions, resource, &permissions).await?,
    };
    if scopes.iter().count() != scopes.of_apis().count() {
        let why = "a scope speaks of a person, and an API key is none";
        return Err(OAuthError::new(Code::InvalidScope, why));
    }
    let organization = Some(key.organization.as_str());
    let sought = Sought { client, scopes: &scopes, details: &details, organization };
    let audience = target::find(app, resource, sought).await?.audience;
    let (subject, through, membership, epoch) = match &key.issuer {
        Issuer::Operator => {
            let subject = Subject::Other { name: key.id.clone(), epoch: 0 };
            (subject, Vec::new(), None, key.epoch)
        }
        Issuer::Client { client_id } => {
            let epoch = client_epoch(app, client_id).await?;
            let subject = Subject::Other { name: client_id.clone(), epoch };
            (subject, vec![client_id.clone()], None, key.epoch)
        }
        Issuer::Membership { id, account } => {
            let seen = app.views.accounts.look(account).await?;
            let epoch = seen.machine.known().ok_or(INVALID_SUBJECT)?.epoch;
            let person = Person {
                account: account.clone(),
                epoch,
                session: None,
                claims: RequestedClaims::default(),
                proved: None,
                sign_on: None,
            };
            let of_member = key.epoch.saturating_sub(epoch);
            (Subject::Person(Box::new(person)), Vec::new(), Some(id.clone()), of_member)
        }
    };
    Ok(PresentedAuthority {
        root: Root::ApiKey { id: key.id, parents: key.parents },
        through,
        act: None,
        impersonation: false,
        may_act: None,
        until: key.expires_at.unwrap_or(Timestamp::FOREVER),
        subject,
        families: Vec::new(),
        membership: Some(MembershipRef { id: membership, organization: key.organization, epoch }),
        audience,
        scopes,
        details,
    })
}

/// Returns everything that a key permits at an API, or its permissions where none is named.
async fn all_of(
    app: &App,
    own: &[Permission],
    resource: Option<&str>,
    permitted: &crate::domain::authority::Permissions,
) -> Result<Scopes, OAuthError> {
    let unclear = OAuthError::new(
        Code::InvalidRequest,
        "the API key permits more than can be named: say a scope or a resource",
    );
    let names: Vec<String> = match resource {
        None if own.iter().any(Permission::is_wildcard) => return Err(unclear),
        None => own.iter().map(|one| one.as_str().to_owned()).collect(),
        Some(identifier) => {
            let audience = Audience::Resource(identifier.to_owned());
            let seen = target::resource(app, &audience, Reading::Recent).await?;
            let offered = target::offered(seen.as_deref()).into_iter();
            offered.filter(|scope| permitted.covers(scope)).collect()
        }
    };
    Scopes::parse(&names.join(" ")).map_err(|_| unclear)
}
