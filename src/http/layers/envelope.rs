//! Every response, whichever part made it, has a request id and the security headers, and is counted.

use crate::{
    clock::Stopwatch,
    crypto::{Dice, draw_text},
    http::{
        answer::error::{Code, ErrorFormat, RefusalMark, RequestFailure},
        app::App,
        extract::{address, context::RequestId},
        screens::Browser,
        vitals::Vitals,
    },
    transport::{AddressRules, Peer},
};
use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use std::{
    future::{Ready, ready},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tracing::{Instrument as _, Span, instrument::Instrumented};

pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// No page of ours is framed, sniffed or asked to load anything; pages set a policy of their own.
const POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

#[derive(Clone)]
pub struct Envelope {
    ids: Arc<RequestIds>,
    vitals: Arc<Vitals>,
    addresses: Arc<AddressRules>,
    /// Over https only: browsers then stay there.
    strict_transport: bool,
    /// How the endpoints inside word their refusals.
    error_format: ErrorFormat,
    /// Where people get pages of ours: what a browser would show as JSON is a page as well.
    pages: Option<App>,
}

/// What an envelope is built from.
pub struct EnvelopeOptions<'a> {
    pub dice: &'a dyn Dice,
    pub vitals: Arc<Vitals>,
    /// Tells proxies from clients, whose address is logged with a refusal.
    pub addresses: Arc<AddressRules>,
    pub strict_transport: bool,
}

/// Numbers requests; the beginning tells one process from another.
struct RequestIds {
    beginning: String,
    count: AtomicU64,
}

impl RequestIds {
    fn next(&self) -> Arc<str> {
        format!("{}{:08x}", self.beginning, self.count.fetch_add(1, Relaxed)).into()
    }
}

/// What the envelope keeps of a request until it is answered.
pub struct ReceivedRequest {
    stopwatch: Stopwatch,
    id: Arc<str>,
    route: Option<MatchedPath>,
    address: IpAddr,
    browser: Option<Browser>,
    span: Span,
}

impl ReceivedRequest {
    fn route(&self) -> Option<&str> {
        self.route.as_ref().map(MatchedPath::as_str)
    }

    /// Whatever is logged while the answer is worked out belongs to this request.
    pub fn instrument<F: Future>(&self, answering: F) -> Instrumented<F> {
        answering.instrument(self.span.clone())
    }

    pub fn note_panic(&self) {
        let Self { id, address, .. } = self;
        tracing::error!(id = &**id, %address, route = self.route(), "a handler panicked");
    }
}

/// Whether an answer denies the caller something; operators look for the address of such a caller.
fn is_denial(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    )
}

impl Envelope {
    pub fn new(options: EnvelopeOptions<'_>) -> Self {
        let EnvelopeOptions { dice, vitals, addresses, strict_transport } = options;
        let ids = RequestIds { beginning: draw_text(dice, 9), count: AtomicU64::new(0) };
        let (ids, error_format, pages) = (Arc::new(ids), ErrorFormat::Problem, None);
        Self { ids, vitals, addresses, strict_transport, error_format, pages }
    }

    /// Numbers a request and notes where it comes from.
    pub fn receive(&self, request: &mut Request) -> ReceivedRequest {
        let stopwatch = Stopwatch::start();
        let id = self.ids.next();
        request.extensions_mut().insert(RequestId(id.clone()));
        let route = request.extensions().get::<MatchedPath>().cloned();
        let peer = request.extensions().get::<Peer>();
        let address = address::of(peer, request.headers(), &self.addresses);
        let pages = self.pages.as_ref();
        let browser = pages.and_then(|app| Browser::of(app, request.headers()));
        // Formatting a span's fields is not free: an operator who wants spans asks for this level.
        let (method, name) = (request.method().as_str(), route.as_ref().map(MatchedPath::as_str));
        let span = tracing::debug_span!("http.request", id = &*id, method, route = name);
        ReceivedRequest { stopwatch, id, route, address, browser, span }
    }

    /// Words a refusal as the endpoints inside do.
    pub fn word(&self, stopped: RequestFailure) -> Response {
        self.error_format.word(stopped)
    }

    /// Counts, logs and seals the answer to a request.
    pub fn send(&self, received: &ReceivedRequest, mut response: Response) -> Response {
        let ReceivedRequest { stopwatch, id, address, .. } = received;
        let (id, route) = (&**id, received.route());
        if let Some(browser) = &received.browser {
            response = browser.as_page(response, id);
        }
        let (status, took) = (response.status(), stopwatch.elapsed());
        self.vitals.answered(route, status, took);
        if let Some(refused) = response.extensions().get::<RefusalMark>() {
            let RefusalMark { code, description, reason, client_id, subject } = refused;
            self.vitals.refused(*code);
            let (name, status) = (code.name(), status.as_u16());
            // A client that polls hears this until a person decides: it is counted, and no line for an operator.
            if *code == Code::AuthorizationPending {
                tracing::debug!(id, route, status, code = name, "refused");
            } else {
                let about = subject.as_ref().map(|subject| format!("{subject:?}"));
                tracing::info!(
                    id, %address, route, status, code = name, client_id, description, about, reason,
                    "refused"
                );
            }
        } else if is_denial(status) {
            tracing::info!(id, %address, route, status = status.as_u16(), "refused");
        } else {
            tracing::debug!(id, route, status = status.as_u16(), ?took, "answered");
        }
        self.seal(&mut response, id);
        response
    }

    /// The same for endpoints that word their refusals in another way.
    pub fn with_error_format(&self, error_format: ErrorFormat) -> Self {
        Self { error_format, ..self.clone() }
    }

    /// The same for endpoints that browsers navigate to.
    pub fn with_pages(self, pages: Option<App>) -> Self {
        Self { pages, ..self }
    }

    /// Seals the answer of a listener whose requests are not counted.
    pub fn seal_uncounted(State(envelope): State<Self>, mut response: Response) -> Ready<Response> {
        let id = envelope.ids.next();
        envelope.seal(&mut response, &id);
        ready(response)
    }

    fn seal(&self, response: &mut Response, id: &str) {
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(id) {
            headers.insert(REQUEST_ID, id);
        }
        let nosniff = HeaderValue::from_static("nosniff");
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
        headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(POLICY);
        let nowhere = HeaderValue::from_static("no-referrer");
        headers.entry(header::REFERRER_POLICY).or_insert(nowhere);
        if self.strict_transport {
            let year = HeaderValue::from_static("max-age=31536000");
            headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
        }
    }
}
