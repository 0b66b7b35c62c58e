//! `/api/organizations/{organization}/audit/export`: the trail as lines of JSON, read a page at a time.
//!
//! It goes backwards from the newest entry that is there when it begins, so that what is written
//! meanwhile changes nothing. At most one page is in memory, however long the trail is and however slowly
//! the client reads. An export that cannot go on breaks off: the client sees an answer without its end.
//! Before each page the caller is judged again: an organization that is suspended meanwhile, or a caller
//! who may no longer read the trail, gets nothing more.

use super::{
    audit::{Filter, shown},
    call::{Answer, Call},
    caller::Caller,
};
use crate::{
    http::{
        answer::{error::Problem, never_stored, roomy},
        app::App,
    },
    store::views::{LogEntry, LogPlace},
};
use axum::{
    body::{Body, Bytes, HttpBody},
    http::{HeaderValue, header},
};
use hyper::body::Frame;
use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv6Addr},
    pin::Pin,
    task::{Context, Poll, ready},
};

/// The media type of the answer.
pub const LINES: &str = "application/jsonl";

/// What a caller must hold until the end.
const NEEDS: &str = "audit:read";

/// How many entries are read at a time.
const PAGE: u32 = 200;

const FILE: HeaderValue = HeaderValue::from_static("attachment; filename=\"audit.jsonl\"");

pub async fn get(call: Call) -> Answer {
    let filter = Filter::of(&call)?;
    // The first page is read before anything is answered: a refusal has its own status.
    let first = filter.read(&call.app, &LogPlace::end(), PAGE).await?;
    let mut response =
        roomy(Body::new(Export::beginning(call.app.clone(), call.caller.clone(), filter, &first)));
    never_stored(&mut response);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(LINES));
    headers.insert(header::CONTENT_DISPOSITION, FILE);
    Ok(response)
}

type Reading = Pin<Box<dyn Future<Output = Result<Vec<LogEntry>, Problem>> + Send>>;

/// An export under way.
struct Export {
    app: App,
    caller: Caller,
    filter: Filter,
    /// Lines that have been read and not been taken.
    ready: Option<Bytes>,
    /// The page that follows, once there was an entry to go on from.
    before: Option<LogPlace>,
    reading: Option<Reading>,
}

impl Export {
    fn beginning(app: App, caller: Caller, filter: Filter, first: &[LogEntry]) -> Self {
        let mut export = Self { app, caller, filter, ready: None, before: None, reading: None };
        export.take(first);
        export
    }

    fn next(&self, before: LogPlace) -> Reading {
        read(self.app.clone(), self.caller.clone(), self.filter.clone(), before)
    }

    /// Makes lines of a page, and notes where the next begins.
    fn take(&mut self, page: &[LogEntry]) {
        let is_full = page.len() == PAGE as usize;
        self.before = page.last().filter(|_| is_full).map(|entry| entry.place.clone());
        self.ready = (!page.is_empty()).then(|| lines(page));
    }
}

fn lines(page: &[LogEntry]) -> Bytes {
    let mut text = Vec::new();
    for entry in page {
        serde_json::to_writer(&mut text, &shown(entry)).expect("plain data with text keys is JSON");
        text.push(b'\n');
    }
    text.into()
}

/// Reads a page as work like any other: an export waits for no permit, and holds none between pages.
fn read(app: App, caller: Caller, filter: Filter, before: LogPlace) -> Reading {
    Box::pin(async move {
        let address = caller.context.address().unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
        let _permit = app.limits.request_permits.work(address)?;
        caller.still_holds(&app, NEEDS).await?;
        filter.read(&app, &before, PAGE).await
    })
}

impl HttpBody for Export {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let export = self.get_mut();
        loop {
            if let Some(lines) = export.ready.take() {
                return Poll::Ready(Some(Ok(Frame::data(lines))));
            }
            if let Some(reading) = &mut export.reading {
                let read = ready!(reading.as_mut().poll(context));
                export.reading = None;
                match read {
                    Ok(page) => export.take(&page),
                    Err(problem) => {
                        tracing::warn!(code = problem.code, "an export of a trail broke off");
                        let broken = io::Error::other("the export broke off");
                        return Poll::Ready(Some(Err(broken)));
                    }
                }
                continue;
            }
            let Some(before) = export.before.take() else { return Poll::Ready(None) };
            export.reading = Some(export.next(before));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ready.is_none() && self.before.is_none() && self.reading.is_none()
    }
}
