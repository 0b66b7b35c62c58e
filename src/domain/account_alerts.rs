//! The alerts of an account: from which devices its person signs in, where they did last, which alerts were mailed, and
//! which reports (“this wasn't me”) were decided (adr/0141, adr/0142, adr/0153).
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | sign in | kept, with the device; no alert | |
//! | kept | sign in, from a device that is known | kept; seen again, noted once a day | |
//! | kept | sign in, from another device | kept, with it; an alert | |
//! | kept | sign in, too far from the last place for the time between | kept; an alert | |
//! | unborn, kept | tell of a change of the account | kept; a mail, or one more is counted | |
//! | kept | send the digest | kept; a mail counts what was not mailed | none is due |
//! | unborn, kept | decide a report | kept, with the report spent; after a yes no device is known | it is older than seven days, or was decided before |
//! | kept | sign in, in another epoch of the person | as from an account that knows no device | |
//! | kept | forget devices | kept; no device is known | |
//! | unborn | erase, forget devices | unborn | |
//! | kept | erase | erased | |
//! | erased | anything | erased | always, except to erase it again |
//!
//! An alert is a record, and a mail. In an hour one mail of a kind is sent; the others are counted, and a digest at the
//! end of the hour, or the next mail, says how many there were. Mails of what changes in an account are folded likewise,
//! each kind by itself. All of it is decided in the commit of the sign-in or change, which commands it.

mod devices;
mod fold;
mod report;
mod travel;

pub use devices::{DeviceKey, KEPT_FOR as DEVICE_KEPT_FOR, MOST_DEVICES};
pub use fold::FOLDED_FOR;
pub use report::{REPORT_LIFETIME, Report};

use super::{
    Decision, DeliveryKey, Dispatch, Listing, Locale, Machine, Record, SubCommand, Timestamp,
    epoch::is_first,
    message::{Mail, MailContent, NOTICE_LIFETIME, ReportLink, RequestOrigin},
    place::Place,
};
use devices::DeviceList;
use fold::{AlertWindows, Fold};
use report::SpentReports;
use serde::{Deserialize, Serialize};
use travel::LastPlace;

/// The accounts of which alerts wait for their digest, the first that is due first.
pub const ALERT_DIGESTS: &str = "alert_digests";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AccountAlerts {
    /// No person has signed in yet.
    #[default]
    Unborn,
    Kept(Box<AlertState>),
    /// The account was erased.
    Erased {
        at: Timestamp,
    },
}

/// What is kept of an account, so that its person can be alerted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertState {
    /// A person has signed in before: what is new from then on is told.
    #[serde(default)]
    signed_in: bool,
    #[serde(default)]
    devices: DeviceList,
    /// The epoch of the person in which they are known.
    #[serde(default, skip_serializing_if = "is_first")]
    epoch: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_place: Option<LastPlace>,
    #[serde(default)]
    windows: AlertWindows,
    #[serde(default)]
    spent: SpentReports,
}

/// Why a person is alerted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertKind {
    NewDevice,
    ImpossibleTravel,
}

/// A sign-in that has just succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// The id of the account.
    pub account: String,
    pub device: DeviceKey,
    /// The epoch of the person: no device of a former one is known.
    pub epoch: u64,
    /// Where its address is, if that is known.
    pub place: Place,
    /// The client that the person came from.
    pub client_id: Option<String>,
    pub origin: RequestOrigin,
    /// To whom an alert is mailed; none where no mail can be sent.
    pub to: Option<AlertRecipient>,
}

/// To whom an alert is mailed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertRecipient {
    pub email: String,
    pub locale: Locale,
    pub report: Option<ReportLink>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    SignIn(Box<SignIn>),
    /// The person is told of what changes in the account in the same commit.
    Tell {
        account: String,
        mail: Box<Mail>,
    },
    /// The hour is over in which alerts were counted. Without a recipient the count begins anew.
    SendDigest {
        account: String,
        to: Option<AlertRecipient>,
    },
    /// The holder of an alert's link has said whether it was them.
    DecideReport {
        account: String,
        report: Report,
        /// It was not them.
        allow: bool,
    },
    /// The account was recovered: each device is a new one.
    ForgetDevices,
    Erase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Changed(Box<AlertState>),
    Erased { at: Timestamp },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the report was decided before, or is too old")]
    ReportOver,
    #[error("no digest is due")]
    NotDue,
    #[error("the account was erased")]
    Erased,
}

