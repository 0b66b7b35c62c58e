//! What is written beside an entity's state so that it can be found without reading it.

/// A name with one holder at a time within its space: a slug, a `client_id`, an e-mail address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub space: &'static str,
    pub name: String,
}

impl Name {
    pub fn new(space: &'static str, name: impl Into<String>) -> Self {
        Self { space, name: name.into() }
    }
}

/// An entry in a list that people or programs page through, in the order of `rank`.
///
/// `owner` is whose list it is: the account of a session, the organization of a membership; empty
/// for a list of the whole installation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Listing {
    pub list: &'static str,
    pub owner: String,
    pub rank: String,
}

impl Listing {
    pub fn new(list: &'static str, owner: impl Into<String>, rank: impl Into<String>) -> Self {
        Self { list, owner: owner.into(), rank: rank.into() }
    }
}
