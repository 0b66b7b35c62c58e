//! Everything that a development server sent, to be read at `/mailbox`.

use crate::domain::{Clock, Timestamp};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

/// How many messages are kept: the newest.
const KEPT: usize = 200;

/// One message as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    pub id: String,
    /// `mail` or `sms`.
    pub channel: &'static str,
    pub to: String,
    pub subject: Option<String>,
    pub text: String,
    pub html: Option<String>,
    pub sent_at: Timestamp,
}

/// The newest messages, in memory. Only a development server has one: it shows codes to every program
/// on the machine.
pub struct Mailbox {
    clock: Arc<dyn Clock>,
    letters: Mutex<VecDeque<Letter>>,
}

/// A letter without the time.
pub(super) struct Unsent {
    pub(super) id: String,
    pub(super) channel: &'static str,
    pub(super) to: String,
    pub(super) subject: Option<String>,
    pub(super) text: String,
    pub(super) html: Option<String>,
}

impl Mailbox {
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, letters: Mutex::default() })
    }

    /// Keeps a message, once however often it was delivered.
    pub(super) fn keep(&self, unsent: Unsent) {
        let Unsent { id, channel, to, subject, text, html } = unsent;
        let sent_at = self.clock.now();
        let mut letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        if letters.iter().any(|letter| letter.id == id) {
            return;
        }
        letters.push_front(Letter { id, channel, to, subject, text, html, sent_at });
        letters.truncate(KEPT);
    }

    /// Lists them, newest first.
    pub fn letters(&self) -> Vec<Letter> {
        let letters = self.letters.lock().unwrap_or_else(PoisonError::into_inner);
        letters.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn the_newest_are_kept_once_each() {
        let mailbox = Mailbox::new(Arc::new(SystemClock));
        let letter = |number: usize| Unsent {
            id: number.to_string(),
            channel: "sms",
            to: "+351".to_owned(),
            subject: None,
            text: String::new(),
            html: None,
        };
        for number in 0..KEPT + 5 {
            mailbox.keep(letter(number));
            mailbox.keep(letter(number));
        }
        let ids: Vec<String> = mailbox.letters().into_iter().map(|letter| letter.id).collect();
        let expected: Vec<String> = (5..KEPT + 5).rev().map(|number| number.to_string()).collect();
        assert_eq!(ids, expected);
    }
}
