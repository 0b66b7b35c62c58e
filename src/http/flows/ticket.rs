//! The id of a flow: 128 random bits by which it is known, and, sealed, how it began.
//!
//! What was over when it began is sealed in the same way, for it will never have a row.

use crate::{
    crypto::{Dice, Vault, draw_id},
    domain::{
        Timestamp,
        flow::{Channel, Seed},
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

const PREFIX: &str = "flw_";
/// How long the part is by which a flow is known.
const NAME: usize = 22;
const PURPOSE: &str = "flow";

/// No id of ours is longer: it must fit into an address.
pub const LONGEST: usize = 12_000;

/// What an id says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ticket {
    #[serde(rename = "b")]
    Begun(Box<Seed>),
    #[serde(rename = "o")]
    Over(OverAtOnce),
    /// A person is asked whether to sign out, and goes on to a client after that.
    #[serde(rename = "l")]
    Leaving(Box<Seed>, SignOutTarget),
}

/// Where a person goes once they have signed out: a URI that the client registered for that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignOutTarget {
    #[serde(rename = "c")]
    pub client_id: String,
    #[serde(rename = "u")]
    pub redirect_to: String,
}

/// A flow that was over at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverAtOnce {
    #[serde(rename = "k")]
    pub kind: String,
    #[serde(rename = "w")]
    pub channel: Channel,
    #[serde(rename = "e")]
    pub expires_at: Timestamp,
    /// The client that asked, if one did.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    #[serde(rename = "x")]
    pub scope: String,
    /// Where it failed to, if it failed; a code is not shown twice.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub failed_to: Option<String>,
}

impl Ticket {
    /// Writes a new id.
    pub fn seal(&self, vault: &Vault, dice: &dyn Dice) -> String {
        self.seal_named(vault, dice).0
    }

    /// Writes a new id, and returns the name under which the flow is kept as well.
    pub fn seal_named(&self, vault: &Vault, dice: &dyn Dice) -> (String, String) {
        let name = draw_id(dice);
        let content = serde_json::to_vec(self).expect("plain data with text keys is JSON");
        let sealed = vault.seal(PURPOSE, name.as_bytes(), &content, dice);
        let id = format!("{PREFIX}{name}{}", URL_SAFE_NO_PAD.encode(sealed));
        (id, name)
    }

    /// Reads an id of ours, and the name under which the flow is kept.
    pub fn open<'a>(id: &'a str, vault: &Vault) -> Option<(&'a str, Self)> {
        let body = id.strip_prefix(PREFIX).filter(|_| id.len() <= LONGEST && id.is_ascii())?;
        let (name, sealed) = body.split_at_checked(NAME)?;
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let content = vault.open(PURPOSE, name.as_bytes(), &sealed).ok()?;
        Some((name, serde_json::from_slice(content.expose()).ok()?))
    }

    pub fn channel(&self) -> Channel {
        match self {
            Self::Begun(seed) | Self::Leaving(seed, _) => seed.channel,
            Self::Over(over) => over.channel,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{SecretKey, SystemDice};

    fn vault() -> Vault {
        Vault::new(SecretKey::new(&[1; 32]), Vec::new())
    }

    fn ticket() -> Ticket {
        Ticket::Begun(Box::new(Seed {
            kind: "sign_in".to_owned(),
            channel: Channel::Program,
            expires_at: Timestamp::from_millis(1_800_000_000_000),
            request: None,
            later: None,
            stage: crate::domain::flow::Stage::Identify,
            signed_in: None,
            invited: None,
            user_code: None,
            operator_link: None,
            organization: None,
            connection: None,
            approval: None,
            report: None,
            selects: false,
            back: None,
        }))
    }

    #[test]
    fn an_id_says_how_the_flow_began_to_us_alone() {
        let id = ticket().seal(&vault(), &SystemDice);
        let (name, opened) = Ticket::open(&id, &vault()).unwrap();
        assert_eq!((name.len(), opened), (NAME, ticket()));
        assert_ne!(id, ticket().seal(&vault(), &SystemDice));
    }

    #[test]
    fn an_id_that_was_altered_or_put_together_is_none() {
        let (one, other) =
            (ticket().seal(&vault(), &SystemDice), ticket().seal(&vault(), &SystemDice));
        let mixed = format!("{}{}", &one[..PREFIX.len() + NAME], &other[PREFIX.len() + NAME..]);
        let shorter = &one[..one.len() - 1];
        let longest = "A".repeat(LONGEST);
        for bad in ["", "flw_", "flw_x", &mixed, shorter, &one.replace("flw_", "xxx_"), &longest] {
            assert!(Ticket::open(bad, &vault()).is_none(), "{bad}");
        }
    }
}
