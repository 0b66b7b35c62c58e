//! What `serve` does not refuse, and operators should look at all the same.

use super::{Config, effective::Links, production::is_loopback};
use ipnet::IpNet;
use url::Url;

/// A setting, and what may be wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concern {
    pub setting: &'static str,
    pub text: String,
}

impl Config {
    /// Returns what is fit to serve with, and may still be a mistake.
    pub fn concerns(&self) -> Vec<Concern> {
        let operator = self.operator.listen;
        let operator = (!is_loopback(operator)).then(|| {
            let text = "every host that can reach it reads the metrics, in clear: restrict it to \
                        the network of your monitoring";
            Concern { setting: "operator.listen", text: format!("{operator}: {text}") }
        });
        let proxies = (self.public_proxy && self.trusted_proxies.is_empty()).then(|| Concern {
            setting: "trusted_proxies",
            text: "is empty although public_proxy is set: all callers count as one address, the \
                   proxy's, and share its limits"
                .to_owned(),
        });
        let serves_https = self.tls.cert.is_some() || self.public_proxy;
        let issuer = (self.has_https_issuer() && !serves_https).then(|| Concern {
            setting: "issuer",
            text: "is https, and nothing here serves https: give [tls], or set public_proxy and \
                   trusted_proxies where TLS ends in front, or all callers count as one address"
                .to_owned(),
        });
        let certificates = self.wide_proxies();
        let store = self.store.url.as_ref().and_then(|url| way_to_store(url.expose()));
        let links = self.missing_links();
        operator
            .into_iter()
            .chain(issuer)
            .chain(proxies)
            .chain(certificates)
            .chain(store)
            .chain(links)
            .collect()
    }

    /// Looks whether more hosts than a few proxies may say which client calls.
    fn wide_proxies(&self) -> Option<Concern> {
        let is_wide = |network: &&IpNet| match network {
            IpNet::V4(network) => network.prefix_len() < 28,
            IpNet::V6(network) => network.prefix_len() < 64,
        };
        let wide = self.trusted_proxies.iter().find(is_wide).filter(|_| self.client_cert_header)?;
        let text = format!(
            "{wide}: every host there is believed when it says by Client-Cert which client calls: name \
             the addresses of the proxies alone"
        );
        Some(Concern { setting: "trusted_proxies", text })
    }

    /// Looks whether a mail would lead to a page that is not there.
    fn missing_links(&self) -> Option<Concern> {
        // Where no page takes a report, alerts have no link.
        let Links { sign_in, device, approval, recovery, invitation, verify_email, .. } =
            &self.links;
        let links = [
            ("sign_in", sign_in),
            ("device", device),
            ("approval", approval),
            ("recovery", recovery),
            ("invitation", invitation),
            ("verify_email", verify_email),
        ];
        let missing = links.into_iter().filter(|(_, link)| link.is_none());
        let missing: Vec<&str> = missing.map(|(name, _)| name).collect();
        // A program may take every flow, and send no person anywhere.
        if self.screens.enabled || missing.is_empty() || self.mail.transport.is_none() {
            return None;
        }
        let text = format!(
            "screens are off, and {} is not set: mails and devices would lead people to a page \
             that is not there",
            missing.join(", ")
        );
        Some(Concern { setting: "links", text })
    }
}

/// Looks whether what a PostgreSQL server off this host is told could be read on the way.
fn way_to_store(url: &str) -> Option<Concern> {
    let url = Url::parse(url).ok().filter(|url| url.scheme().starts_with("postgres"))?;
    let given = |names: [&str; 2]| {
        let pair = url.query_pairs().filter(|(name, _)| names.contains(&&**name)).last();
        pair.map(|(_, value)| value.into_owned())
    };
    let named = given(["host", "hostaddr"]).or(url.host_str().map(str::to_owned));
    let host = named.filter(|host| !host.is_empty()).unwrap_or("localhost".to_owned());
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host.starts_with('/')
        || host.to_lowercase().starts_with("%2f")
        || host == "localhost"
        || bare.parse().is_ok_and(|address: std::net::IpAddr| address.to_canonical().is_loopback());
    if is_here {
        return None;
    }
    let text = match given(["sslmode", "ssl-mode"]).as_deref() {
        Some("verify-full" | "verify-ca") => return None,
        Some("require") => format!(
            "sslmode=require does not check that it is {host} that answers: use verify-full, with \
             sslrootcert where its certificate is of your own authority"
        ),
        _ => format!(
            "{host} is another host, and what is sent there may travel in clear: add \
             sslmode=verify-full"
        ),
    };
    Some(Concern { setting: "store.url", text })
}
