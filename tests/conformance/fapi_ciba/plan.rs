//! `fapi-ciba-id1-test-plan`: its modules, and the variants that each is run in.

use super::{
    client_authentication, flows, ping, request_objects,
    run::{all, by_certificate, by_key, each, each_answered, pinged},
};
use crate::ciba_ping::{FORBIDDEN, REDIRECTS, SAYS_MORE, UNAUTHORIZED};

#[tokio::test]
async fn fapi_ciba_id1_discovery_end_point_verification() {
    each(all(), flows::end_point_verification).await;
}

#[tokio::test]
async fn fapi_ciba_id1() {
    each(all(), flows::whole_way).await;
}

#[tokio::test]
async fn fapi_ciba_id1_user_rejects_authentication() {
    each(all(), flows::user_rejects_authentication).await;
}

#[tokio::test]
async fn fapi_ciba_id1_multiple_call_to_token_endpoint() {
    each(all(), flows::multiple_call_to_token_endpoint).await;
}

#[tokio::test]
async fn fapi_ciba_id1_auth_req_id_expired() {
    each(all(), flows::auth_req_id_expired).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_binding_message_succeeds() {
    each(all(), flows::binding_message).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_other_scope_order_succeeds() {
    each(all(), flows::other_scope_order).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_requested_expiry_as_string_succeeds() {
    each(all(), flows::requested_expiry_as_text).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_potentially_bad_binding_message() {
    each(all(), flows::bad_binding_message).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_aud_fails() {
    each(all(), request_objects::missing_aud).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_bad_aud_fails() {
    each(all(), request_objects::bad_aud).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_iss_fails() {
    each(all(), request_objects::missing_iss).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_bad_iss_fails() {
    each(all(), request_objects::bad_iss).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_exp_fails() {
    each(all(), request_objects::missing_exp).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_expired_exp_fails() {
    each(all(), request_objects::expired).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_exp_is_70_minutes_in_future_fails() {
    each(all(), request_objects::exp_in_70_minutes).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_iat_fails() {
    each(all(), request_objects::missing_iat).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_nbf_fails() {
    each(all(), request_objects::missing_nbf).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_nbf_is_10_minutes_in_future_fails() {
    each(all(), request_objects::nbf_in_10_minutes).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_nbf_is_70_minutes_in_past_fails() {
    each(all(), request_objects::nbf_70_minutes_ago).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_missing_jti_fails() {
    each(all(), request_objects::missing_jti).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_none_fails() {
    each(all(), request_objects::none).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_bad_fails() {
    each(all(), request_objects::bad_signature).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signature_algorithm_is_rs256_fails() {
    each(all(), request_objects::rs256).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_request_object_signed_by_other_client_fails() {
    each(all(), request_objects::key_of_another).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_authorization_request_with_multiple_hints_fails() {
    each(all(), request_objects::several_hints).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_unsigned_backchannel_authorization_request_fails() {
    each(all(), request_objects::unsigned_request).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_auth_req_id_in_token_endpoint_request() {
    each(all(), flows::id_of_another).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_different_client_id_and_issuer_in_backchannel_authorization_request()
{
    each(by_certificate(), client_authentication::other_client_id_than_issuer).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_client_id_in_token_endpoint_request() {
    each(by_certificate(), client_authentication::wrong_client_id_at_token_endpoint).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_wrong_client_id_in_backchannel_authorization_request() {
    each(by_certificate(), client_authentication::wrong_client_id_at_backchannel).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_without_client_assertion_in_token_endpoint_request() {
    each(by_key(), client_authentication::without_assertion_at_token_endpoint).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_without_client_assertion_in_backchannel_authorization_request() {
    each(by_key(), client_authentication::without_assertion_at_backchannel).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_signature_algorithm_in_backchannel_authorization_request_is_rs256_fails()
 {
    each(by_key(), client_authentication::rs256_at_backchannel).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_signature_algorithm_in_token_endpoint_request_is_rs256_fails()
 {
    each(by_key(), client_authentication::rs256_at_token_endpoint).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_client_assertion_with_iss_aud_to_token_endpoint_succeeds() {
    each(by_key(), client_authentication::issuer_as_audience).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_has_body() {
    each_answered(pinged(), SAYS_MORE, ping::answered).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_401() {
    each_answered(pinged(), UNAUTHORIZED, ping::answered).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_response_403() {
    each_answered(pinged(), FORBIDDEN, ping::answered).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_with_mtls_ciba_notification_endpoint_response_401_and_require_server_does_not_retry()
 {
    each_answered(pinged(), UNAUTHORIZED, ping::not_retried).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ping_backchannel_notification_endpoint_return_redirect_request() {
    each_answered(pinged(), REDIRECTS, ping::answered).await;
}

#[tokio::test]
async fn fapi_ciba_id1_refresh_token() {
    each(all(), flows::refresh_token).await;
}

#[tokio::test]
async fn fapi_ciba_id1_ensure_mtls_holder_of_key_required() {
    each(all(), flows::holder_of_key).await;
}
