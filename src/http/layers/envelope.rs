//! Every response, whichever part made it, has a request id and the security headers, and is counted.

use crate::{
    clock::Stopwatch,
    crypto::{Dice, draw_text},
    http::{
        answer::error::{Code, Refused, Stopped, Voice},
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
    middleware::Next,
    response::Response,
};
use std::{
    future::{Ready, poll_fn, ready},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::Poll,
};
use tracing::Instrument as _;

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
    voice: Voice,
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

pub async fn envelope(
    State(envelope): State<Envelope>,
    mut request: Request,
    next: Next,
) -> Response {
    let stopwatch = Stopwatch::start();
    let id = envelope.ids.next();
    request.extensions_mut().insert(RequestId(id.clone()));
    let id = &*id;
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route_name = route.as_ref().map(MatchedPath::as_str);
    let method = request.method().as_str();
    let peer = request.extensions().get::<Peer>();
    let address = address::of(peer, request.headers(), &envelope.addresses);
    let pages = envelope.pages.as_ref();
    let browser = pages.and_then(|app| Browser::of(app, request.headers()));
    // Formatting a span's fields is not free: an operator who wants spans asks for this level.
    let span = tracing::debug_span!("http.request", id, method, route = route_name);
    // A panic is our fault and an answer, not a closed connection.
    let answered = surviving(next.run(request).instrument(span)).await;
    let mut response = answered.unwrap_or_else(|| {
        tracing::error!(id, %address, route = route_name, "a handler panicked");
        envelope.voice.word(Stopped::Panicked)
    });
    if let Some(browser) = browser {
        response = browser.dress(response, id);
    }
    let (status, took) = (response.status(), stopwatch.elapsed());
    envelope.vitals.answered(route_name, status, took);
    if let Some(Refused { code, description, reason }) = response.extensions().get() {
        envelope.vitals.refused(*code);
        let (name, status) = (code.name(), status.as_u16());
        // A client that polls hears this until a person decides: it is counted, and no line for an operator.
        if *code == Code::AuthorizationPending {
            tracing::debug!(id, route = route_name, status, code = name, "refused");
        } else {
            tracing::info!(
                id, %address, route = route_name, status, code = name, description, reason, "refused"
            );
        }
    } else if is_denial(status) {
        tracing::info!(id, %address, route = route_name, status = status.as_u16(), "refused");
    } else {
        tracing::debug!(id, route = route_name, status = status.as_u16(), ?took, "answered");
    }
    envelope.seal(&mut response, id);
    response
}

/// Whether an answer denies the caller something; operators look for the address of such a caller.
fn is_denial(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
    )
}

/// Waits for `answer`; nothing comes of one that panics.
async fn surviving<T>(answer: impl Future<Output = T>) -> Option<T> {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}

impl Envelope {
    pub fn new(options: EnvelopeOptions<'_>) -> Self {
        let EnvelopeOptions { dice, vitals, addresses, strict_transport } = options;
        let ids = RequestIds { beginning: draw_text(dice, 9), count: AtomicU64::new(0) };
        let (ids, voice, pages) = (Arc::new(ids), Voice::Problem, None);
        Self { ids, vitals, addresses, strict_transport, voice, pages }
    }

    /// The same for endpoints that word their refusals in another way.
    pub fn with_voice(&self, voice: Voice) -> Self {
        Self { voice, ..self.clone() }
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
