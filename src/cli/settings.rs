//! The configuration as the command line gives it: file, environment, flags.

use super::{Failure, chain};
use crate::{
    breach::{BreachCheck, FileFault, HashFile, RangeServer},
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    clock::SystemClock,
    config::{self, Config, Flag, LoadedConfig, Refusal, SecretUrl, Sources, Survey},
    crypto::{
        SharedVault, StatementIssuers, SystemDice,
        keys::{DevKeys, Fault, Folder, KeySources, pkcs11::TokenSettings},
        passkeys::AttestationPolicy,
    },
    domain::{
        Clock as _, Rate, password::Policy, proof_of_work::MOST_BITS, signing_keys::SigningKeys,
    },
    geo::GeoDatabase,
    http::{
        self, PasswordOptions,
        limits::{
            pace::{ApprovalLimits, InvitationLimits, Rates},
            purpose::Purpose,
        },
    },
    outbound::{DnsResolver, OutboundClient, Policy as OutboundPolicy, Resolver},
    server::RuntimeOptions,
    store::{self, OpenError, Store},
    system::{SystemError, Workbench, log_chain, wait_beside_others},
    upstream::Upstreams,
};
use clap::Args;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// The folder of `porteiro dev`.
pub(super) const DEV_FOLDER: &str = ".porteiro";

/// The configuration that a command was given.
pub(super) struct CommandSettings {
    pub(super) file: Option<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    flags: Vec<Flag>,
    /// The settings that this command also takes as flags.
    offered: Vec<(&'static str, &'static str)>,
}

#[derive(Debug, Args)]
pub(super) struct KeysFolder {
    /// The keys folder: one private JWK or PEM a file
    #[arg(long = "keys", value_name = "FOLDER")]
    keys: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct StoreUrl {
    /// `sqlite:///path` or `postgres://user@host/database`
    #[arg(long = "store", value_name = "URL")]
    store: Option<OsString>,
}

impl CommandSettings {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        let environment = std::env::vars_os().collect();
        Self { file, environment, flags: Vec::new(), offered: Vec::new() }
    }

    pub(super) fn with_keys(mut self, KeysFolder { keys }: KeysFolder) -> Self {
        self.offered.push(("keys.dir", "--keys"));
        self.flags.extend(keys.map(|keys| flag("keys.dir", "--keys", keys.into())));
        self
    }

    pub(super) fn with_store(mut self, StoreUrl { store }: StoreUrl) -> Self {
        self.offered.push(("store.url", "--store"));
        self.flags.extend(store.map(|store| flag("store.url", "--store", store)));
        self
    }

    pub(super) fn with_flag(mut self, setting: &'static str, given: &str, value: String) -> Self {
        self.flags.push(flag(setting, given, value.into()));
        self
    }

    /// Loads what a command needs; where nothing was given, the development server's if there is one.
    pub(super) fn load(self, needed: &[&str]) -> Result<LoadedConfig, Failure> {
        let dev = if self.says_where() { Vec::new() } else { development(Path::new(DEV_FOLDER)) };
        self.load_over(dev, needed)
    }

