//! Who asked for a mail, from where and when, in words: one short line each, for what is known.

use crate::{
    domain::{
        Browser, Locale, System, Timestamp,
        message::{Asker, RequestOrigin},
    },
    wording::{Wording, quotable},
};
use fluent_bundle::FluentArgs;
use time::OffsetDateTime;

/// One line.
pub(super) struct Fact {
    pub(super) label: String,
    pub(super) value: String,
}

/// Words for what people are told beside the mail itself.
pub(super) struct FactWords<'a> {
    pub(super) locale: Locale,
    pub(super) host: &'a str,
    pub(super) wording: &'a Wording,
}

impl FactWords<'_> {
    /// Returns the lines; `None` where a word is missing.
    pub(super) fn facts(&self, asked: &RequestOrigin) -> Option<Vec<Fact>> {
        let mut facts = Vec::new();
        let mut tell = |label: &str, value: String| {
            facts.push(Fact { label: self.say(label, &[])?, value: quotable(&value) });
            Some(())
        };
        if let Some(at) = self.time(asked.at) {
            tell("fact-time", at)?;
        }
        match &asked.by {
            None => {}
            Some(Asker::Operator) => {
                tell("fact-by", self.say("by-operator", &[("host", self.host)])?)?;
            }
            Some(Asker::Administrators) => {
                tell("fact-by", self.say("by-administrators", &[])?)?;
            }
            Some(Asker::Application(name)) => tell("fact-application", name.clone())?,
            Some(Asker::SelfRegistered) => {
                tell("fact-application", self.say("by-self-registered", &[])?)?;
            }
        }
        let (browser, system) = (asked.device.browser, asked.device.system);
        match (browser.map(Browser::name), system.map(System::name)) {
            (Some(browser), Some(system)) => {
                let names = [("browser", browser), ("system", system)];
                tell("fact-device", self.say("device-on", &names)?)?;
            }
            (Some(one), None) | (None, Some(one)) => tell("fact-device", one.to_owned())?,
            (None, None) => {}
        }
        if let Some(place) = &asked.place {
            tell("fact-place", place.clone())?;
        }
        if let Some(network) = &asked.network {
            tell("fact-network", network.clone())?;
        }
        Some(facts)
    }

    /// Writes a time, to the minute; `None` where a calendar has no such day.
    fn time(&self, at: Timestamp) -> Option<String> {
        let at = OffsetDateTime::from_unix_timestamp(at.seconds()).ok()?;
        let mut arguments = FluentArgs::new();
        arguments.set("year", at.year().to_string());
        arguments.set("month", u8::from(at.month()));
        arguments.set("day", at.day().to_string());
        arguments.set("time", format!("{:02}:{:02}", at.hour(), at.minute()));
        self.wording.say(self.locale, ("date-time", None), &arguments)
    }

    fn say(&self, name: &str, values: &[(&str, &str)]) -> Option<String> {
        let mut arguments = FluentArgs::new();
        for (key, value) in values {
            arguments.set(*key, *value);
        }
        self.wording.say(self.locale, (name, None), &arguments)
    }
}
