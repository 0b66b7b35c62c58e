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
pub struct SentMessage {
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
    messages: Mutex<VecDeque<SentMessage>>,
}

impl Mailbox {
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, messages: Mutex::default() })
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Keeps a message, once however often it was delivered.
    pub fn keep(&self, message: SentMessage) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.iter().any(|kept| kept.id == message.id) {
            return;
        }
        messages.push_front(message);
        messages.truncate(KEPT);
    }

    /// Lists them, newest first.
    pub fn messages(&self) -> Vec<SentMessage> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        messages.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;

    #[test]
    fn the_newest_are_kept_once_each() {
        let mailbox = Mailbox::new(Arc::new(SystemClock));
        let message = |number: usize| SentMessage {
            id: number.to_string(),
            channel: "sms",
            to: "+351".to_owned(),
            subject: None,
            text: String::new(),
            html: None,
            sent_at: mailbox.now(),
        };
        for number in 0..KEPT + 5 {
            mailbox.keep(message(number));
            mailbox.keep(message(number));
        }
        let ids: Vec<String> = mailbox.messages().into_iter().map(|kept| kept.id).collect();
        let expected: Vec<String> = (5..KEPT + 5).rev().map(|number| number.to_string()).collect();
        assert_eq!(ids, expected);
    }
}
