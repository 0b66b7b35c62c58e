use super::*;
use crate::domain::{
    EntityKind, Fingerprint, StagedMachine,
    assurance::{Acr, Level},
    authority::{Audience, Scopes},
    authorization_details::Details,
    grant::{Grant, Limits},
    possession::Possession,
    requested_claims::RequestedClaims,
    token_family::{Issuing, Lifetimes, Narrowing, Reply},
};
use std::collections::HashMap;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn amount(text: &str) -> Fixed {
    Fixed::parse(text).unwrap()
}

fn taking(limit: &str, text: &str, per_day: &str) -> Taking {
    Taking { limit: limit.to_owned(), amount: amount(text), per_day: amount(per_day) }
}

fn start() -> Start {
    let grant = Grant {
        sign_on: None,
        client_id: "agent".to_owned(),
        account: None,
        epoch: 0,
        session: None,
        parents: Vec::new(),
        membership: None,
        audience: Audience::Issuer,
        scopes: Scopes::default(),
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: NOW,
        level: Level::Aal1,
        methods: Vec::new(),
        delegation: None,
    };
    let lifetimes = Lifetimes {
        access_token: Duration::from_mins(5),
        refresh_idle: Duration::from_hours(1),
        refresh_ceiling: Duration::from_hours(1),
    };
    let limits = Limits { required: Acr::Aal1, ..Limits::default() };
    let issuing = Issuing {
        client_id: "agent".to_owned(),
        narrowing: Narrowing::default(),
        next: Fingerprint::of(b"next"),
        limits,
        requirements: Vec::new(),
        lifetimes,
        possession: Possession::default(),
    };
    Start { grant, refreshable: false, issuing }
}

/// An allowance and the families that it has started, as one commit after the other leaves them.
#[derive(Default)]
struct Books {
    allowance: AgentAllowance,
    families: HashMap<String, Box<dyn StagedMachine>>,
}

impl Books {
    fn grant(&mut self, family: &str, takings: &[Taking], now: Timestamp) -> Result<(), Refusal> {
        let (takings, family) = (takings.to_vec(), family.to_owned());
        let grant = AllowedGrant { takings, family, start: start() };
        let decision = self.allowance.decide(&Command::Grant(Box::new(grant)), now);
        let mut reply = decision.outcome?;
        for command in decision.commands {
            let unborn = EntityKind::of::<TokenFamily>().unborn;
            let family = self.families.entry(command.id.clone()).or_insert_with(unborn);
            command.run(&mut **family, &mut reply, now)?;
        }
        decision.events.iter().for_each(|event| self.allowance.apply(event));
        assert!(matches!(reply, Some(Reply::Issue(_))), "the family's answer is the owner's");
        Ok(())
    }

    fn taken(&self, now: Timestamp) -> Fixed {
        self.allowance.taken("payment", now)
    }
}

#[test]
fn a_day_is_used_up_and_the_next_begins_at_nothing() {
    let mut books = Books::default();
    let pay = |text| [taking("payment", text, "100")];
    books.grant("a", &pay("60.5"), NOW).unwrap();
    let refused = books.grant("b", &pay("39.6"), NOW);
    assert_eq!(refused, Err(Refusal::Exhausted("payment".to_owned())));
    assert!(!books.families.contains_key("b"), "what is refused starts nothing");
    books.grant("b", &pay("39.5"), NOW).unwrap();
    assert_eq!(books.taken(NOW), amount("100"));
    let tomorrow = NOW + Duration::from_hours(24);
    assert_eq!(books.taken(tomorrow), Fixed::default());
    books.grant("c", &pay("100"), tomorrow).unwrap();
    assert!(books.grant("d", &pay("0.000001"), tomorrow).is_err());
    assert!(books.allowance.forget_at().unwrap() > tomorrow);
}

#[test]
fn what_is_refused_takes_nothing_of_any_limit() {
    let mut books = Books::default();
    let both = [taking("payment", "5", "10"), taking("refund", "11", "10")];
    assert!(books.grant("a", &both, NOW).is_err());
    assert_eq!(books.allowance, AgentAllowance::default());
}

#[test]
fn a_grant_that_is_asked_for_again_is_paid_for_once() {
    let mut books = Books::default();
    let pay = [taking("payment", "60", "100")];
    for later in [0, 1, 30] {
        books.grant("a", &pay, NOW + Duration::from_secs(later)).unwrap();
        assert_eq!(books.taken(NOW), amount("60"));
    }
    assert!(books.grant("b", &pay, NOW).is_err(), "another grant is not that one");
}

#[test]
fn what_was_paid_for_is_remembered_for_a_while_and_not_without_bound() {
    let mut books = Books::default();
    for number in 0..1_000 {
        let family = number.to_string();
        books.grant(&family, &[taking("payment", "1", "10000")], NOW).unwrap();
        assert!(books.allowance.has_paid_for(&family));
    }
    assert_eq!(books.allowance.paid.len(), MOST_REMEMBERED);
    books.grant("last", &[taking("payment", "1", "10000")], NOW + REMEMBERED).unwrap();
    assert_eq!(books.allowance.paid.len(), 1);
    assert_eq!(books.taken(NOW), amount("1001"));
}
