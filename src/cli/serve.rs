//! `porteiro serve`: production, or every reason why not.

use super::{
    Failure,
    certificate::{self, Concern},
    chain, named_files,
    settings::{
        CommandSettings, cannot_start, complete_options, key_sources, lifetimes, links, no_store,
        rates, security_txt, sign_up,
    },
};
use crate::{
    clock::{Stopwatch, SystemClock},
    config::{self, Config, Origin, Survey},
    crypto::{ClientAuthorities, keys::DevKeys},
    domain::Clock as _,
    http::Hosts,
    messages::Messages,
    server::{Issuer, MtlsPlan, OperatorAddress, Plan, RunningServer, ServerError},
    store,
    system::SystemError,
    transport::TlsIdentity,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) async fn run(given: CommandSettings) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let starting = Box::pin(async { Box::pin(start(plan(given.survey()).await?)).await });
    let Some(running) = signals.unless_ended(starting).await? else { return Ok(()) };
    let operator = running.operator.map(|address| address.to_string());
    tracing::info!(issuer = running.issuer, address = %running.address, operator, "serving");
    signals.serve(running).await
}

/// Starts the server; what only shows then must be mended like what showed before.
pub(super) async fn start(plan: Plan) -> Result<RunningServer, Failure> {
    let store = plan.store.clone();
    Box::pin(RunningServer::start(plan)).await.map_err(|error| refused(error, &store))
}

/// What must be mended first is told apart from what may succeed later.
pub(super) fn refused(error: ServerError, store: &str) -> Failure {
    match error {
        ServerError::System(SystemError::Store(error)) => no_store(store, &error),
        ServerError::System(error) => cannot_start(error),
        other => other.into(),
    }
}

/// Makes every check there is, and says everything that stands against serving, at once.
async fn plan(Survey { loaded, refusals }: Survey) -> Result<Plan, Failure> {
    let mut reasons: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    let operator = match loaded.origin("operator.listen") {
        None | Some(Origin::Default) => OperatorAddress::Perhaps,
        Some(_) => OperatorAddress::At,
    };
    reasons.extend(named_files::missing(&loaded));
    let config = loaded.config;
    for config::Concern { setting, text } in config.concerns() {
        tracing::warn!(setting, "{text}");
    }
    if let Some((cert, _)) = config.tls.pair() {
        tell_of_certificate(cert, config.issuer.as_deref());
    }
    let sources = match config.keys.dir.as_ref().map(|_| key_sources(&config)) {
        None => None,
        Some(Ok(sources)) => {
            let faults = sources.load(DevKeys::Refused).err().unwrap_or_default();
            reasons.extend(faults.iter().map(ToString::to_string));
            Some(sources)
        }
        Some(Err(fault)) => {
            reasons.push(fault.to_string());
            None
        }
    };
    let tls = config.tls.pair().map(|(cert, key)| load_identity(cert, key)).transpose();
    let tls = tls.unwrap_or_else(|reason| {
        reasons.push(reason);
        None
    });
    let mtls = mtls(&config, tls.as_ref()).unwrap_or_else(|reason| {
        reasons.push(reason);
        None
    });
    if let Some(url) = &config.store.url
        && let Err(error) = store::pending_migrations(url.expose()).await
    {
        reasons.push(format!("store.url: {url}: {}", chain(&error)));
    }
    // A file that is not there may have been named already.
    let mut runtime_options = complete_options(&config, &mut |reason| {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    });
    match Messages::configured(&config, Arc::new(SystemClock), None) {
        Ok(messages) => runtime_options.messages = messages,
        Err(faults) => {
            let new = faults.into_iter().filter(|fault| !reasons.contains(fault));
            let new: Vec<String> = new.collect();
            reasons.extend(new);
        }
    }
    let needed = (config.issuer, config.store.url, sources);
    let (Some(issuer), Some(store), Some(sources)) = needed else {
        return Err(Failure::Configuration(reasons));
    };
    if !reasons.is_empty() {
        return Err(Failure::Configuration(reasons));
    }
    Ok(Plan {
        issuer: Issuer::Named(issuer),
        store: store.expose().to_owned(),
        read_folder: Arc::new(move || sources.load(DevKeys::Refused)),
        listen: vec![config.listen],
        tls,
        mtls,
        operator: operator(config.operator.listen),
        lifetimes: lifetimes(&config.lifetimes, &config.assurance),
        screens: config.screens.enabled,
        links: links(&config.links),
        security_txt: security_txt(&config.security_txt),
        locale: config.screens.default_locale,
        hosts: Hosts::Any,
        proxies: if config.public_proxy { config.trusted_proxies } else { Vec::new() },
        dpop_nonce: config.dpop.nonce,
        registration: config.registration.open,
        sign_up: sign_up(&config.sign_up),
        rates: rates(&config.limits),
        quiet_hours: config.limits.quiet_hours,
        runtime_options,
    })
}

