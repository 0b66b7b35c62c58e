//! What a request is for, as far as its rate is concerned.

use crate::domain::Rate;
use std::time::Duration;

/// What somebody asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To begin an interaction.
    Flow,
    /// To have a password, a code or a key judged.
    Credential,
    /// To have a message sent to somebody.
    Message,
    /// To register a client or an account.
    Registration,
}

impl Purpose {
    pub const ALL: [Self; 4] = [Self::Flow, Self::Credential, Self::Message, Self::Registration];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Credential => "credential",
            Self::Message => "message",
            Self::Registration => "registration",
        }
    }

    /// Generous: an office shares an address.
    pub const fn rate(self) -> Rate {
        match self {
            Self::Flow => Rate { burst: 120, refill: Duration::from_millis(250) },
            Self::Credential => Rate { burst: 30, refill: Duration::from_secs(1) },
            Self::Message => Rate { burst: 20, refill: Duration::from_secs(5) },
            Self::Registration => Rate { burst: 20, refill: Duration::from_secs(10) },
        }
    }
}
