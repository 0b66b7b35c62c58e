//! What is wrong with a claim, in words for its author; a value is never repeated.

/// One complaint about one claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{claim}` {problem}")]
pub struct ClaimFault {
    /// The claim as it was written, its language tag included.
    pub claim: String,
    pub problem: ClaimProblem,
}

/// Why a claim cannot stand; reads on from its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimProblem {
    #[error("is no claim that an account holds")]
    Unknown,
    #[error("must be a text")]
    NotText,
    #[error("must be true or false")]
    NotFlag,
    #[error("holds more than {most} characters")]
    TooLong { most: usize },
    #[error("contains a control character")]
    ControlCharacter,
    #[error("contains a character that is not seen, or that turns text around")]
    HiddenCharacter,
    #[error("must be a URL that begins with https://")]
    NotHttps,
    #[error("is not said here: it is proved")]
    ProvedElsewhere,
    #[error("must be a URL that begins with https:// or http:// and names a host, but no user")]
    NotUrl,
    #[error("must be a date as YYYY-MM-DD, 0000-MM-DD without the year, or YYYY alone")]
    NotDate,
    #[error("must be a language tag such as pt or pt-PT")]
    NotLanguage,
    #[error("must be the name of a time zone such as Europe/Lisbon")]
    NotTimeZone,
    #[error("must be + and at most 15 digits, country first and nothing between them (E.164)")]
    NotPhoneNumber,
    #[error("must be a table")]
    NotTable,
    #[error(
        "may hold formatted, street_address, locality, region, postal_code and country, each a text"
    )]
    NotAddress,
    #[error("says so of a phone_number, and there is none")]
    NothingVerified,
}