/// A certificate that no client will accept is no reason not to serve: it may be renewed meanwhile.
fn tell_of_certificate(cert: &Path, issuer: Option<&str>) {
    for concern in certificate::concerns(cert, issuer, SystemClock.now()) {
        match concern {
            Concern::Unusable(text) => tracing::error!("the certificate {text}"),
            Concern::Accepted(text) => tracing::warn!("the certificate {text}"),
        }
    }
}

fn load_identity(cert: &Path, key: &Path) -> Result<Arc<TlsIdentity>, String> {
    TlsIdentity::load(cert, key).map(Arc::new).map_err(|fault| chain(&fault))
}

/// How clients come with certificates of their own, if they can.
pub(super) fn mtls(
    config: &Config,
    tls: Option<&Arc<TlsIdentity>>,
) -> Result<Option<MtlsPlan>, String> {
    // Without an identity it has been refused already.
    let listen = config.mtls.listen.zip(tls.cloned());
    let forwarded = config.client_cert_header;
    if config.mtls.listen.is_none() && !forwarded {
        return Ok(None);
    }
    let load = |path: &PathBuf| {
        let loaded = ClientAuthorities::load(path).map(Arc::new);
        loaded.map_err(|fault| format!("mtls.client_ca: {}", chain(&fault)))
    };
    let authorities = config.mtls.client_ca.as_ref().map(load).transpose()?;
    Ok(Some(MtlsPlan { listen, url: config.mtls.url.clone(), authorities, forwarded }))
}

/// What a server is told from outside.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(super) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits until it is told to end.
    async fn ended(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Starts something; nothing if it is told to end before that is done.
    pub(super) async fn unless_ended<T>(
        &mut self,
        starting: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Option<T>, Failure> {
        tokio::select! {
            started = starting => started.map(Some),
            () = self.ended() => {
                tracing::info!("told to end before it had started");
                Ok(None)
            }
        }
    }

    /// Waits until the operator asks again; signals within one second count as one.
    async fn insisted(&mut self) {
        let since_first = Stopwatch::start();
        loop {
            self.ended().await;
            if since_first.elapsed() >= Duration::from_secs(1) {
                return;
            }
        }
    }

    /// Serves until told to stop, or until the system cannot go on.
    pub(super) async fn serve(mut self, running: RunningServer) -> Result<(), Failure> {
        let broken = loop {
            tokio::select! {
                _ = self.terminate.recv() => break None,
                _ = self.interrupt.recv() => break None,
                _ = self.hang_up.recv() => {
                    tracing::info!("keys and certificate will be read again");
                    running.reload();
                }
                why = running.given_up() => break Some(why),
            }
        };
        tracing::info!("draining");
        tokio::select! {
            _orderly = running.stop() => {}
            () = self.insisted() => tracing::warn!("asked again: not waiting any longer"),
        }
        match broken {
            None => Ok(()),
            Some(why) => Err(Failure::Failed(Box::new(why))),
        }
    }
}
