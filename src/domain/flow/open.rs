//! A flow that waits for the person: what it knows, what it offers, and which step leads where.

use super::{
    ApprovalSaid, EnteredDevice, Event, Flow, Goal, MOST_MESSAGES, Over, PendingLink, PendingProof,
    PendingProofContent, Refusal, Reply, Role, Rules, Seed, SignOnOffer, Step,
};
use crate::domain::{
    Decision, DeliveryKey, Dispatch, Record, Timestamp,
    account::{Draft, normalise_email},
    assurance::{Acr, AuthenticatorId, Evidence, Level, Method},
    authorization::{Choice, ConsentQuestion, Denial, RequestedGrant, choices},
    epoch::is_first,
    installation::SignOuts,
    person::Person,
    pushed_request::PushedRequest,
};
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// A flow that waits for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that the flow keeps")]
pub struct Open {
    pub seed: Seed,
    pub stage: Stage,
    /// Who they say they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identifier: Option<String>,
    #[serde(default)]
    pub attempts: u32,
    /// Who they have proved to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<Person>,
    /// Something was proved in this flow, and not only in the session it began in.
    #[serde(default)]
    pub proved_here: bool,
    /// The account itself proved something in this flow: more than an organization's provider has said who it is (adr/0148).
    #[serde(default, skip_serializing_if = "Not::not")]
    pub proved_own: bool,
    /// What the person's account can prove itself by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub methods: Vec<Method>,
    /// The slug of the organization they chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// What the organization requires them to prove, where they were asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<Acr>,
    /// What they are asked to consent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<ConsentQuestion>>,
    /// What waits for the second half of a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<PendingProof>,
    /// How many messages were sent.
    #[serde(default)]
    pub messages: u32,
    /// What a person says of themselves who has no account yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applicant: Option<Box<Applicant>>,
    /// The person has chosen a credential, or that they want none.
    #[serde(default)]
    pub enrolled: bool,
    /// Recovery codes were made, and the person has not said yet that they have kept them. The code of
    /// a client lives for a minute: it is not drawn before.
    #[serde(default)]
    pub keeps_codes: bool,
    /// How often the account was recovered before the person proved that it is theirs: what was proved
    /// before a recovery is worth nothing after it.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The device whose code the person has entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Box<EnteredDevice>>,
    /// The id of the session whose account the person has chosen: the flow goes on in it, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the person was shown of a request for an approval, and what they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Box<ApprovalSaid>>,
    /// The slug of the organization by whose single sign-on the person must come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_on: Option<String>,
    /// The identity of another provider that is linked at the end, if the person wants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Box<PendingLink>>,
}

/// A person who asks for an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applicant {
    /// The id that the account will have.
    pub account: String,
    /// As it was written.
    pub email: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
}

impl Applicant {
    /// Names the address that the person has to prove.
    fn mailbox(&self) -> AuthenticatorId {
        let normalised = normalise_email(&self.email);
        AuthenticatorId::mailbox(normalised.as_ref().unwrap_or(&self.email))
    }

    /// Returns the account that is made of it, once its address was proved.
    pub fn draft(&self) -> Draft {
        let said = [
            ("given_name", &self.given_name),
            ("family_name", &self.family_name),
            ("locale", &self.locale),
        ];
        let claims = said.into_iter().filter_map(|(name, value)| {
            value.as_ref().map(|value| (name.to_owned(), value.clone().into()))
        });
        Draft {
            id: self.account.clone(),
            email: self.email.clone(),
            email_verified: Some(true),
            claims: claims.collect(),
            ..Draft::default()
        }
    }
}

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Identify,
    Credential,
    /// One factor is not enough for an account that has enrolled a second.
    SecondFactor,
    /// What the person says of themselves.
    Profile,
    /// That an address is theirs.
    Proof,
    /// A new credential.
    Enrol,
    Organization,
    Consent,
    Confirm,
}

impl Stage {
    /// Returns the `state` of the flow's document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identify => "identify",
            Self::Credential | Self::Enrol => "credential",
            Self::SecondFactor => "second_factor",
            Self::Profile => "profile",
            Self::Proof => "proof",
            Self::Organization => "organization",
            Self::Consent => "consent",
            Self::Confirm => "confirm",
        }
    }
}

