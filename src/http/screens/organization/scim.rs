//! The section of a directory: where it connects, its keys, and what it did and was refused last.

use super::section_view::{Entry, Key, ListPage, LoadedSection, SectionRequest, SectionView};
use crate::{
    domain::{authority::PROVISION, resource},
    http::answer::error::Problem,
};

/// So many entries of what it did are shown.
const MOST_SHOWN: usize = 50;

/// What the section shows.
pub struct Scim {
    /// What is pasted into the directory.
    pub address: String,
    /// The permission of its keys.
    pub permission: &'static str,
    pub keys: Vec<Key>,
    /// What it did and was refused last, the newest first; none where the person may not read the trail.
    pub activity: Option<Vec<Entry>>,
}

impl SectionRequest<'_> {
    pub(super) async fn scim(&self) -> Result<LoadedSection, Problem> {
        let address = resource::Known::scim(&self.page.app.issuer, self.slug).identifier;
        let listed: ListPage<Key> =
            self.listed("listApiKeys", &pairs(&[("limit", "100".to_owned())])).await?;
        let provisions = |key: &Key| key.permissions.iter().any(|one| is_of_scim(one));
        let keys = listed.items.into_iter().filter(provisions).collect();
        let activity =
            if self.member.may("listAuditTrail") { Some(self.provisioning().await?) } else { None };
        let shown = SectionView::Scim(Scim { address, permission: PROVISION, keys, activity });
        Ok(LoadedSection { shown, next: None })
    }

    /// Reads what a directory did and was refused last.
    async fn provisioning(&self) -> Result<Vec<Entry>, Problem> {
        let asked = pairs(&[("limit", MOST_SHOWN.to_string()), ("cause", "scim".to_owned())]);
        let page: ListPage<Entry> = self.listed("listAuditTrail", &asked).await?;
        Ok(page.items)
    }
}

fn pairs(given: &[(&str, String)]) -> Vec<(String, String)> {
    given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn is_of_scim(permission: &str) -> bool {
    [PROVISION, "scim:*"].contains(&permission)
}
