use super::*;
use crate::domain::{
    Fingerprint, Machine as _,
    authority::{Permission, Permissions},
    grant::{HeldPermissions, Limits},
    possession::Possession,
    token_family::{self, Command, Issuing, Lifetimes, Narrowing, Reply, Start, TokenFamily},
};
use proptest::prelude::*;
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const SCOPES: [&str; 5] =
    ["openid", "invoices:read", "invoices:write", "invoices:approve", "invoices:void"];

fn scopes(text: &str) -> Scopes {
    Scopes::parse(text).unwrap()
}

fn presented(scope: &str) -> PresentedAuthority {
    PresentedAuthority {
        root: Root::Token("family.token".to_owned()),
        through: vec!["app".to_owned()],
        act: None,
        impersonation: false,
        may_act: None,
        until: NOW + Duration::from_mins(5),
        subject: Subject::Person(Box::new(Person {
            sign_on: None,
            account: "ana".to_owned(),
            epoch: 3,
            session: Some("session".to_owned()),
            claims: RequestedClaims::default(),
            proved: Some(PersonProof {
                at: NOW,
                level: Level::Aal2,
                methods: vec![Method::Password],
            }),
        })),
        families: vec!["family".to_owned()],
        membership: Some(MembershipRef {
            id: Some("m1".to_owned()),
            organization: "acme".to_owned(),
            epoch: 0,
        }),
        audience: Audience::Resource("api".to_owned()),
        scopes: scopes(scope),
        details: Details::default(),
    }
}

const AGENT: Agent<'_> = Agent { client_id: "agent", organization: None, epoch: 4 };

/// Presents what a grant of this chain was issued, as the next party does.
fn passed_on(grant: &Grant, family: &str) -> PresentedAuthority {
    let delegation = grant.delegation.as_deref().unwrap();
    PresentedAuthority {
        root: delegation.root.clone(),
        through: grant.clients().map(str::to_owned).collect(),
        act: Some(delegation.act.clone()),
        until: delegation.until,
        families: grant.parents.iter().cloned().chain([family.to_owned()]).collect(),
        scopes: grant.scopes.clone(),
        ..presented("openid")
    }
}

#[test]
fn a_grant_that_is_held_for_another_names_everything_it_rests_on() {
    let grant = presented("openid invoices:read").delegated_to(AGENT, NOW).unwrap();
    assert_eq!((grant.client_id.as_str(), grant.account.as_deref()), ("agent", Some("ana")));
    assert_eq!(grant.epoch, 7, "of the account and of all consents");
    assert_eq!(
        (grant.bound_session(), &*grant.parents),
        (Some("session"), &["family".to_owned()][..])
    );
    assert_eq!(grant.clients().collect::<Vec<_>>(), ["app", "agent"]);
    assert_eq!((grant.level, grant.rests_on_proof()), (Level::Aal2, true));
    let second = Agent { client_id: "second", ..AGENT };
    let below = passed_on(&grant, "f2").delegated_to(second, NOW).unwrap();
    let delegation = below.delegation.as_deref().unwrap();
    assert_eq!(delegation.act.parties().collect::<Vec<_>>(), ["second", "agent"]);
    assert_eq!(delegation.root, Root::Token("family.token".to_owned()));
    assert_eq!(below.parents, ["family", "f2"]);
    assert_eq!(below.clients().collect::<Vec<_>>(), ["app", "agent", "second"]);
}

#[test]
fn a_key_proves_nothing_of_a_person() {
    let subject = Subject::Other { name: "key".to_owned(), epoch: 0 };
    let root = Root::ApiKey { id: "key".to_owned(), parents: Vec::new() };
    let of_key =
        PresentedAuthority { root, subject, through: Vec::new(), ..presented("invoices:read") };
    let grant = of_key.delegated_to(AGENT, NOW).unwrap();
    assert!(grant.account.is_none() && !grant.rests_on_proof() && grant.session.is_none());
    assert_eq!(grant.delegation.unwrap().subject.as_deref(), Some("key"));
}

