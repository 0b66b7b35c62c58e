//! What may be asked for and what confers it: scopes, permissions, audiences, and the one function
//! through which authority passes on.
//!
//! Authority only narrows. A caller names what it asks for; everything that limits the caller is
//! a [`Bound`]; [`narrow()`] grants exactly what was asked where every bound covers all of it, and
//! refuses the whole otherwise. It never trims, and nothing else makes a [`GrantedAuthority`].

mod audience;
mod grantor;
mod narrow;
mod permission;
mod scope;

pub use audience::{Audience, OwnedScope, WrongTarget, audience};
pub use grantor::{FILLING_ROLES, GRANTING_SCOPES, Grantor};
pub use narrow::{Bound, GrantedAuthority, RequestedAuthority, Widening, narrow};
pub(in crate::domain) use permission::actions_of;
pub use permission::{
    ADMINISTER, INSTALLATION, MalformedPermission, PROVISION, Permission, Permissions,
    RESERVED_RESOURCES, is_own_scope, own_permissions,
};
pub use scope::{GROUPS, MalformedScope, OIDC_SCOPES, Scopes};