    /// Loads with these defaults beneath everything that was given.
    pub(super) fn load_over(
        self,
        dev: Vec<(&'static str, String)>,
        needed: &[&str],
    ) -> Result<LoadedConfig, Failure> {
        let offered = self.offered.clone();
        let loaded = Config::load(self.sources(dev)).map_err(|refusals| refuse(&refusals))?;
        loaded.require(needed).map_err(|mut refusals| {
            for refusal in &mut refusals {
                let flag = offered.iter().find(|(name, _)| refusal.setting == Some(*name));
                refusal.text.extend(flag.map(|(_, flag)| format!(", or {flag}")));
            }
            refuse(&refusals)
        })?;
        Ok(loaded)
    }

    /// Surveys what a server here would be given: where nothing says which installation is meant, the
    /// development server's if there is one.
    pub(super) fn survey_for_doctor(self) -> Result<(Survey, DevKeys), Failure> {
        if self.says_where() || development(Path::new(DEV_FOLDER)).is_empty() {
            return Ok((self.survey(), DevKeys::Refused));
        }
        Ok((Survey { loaded: self.load(&[])?, refusals: Vec::new() }, DevKeys::Accepted))
    }

    /// Surveys what `serve` was given; nothing of a development server counts here.
    pub(super) fn survey(self) -> Survey {
        Config::load_for_production(self.sources(Vec::new()))
    }

    fn sources(self, dev: Vec<(&'static str, String)>) -> Sources {
        let Self { file, environment, flags, .. } = self;
        Sources { dev, file, environment, flags }
    }

    /// Tells whether anything says which installation is meant.
    fn says_where(&self) -> bool {
        let names = ["PORTEIRO_STORE__URL", "PORTEIRO_KEYS__DIR"];
        self.file.is_some()
            || !self.flags.is_empty()
            || self.environment.iter().any(|(name, _)| names.iter().any(|known| name == known))
    }
}

fn flag(setting: &'static str, flag: &str, value: OsString) -> Flag {
    Flag { setting, value, flag: flag.to_owned() }
}

/// The settings of the development server of this folder, if it was ever started.
fn development(folder: &Path) -> Vec<(&'static str, String)> {
    if !folder.join("keys").is_dir() {
        return Vec::new();
    }
    vec![("store.url", dev_store(folder)), ("keys.dir", folder.join("keys").display().to_string())]
}

pub(super) fn dev_store(folder: &Path) -> String {
    format!("sqlite://{}", folder.join("porteiro.db").display())
}

pub(super) fn refuse(refusals: &[Refusal]) -> Failure {
    Failure::Configuration(refusals.iter().map(ToString::to_string).collect())
}

/// Opens an installation to work on it beside its servers.
pub(super) async fn open_workbench(loaded: &LoadedConfig) -> Result<Workbench, Failure> {
    let url = loaded.config.store.url.as_ref().map_or("", |url| url.expose());
    let mut workbench = workbench_at(url, &read_keys(&loaded.config)?).await?;
    if token_settings(&loaded.config).is_some() {
        workbench = workbench.with_published_keys().await?;
    }
    Ok(workbench.with_password_policy(password_policy(loaded)))
}

/// The rule for new passwords.
pub(super) fn password_policy(loaded: &LoadedConfig) -> Policy {
    Policy::new(loaded.config.password.min_length)
}

pub(super) async fn workbench_at(url: &str, folder: &Folder) -> Result<Workbench, Failure> {
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    Workbench::open(url, folder, clock, dice).await.map_err(|error| match error {
        SystemError::Store(error) => no_store(url, &error),
        other => cannot_start(other),
    })
}

/// In every command, a store that cannot be used is a fault of the configuration.
pub(super) fn no_store(url: &str, error: &OpenError) -> Failure {
    Failure::Configuration(vec![format!("{}: {}", SecretUrl::new(url), chain(error))])
}

/// Reads the states of an installation's signing keys, if its store was ever used; changes nothing.
pub(super) async fn key_states(url: &str, folder: &Folder) -> Result<Option<SigningKeys>, Failure> {
    let cannot = |error| no_store(url, &error);
    if !store::pending_migrations(url).await.map_err(cannot)?.is_empty() {
        return Ok(None);
    }
    let chain_of_log = log_chain(SharedVault::new(folder.vault()));
    let store = Store::open_to_read(url, chain_of_log).await.map_err(cannot)?;
    let states = crate::system::key_states(&store).await;
    store.close().await;
    Ok(states?)
}

/// Tells faults of the configuration from what may succeed later.
pub(super) fn cannot_start(error: SystemError) -> Failure {
    match error {
        SystemError::Keys(faults) => faults_of(&faults),
        SystemError::KeysWithoutFiles(missing) => {
            Failure::Configuration(missing.iter().map(ToString::to_string).collect())
        }
        SystemError::ForeignKeys
        | SystemError::NoKeys
        | SystemError::KeyStates(_)
        | SystemError::Store(_) => Failure::Configuration(vec![chain(&error)]),
        other => other.into(),
    }
}

/// Reads the keys folder of an installation; keys that `dev` made are accepted.
pub(super) fn read_folder(path: &Path) -> Result<Folder, Failure> {
    Folder::load(path, DevKeys::Accepted).map_err(|faults| faults_of(&faults))
}

/// Opens the places in which the keys of an installation lie.
pub(super) fn key_sources(config: &Config) -> Result<KeySources, Fault> {
    let folder = config.keys.dir.as_deref().unwrap_or(Path::new(""));
    KeySources::open(folder, token_settings(config))
}

/// Which token holds the signing keys, if one does.
fn token_settings(config: &Config) -> Option<TokenSettings> {
    let config::Keys { pkcs11_module, pkcs11_token, pkcs11_pin_file, .. } = config.keys.clone();
    let (module, label) = pkcs11_module.zip(pkcs11_token)?;
    Some(TokenSettings { module, label, pin_file: pkcs11_pin_file?, waiting: wait_beside_others })
}

/// Reads the keys of an installation for a command that signs nothing: a token is not opened for it. On the worst day an
/// operator must act, and a token counts wrong PINs.
pub(super) fn read_keys(config: &Config) -> Result<Folder, Failure> {
    let folder = config.keys.dir.as_deref().unwrap_or(Path::new(""));
    if token_settings(config).is_none() {
        return read_folder(folder);
    }
    Folder::load_beside_token(folder, DevKeys::Accepted).map_err(|faults| faults_of(&faults))
}

/// What is wrong with a keys folder is a fault of the configuration.
pub(super) fn faults_of(faults: &[Fault]) -> Failure {
    Failure::Configuration(faults.iter().map(ToString::to_string).collect())
}

/// What is asked of a new password; says why the list of leaked ones cannot be used.
pub(super) fn password_options(config: &Config) -> Result<PasswordOptions, String> {
    const SETTING: &str = "password.breach_check";
    let breach_check = match &config.password.breach_check {
        config::BreachCheck::Off => BreachCheck::Off,
        config::BreachCheck::Range(url) => {
            let server = RangeServer::new(url.clone(), policy(config)?, resolver(config));
            let server = server.map_err(|error| format!("outbound.extra_ca: {}", chain(&error)))?;
            BreachCheck::Range(Box::new(server))
        }
        config::BreachCheck::File(path) => {
            HashFile::examine(path).map_err(|fault| match fault {
                FileFault::Unreadable(error) => {
                    format!("{SETTING}: {}", config::unreadable(path, &error))
                }
                other => format!("{SETTING}: {}: {}", path.display(), chain(&other)),
            })?;
            BreachCheck::File(HashFile::new(path))
        }
    };
    Ok(PasswordOptions { policy: Policy::new(config.password.min_length), breach_check })
}

/// What fetches the documents of clients; says why that cannot be.
fn client_documents(config: &Config) -> Result<Fetcher, String> {
    let fetcher = Fetcher::new(policy(config)?, resolver(config));
    fetcher.map_err(|error| format!("outbound.extra_ca: {}", chain(&error)))
}

/// What speaks to other providers; says why that cannot be.
pub(super) fn upstreams(config: &Config) -> Result<Upstreams, String> {
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    let upstreams = Upstreams::new(policy(config)?, &resolver(config), clock, dice);
    upstreams.map_err(|error| format!("outbound.extra_ca: {}", chain(&error)))
}

/// The operator's own server that adds claims; says why it cannot be called.
fn claims_hook(config: &Config) -> Result<Option<ClaimsHook>, String> {
    let Some(url) = &config.claims_hook else { return Ok(None) };
    let hook = ClaimsHook::new(url.clone(), policy(config)?, resolver(config));
    hook.map(Some).map_err(|error| format!("outbound.extra_ca: {}", chain(&error)))
}

/// Whose attestation of passkeys counts; says why the certificates cannot be used.
pub(super) fn attestation(config: &Config) -> Result<Option<AttestationPolicy>, String> {
    const SETTING: &str = "passkeys.attestation";
    let config::PasskeyRules { attestation, attestation_aaguids } = &config.passkeys;
    let config::Attestation::File(path) = attestation else { return Ok(None) };
    let pem = std::fs::read(path)
        .map_err(|error| format!("{SETTING}: {}", config::unreadable(path, &error)))?;
    let policy = AttestationPolicy::read(&pem, attestation_aaguids.clone());
    policy.map(Some).map_err(|fault| format!("{SETTING}: {}: {fault}", path.display()))
}

/// Whose software statements count; says why their keys cannot be read.
fn statement_issuers(config: &Config) -> Result<Option<Arc<StatementIssuers>>, String> {
    const SETTING: &str = "registration.software_statement_keys";
    let Some(path) = &config.registration.software_statement_keys else { return Ok(None) };
    let file = std::fs::read(path)
        .map_err(|error| format!("{SETTING}: {}", config::unreadable(path, &error)))?;
    let issuers = StatementIssuers::parse(&file)
        .map_err(|fault| format!("{SETTING}: {} {fault}", path.display()))?;
    Ok(Some(Arc::new(issuers)))
}

/// What calls servers whose URLs clients have registered; says why an authority cannot be used.
fn outbound_client(config: &Config) -> Result<Arc<OutboundClient>, String> {
    let client = OutboundClient::new(policy(config)?, resolver(config));
    client.map(Arc::new).map_err(|error| format!("outbound.extra_ca: {}", chain(&error)))
}

/// Who is asked for the addresses of what is called.
fn resolver(config: &Config) -> Arc<dyn Resolver> {
    Arc::new(DnsResolver::asking(config.dns.servers.clone()))
}

/// Which hosts may be called, and which authorities are trusted there.
fn policy(config: &Config) -> Result<OutboundPolicy, String> {
    let config::Outbound { allow_private_networks, extra_ca } = &config.outbound;
    let read = |path: &PathBuf| {
        std::fs::read(path)
            .map_err(|error| format!("outbound.extra_ca: {}", config::unreadable(path, &error)))
    };
    let extra_ca = extra_ca.as_ref().map(read).transpose()?;
    let allow_private_networks = *allow_private_networks;
    Ok(OutboundPolicy { allow_private_networks, extra_ca, ..OutboundPolicy::default() })
}

/// Lifetimes, as the endpoints take them.
pub(super) fn lifetimes(
    given: &config::Lifetimes,
    assurance: &config::Assurance,
) -> http::Lifetimes {
    http::Lifetimes {
        authorization_code: given.authorization_code,
        access_token: given.access_token,
        id_token: given.id_token,
        refresh_idle: given.refresh_idle,
        refresh_ceiling: given.refresh_ceiling,
        session_idle: given.session_idle,
        session_ceiling: given.session_ceiling,
        par: given.par,
        device_code: given.device_code,
        ciba: given.ciba,
        flow: given.flow,
        remember_device: assurance.remember_device,
        one_time_code: given.one_time_code,
        magic_link: given.magic_link,
    }
}

/// The rates of addresses, as the endpoints take them; none where they are switched off.
pub(super) fn rates(given: &config::Limits) -> Option<Rates> {
    let rate = |one: config::PerAddress| Rate {
        burst: one.burst,
        refill: Duration::from_mins(1) / one.per_minute.max(1),
    };
    let mut rates = Rates::default();
    rates[Purpose::Authorize] = rate(given.authorize);
    rates[Purpose::Flow] = rate(given.flow);
    rates[Purpose::Credential] = rate(given.credential);
    rates[Purpose::Message] = rate(given.message);
    rates[Purpose::Registration] = rate(given.registration);
    rates[Purpose::Document] = rate(given.document);
    rates.approvals =
        ApprovalLimits { pending: given.approvals_pending, rate: rate(given.approval) };
    rates.invitations = InvitationLimits {
        per_day: given.invitations_per_day,
        to_one_address: given.invitations_to_one_address,
    };
    given.enabled.then_some(rates)
}

/// Whether people may make accounts for themselves, as the endpoints take it.
pub(super) fn sign_up(given: &config::SignUp) -> http::SignUp {
    let config::SignUp { open, proof_of_work_bits } = *given;
    // More than a browser can do in a minute keeps people out, and not programs alone.
    http::SignUp { open, proof_of_work_bits: proof_of_work_bits.min(MOST_BITS) }
}

/// Where people are sent, as the endpoints take it.
pub(super) fn links(given: &config::Links) -> http::Links {
    let config::Links {
        sign_in,
        device,
        approval,
        recovery,
        invitation,
        verify_email,
        change_password,
        report,
    } = given.clone();
    http::Links {
        sign_in,
        device,
        approval,
        recovery,
        invitation,
        verify_email,
        change_password,
        report,
    }
}

/// Where a weakness is reported, as the endpoints take it.
pub(super) fn security_txt(given: &config::SecurityTxt) -> Option<http::SecurityTxt> {
    let config::SecurityTxt { contact, policy } = given.clone();
    Some(http::SecurityTxt { contact: contact?, policy })
}

/// The same with what is read from files and called outside; `fault` is told why something cannot be.
pub(super) fn complete_options(config: &Config, fault: &mut dyn FnMut(String)) -> RuntimeOptions {
    let mut options = runtime_options(config);
    password_options(config).map_or_else(&mut *fault, |set| options.passwords = set);
    client_documents(config).map_or_else(&mut *fault, |set| options.client_documents = set);
    upstreams(config).map_or_else(&mut *fault, |set| options.upstreams = set);
    claims_hook(config).map_or_else(&mut *fault, |set| options.claims_hook = set);
    attestation(config).map_or_else(&mut *fault, |set| options.attestation = set);
    statement_issuers(config).map_or_else(&mut *fault, |set| options.statement_issuers = set);
    outbound_client(config).map_or_else(fault, |set| options.outbound = set);
    options
}

/// How the server works, as far as an operator decides it.
fn runtime_options(config: &Config) -> RuntimeOptions {
    let txt_resolver = Arc::new(DnsResolver::asking(config.dns.servers.clone()));
    let mut options = RuntimeOptions { txt_resolver, ..RuntimeOptions::default() };
    options.tree.janitor.keep_log = config.log.keep;
    options.alerts = config.alerts.enabled;
    if let Some(path) = &config.geo.database {
        options.geo = Arc::new(GeoDatabase::open(path, SystemClock.now()));
    }
    options.connections.max_connections = config.limits.connections;
    options.connections.max_per_address = config.limits.connections_per_address;
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_janitor_keeps_the_log_for_as_long_as_the_operator_says() {
        let keep = |days: &str| {
            let environment = vec![("PORTEIRO_LOG__KEEP_DAYS".into(), days.into())];
            let loaded = Config::load(Sources { environment, ..Sources::default() }).unwrap();
            runtime_options(&loaded.config).tree.janitor.keep_log
        };
        assert_eq!(keep("30"), Some(Duration::from_hours(30 * 24)));
        assert_eq!(keep("0"), None);
        let (unsaid, usual) =
            (Config::load(Sources::default()).unwrap(), RuntimeOptions::default());
        let keep_log = runtime_options(&unsaid.config).tree.janitor.keep_log;
        assert_eq!(keep_log, usual.tree.janitor.keep_log, "the default is said twice");
    }
}