#[test]
fn another_party_another_organization_and_the_ninth_link_are_refused() {
    let named = |sub: &str| Some(MayAct { sub: sub.to_owned() });
    let ask = |presented: PresentedAuthority, agent| presented.delegated_to(agent, NOW).map(|_| ());
    let limited = PresentedAuthority { may_act: named("second"), ..presented("openid") };
    assert_eq!(ask(limited, AGENT), Err(Refusal::NotTheParty));
    let limited = PresentedAuthority { may_act: named("agent"), ..presented("openid") };
    assert_eq!(ask(limited, AGENT), Ok(()));
    let elsewhere = Agent { organization: Some("other"), ..AGENT };
    assert_eq!(ask(presented("openid"), elsewhere), Err(Refusal::OtherOrganization));
    let nowhere = PresentedAuthority { membership: None, ..presented("openid") };
    assert_eq!(ask(nowhere, elsewhere), Err(Refusal::OtherOrganization));
    let administers = MembershipRef { id: None, organization: "acme".to_owned(), epoch: 0 };
    let administered = PresentedAuthority { membership: Some(administers), ..presented("openid") };
    assert_eq!(ask(administered, AGENT), Err(Refusal::Administration));
    let impersonated = PresentedAuthority { impersonation: true, ..presented("openid") };
    assert_eq!(ask(impersonated, AGENT), Err(Refusal::Impersonation));
    let late = PresentedAuthority { until: NOW, ..presented("openid") };
    assert_eq!(ask(late, AGENT), Err(Refusal::Expired));
    let deep = |depth: usize| {
        let wrap = |act: Option<Box<Act>>, _| Some(Box::new(Act { sub: "a".to_owned(), act }));
        (0..depth).fold(None, wrap).map(|act| *act)
    };
    assert_eq!(ask(PresentedAuthority { act: deep(7), ..presented("openid") }, AGENT), Ok(()));
    let refused = ask(PresentedAuthority { act: deep(8), ..presented("openid") }, AGENT);
    assert_eq!(refused, Err(Refusal::TooDeep));
}

fn some_scopes() -> impl Strategy<Value = Scopes> {
    prop::sample::subsequence(&SCOPES[..], 0..=SCOPES.len())
        .prop_map(|some| scopes(&some.join(" ")))
}

fn limits(held: &Scopes, ceiling: Option<Scopes>, within: &Scopes) -> Limits {
    let permissions = |scopes: &Scopes| -> Permissions {
        let all: Vec<Permission> =
            scopes.of_apis().map(|one| Permission::parse(one).unwrap()).collect();
        all.iter().collect()
    };
    Limits {
        ceilings: ceiling.into_iter().collect(),
        held: Some(HeldPermissions {
            organization: "acme".to_owned(),
            permissions: permissions(held),
        }),
        within: vec![permissions(within)],
        offered: SCOPES[1..].iter().map(|one| (*one).to_owned()).collect(),
        ..Limits::default()
    }
}

fn start(grant: Grant, limits: Limits, asked: Option<Scopes>) -> Command {
    let lifetimes = Lifetimes {
        access_token: Duration::from_mins(10),
        refresh_idle: Duration::from_hours(1),
        refresh_ceiling: Duration::from_hours(1),
    };
    let issuing = Issuing {
        client_id: grant.client_id.clone(),
        narrowing: Narrowing { scopes: asked, ..Narrowing::default() },
        next: Fingerprint::of(b"next"),
        limits,
        requirements: Vec::new(),
        lifetimes,
        possession: Possession::default(),
    };
    Command::Start(Box::new(Start { grant, refreshable: false, issuing }))
}

proptest! {
    /// What a chain of exchanges issues is exactly what was asked, and within every link above it.
    #[test]
    fn a_chain_never_widens_and_never_trims(
        root in some_scopes(),
        links in prop::collection::vec(
            (some_scopes(), some_scopes(), prop::option::of(some_scopes()), some_scopes()),
            1..=DEEPEST,
        ),
    ) {
        let mut present = presented(&root.to_string());
        let mut above = vec![root];
        for (depth, (asked, held, ceiling, within)) in links.into_iter().enumerate() {
            let name = format!("agent{depth}");
            let agent = Agent { client_id: &name, ..AGENT };
            let grant = present.clone().delegated_to(agent, NOW).unwrap();
            let limits = limits(&held, ceiling.clone(), &within);
            let decision =
                TokenFamily::default().decide(&start(grant, limits, Some(asked.clone())), NOW);
            let conferred = |one: &str| {
                above.iter().all(|scopes| scopes.contains(one))
                    && ceiling.as_ref().is_none_or(|most| most.contains(one))
                    && (one == "openid" || (held.contains(one) && within.contains(one)))
            };
            // One who names no scope of an API must be allowed one there.
            let let_in = asked.of_apis().next().is_some()
                || SCOPES[1..].iter().any(|one| {
                    held.contains(one) && within.contains(one)
                        && ceiling.as_ref().is_none_or(|most| most.contains(one))
                });
            let expected = asked.iter().all(conferred) && let_in;
            match decision.outcome {
                Ok(Reply::Issue(issue)) => {
                    prop_assert!(expected);
                    prop_assert_eq!(issue.granted.scopes(), &asked, "all of it");
                    prop_assert_eq!(&issue.grant.scopes, &asked, "the family stands for no more");
                    let [token_family::Event::Started(alive)] = &*decision.events else {
                        return Err(TestCaseError::fail("one event"));
                    };
                    let mut family = TokenFamily::default();
                    family.apply(&token_family::Event::Started(alive.clone()));
                    prop_assert!(family.live_until() <= present.until);
                    present = passed_on(&issue.grant, &name);
                    above.push(asked);
                }
                Err(_) => prop_assert!(!expected),
                Ok(_) => return Err(TestCaseError::fail("another reply")),
            }
        }
    }
}
