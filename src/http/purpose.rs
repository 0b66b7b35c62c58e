//! What a request is for, as far as its rate limit is concerned.

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be authorized, at `/connect/authorize`.
    Authorize,
    /// To begin an interaction.
    Flow,
    /// To have a password, a code or a key judged.
    Credential,
    /// To have a message sent to a person.
    Message,
    /// To register a client or an account.
    Registration,
    /// To have the document of a client fetched.
    Document,
}

impl Purpose {
    pub const ALL: [Self; 6] = [
        Self::Authorize,
        Self::Flow,
        Self::Credential,
        Self::Message,
        Self::Registration,
        Self::Document,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Authorize => "authorize",
            Self::Flow => "flow",
            Self::Credential => "credential",
            Self::Message => "message",
            Self::Registration => "registration",
            Self::Document => "document",
        }
    }
}
