//! Redirect URIs that change. A person has let a client act for them where its answers went then: consents
//! of before are void, and the log says which hosts came and went (adr/0110).

use super::KnownClient;
use crate::domain::Record;
use std::collections::BTreeSet;
use url::Url;

/// So many hosts are named in a record.
const MOST_HOSTS: usize = 10;

impl KnownClient {
    /// Tells whether the operator answers for it: it has neither registered itself nor has an organization
    /// made it.
    pub fn is_operators(&self) -> bool {
        !self.members_only && !self.is_self_registered()
    }

    /// Counts a change of its redirect URIs, unless it is the operator's.
    pub(super) fn counting_redirects(self, held: &Self) -> Self {
        let moved = uris(&self) != uris(held) && !self.is_operators();
        let redirects_epoch = held.redirects_epoch.saturating_add(u64::from(moved));
        Self { redirects_epoch, ..self }
    }

    /// Has a record say where redirect URIs lead that are new, and those that are gone.
    pub(super) fn telling_redirects(&self, held: &Self, record: Record) -> Record {
        let (next, held) = (uris(self), uris(held));
        let tell = |record: Record, name, uris: BTreeSet<&str>| match hosts(uris) {
            text if text.is_empty() => record,
            text => record.with(name, text),
        };
        let record = tell(record, "redirects_added", &next - &held);
        tell(record, "redirects_removed", &held - &next)
    }
}

fn uris(client: &KnownClient) -> BTreeSet<&str> {
    client.metadata.redirect_uris.iter().map(String::as_str).collect()
}

/// Returns the hosts of these, or the scheme where there is none, separated by spaces.
fn hosts(uris: BTreeSet<&str>) -> String {
    let host = |uri: &str| {
        let url = Url::parse(uri).ok()?;
        Some(url.host_str().map_or_else(|| format!("{}:", url.scheme()), str::to_owned))
    };
    let hosts: BTreeSet<String> = uris.into_iter().filter_map(host).collect();
    hosts.into_iter().take(MOST_HOSTS).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::client::ClientMetadata;

    fn client(uris: &[&str]) -> KnownClient {
        let redirect_uris = uris.iter().map(|uri| (*uri).to_owned()).collect();
        let metadata = ClientMetadata { redirect_uris, ..ClientMetadata::default() };
        KnownClient { metadata, members_only: true, ..KnownClient::new("c") }
    }

    #[test]
    fn a_change_is_counted_and_another_order_is_none() {
        let held = client(&["https://a.example.com/cb", "https://b.example.com/cb"]);
        let count = |next: KnownClient| next.counting_redirects(&held).redirects_epoch;
        assert_eq!(count(client(&["https://b.example.com/cb", "https://a.example.com/cb"])), 0);
        assert_eq!(count(client(&["https://a.example.com/cb"])), 1, "one less");
        assert_eq!(count(client(&["https://a.example.com/cb", "https://b.example.com/other"])), 1);
        let own = KnownClient { members_only: false, ..client(&["https://c.example.com/cb"]) };
        assert_eq!(count(own), 0, "the operator's");
    }

    #[test]
    fn the_record_names_hosts_and_no_more() {
        let held = client(&["https://a.example.com/cb", "https://b.example.com/cb"]);
        let next =
            client(&["https://b.example.com/cb", "https://x.example.com/cb?u=1", "app.x:/cb"]);
        let record = next.telling_redirects(&held, Record::new("client.changed"));
        assert_eq!(record.detail["redirects_added"], "app.x: x.example.com");
        assert_eq!(record.detail["redirects_removed"], "a.example.com");
        let same = next.telling_redirects(&next, Record::new("client.changed"));
        assert!(same.detail.is_empty());
    }
}
