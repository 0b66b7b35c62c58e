//! The summary of a response: what a plain page of an OAuth endpoint says. It is attached to the answer, so that an installation
//! with screens says the same in their look; without screens it changes nothing.

use std::{borrow::Cow, fmt, sync::Arc};
use zeroize::Zeroizing;

/// The summary of a response that is a plain page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseSummary {
    /// A request of a client that cannot be taken.
    BadLink {
        /// What was wrong, for the makers of the client.
        description: Cow<'static, str>,
        /// Where a client that registered itself would take the person.
        host: Option<String>,
        /// The address that the client gave, for its makers.
        given: Option<String>,
    },
    /// A question: whether to sign out.
    SignOut { flow: String },
    SignedOut {
        /// Where the person may go on to.
        to: Option<String>,
        /// The page goes there by itself.
        moves_on: bool,
    },
    /// A sign-out that could not be done.
    StillSignedIn { description: &'static str },
    /// No sign-in waits for what a provider has answered.
    LostSignOn,
    /// The person goes back to the client, by a form.
    Posting(Arc<Posting>),
}

/// A form that is posted to a client.
#[derive(PartialEq, Eq)]
pub struct Posting {
    pub to: String,
    /// What the policy of the page names (CSP).
    pub target: String,
    pub parameters: Vec<(String, Zeroizing<String>)>,
}

/// A code may be in it.
impl fmt::Debug for Posting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posting").field("target", &self.target).finish_non_exhaustive()
    }
}
