//! Which organization vouches for an address: the one that has proved its domain.

use crate::{
    domain::Requirement,
    http::{answer::error::Problem, app::App},
};

/// An organization's word for an address, good in a commit that requires it.
pub struct Voucher {
    pub requirement: Requirement,
}

/// Returns the word of an organization for an address, if it has proved the domain.
pub async fn of_address(
    _app: &App,
    _slug: &str,
    _address: &str,
) -> Result<Option<Voucher>, Problem> {
    Ok(None)
}
