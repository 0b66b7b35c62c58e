//! Rate limits and permits: how much callers may do.

use crate::{
    actors::StartError,
    http::{
        limits::{
            attempts::Attempts,
            client_failures::ClientFailures,
            headroom::Headroom,
            pace::{Pace, Rates},
            polls::Polls,
            refusals::Refusals,
            registrations::Registrations,
            request_permits::{Limits, RequestPermits},
            scans::Scans,
            scim_bounds::ScimBounds,
            user_code_guesses::UserCodeGuesses,
        },
        vitals::Vitals,
    },
    system::System,
    transport::AddressRules,
};
use std::sync::Arc;

pub(in crate::http) struct Limiters {
    pub attempts: Attempts,
    pub client_failures: ClientFailures,
    pub headroom: Headroom,
    pub pace: Pace,
    pub polls: Polls,
    pub refusals: Refusals,
    pub registrations: Registrations,
    pub request_permits: RequestPermits,
    pub scans: Scans,
    pub scim: ScimBounds,
    pub user_code_guesses: UserCodeGuesses,
}

/// Limits as configured; without rates no caller is slowed down.
pub(super) struct LimiterOptions<'a> {
    pub limits: &'a Limits,
    pub rates: Option<Rates>,
    pub addresses: Arc<AddressRules>,
}

impl Limiters {
    pub(super) async fn new(
        system: &System,
        configured: LimiterOptions<'_>,
        vitals: &Arc<Vitals>,
    ) -> Result<Self, StartError> {
        let LimiterOptions { limits, rates, addresses } = configured;
        let limited = rates.is_some();
        let attempts = Attempts::new(system, vitals.clone(), limited).await?;
        Ok(Self {
            attempts: attempts.limiting(rates),
            client_failures: ClientFailures::new(limited, vitals.clone()),
            headroom: Headroom::default(),
            pace: Pace::new(rates, addresses.clone(), vitals.clone()),
            polls: Polls::default(),
            refusals: Refusals::default(),
            registrations: Registrations::new(limited, limits.unused_clients),
            request_permits: RequestPermits::new(limits, addresses),
            scans: Scans::default(),
            scim: limits.scim,
            user_code_guesses: UserCodeGuesses::new(limited),
        })
    }
}
