//! What the process logs: lines on standard error, spans to a collector if built with it.

#[cfg(feature = "otel")]
mod otel;

use crate::actors::LOG_HEADS;
use std::io::{self, IsTerminal as _};
use tracing_subscriber::{
    EnvFilter, Layer as _, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

/// How much is logged unless `PORTEIRO_LOG` asks for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verbosity {
    /// A command that runs and ends: only what is wrong.
    Quiet,
    /// A development server: also the requests it refused.
    Development,
    /// A server: what it does, and the requests it refused.
    Informative,
}

/// Kept as long as the process logs.
#[must_use = "once it is dropped, no spans are sent"]
pub struct Telemetry {
    #[cfg(feature = "otel")]
    _exporting: Option<otel::ExporterGuard>,
}

/// `PORTEIRO_LOG` is no filter: the operator who set it wants to see something.
#[derive(Debug, thiserror::Error)]
#[error("PORTEIRO_LOG: is no filter like info,porteiro::http=debug")]
pub struct NoFilter(#[source] tracing_subscriber::filter::ParseError);

/// Begins to write lines: for people on a terminal, JSON otherwise.
pub fn start(verbosity: Verbosity) -> Result<Telemetry, NoFilter> {
    let usual = match verbosity {
        // The heads of the security log are always worth keeping.
        Verbosity::Quiet => format!("warn,{LOG_HEADS}=info"),
        Verbosity::Development => "warn,porteiro::http=info".to_owned(),
        Verbosity::Informative => "info".to_owned(),
    };
    let asked = std::env::var_os("PORTEIRO_LOG").filter(|asked| !asked.is_empty());
    let asked = asked.map(|asked| asked.to_string_lossy().into_owned());
    let filter = EnvFilter::try_new(asked.unwrap_or(usual)).map_err(NoFilter)?;
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = if io::stderr().is_terminal() { lines.boxed() } else { lines.json().boxed() };
    let registry = tracing_subscriber::registry();
    #[cfg(feature = "otel")]
    let (spans, exporting) = match otel::layer() {
        Some((spans, exporting)) => {
            // A request's span is of a level that lines on a terminal do without.
            let ours = EnvFilter::new("warn,porteiro=info,porteiro::http=debug");
            (Some(spans.with_filter(ours)), Some(exporting))
        }
        None => (None, None),
    };
    #[cfg(feature = "otel")]
    let registry = registry.with(spans);
    // Only tests start a second subscriber in one process; the first one stays.
    let _ = registry.with(lines.with_filter(filter)).try_init();
    Ok(Telemetry {
        #[cfg(feature = "otel")]
        _exporting: exporting,
    })
}
