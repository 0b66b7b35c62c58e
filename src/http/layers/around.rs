//! What stands around every endpoint of the public listener, as one service: the envelope outermost, then
//! admission.
//!
//! One layer and not two: each would make a box and a copy of the whole router inside for every request.

use super::{admission::Admission, envelope::Envelope};
use crate::http::{
    answer::error::RequestFailure,
    app::App,
    extract::{
        forwarded_certificate::ForwardedCertificates,
        possession::{self, DPOP},
    },
    flows::steps::Steps,
};
use axum::{
    extract::Request,
    http::{HeaderValue, header},
    response::Response,
};
use std::{
    convert::Infallible,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};
use tower::{Layer, Service};

/// What stands around the endpoints of one kind.
pub struct Surroundings {
    pub envelope: Envelope,
    pub admission: Admission,
    /// For endpoints that take steps of flows.
    pub steps: Option<Steps>,
    /// Whose word is taken for the certificates of clients.
    pub certificates: ForwardedCertificates,
    /// What draws nonces for the proofs of clients, where they need them.
    pub nonces: Option<App>,
}

/// Puts it around them.
#[derive(Clone)]
pub struct AroundLayer(Arc<Surroundings>);

impl AroundLayer {
    pub fn new(surroundings: Surroundings) -> Self {
        Self(Arc::new(surroundings))
    }
}

impl<S> Layer<S> for AroundLayer {
    type Service = Around<S>;

    fn layer(&self, inner: S) -> Around<S> {
        Around { inner, surroundings: self.0.clone() }
    }
}

#[derive(Clone)]
pub struct Around<S> {
    inner: S,
    surroundings: Arc<Surroundings>,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// What becomes of a request that was looked at.
enum Passage<F> {
    In(F),
    Answered(Response),
}

impl<S> Service<Request> for Around<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Answering {
        let surroundings = self.surroundings.clone();
        let Surroundings { envelope, admission, steps, certificates, .. } = &*self.surroundings;
        let received = envelope.receive(&mut request);
        let refused = certificates.receive(&mut request).err();
        if let Some(steps) = steps {
            request.extensions_mut().insert(steps.clone());
        }
        let origin = request.headers().get(header::ORIGIN).cloned();
        let has_proof = request.headers().contains_key(DPOP);
        let admitted = catch_unwind(AssertUnwindSafe(|| {
            match (refused, admission.answer_at_once(&request)) {
                (Some(refused), _) => Passage::Answered(envelope.word(refused)),
                (None, Some(answer)) => Passage::Answered(answer),
                (None, None) => Passage::In(self.inner.call(request)),
            }
        }));
        Box::pin(async move {
            let Surroundings { envelope, admission, nonces, .. } = &*surroundings;
            let answered = match admitted {
                Ok(Passage::Answered(answer)) => Some(answer),
                Ok(Passage::In(answering)) => {
                    let answering = received.instrument(admission.in_time(answering));
                    surviving(answering).await
                }
                Err(_panicked) => None,
            };
            // A panic is our fault and an answer, not a closed connection.
            let mut response = answered.map_or_else(
                || {
                    received.note_panic();
                    envelope.word(RequestFailure::Panicked)
                },
                |answer| opened(admission, origin, answer),
            );
            if let Some(app) = nonces.as_ref().filter(|_| has_proof) {
                possession::give_nonce(app, &mut response);
            }
            Ok(envelope.send(&received, response))
        })
    }
}

fn opened(admission: &Admission, origin: Option<HeaderValue>, mut answer: Response) -> Response {
    // Refusals too: a program that cannot read them cannot tell what was wrong.
    admission.cors.open(origin, &mut answer);
    answer
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
