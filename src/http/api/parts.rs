//! A long answer that is made a part at a time, however slowly the client reads.
//!
//! At most one part is in memory. An answer that cannot go on breaks off: the client sees an answer without its end.
//! Before each part the caller is judged again: an organization that is suspended meanwhile, or a caller who has lost
//! the permission, gets nothing more.

use super::{call::Call, caller::Caller};
use crate::http::{
    answer::{error::Problem, never_stored, roomy},
    app::App,
};
use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderValue, header},
    response::Response,
};
use hyper::body::Frame;
use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv6Addr},
    pin::Pin,
    task::{Context, Poll, ready},
};

/// A part of an answer, and what the next ones are made from, if there are any.
pub struct Part<S> {
    pub bytes: Bytes,
    pub rest: Option<S>,
}

pub type Reading<S> = Pin<Box<dyn Future<Output = Result<Part<S>, Problem>> + Send>>;

/// What the parts of an answer are made from.
pub trait Parts: Send + Unpin + Sized + 'static {
    /// What a caller must hold until the end.
    const NEEDS: &'static str;
    /// Makes the next part.
    fn next(self, app: App) -> Reading<Self>;
}

/// Answers with parts, as a file of this type and name. The first is made before anything is answered: a refusal
/// has its own status.
pub async fn answer<S: Parts>(
    call: &Call,
    parts: S,
    (media, disposition): (&'static str, HeaderValue),
) -> Result<Response, Problem> {
    let Part { bytes, rest } = parts.next(call.app.clone()).await?;
    let (app, caller) = (call.app.clone(), call.caller.clone());
    let ready = (!bytes.is_empty()).then_some(bytes);
    let mut response = roomy(Body::new(PartsBody { app, caller, ready, rest, reading: None }));
    never_stored(&mut response);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CONTENT_DISPOSITION, disposition);
    Ok(response)
}

/// An answer under way.
struct PartsBody<S: Parts> {
    app: App,
    caller: Caller,
    /// What was made and not been taken.
    ready: Option<Bytes>,
    rest: Option<S>,
    reading: Option<Reading<S>>,
}

/// Makes a part as work like any other: an answer waits for no permit, and holds none between parts.
fn read<S: Parts>(app: App, caller: Caller, parts: S) -> Reading<S> {
    Box::pin(async move {
        let address = caller.context.address().unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        let _permit = app.limits.request_permits.work(address)?;
        caller.still_holds(&app, S::NEEDS).await?;
        parts.next(app.clone()).await
    })
}

impl<S: Parts> HttpBody for PartsBody<S> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let body = self.get_mut();
        loop {
            if let Some(bytes) = body.ready.take() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if let Some(reading) = &mut body.reading {
                let read = ready!(reading.as_mut().poll(context));
                body.reading = None;
                match read {
                    Ok(Part { bytes, rest }) => {
                        body.ready = (!bytes.is_empty()).then_some(bytes);
                        body.rest = rest;
                    }
                    Err(problem) => {
                        tracing::warn!(code = problem.code, "an export broke off");
                        let broken = io::Error::other("the export broke off");
                        return Poll::Ready(Some(Err(broken)));
                    }
                }
                continue;
            }
            let Some(rest) = body.rest.take() else { return Poll::Ready(None) };
            body.reading = Some(read(body.app.clone(), body.caller.clone(), rest));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_none() && self.rest.is_none() && self.reading.is_none()
    }
}