impl AccountAlerts {
    fn state(&self) -> AlertState {
        match self {
            Self::Kept(state) => (**state).clone(),
            Self::Unborn | Self::Erased { .. } => AlertState::default(),
        }
    }

    /// Tells whether a report can still be decided.
    pub fn takes_report(&self, report: &Report, now: Timestamp) -> bool {
        !matches!(self, Self::Erased { .. }) && self.state().spent.may_spend(report, now)
    }

    /// Returns how many devices are known.
    pub fn devices(&self) -> usize {
        self.state().devices.len()
    }

    /// Keeps the next state, if it is another one.
    fn changed(&self, next: AlertState) -> Decision<Self> {
        let same = self.state() == next;
        let events = if same { Vec::new() } else { vec![Event::Changed(Box::new(next))] };
        Decision::accept(events, ())
    }

    fn sign_in(&self, sign_in: &SignIn, now: Timestamp) -> Decision<Self> {
        let mut next = self.state();
        let is_first = !next.signed_in;
        next.signed_in = true;
        if next.epoch != sign_in.epoch {
            (next.epoch, next.devices) = (sign_in.epoch, DeviceList::default());
        }
        let is_new = next.devices.see(sign_in.device, now);
        let journey = next.travel_to(sign_in.place.point, now);
        if is_first {
            return self.changed(next);
        }
        let new_device = is_new.then(|| sign_in.record("sign_in.new_device"));
        let travel = journey.map(|journey| {
            let record = sign_in.record("sign_in.impossible_travel");
            (record.with("kilometres", journey.kilometres)).with("minutes", journey.minutes)
        });
        // One mail for one sign-in: the stronger reason names the device as well.
        let kind = match (&new_device, &travel) {
            (_, Some(_)) => Some(AlertKind::ImpossibleTravel),
            (Some(_), None) => Some(AlertKind::NewDevice),
            (None, None) => None,
        };
        let content = kind.map(AlertKind::content);
        let fold = content.as_ref().map(|content| next.windows.take(content.kind(), now));
        let message = match (content, fold, &sign_in.to) {
            (Some(content), Some(Fold::Mail { others }), Some(to)) => {
                let mail = to.mail(content).asked(sign_in.origin.clone());
                Some(notice(&Mail { others, ..mail }, &sign_in.account, now))
            }
            _ => None,
        };
        let mailed = message.is_some();
        let decision = message.into_iter().fold(self.changed(next), Decision::dispatching);
        let records = new_device.into_iter().chain(travel);
        records.map(|record| record.with("mailed", mailed)).fold(decision, Decision::recording)
    }

    fn tell(&self, account: &str, mail: &Mail, now: Timestamp) -> Decision<Self> {
        let mut next = self.state();
        let mut mails = Vec::new();
        if mail.content.is_folded() {
            if let Fold::Mail { others } = next.windows.take(mail.content.kind(), now) {
                mails.push(Mail { others, ..mail.clone() });
            }
        } else {
            mails.push(mail.clone());
        }
        if mail.content == MailContent::EmailChanged {
            // It is the last mail to the former address: what was counted for that is told there.
            let digests = next.windows.close(now).digests();
            mails.extend(digests.map(|content| Mail { content, ..mail.clone() }));
        }
        let decision = self.changed(next);
        let messages = mails.iter().map(|mail| notice(mail, account, now));
        messages.fold(decision, Decision::dispatching)
    }

    fn send_digest(
        &self,
        account: &str,
        to: Option<&AlertRecipient>,
        now: Timestamp,
    ) -> Decision<Self> {
        let mut next = self.state();
        let Some(folded) = next.windows.take_due(now) else {
            return Decision::refuse(Refusal::NotDue);
        };
        let decision = self.changed(next);
        match to {
            Some(to) => {
                let mails = folded.digests().map(|content| notice(&to.mail(content), account, now));
                mails.fold(decision, Decision::dispatching)
            }
            None => decision,
        }
    }

    fn decide_report(
        &self,
        (account, report): (&str, &Report),
        allow: bool,
        now: Timestamp,
    ) -> Decision<Self> {
        let mut next = self.state();
        if !next.spent.may_spend(report, now) {
            return Decision::refuse(Refusal::ReportOver);
        }
        next.spent.spend(report, now);
        if allow {
            next.devices = DeviceList::default();
        }
        let event = if allow { "account.reported" } else { "account.report_denied" };
        self.changed(next).recording(Record::new(event).with("account", account))
    }
}

