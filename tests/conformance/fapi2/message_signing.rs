//! `fapi2-message-signing-final-test-plan`: the modules of the security profile with signed messages, and
//! those about signed requests.

use super::{
    client_authentication, codes, discovery, dpop, flows, negatives, pushed, refresh,
    request_objects, requests,
    run::each,
    variant::{Variant, message_signing, only, signed_somehow as all},
};

shared_modules!();

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_with_multiple_aud_succeeds() {
    each(message_signing(), request_objects::several_audiences).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_with_nbf_8_seconds_in_the_future_is_accepted()
 {
    each(message_signing(), request_objects::soon).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_without_exp_fails() {
    each(message_signing(), request_objects::without_exp).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_without_nbf_fails() {
    each(message_signing(), request_objects::without_nbf).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_expired_request_object_fails() {
    each(message_signing(), request_objects::expired).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_with_bad_aud_fails() {
    each(message_signing(), request_objects::wrong_audience).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_with_exp_over_60_fails() {
    each(message_signing(), request_objects::too_long).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_with_nbf_over_60_fails() {
    each(message_signing(), request_objects::too_old).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_signed_request_object_with_rs256_fails() {
    each(message_signing(), request_objects::rs256).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_signature_algorithm_is_not_none() {
    each(message_signing(), request_objects::none).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_request_object_with_invalid_signature_fails() {
    each(message_signing(), request_objects::invalid_signature).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_matching_key_in_authorization_request() {
    each(message_signing(), request_objects::key_of_another).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_ensure_unsigned_request_at_par_endpoint_fails() {
    each(message_signing(), request_objects::unsigned_request).await;
}

#[tokio::test]
async fn fapi2_security_profile_final_par_authorization_request_containing_request_uri() {
    each(message_signing(), request_objects::request_uri_inside).await;
}
