//! `fapi2-security-profile-final-test-plan`: its modules, and the variants that each is run in.

use super::{
    client_authentication, codes, discovery, dpop, flows, negatives, pushed, refresh, requests,
    run::each,
    variant::{Variant, only, security_profile as all},
};

shared_modules!();
