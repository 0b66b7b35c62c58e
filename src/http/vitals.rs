//! What an operator may want to know of requests; every label comes from a list of ours, so that no
//! traffic can grow them.

use crate::{
    domain::client::GrantType,
    histogram::{Histogram, HistogramReport},
    http::{answer::error::Code, purpose::Purpose},
};
use axum::http::StatusCode;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// The statuses that are counted by themselves.
const STATUSES: [u16; 18] =
    [200, 201, 204, 303, 304, 400, 401, 403, 404, 405, 408, 413, 415, 421, 429, 431, 500, 503];

/// The label of a path that is not served.
const NOWHERE: &str = "(none)";

/// Counts requests by route and status, tokens by grant, refusals by reason and by limit.
pub struct Vitals {
    /// One a path, and one for all that are not served.
    routes: Vec<(&'static str, RouteVitals)>,
    issued: Vec<(GrantType, AtomicU64)>,
    refused: [AtomicU64; Code::ALL.len()],
    /// One a purpose, one for all attempts against identifiers, one for all against clients.
    limited: [AtomicU64; Purpose::ALL.len() + 2],
    /// New passwords that were looked up among leaked ones, one a [`BreachOutcome`].
    looked_up: [AtomicU64; BreachOutcome::ALL.len()],
}

/// What came of looking a new password up among leaked ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreachOutcome {
    /// It is not among them.
    Unknown,
    Breached,
    /// The list gave no answer, and the password was taken.
    Failed,
}

impl BreachOutcome {
    const ALL: [Self; 3] = [Self::Unknown, Self::Breached, Self::Failed];

    fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Breached => "breached",
            Self::Failed => "failed",
        }
    }
}

struct RouteVitals {
    /// One a status, and one for all others.
    statuses: [AtomicU64; STATUSES.len() + 1],
    times: Histogram,
}

/// What is known of one route.
pub struct RouteReport {
    pub route: &'static str,
    /// Statuses that were answered at least once, and how often; `other` for all that are not in our list.
    pub statuses: Vec<(String, u64)>,
    pub times: HistogramReport,
}

/// Counts no path by itself.
impl Default for Vitals {
    fn default() -> Self {
        Self::new([].into_iter(), [].into_iter())
    }
}

impl Vitals {
    /// Counts for these paths and these grants.
    pub fn new(
        paths: impl Iterator<Item = &'static str>,
        grants: impl Iterator<Item = GrantType>,
    ) -> Self {
        let route = || RouteVitals { statuses: Default::default(), times: Histogram::of_times() };
        Self {
            routes: paths.chain([NOWHERE]).map(|path| (path, route())).collect(),
            issued: grants.map(|grant| (grant, AtomicU64::new(0))).collect(),
            refused: std::array::from_fn(|_| AtomicU64::new(0)),
            limited: Default::default(),
            looked_up: Default::default(),
        }
    }

    pub fn answered(&self, route: Option<&str>, status: StatusCode, took: Duration) {
        let served = |(path, _): &&(&str, _)| Some(*path) == route;
        let Some((_, route)) = self.routes.iter().find(served).or(self.routes.last()) else {
            return;
        };
        let at = STATUSES.binary_search(&status.as_u16()).unwrap_or(STATUSES.len());
        route.statuses[at].fetch_add(1, Relaxed);
        route.times.took(took);
    }

    pub fn issued(&self, grant: GrantType) {
        if let Some((_, count)) = self.issued.iter().find(|(known, _)| *known == grant) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub fn refused(&self, code: Code) {
        if let Some(at) = Code::ALL.iter().position(|known| *known == code) {
            self.refused[at].fetch_add(1, Relaxed);
        }
    }

    /// An address has asked more often than it may.
    pub fn limited(&self, purpose: Purpose) {
        self.limited[purpose as usize].fetch_add(1, Relaxed);
    }

    /// More attempts were made against an identifier than are allowed.
    pub fn limited_identifier(&self) {
        self.limited[Purpose::ALL.len()].fetch_add(1, Relaxed);
    }

    /// A client was not proved more often than is allowed.
    pub fn limited_client(&self) {
        self.limited[Purpose::ALL.len() + 1].fetch_add(1, Relaxed);
    }

    /// A new password was looked up among leaked ones.
    pub fn looked_up(&self, looked: BreachOutcome) {
        self.looked_up[looked as usize].fetch_add(1, Relaxed);
    }

    /// Lists how many new passwords were looked up, by what came of it.
    pub fn lookups(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.looked_up.iter().map(|count| count.load(Relaxed));
        BreachOutcome::ALL.into_iter().map(BreachOutcome::name).zip(counts)
    }

    pub fn routes(&self) -> impl Iterator<Item = RouteReport> {
        self.routes.iter().map(|(route, vitals)| {
            let names = STATUSES.iter().map(u16::to_string).chain(["other".to_owned()]);
            let counts = vitals.statuses.iter().map(|count| count.load(Relaxed));
            let statuses = names.zip(counts).filter(|(_, count)| *count > 0).collect();
            RouteReport { route, statuses, times: vitals.times.report() }
        })
    }

    /// Lists how many tokens were issued, by grant.
    pub fn tokens(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.issued.iter().map(|(grant, count)| (grant.name(), count.load(Relaxed)))
    }

    /// Lists how many requests were refused, by reason.
    pub fn refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.refused.iter().map(|count| count.load(Relaxed));
        Code::ALL.iter().map(|code| code.name()).zip(counts)
    }

    /// Lists how many requests were over a limit, by what for.
    pub fn limits(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.limited.iter().map(|count| count.load(Relaxed));
        Purpose::ALL.into_iter().map(Purpose::name).chain(["identifier", "client"]).zip(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_served_is_counted_under_one_label() {
        let vitals = Vitals::new(["/connect/token"].into_iter(), [].into_iter());
        for status in [404, 404, 299, 599] {
            vitals.answered(None, StatusCode::from_u16(status).unwrap(), Duration::ZERO);
        }
        vitals.answered(Some("/connect/token"), StatusCode::OK, Duration::ZERO);
        vitals.answered(Some("/anything"), StatusCode::OK, Duration::ZERO);
        let reports: Vec<RouteReport> = vitals.routes().collect();
        let count = |route: &str, status: &str| {
            let report = reports.iter().find(|report| report.route == route).unwrap();
            report.statuses.iter().find(|(name, _)| name == status).map(|(_, count)| *count)
        };
        assert_eq!(count(NOWHERE, "404"), Some(2));
        assert_eq!(count(NOWHERE, "other"), Some(2));
        assert_eq!((count(NOWHERE, "200"), count("/connect/token", "200")), (Some(1), Some(1)));
        assert!(STATUSES.is_sorted(), "they are searched by halves");
    }
}