/// The steps by which another provider says who a person is.
const SIGN_ON: [&str; 2] = ["sso/options", "sso"];

impl Open {
    /// Lists the steps that may be taken now.
    ///
    /// Before the first proof they depend on the rules alone, never on an account.
    pub fn offers(&self, rules: &Rules, sign_on: SignOnOffer) -> Vec<&'static str> {
        let is_served = rules.serves(SIGN_ON[0]) && self.may_sign_on(rules);
        let sign_on = if is_served { sign_on } else { SignOnOffer::None };
        match sign_on {
            SignOnOffer::Only => SIGN_ON.to_vec(),
            // Nothing else is worth anything to the organization.
            _ if self.sign_on.is_some() && self.stage == Stage::Credential => {
                let offered = sign_on == SignOnOffer::Beside;
                SIGN_ON.into_iter().filter(|_| offered).collect()
            }
            SignOnOffer::Beside => {
                self.offers_of_account(rules).into_iter().chain(SIGN_ON).collect()
            }
            SignOnOffer::None => self.offers_of_account(rules),
        }
    }

    /// Tells whether another provider may say now who the person is: before the first proof, or where the organization
    /// requires it.
    pub fn may_sign_on(&self, rules: &Rules) -> bool {
        let signs_in = rules.goal(&self.seed.kind).is_some_and(Goal::takes_sign_on);
        let waits = matches!(self.stage, Stage::Identify | Stage::Credential);
        signs_in && waits && (self.person.is_none() || self.sign_on.is_some())
    }

    /// Returns how many seconds ago the person may have proved who they are, where a client limits that: another provider is
    /// asked as we are.
    pub fn most_age(&self) -> Option<u32> {
        let wanted = self.seed.request.as_ref().map(|request| &request.wanted);
        let of_device = || self.device.as_ref().map(|device| &device.request.wanted);
        wanted.or_else(of_device).and_then(RequestedGrant::most_age)
    }

    /// Lists the steps that need no other provider.
    fn offers_of_account(&self, rules: &Rules) -> Vec<&'static str> {
        let of = |role| rules.proofs(role).flat_map(super::ProofStep::names);
        let goal = rules.goal(&self.seed.kind);
        let select = self.seed.selects.then_some("account");
        match (self.stage, &self.person) {
            (Stage::Identify, _) if goal.is_some_and(Goal::proves_by_mail) => vec!["identifier"],
            (Stage::Identify, _) => {
                select.into_iter().chain(["identifier"]).chain(of(Role::Unnamed)).collect()
            }
            (Stage::Credential, None) => {
                let first = rules.all_proofs().iter();
                let first =
                    first.filter(|proof| proof.has(Role::First) || proof.has(Role::Unnamed));
                // Who was invited is not for the caller to say.
                let named = self.seed.invited.is_none().then_some("identifier");
                first.flat_map(super::ProofStep::names).chain(named).chain(select).collect()
            }
            // The person is known: what their account has, and what can be sent to them.
            (Stage::Credential, Some(_)) => {
                let sent = |method| matches!(method, Method::EmailCode | Method::MagicLink);
                let known = |method: Method| sent(method) || self.methods.contains(&method);
                let proofs = rules.all_proofs().iter().filter(|proof| known(proof.worth.method));
                proofs.flat_map(super::ProofStep::names).collect()
            }
            (Stage::SecondFactor, _) => {
                self.second_factors(rules).flat_map(super::ProofStep::names).collect()
            }
            (Stage::Profile, _) => vec!["profile"],
            // Until it is proved, another address can be said.
            (Stage::Proof, None) => {
                let said = if self.applicant.is_some() { "profile" } else { "identifier" };
                of(Role::Address).chain([said]).collect()
            }
            (Stage::Proof, Some(_)) => of(Role::Address).collect(),
            (Stage::Enrol, _) if self.keeps_codes => vec!["skip"],
            (Stage::Enrol, _) => {
                let offered = goal.map(|goal| goal.enrols(self)).unwrap_or_default();
                offered.into_iter().filter(|name| rules.serves(name)).collect()
            }
            (Stage::Organization, _) => vec!["organization"],
            (Stage::Consent, _) => vec!["consent"],
            (Stage::Confirm, _)
                if self.device.is_none() && goal.is_some_and(Goal::takes_user_code) =>
            {
                vec!["user_code"]
            }
            (Stage::Confirm, _) => vec!["confirm"],
        }
    }

    /// Lists what the account can prove beside a first proof.
    pub(super) fn second_factors<'a>(
        &'a self,
        rules: &'a Rules,
    ) -> impl Iterator<Item = &'a super::ProofStep> {
        rules.proofs(Role::Second).filter(|proof| self.methods.contains(&proof.worth.method))
    }

    /// Returns what waits for this step.
    pub fn held_for(&self, step: &str, now: Timestamp) -> Option<&PendingProof> {
        self.held.iter().find(|held| held.is_for(step, now))
    }

    /// Returns the level that the person must reach.
    pub fn required(&self, rules: &Rules) -> Level {
        let asked = rules.goal(&self.seed.kind).map(|goal| goal.required(&self.seed));
        let enrolled = if self.stage == Stage::SecondFactor { Level::Aal2 } else { Level::Aal1 };
        let required = self.required.map_or(Level::Aal1, Acr::level);
        asked.unwrap_or(Level::Aal1).max(enrolled).max(required)
    }

    /// Decides one step.
    pub(super) fn take(
        &self,
        step: &Step,
        (rules, sign_on): (&Rules, SignOnOffer),
        now: Timestamp,
    ) -> Decision<Flow> {
        let offers = self.offers(rules, sign_on);
        if step.name().is_some_and(|name| !offers.contains(&name)) {
            return Decision::refuse(Refusal::NotNow);
        }
        let mut next = self.clone();
        if step.material().is_some_and(|material| !self.still_rests_on(&material.account)) {
            return next.supersede();
        }
        if let Some((name, spends)) = step.spends()
            && next.spend(name, spends, now).is_err()
        {
            return Decision::refuse(Refusal::NotNow);
        }
        match step {
            Step::Look => Decision::accept(Vec::new(), Reply::of(next)),
            Step::Identify { identifier } => {
                // What was made for another name is void.
                next.held.retain(|held| !matches!(held.content, PendingProofContent::Code(_)));
                next.identifier = Some(identifier.clone());
                let goal = rules.goal(&self.seed.kind);
                let by_mail = goal.is_some_and(Goal::proves_by_mail);
                next.stage = if by_mail { Stage::Proof } else { Stage::Credential };
                next.moved()
            }
            Step::Describe { applicant, sign_outs } => {
                next.describe(applicant, *sign_outs, rules, now)
            }
            Step::Stop => next.stop(rules),
            Step::Report { allow, identifier } => next.report(*allow, identifier.as_ref()),
            Step::Hold { held, message, .. } => next.hold(held, message.as_ref()),
            Step::Present { step, code, proved, material } => {
                let proved = proved.as_ref().map(|proved| (proved, &**material));
                next.present(step, *code, proved, (rules, now))
            }
            Step::Disprove { step, account } => next.disprove(step, account.as_deref()),
            Step::Prove { proved, material } => next.prove(proved, material, rules, now),
            Step::Enrol { changes, material, .. } => next.enrol(changes, material, rules, now),
            Step::Link { link, material, .. } => {
                next.link = Some(link.clone());
                next.settle(material, rules, false, now)
            }
            Step::Apply { link, .. } => next.apply_for_account(link),
            Step::Choose { organization, material } => {
                let memberships = material.facts.as_ref().map(|facts| choices(&facts.memberships));
                let reaches = |person: &Person| person.evidence.reaches(Some(organization));
                let known = |choice: &Choice| choice.slug == *organization;
                let is_named = memberships.is_some_and(|choices| choices.iter().any(known));
                if !is_named || !self.person.as_ref().is_some_and(reaches) {
                    return Decision::refuse(Refusal::NotAChoice);
                }
                next.chosen = Some(organization.clone());
                next.settle(material, rules, false, now)
            }
            Step::Select { selected, material } => next.select(selected, material, rules, now),
            Step::Enter { device: None, .. } => next.enter_wrong(),
            Step::Enter { device: Some(device), material } => {
                next.device = Some(device.clone());
                next.settle(material, rules, false, now)
            }
            // The client asks for other organizations as well.
            Step::Block { .. }
                if self.person.as_ref().is_some_and(|person| person.evidence.is_only_scoped()) =>
            {
                Decision::refuse(Refusal::NotNow)
            }
            // There is a client to block only where one asks for an approval.
            Step::Block { .. } if next.approval.is_none() => Decision::refuse(Refusal::NotNow),
            Step::Block { .. } => next.fail_blocking(Denial::ConsentRefused, true),
            Step::Decide { allow: false, .. } => next.fail(Denial::ConsentRefused),
            Step::Decide { allow: true, material, .. } => next.settle(material, rules, true, now),
        }
    }

    /// Keeps what the person says of themselves; what was sent to another address is void.
    fn describe(
        mut self,
        applicant: &Applicant,
        sign_outs: SignOuts,
        rules: &Rules,
        now: Timestamp,
    ) -> Decision<Flow> {
        self.held.clear();
        let vouched = rules.goal(&self.seed.kind).and_then(|goal| goal.vouches(&self.seed));
        self.stage = Stage::Proof;
        if let Some(worth) = vouched {
            let account = applicant.account.clone();
            let proof = worth.given(now).by(Some(applicant.mailbox())).after(sign_outs.last);
            let (epoch, evidence) = (sign_outs.everyone, Evidence::of(proof));
            self.person = Some(Person { account, epoch, evidence });
            self.epoch = epoch;
            (self.proved_here, self.proved_own) = (true, true);
            self.stage = Stage::Enrol;
        }
        self.applicant = Some(Box::new(applicant.clone()));
        self.moved()
    }

    fn stop(self, rules: &Rules) -> Decision<Flow> {
        if !rules.goal(&self.seed.kind).is_some_and(Goal::can_be_stopped) {
            return Decision::refuse(Refusal::NotNow);
        }
        let record = Record::new("recovery.stopped");
        let record = match &self.person {
            Some(person) => record.with("account", person.account.as_str()),
            None => record,
        };
        self.fail(Denial::Stopped).recording(record)
    }

    /// Keeps what the second half of a step will need; the former, if there is one, is void.
    fn hold(mut self, held: &PendingProof, message: Option<&Dispatch>) -> Decision<Flow> {
        self.held.retain(|former| former.step != held.step);
        self.held.push(held.clone());
        let Some(message) = message else { return self.moved() };
        if self.messages >= MOST_MESSAGES {
            return Decision::refuse(Refusal::TooManyMessages);
        }
        self.messages += 1;
        let message = message.clone().keyed(self.delivery_key());
        self.moved().dispatching(message)
    }

    /// Codes take turns by the organization that they are for, else by the client that asks.
    fn delivery_key(&self) -> DeliveryKey {
        match self.seed.asked().map(|request| &request.wanted) {
            Some(RequestedGrant { organization: Some(slug), .. }) => {
                DeliveryKey::organization(slug)
            }
            Some(RequestedGrant { client_id, .. }) => DeliveryKey::client(client_id),
            None => DeliveryKey::installation(),
        }
    }

    pub(super) fn moved(self) -> Decision<Flow> {
        let reply = Reply::of(self.clone());
        Decision::accept(vec![Event::Moved(Box::new(self))], reply)
    }

    pub(super) fn fail(self, denial: Denial) -> Decision<Flow> {
        self.fail_blocking(denial, false)
    }

    /// Fails, and blocks the client whose request was denied.
    fn fail_blocking(self, denial: Denial, block: bool) -> Decision<Flow> {
        let Self { seed, person, device, approval, .. } = self;
        let approval = approval.zip(person.as_ref());
        let approval = approval.map(|(said, person)| said.denied(&person.account, &denial, block));
        let device = device.zip(person.as_ref());
        let device = device.and_then(|(device, person)| device.denied(&person.account, &denial));
        let pushed = seed.request.as_ref().and_then(|request| request.pushed.clone());
        let over = Over { seed, person, denial: Some(denial), finished: None };
        let reply = Reply::over(over.clone());
        let decision = Decision::accept(vec![Event::Ended(Box::new(over))], reply);
        let denied = approval.into_iter().flatten().chain(device);
        let decision = denied.fold(decision, Decision::commanding);
        // The client is told: what it has pushed is used up by that as well.
        pushed.iter().map(PushedRequest::used).fold(decision, Decision::bearing)
    }
}
