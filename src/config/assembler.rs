//! What gives every value its form; where one is wrong, its default stands in while the rest is read.

use super::{
    BreachCheck, Config, Geo, Keys, Lifetimes, Limits, Links, Locale, Mail, MailTransport, Mailbox,
    Mtls, Operator, Origin, Outbound, PasswordRules, PerAddress, Refusal, Registration, Screens,
    SecretUrl, Setting, SignUp, Sms, SmsTransport, Store, Tls,
    form::{self, Formed},
    layers::{Given, Layers, Raw},
    mask,
};
use crate::domain::Secret;

/// Reads the layers, and gathers what is wrong with them.
pub(super) struct Assembler<'a> {
    pub(super) layers: &'a Layers,
    pub(super) refusals: Vec<Refusal>,
}

impl Assembler<'_> {
    pub(super) fn config(&mut self) -> Config {
        Config {
            issuer: self.optional("issuer", form::text),
            listen: self.always("listen", form::address),
            public_proxy: self.always("public_proxy", form::flag),
            trusted_proxies: self.always("trusted_proxies", form::networks),
            store: Store {
                url: self.optional("store.url", |given| form::store_url(given).map(SecretUrl::new)),
            },
            keys: Keys { dir: self.optional("keys.dir", form::path) },
            tls: Tls {
                cert: self.optional("tls.cert", form::path),
                key: self.optional("tls.key", form::path),
            },
            mtls: Mtls {
                listen: self.optional("mtls.listen", form::address),
                client_ca: self.optional("mtls.client_ca", form::path),
            },
            operator: Operator { listen: self.always("operator.listen", form::address) },
            screens: Screens {
                enabled: self.always("screens.enabled", form::flag),
                default_locale: self
                    .always("screens.default_locale", |given| Locale::parse(&form::text(given)?)),
            },
            links: Links {
                sign_in: self.optional("links.sign_in", form::url),
                device: self.optional("links.device", form::url),
                approval: self.optional("links.approval", form::url),
            },
            mail: Mail {
                transport: self
                    .optional("mail.transport", |given| MailTransport::parse(&form::text(given)?)),
                from: self.optional("mail.from", |given| Mailbox::parse(&form::text(given)?)),
            },
            sms: Sms { transport: self.sms_transport() },
            sign_up: SignUp { open: self.always("sign_up.open", form::flag) },
            registration: Registration { open: self.always("registration.open", form::flag) },
            password: PasswordRules {
                min_length: self.always("password.min_length", form::count),
                breach_check: self.always("password.breach_check", |given| {
                    BreachCheck::parse(&form::text(given)?)
                }),
            },
            lifetimes: self.lifetimes(),
            outbound: Outbound {
                allow_private_networks: self.always("outbound.allow_private_networks", form::flag),
                extra_ca: self.optional("outbound.extra_ca", form::path),
            },
            geo: Geo { database: self.optional("geo.database", form::path) },
            limits: self.limits(),
        }
    }

    fn limits(&mut self) -> Limits {
        let mut rate = |burst, per_minute| PerAddress {
            burst: self.always(burst, form::count),
            per_minute: self.always(per_minute, form::count),
        };
        Limits {
            authorize: rate("limits.authorize_burst", "limits.authorize_per_minute"),
            flow: rate("limits.flow_burst", "limits.flow_per_minute"),
            credential: rate("limits.credential_burst", "limits.credential_per_minute"),
            message: rate("limits.message_burst", "limits.message_per_minute"),
            registration: rate("limits.registration_burst", "limits.registration_per_minute"),
            enabled: self.always("limits.enabled", form::flag),
            connections: self.always("limits.connections", form::count),
            connections_per_address: self.always("limits.connections_per_address", form::count),
        }
    }

    fn sms_transport(&mut self) -> Option<SmsTransport> {
        let separate = self.optional("sms.secret", form::text).map(Secret::new);
        let mut transport =
            self.optional("sms.transport", |given| SmsTransport::parse(&form::text(given)?));
        if let (Some(SmsTransport::Post { secret, .. }), Some(separate)) =
            (&mut transport, separate)
            && secret.replace(separate).is_some()
        {
            self.refuse("sms.secret", "is also given in the URL of sms.transport: keep one");
        }
        transport
    }

    fn lifetimes(&mut self) -> Lifetimes {
        let refresh_ceiling = self.always("lifetimes.refresh_ceiling", form::seconds);
        let session_ceiling = self.always("lifetimes.session_ceiling", form::seconds);
        let mut lifetime = |name| self.always(name, form::seconds);
        Lifetimes {
            authorization_code: lifetime("lifetimes.authorization_code"),
            access_token: lifetime("lifetimes.access_token"),
            id_token: lifetime("lifetimes.id_token"),
            refresh_idle: lifetime("lifetimes.refresh_idle"),
            refresh_ceiling,
            session_idle: lifetime("lifetimes.session_idle"),
            session_ceiling,
            par: lifetime("lifetimes.par"),
            device_code: lifetime("lifetimes.device_code"),
            ciba: lifetime("lifetimes.ciba"),
            flow: lifetime("lifetimes.flow"),
            one_time_code: lifetime("lifetimes.one_time_code"),
            magic_link: lifetime("lifetimes.magic_link"),
        }
    }

    /// Reads a setting that may be left out.
    fn optional<T>(&mut self, name: &'static str, form: fn(&Given) -> Formed<T>) -> Option<T> {
        let given = self.layers.get(name)?;
        match form(given) {
            Ok(value) => Some(value),
            Err(reason) => {
                let text = match shown(name, &given.raw) {
                    Some(value) => format!("{value:?} {reason}"),
                    None => reason,
                };
                self.refuse(name, text);
                None
            }
        }
    }

    /// Reads a setting that has a default.
    fn always<T>(&mut self, name: &'static str, form: fn(&Given) -> Formed<T>) -> T {
        self.optional(name, form).unwrap_or_else(|| {
            let default = Setting::named(name).and_then(|setting| setting.default);
            let raw = Raw::Text(default.unwrap_or_default().to_owned());
            form(&Given { raw, origin: Origin::Default })
                .expect("a test reads the default of every setting that has one")
        })
    }

    fn refuse(&mut self, name: &'static str, text: impl Into<String>) {
        let origin = self.layers.get(name).map(|given| given.origin.clone());
        self.refusals.push(Refusal { origin, ..Refusal::of(name, text) });
    }
}

/// Returns what may be quoted of a value that is not what it should be.
///
/// A secret may stand in the wrong place: whatever looks like a URL is quoted without its password.
fn shown(name: &str, raw: &Raw) -> Option<String> {
    let value = match raw {
        Raw::Text(text) => text.clone(),
        Raw::Flag(flag) => flag.to_string(),
        Raw::Number(number) => number.to_string(),
        Raw::List(list) => list.join(","),
    };
    let is_secret = Setting::named(name).is_none_or(Setting::is_secret);
    (!is_secret && !value.is_empty()).then(|| mask::url(&value).chars().take(80).collect())
}
