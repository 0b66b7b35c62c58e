//! `/api/organizations/{organization}/audit/export`: the trail as lines of JSON, read a page at a time.
//!
//! It goes backwards from the newest entry that is there when it begins, so that what is written
//! meanwhile changes nothing.

use super::{
    audit::{Filter, shown},
    call::{Answer, Call},
    parts::{self, Part, Parts, Reading},
};
use crate::{
    http::{app::App, limits::scans::Scan},
    store::views::{LogEntry, LogPlace},
};
use axum::{body::Bytes, http::HeaderValue};

/// The media type of the answer.
pub const LINES: &str = "application/jsonl";

/// How many entries are read at a time.
const PAGE: u32 = 200;

const FILE: HeaderValue = HeaderValue::from_static("attachment; filename=\"audit.jsonl\"");

pub async fn get(call: Call) -> Answer {
    let trail = TrailPages { filter: Filter::of(&call)?, before: LogPlace::end() };
    parts::answer(&call, trail, (LINES, FILE)).await
}

/// The pages of a trail that come before a place in it.
struct TrailPages {
    filter: Filter,
    before: LogPlace,
}

impl TrailPages {
    /// Waits for the permit to look through the whole trail, where that may be needed.
    async fn scan(&self, app: &App) -> Option<Scan> {
        Some(app.limits.scans.wait(self.filter.scans_for()?).await)
    }
}

impl Parts for TrailPages {
    const NEEDS: &'static str = "audit:read";

    fn next(self, app: App) -> Reading<Self> {
        Box::pin(async move {
            let _scan = self.scan(&app).await;
            let page = self.filter.read(&app, &self.before, PAGE).await?;
            let is_full = page.len() == PAGE as usize;
            let before = page.last().filter(|_| is_full).map(|entry| entry.place.clone());
            let rest = before.map(|before| Self { before, ..self });
            Ok(Part { bytes: lines(&page), rest })
        })
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