impl AlertState {
    /// Notes where the person is, and returns the journey that they cannot have made.
    fn travel_to(
        &mut self,
        point: Option<super::place::GeoPoint>,
        now: Timestamp,
    ) -> Option<travel::Journey> {
        let here = LastPlace::new(point?, now);
        let journey = self.last_place.and_then(|last| last.impossible_to(here));
        let is_noted = self.last_place.is_some_and(|last| last.stands_for(here));
        if !is_noted {
            self.last_place = Some(here);
        }
        journey
    }
}

impl AlertKind {
    fn content(self) -> MailContent {
        match self {
            Self::NewDevice => MailContent::NewDevice,
            Self::ImpossibleTravel => MailContent::ImpossibleTravel,
        }
    }
}

impl SignIn {
    fn record(&self, event: &'static str) -> Record {
        let record = Record::new(event).with("account", self.account.as_str());
        let known = [
            ("device", self.origin.device.name()),
            ("place", self.place.name.clone()),
            ("client_id", self.client_id.clone()),
        ];
        known.into_iter().fold(record, |record, (name, value)| match value {
            Some(value) => record.with(name, value),
            None => record,
        })
    }
}

impl AlertRecipient {
    fn mail(&self, content: MailContent) -> Mail {
        let Self { email, locale, report } = self.clone();
        Mail { report, ..Mail::new(email, locale, content) }
    }
}

/// Tells the person of what has changed, or counts it with the others of its kind (adr/0153).
pub fn tell<M: Machine>(account: &str, mail: &Mail) -> SubCommand<M> {
    let (id, mail) = (account.to_owned(), Box::new(mail.clone()));
    let tell = Command::Tell { account: id, mail };
    // What cannot be told of is done all the same.
    SubCommand::to::<AccountAlerts>(account, tell, |_, _| Ok(()))
}

/// The message to the person; their notices wait for each other alone.
fn notice(mail: &Mail, account: &str, now: Timestamp) -> Dispatch {
    mail.dispatch(now + NOTICE_LIFETIME).keyed(DeliveryKey::account(account))
}

impl Machine for AccountAlerts {
    const KIND: &'static str = "account_alerts";
    /// 2: the kind of a mail names its window, and devices are known in one epoch of the person.
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (self, command) {
            (Self::Erased { .. }, Command::Erase) => Decision::accept(Vec::new(), ()),
            (Self::Erased { .. }, _) => Decision::refuse(Refusal::Erased),
            (_, Command::SignIn(sign_in)) => self.sign_in(sign_in, now),
            (_, Command::Tell { account, mail }) => self.tell(account, mail, now),
            (_, Command::SendDigest { account, to }) => self.send_digest(account, to.as_ref(), now),
            (_, Command::DecideReport { account, report, allow }) => {
                self.decide_report((account, report), *allow, now)
            }
            (Self::Unborn, Command::ForgetDevices | Command::Erase) => {
                Decision::accept(Vec::new(), ())
            }
            (_, Command::ForgetDevices) => {
                self.changed(AlertState { devices: DeviceList::default(), ..self.state() })
            }
            (_, Command::Erase) => Decision::accept(vec![Event::Erased { at: now }], ()),
        }
    }

    fn apply(&mut self, event: &Event) {
        *self = match event {
            Event::Changed(state) => Self::Kept(state.clone()),
            Event::Erased { at } => Self::Erased { at: *at },
        };
    }

    /// Until then no flow that began before can be written any more.
    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Erased { at } => Some(*at + REPORT_LIFETIME),
            Self::Unborn | Self::Kept(_) => None,
        }
    }

    fn listings(&self) -> Vec<Listing> {
        let Self::Kept(state) = self else { return Vec::new() };
        let due = |at: Timestamp| Listing::new(ALERT_DIGESTS, "", rank(at));
        state.windows.due_at().map(due).into_iter().collect()
    }
}

/// Writes a time so that the list of digests is in its order; what is due has a lower rank than now.
pub fn rank(at: Timestamp) -> String {
    format!("{:015}", at.millis())
}

#[cfg(test)]
mod tests;
