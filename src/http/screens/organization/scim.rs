//! The section of a directory: where it connects, its keys, and what it did and was refused last.

use super::section_view::{Entry, Key, Listed, Loaded, SectionRequest, SectionView};
use crate::{
    domain::{authority::PROVISION, resource},
    http::answer::error::Problem,
};
use serde_json::Value;

/// So many entries of the trail are looked through, in pages of a hundred.
const PAGES: usize = 3;

/// So many are shown.
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
    pub(super) async fn scim(&self) -> Result<Loaded, Problem> {
        let address = resource::Known::scim(&self.page.app.issuer, self.slug).identifier;
        let listed: Listed<Key> = self.listed("listApiKeys", &pairs(None)).await?;
        let provisions = |key: &Key| key.permissions.iter().any(|one| is_of_scim(one));
        let keys = listed.items.into_iter().filter(provisions).collect();
        let activity =
            if self.member.may("listAuditTrail") { Some(self.provisioning().await?) } else { None };
        let shown = SectionView::Scim(Scim { address, permission: PROVISION, keys, activity });
        Ok(Loaded { shown, next: None })
    }

    /// Looks for what a directory did among the last entries of the trail.
    async fn provisioning(&self) -> Result<Vec<Entry>, Problem> {
        let (mut found, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page: Listed<Entry> = self.listed("listAuditTrail", &pairs(cursor)).await?;
            found.extend(page.items.into_iter().filter(is_provisioning));
            cursor = page.next_cursor;
            if cursor.is_none() || found.len() >= MOST_SHOWN {
                break;
            }
        }
        found.truncate(MOST_SHOWN);
        Ok(found)
    }
}

fn pairs(cursor: Option<String>) -> Vec<(String, String)> {
    let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor));
    [("limit".to_owned(), "100".to_owned())].into_iter().chain(cursor).collect()
}

fn is_of_scim(permission: &str) -> bool {
    [PROVISION, "scim:*"].contains(&permission)
}

/// Tells whether a directory did it, or was refused it.
fn is_provisioning(entry: &Entry) -> bool {
    let said = |name: &str| entry.detail.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_refused = entry.event == "api.refused" && said("operation").starts_with("scim");
    said("cause") == "scim" || is_refused
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_directory_did_and_was_refused_is_told_from_the_rest() {
        let is_one = |event: &str, detail: Value| {
            let subject = json!({ "kind": "membership", "id": "m" });
            let entry = json!({ "at": "", "event": event, "subject": subject, "detail": detail });
            is_provisioning(&serde_json::from_value(entry).unwrap())
        };
        assert!(is_one("membership.ended", json!({ "cause": "scim" })));
        assert!(is_one("api.refused", json!({ "operation": "scimCreateUser" })));
        assert!(!is_one("api.refused", json!({ "operation": "createRole" })));
        assert!(!is_one("membership.ended", json!({ "operation": "scimDeleteUser" })));
        assert!(!is_one("membership.ended", json!({})));
    }
}
