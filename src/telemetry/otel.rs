//! Spans to an OTLP collector, where the standard environment variables name one.

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{SdkTracerProvider, Tracer},
};
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// The variables that name a collector (OpenTelemetry, exporter configuration).
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

/// Sends what it holds when it is dropped.
pub struct ExporterGuard(SdkTracerProvider);

/// Returns the layer that sends spans, if a collector is named.
pub fn layer<S>() -> Option<(OpenTelemetryLayer<S, Tracer>, ExporterGuard)>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    if !ENDPOINTS.iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        return None;
    }
    // Endpoint, headers and time-out are read from the environment by the exporter itself.
    let exporter = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build();
    let exporter = match exporter {
        Ok(exporter) => exporter,
        Err(error) => {
            tracing::error!(%error, "no spans are sent: the exporter cannot be made");
            return None;
        }
    };
    let mut resource = Resource::builder();
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("porteiro");
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("porteiro"));
    Some((layer, ExporterGuard(provider)))
}

impl Drop for ExporterGuard {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            tracing::warn!(%error, "the last spans may not have been sent");
        }
    }
}
