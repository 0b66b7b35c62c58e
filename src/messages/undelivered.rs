//! Whether another try can succeed.

use crate::actors::DeliveryFailure;
use lettre::transport::smtp::Error;

/// How far a mail had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Connection,
    Sender,
    Recipient,
    Content,
}

/// Judges what a mail server did. Only the number of its answer is kept: the words name the person's
/// address, and this goes to the log.
///
/// A refusal for good counts where it is about this mail. Before that it is about us, our address or
/// our password: an operator can mend that while the mail waits.
pub(super) fn undelivered(stage: Stage, error: &Error) -> DeliveryFailure {
    let what = match stage {
        Stage::Connection => "the mail server could not be used",
        Stage::Sender => "the mail server did not take our sender",
        Stage::Recipient => "the mail server did not take the recipient",
        Stage::Content => "the mail server did not take the mail",
    };
    let why = match error.status() {
        Some(code) => format!("{what}: {code}"),
        None if error.is_timeout() => format!("{what}: no answer in time"),
        None if error.is_tls() => format!("{what}: TLS failed"),
        None if stage == Stage::Connection => format!("{what}: {}", causes(error)),
        None => format!("{what}: the connection ended"),
    };
    match stage {
        Stage::Recipient | Stage::Content if error.is_permanent() => DeliveryFailure::Never(why),
        // No other mail could be sent either.
        Stage::Connection => DeliveryFailure::TopicRests(why),
        Stage::Sender | Stage::Recipient | Stage::Content => DeliveryFailure::Later(why),
    }
}

/// An error with all its causes, for operators.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
