//! A client through its life, and everything that may not be written of one.

use super::*;
use crate::domain::{
    authority::{Audience, Permission, RequestedAuthority, Scopes},
    authorization_details::Details,
    client::{AuthMethod, GrantType},
};
use serde_json::json;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn acme() -> organization::Known {
    let role = |name: &str, permission: &str| organization::Role {
        name: name.to_owned(),
        permissions: vec![Permission::parse(permission).unwrap()],
        group: None,
    };
    organization::Known {
        required_connections: Vec::new(),
        deletion: None,
        slug: "acme".to_owned(),
        name: "Acme".to_owned(),
        enabled: true,
        roles: vec![role("clerk", "invoices:read"), role("manager", "invoices:*")],
        required_acr: crate::domain::assurance::Acr::Aal1,
        impersonation: false,
        brand: crate::domain::brand::Brand::default(),
        epoch: 0,
        signed_out: 0,
    }
}

fn billing() -> Draft {
    Draft {
        client_id: "billing".to_owned(),
        secret: Some(Fingerprint::of(b"a secret of high entropy, drawn once")),
        organization: Some("acme".to_owned()),
        roles: Some(vec!["clerk".to_owned()]),
        ..Draft::default()
    }
}

fn metadata(members: Value) -> Map<String, Value> {
    let Value::Object(members) = members else { panic!("an object is needed") };
    members
}

fn provision(client: &mut Client, draft: Draft) -> Result<Provisioned, Refusal> {
    provision_at(client, draft, Some(acme()))
}

fn provision_at(
    client: &mut Client,
    draft: Draft,
    home: Option<organization::Known>,
) -> Result<Provisioned, Refusal> {
    let decision = client.decide(&Command::Provision { draft: Box::new(draft), home }, NOW);
    assert_eq!(decision.events.len(), decision.effects.records.len(), "each is recorded");
    for event in &decision.events {
        client.apply(event);
    }
    decision.outcome
}

fn known() -> Client {
    let mut client = Client::default();
    assert_eq!(provision(&mut client, billing()), Ok(Provisioned::Created));
    client
}

fn refused(change: impl FnOnce(&mut Draft)) -> Refusal {
    let mut draft = billing();
    change(&mut draft);
    provision(&mut Client::default(), draft).unwrap_err()
}

#[test]
fn a_client_that_speaks_for_an_organization_uses_its_own_credentials() {
    let client = known();
    let client = client.known().unwrap();
    assert!(client.may_use(GrantType::ClientCredentials));
    assert!(!client.may_use(GrantType::AuthorizationCode));
    assert!(client.authenticates_by(AuthMethod::ClientSecretBasic));
    assert!(client.authenticates_by(AuthMethod::ClientSecretPost));
    assert!(!client.authenticates_by(AuthMethod::None));
}

#[test]
fn a_registered_method_is_the_only_one() {
    let mut client = Client::default();
    let method = json!({ "token_endpoint_auth_method": "client_secret_post" });
    provision(&mut client, Draft { metadata: metadata(method), ..billing() }).unwrap();
    assert!(!client.known().unwrap().authenticates_by(AuthMethod::ClientSecretBasic));
    assert!(client.known().unwrap().authenticates_by(AuthMethod::ClientSecretPost));
}

#[test]
fn what_is_given_twice_changes_nothing_and_what_is_left_out_stays() {
    let mut client = known();
    assert_eq!(provision(&mut client, billing()), Ok(Provisioned::Unchanged));
    let only_id = Draft { client_id: "billing".to_owned(), ..Draft::default() };
    assert_eq!(provision(&mut client, only_id.clone()), Ok(Provisioned::Unchanged));
    let roles = Draft { roles: Some(vec!["manager".to_owned()]), ..only_id };
    assert_eq!(provision(&mut client, roles), Ok(Provisioned::Changed(vec!["roles"])));
    assert!(client.known().unwrap().secret.is_some());
}

#[test]
fn a_client_that_turns_to_another_method_loses_its_secret() {
    let mut client = known();
    let keys = json!({ "token_endpoint_auth_method": "private_key_jwt",
                       "jwks_uri": "https://billing.example.com/jwks" });
    let draft = Draft { secret: None, metadata: metadata(keys), ..billing() };
    let fields = vec!["token_endpoint_auth_method", "jwks_uri", "client_secret"];
    assert_eq!(provision(&mut client, draft.clone()), Ok(Provisioned::Changed(fields)));
    assert_eq!(client.known().unwrap().secret, None);
    let secret = Draft { secret: billing().secret, ..draft };
    assert_eq!(provision(&mut client, secret), Err(Refusal::SecretUseless));
}

#[test]
fn a_profile_and_a_ceiling_can_be_lifted_again() {
    let mut client = Client::default();
    let fit = || Draft { secret: None, metadata: metadata(json!({})), ..billing() };
    let bound = Draft {
        require_profile: Some(Bond::To(Profile::Fapi2)),
        metadata: metadata(json!({
            "scope": "invoices:read", "client_name#pt": "Contas",
            "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://a.example/keys",
        })),
        ..fit()
    };
    provision(&mut client, bound).unwrap();
    assert_eq!(provision(&mut client, fit()), Ok(Provisioned::Unchanged));
    let free = Draft {
        require_profile: Some(Bond::Free),
        metadata: metadata(json!({ "scope": null, "client_name#pt": "Faturas" })),
        ..fit()
    };
    let fields = vec!["client_name", "scope", "require_profile"];
    assert_eq!(provision(&mut client, free), Ok(Provisioned::Changed(fields)));
    assert_eq!(client.known().unwrap().ceiling(), None);
}

