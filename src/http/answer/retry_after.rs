//! When a client that was refused may ask again.

use crate::domain::Timestamp;
use axum::{
    http::{StatusCode, header},
    response::Response,
};

/// How long a client that was refused should wait, in whole seconds (RFC 9110 §10.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryAfter(u32);

impl RetryAfter {
    /// Where it is not known how long it will take.
    const SOON: Self = Self(1);

    /// Says how long it is from `now` until `retry_at`, rounded up: a client that waits so long is not early.
    pub fn until(retry_at: Timestamp, now: Timestamp) -> Self {
        let seconds = retry_at.since(now).as_millis().div_ceil(1_000).max(1);
        Self(u32::try_from(seconds).unwrap_or(u32::MAX))
    }

    pub fn seconds(self) -> u32 {
        self.0
    }

    /// Tells a client that is refused for now when to ask again.
    pub fn tell(given: Option<Self>, response: &mut Response) {
        let later = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
        if later.contains(&response.status()) {
            let Self(seconds) = given.unwrap_or(Self::SOON);
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::answer::error::{OAuthError, Problem};
    use axum::response::IntoResponse as _;
    use std::time::Duration;

    #[test]
    fn a_client_that_asks_too_often_is_told_in_either_voice_when_to_ask_again() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let wait = |millis| RetryAfter::until(now + Duration::from_millis(millis), now);
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (3_600_000, 3_600)] {
            assert_eq!(wait(millis).seconds(), seconds);
        }
        let (oauth, problem) = (OAuthError::from(wait(29_500)), Problem::from(wait(29_500)));
        for response in [oauth.into_response(), problem.into_response()] {
            assert_eq!(response.status(), 429);
            assert_eq!(response.headers()[header::RETRY_AFTER], "30");
        }
        let soon = OAuthError::unavailable().into_response();
        assert_eq!(soon.headers()[header::RETRY_AFTER], "1");
        assert!(!Problem::NOT_FOUND.into_response().headers().contains_key(header::RETRY_AFTER));
    }
}
