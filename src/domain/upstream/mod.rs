//! Upstream providers, of which we are a relying party: what they must say to be believed (adr/0134).
//!
//! One sign-in, in the order of OpenID Connect Core §3.1:
//!
//! 1. [`Metadata`] of the [`Issuer`] says where the provider is;
//! 2. [`AuthorizationRequest`] sends the browser there, with what was drawn for one [`Attempt`];
//! 3. [`Callback`] is what it brings back; another provider's answer is refused here (RFC 9207);
//! 4. the code is exchanged, by [`ClientAssertion`] where there is no secret, and the signature of the ID
//!    token is verified: that is `crate::upstream`'s work;
//! 5. [`id_token::judge`] makes an [`UpstreamPerson`] of its claims, or [`github::person`] of GitHub's answers;
//! 6. [`believed_level`] and [`mapped_roles`] say what the person's sign-in is worth.

mod assertion;
mod attempt;
mod authorization;
mod believed;
mod callback;
mod claims;
pub mod company;
mod end_session;
pub mod github;
pub mod id_token;
mod issuer;
mod kind;
pub mod logout_token;
mod metadata;
mod person;
mod role_mapping;

pub use assertion::{AppleSecret, ClientAssertion};
pub use attempt::Attempt;
pub use authorization::{AuthorizationRequest, LONGEST_HINT};
pub use believed::believed_level;
pub use callback::{Callback, CallbackAnswer, CallbackFault, ProviderError};
pub use claims::ClaimsFault;
pub use company::{CompanyFault, ConnectionScope};
pub use end_session::EndSessionRequest;
pub use github::{GITHUB_ISSUER, GitHubEndpoints, GitHubFault};
pub use issuer::{Issuer, IssuerFault};
pub use kind::{Kind, Provider};
pub use logout_token::LogoutNotice;
pub use metadata::{AuthenticationMethod, Metadata, MetadataFault};
pub use person::UpstreamPerson;
pub use role_mapping::{MappingFault, RoleMapping, check_mappings, mapped_roles};

use std::time::Duration;

/// How far a provider's clock may be from ours.
const SKEW: Duration = Duration::from_mins(1);

/// How long ago a token may have been issued; some providers date tokens back by five minutes.
const OLDEST: Duration = Duration::from_mins(15);