#[test]
fn a_role_that_its_organization_dropped_stands_in_the_way_of_no_other_change() {
    let mut client = known();
    let mut smaller = acme();
    smaller.roles.remove(0);
    let trusted = Draft { trusted: Some(true), ..billing() };
    let changed = provision_at(&mut client, trusted, Some(smaller.clone()));
    assert_eq!(changed, Ok(Provisioned::Changed(vec!["trusted"])));
    let roles = Some(vec!["clerk".to_owned(), "manager".to_owned()]);
    let more = provision_at(&mut client, Draft { roles, ..billing() }, Some(smaller));
    assert_eq!(more, Err(Refusal::NoSuchRole("clerk".to_owned())));
}

#[test]
fn what_a_list_has_twice_counts_once() {
    let mut client = known();
    let twice = |one: &str| Some(vec![one.to_owned(), one.to_owned()]);
    let draft = Draft { roles: twice("clerk"), ..billing() };
    assert_eq!(provision(&mut client, draft), Ok(Provisioned::Unchanged));
    let draft = Draft { introspects: twice("urn:a:b"), ..billing() };
    provision(&mut client, draft).unwrap();
    assert_eq!(client.known().unwrap().introspects, ["urn:a:b"]);
}

#[test]
fn a_client_that_only_guards_a_resource_needs_no_grant() {
    let mut client = Client::default();
    let guard = Draft {
        client_id: "api".to_owned(),
        secret: billing().secret,
        introspects: Some(vec!["https://api.example.com".to_owned()]),
        ..Draft::default()
    };
    assert_eq!(provision_at(&mut client, guard, None), Ok(Provisioned::Created));
    assert!(GrantType::ALL.iter().all(|grant| !client.known().unwrap().may_use(*grant)));
}

#[test]
fn what_does_not_hold_together_is_refused() {
    let no_role = refused(|draft| draft.roles = Some(vec!["owner".to_owned()]));
    assert_eq!(no_role, Refusal::NoSuchRole("owner".to_owned()));
    assert_eq!(refused(|draft| draft.organization = None), Refusal::RolesNowhere);
    assert_eq!(refused(|draft| draft.client_id = "a b".to_owned()), Refusal::ClientId);
    assert_eq!(refused(|draft| draft.client_id = String::new()), Refusal::ClientId);
    let public = json!({ "token_endpoint_auth_method": "none" });
    assert_eq!(refused(|draft| draft.metadata = metadata(public)), Refusal::SecretUseless);
    assert_eq!(refused(|draft| draft.secret = None), Refusal::PublicMachine);
    let basic = json!({ "token_endpoint_auth_method": "client_secret_basic" });
    let bare = refused(|draft| {
        draft.secret = None;
        draft.metadata = metadata(basic);
    });
    assert_eq!(bare, Refusal::SecretMissing);
    let nonsense = json!({ "grant_types": ["password"], "nonsense": true });
    let Refusal::Metadata(faults) = refused(|draft| draft.metadata = metadata(nonsense)) else {
        panic!("its metadata is refused")
    };
    assert_eq!(faults.len(), 2, "all at once");
    let nowhere = provision_at(&mut Client::default(), billing(), None);
    assert_eq!(nowhere, Err(Refusal::NoSuchOrganization("acme".to_owned())));
}

#[test]
fn a_client_of_a_suspended_organization_accepts_no_change() {
    let mut client = known();
    let suspended = organization::Known { enabled: false, ..acme() };
    let change = Draft { trusted: Some(true), ..billing() };
    let refused = provision_at(&mut client, change, Some(suspended.clone()));
    assert_eq!(refused, Err(Refusal::Suspended("acme".to_owned())));
    let same = provision_at(&mut client, billing(), Some(suspended));
    assert_eq!(same, Ok(Provisioned::Unchanged));
}

#[test]
fn a_client_never_moves_to_another_organization() {
    let other = Draft { organization: Some("other".to_owned()), ..billing() };
    assert_eq!(provision(&mut known(), other), Err(Refusal::OtherOrganization));
}

#[test]
fn in_its_own_name_a_client_holds_what_its_roles_confer_and_its_registration_admits() {
    let mut client = known();
    let asked = |scopes: &str| RequestedAuthority {
        organization: Some("acme".to_owned()),
        audience: Audience::Issuer,
        offered: Vec::new(),
        scopes: Scopes::parse(scopes).unwrap(),
        details: Details::default(),
    };
    let acme = acme();
    let holds = |client: &Client, scopes: &str| {
        client.known().unwrap().narrow(Some(&acme), asked(scopes)).is_ok()
    };
    assert!(holds(&client, "invoices:read"));
    assert!(!holds(&client, "invoices:approve") && !holds(&client, "openid"));
    let ceiling = metadata(json!({ "scope": "orders:read" }));
    provision(&mut client, Draft { metadata: ceiling, ..billing() }).unwrap();
    assert!(!holds(&client, "invoices:read"), "its registration does not admit it");
    assert!(!holds(&client, "orders:read"), "its roles do not confer it");
    assert!(client.known().unwrap().narrow(None, asked("")).is_err(), "not without its home");
}
