//! What `serve` refuses by looking at the configuration alone.

use super::{BreachCheck, Config, MailTransport, Refusal, Setting, SmsTransport, form, issuer};
use std::{net::SocketAddr, time::Duration};

/// A person cannot look at more requests for approvals of one client.
const MOST_PENDING: u32 = 100;

/// Fixed: a session that is not used ends after a week, any session after thirty days.
const SESSION_IDLE: u64 = 604_800;
const SESSION_CEILING: u64 = 2_592_000;
/// RFC 6749 §4.1.2: ten minutes at most.
const AUTHORIZATION_CODE: u64 = 600;
/// A browser that is remembered for longer would hardly ever be asked.
const REMEMBER_DEVICE: Duration = Duration::from_hours(90 * 24);
/// So that one address has one, though it may have only an eighth of all.
const FEWEST_CONNECTIONS: usize = 8;
/// Rates are kept to the millisecond.
const HIGHEST_RATE: u32 = 10_000;

impl Config {
    /// Returns every reason at once; none means that the configuration is fit to serve with.
    pub fn check_for_production(&self) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        self.check_what_is_required(&mut refusals);
        self.check_token(&mut refusals);
        self.check_listeners(&mut refusals);
        self.check_what_is_called(&mut refusals);
        self.check_password(&mut refusals);
        self.check_assurance(&mut refusals);
        self.check_lifetimes(&mut refusals);
        self.check_limits(&mut refusals);
        refusals
    }

    fn check_what_is_required(&self, refusals: &mut Vec<Refusal>) {
        let given = [
            ("issuer", self.issuer.is_some()),
            ("store.url", self.store.url.is_some()),
            ("keys.dir", self.keys.dir.is_some()),
        ];
        let missing = given.iter().filter(|(_, is_given)| !is_given);
        refusals.extend(missing.filter_map(|(name, _)| Setting::named(name)).map(Refusal::missing));
        if let Some(text) = &self.issuer {
            let faults = issuer::faults(text).into_iter();
            refusals.extend(faults.map(|fault| Refusal::of("issuer", fault)));
        }
    }

    fn check_token(&self, refusals: &mut Vec<Refusal>) {
        let given = [
            ("keys.pkcs11_module", self.keys.pkcs11_module.is_some()),
            ("keys.pkcs11_token", self.keys.pkcs11_token.is_some()),
            ("keys.pkcs11_pin_file", self.keys.pkcs11_pin_file.is_some()),
        ];
        let Some((named, _)) = given.iter().find(|(_, is_given)| *is_given) else { return };
        for (missing, _) in given.iter().filter(|(_, is_given)| !is_given) {
            refusals.push(Refusal::of(missing, format!("is not set, and {named} needs it")));
        }
    }

    fn check_listeners(&self, refusals: &mut Vec<Refusal>) {
        let mut refuse = |setting, text: &str| refusals.push(Refusal::of(setting, text));
        match (&self.tls.cert, &self.tls.key) {
            (Some(_), None) => refuse("tls.key", "is not set, and tls.cert needs it"),
            (None, Some(_)) => refuse("tls.cert", "is not set, and tls.key needs it"),
            (None, None) if !self.public_proxy && !is_loopback(self.listen) => refuse(
                "listen",
                "would serve in clear beyond this host: give [tls], listen on 127.0.0.1, or set \
                 public_proxy where TLS ends in front",
            ),
            _ => {}
        }
        let has_tls = self.tls.cert.is_some() || self.tls.key.is_some();
        match (&self.mtls.listen, &self.mtls.client_ca) {
            (Some(_), _) if !has_tls => refuse("mtls.listen", "needs [tls], which is not set"),
            (None, Some(_)) if !self.client_cert_header => {
                refuse("mtls.listen", "is not set, and mtls.client_ca needs it");
            }
            _ => {}
        }
        if self.mtls.url.is_some() && self.mtls.listen.is_none() && !self.client_cert_header {
            refuse("mtls.listen", "is not set, and mtls.url needs it");
        }
        let has_proxies = self.public_proxy && !self.trusted_proxies.is_empty();
        if self.client_cert_header && !has_proxies {
            refuse("client_cert_header", "needs public_proxy and trusted_proxies");
        }
        if let Some(url) = &self.mtls.url {
            for fault in issuer::faults(url) {
                refuse("mtls.url", &fault);
            }
            if self.issuer.as_ref() == Some(url) {
                refuse("mtls.url", "is the issuer: browsers would be asked for certificates there");
            }
        }
        let public = ("listen", Some(self.listen));
        let mtls = ("mtls.listen", self.mtls.listen);
        let operator = ("operator.listen", Some(self.operator.listen));
        for (one, other) in [(public, mtls), (public, operator), (mtls, operator)] {
            if let ((first, Some(one)), (second, Some(other))) = (one, other)
                && collide(one, other)
            {
                refuse(second, &format!("is the address of {first} as well: give each its own"));
            }
        }
    }

    fn check_what_is_called(&self, refusals: &mut Vec<Refusal>) {
        let sms = match &self.sms.transport {
            Some(SmsTransport::Post { url, .. }) => Some(url),
            Some(SmsTransport::Folder(_) | SmsTransport::Log) | None => None,
        };
        let breach_check = match &self.password.breach_check {
            BreachCheck::Range(url) => Some(url),
            BreachCheck::Off | BreachCheck::File(_) => None,
        };
        let urls = [
            ("links.sign_in", self.links.sign_in.as_ref()),
            ("links.device", self.links.device.as_ref()),
            ("links.approval", self.links.approval.as_ref()),
            ("links.recovery", self.links.recovery.as_ref()),
            ("links.invitation", self.links.invitation.as_ref()),
            ("links.verify_email", self.links.verify_email.as_ref()),
            ("links.change_password", self.links.change_password.as_ref()),
            ("security_txt.policy", self.security_txt.policy.as_ref()),
            ("links.report", self.links.report.as_ref()),
            ("sms.transport", sms),
            ("password.breach_check", breach_check),
            ("claims.hook", self.claims_hook.as_ref()),
        ];
        for (setting, url) in urls {
            if url.is_some_and(|url| !form::is_private(url)) {
                let text = "must be https; http is for loopback alone";
                refusals.push(Refusal::of(setting, text));
            }
        }
        if matches!(self.mail.transport, Some(MailTransport::Smtp(_))) && self.mail.from.is_none() {
            let text = "is not set, and mail.transport needs it";
            refusals.push(Refusal::of("mail.from", text));
        }
        if self.security_txt.policy.is_some() && self.security_txt.contact.is_none() {
            let text = "is not set, and security_txt.policy needs it";
            refusals.push(Refusal::of("security_txt.contact", text));
        }
    }

    pub(super) fn has_https_issuer(&self) -> bool {
        self.issuer.as_ref().is_some_and(|issuer| issuer.starts_with("https:"))
    }

    fn check_limits(&self, refusals: &mut Vec<Refusal>) {
        let it = &self.limits;
        if it.connections < FEWEST_CONNECTIONS {
            let text = format!("must be {FEWEST_CONNECTIONS} at least");
            refusals.push(Refusal::of("limits.connections", text));
        }
        if it.connections_per_address == 0 {
            refusals.push(Refusal::of("limits.connections_per_address", "must be 1 at least"));
        }
        let rates = [
            ("limits.authorize_burst", "limits.authorize_per_minute", it.authorize),
            ("limits.flow_burst", "limits.flow_per_minute", it.flow),
            ("limits.credential_burst", "limits.credential_per_minute", it.credential),
            ("limits.message_burst", "limits.message_per_minute", it.message),
            ("limits.registration_burst", "limits.registration_per_minute", it.registration),
            ("limits.document_burst", "limits.document_per_minute", it.document),
            ("limits.approval_burst", "limits.approval_per_minute", it.approval),
        ];
        if it.approvals_pending == 0 || it.approvals_pending > MOST_PENDING {
            let text = format!("must be 1 to {MOST_PENDING}: for none, limits.enabled");
            refusals.push(Refusal::of("limits.approvals_pending", text));
        }
        let invitations = [
            ("limits.invitations_per_day", it.invitations_per_day),
            ("limits.invitations_to_one_address", it.invitations_to_one_address),
        ];
        for (setting, number) in invitations {
            if number == 0 || number > HIGHEST_RATE {
                let text = format!("must be 1 to {HIGHEST_RATE}: for none, limits.enabled");
                refusals.push(Refusal::of(setting, text));
            }
        }
        for (burst, per_minute, rate) in rates {
            for (setting, number) in [(burst, rate.burst), (per_minute, rate.per_minute)] {
                if number == 0 || number > HIGHEST_RATE {
                    let text = format!("must be 1 to {HIGHEST_RATE}: for none, limits.enabled");
                    refusals.push(Refusal::of(setting, text));
                }
            }
        }
    }

    fn check_password(&self, refusals: &mut Vec<Refusal>) {
        let text = match self.password.min_length {
            ..8 => "must be 8 at least",
            129.. => "must be 128 at most: longer ones cannot be chosen",
            8..=128 => return,
        };
        refusals.push(Refusal::of("password.min_length", text));
    }

    fn check_assurance(&self, refusals: &mut Vec<Refusal>) {
        if self.assurance.remember_device.is_some_and(|time| time > REMEMBER_DEVICE) {
            let text = "must be 90 at most: what is remembered longer is no longer a second factor";
            refusals.push(Refusal::of("assurance.remember_device_days", text));
        }
    }

    fn check_lifetimes(&self, refusals: &mut Vec<Refusal>) {
        let it = &self.lifetimes;
        let all = [
            ("lifetimes.authorization_code", it.authorization_code, Some(AUTHORIZATION_CODE)),
            ("lifetimes.access_token", it.access_token, None),
            ("lifetimes.id_token", it.id_token, None),
            ("lifetimes.refresh_idle", it.refresh_idle, None),
            ("lifetimes.refresh_ceiling", it.refresh_ceiling, None),
            ("lifetimes.session_idle", it.session_idle, Some(SESSION_IDLE)),
            ("lifetimes.session_ceiling", it.session_ceiling, Some(SESSION_CEILING)),
            ("lifetimes.par", it.par, None),
            ("lifetimes.device_code", it.device_code, None),
            ("lifetimes.ciba", it.ciba, None),
            ("lifetimes.flow", it.flow, None),
            ("lifetimes.one_time_code", it.one_time_code, None),
            ("lifetimes.magic_link", it.magic_link, None),
        ];
        for (setting, lifetime, most) in all {
            match most {
                _ if lifetime == Duration::ZERO => {
                    refusals.push(Refusal::of(setting, "must be 1 second at least"));
                }
                Some(most) if lifetime > Duration::from_secs(most) => {
                    let text = format!("must be {most} at most: it may be lowered, not raised");
                    refusals.push(Refusal::of(setting, text));
                }
                _ => {}
            }
        }
        let pairs = [
            ("session_idle", it.session_idle, "session_ceiling", it.session_ceiling),
            ("refresh_idle", it.refresh_idle, "refresh_ceiling", it.refresh_ceiling),
        ];
        for (name, idle, ceiling_name, ceiling) in pairs {
            if idle > ceiling {
                let setting = Setting::named(&format!("lifetimes.{name}")).map(|s| s.name);
                let text =
                    format!("must not exceed lifetimes.{ceiling_name}, {}", ceiling.as_secs());
                refusals.push(Refusal { setting, origin: None, text });
            }
        }
    }
}

pub(super) fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Returns whether two listeners could not both be bound; port 0 is whichever is free.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    // `[::]` takes the port of every address, `0.0.0.0` of every IPv4 one.
    let covers = |one: SocketAddr, other: SocketAddr| {
        let is_reached = one.is_ipv6() || other.ip().to_canonical().is_ipv4();
        one.ip().is_unspecified() && is_reached
    };
    let same = one.ip().to_canonical() == other.ip().to_canonical();
    one.port() == other.port()
        && one.port() != 0
        && (same || covers(one, other) || covers(other, one))
}
