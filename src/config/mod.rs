//! One typed configuration, and where each of its values came from.
//!
//! 1. [`SETTINGS`] is the table of everything that can be set;
//! 2. the layers are read: defaults, those of `porteiro dev`, the file, the environment, the command
//!    line; the last value given wins, and its [`Origin`] is kept;
//! 3. each row of the table reads its value and puts it into [`Config`];
//! 4. `serve` asks [`Config::check_for_production`] for more reasons to refuse.
//!
//! Everything that is wrong is a [`Refusal`], and all of them are given at once. [`Document`] reads TOML
//! with the line of each value, for this file and for provisioning.

mod complaint;
mod concerns;
mod document;
mod effective;
mod file;
mod form;
mod issuer;
mod layers;
mod loaded;
mod mask;
mod origin;
mod production;
mod refusal;
mod section;
mod settings;
mod suggestion;
mod transport;

pub use complaint::Complaint;
pub use concerns::Concern;
pub use document::{Document, DocumentValue};
pub use effective::{
    Assurance, Config, Dns, Dpop, Geo, Keys, Lifetimes, Limits, Links, Log, Mail, Mtls, Operator,
    Outbound, PasskeyRules, PasswordRules, PerAddress, Registration, Screens, SecurityTxt, SignUp,
    Sms, Store, Tls,
};
pub use file::{read_bytes, read_text, read_text_from, unreadable};
pub use layers::{Flag, Sources};
pub use loaded::{Line, LoadedConfig, Survey};
pub use mask::SecretUrl;
pub use origin::Origin;
pub use refusal::Refusal;
pub use section::Section;
pub use settings::{SETTINGS, Secrecy, Setting};
pub use transport::{
    Attestation, BreachCheck, Credentials, MailTransport, Mailbox, SmsTransport, Smtp,
};

#[cfg(test)]
mod tests;
