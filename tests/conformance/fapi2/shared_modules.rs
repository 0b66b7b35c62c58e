//! The modules that both plans have. A plan's file says by `all` in which variants they are run.
//!
//! Two look at how a resource judges what is presented to it. They are run where that is this server,
//! which is everywhere but with details and without `openid`.

macro_rules! shared_modules {
    () => {
        #[tokio::test]
        async fn fapi2_security_profile_final_discovery_end_point_verification() {
            each(all(), discovery::end_point_verification).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_happy_flow() {
            each(all(), flows::happy_flow).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_user_rejects_authentication() {
            each(all(), flows::user_rejects_authentication).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_authorization_request_without_state_success() {
            each(all(), flows::without_state).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_authorization_request_without_nonce_success() {
            each(only(all(), Variant::openid_connect), flows::without_nonce).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_authorization_request_with_64_char_nonce_success() {
            each(only(all(), Variant::openid_connect), flows::nonce_of_64).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_other_scope_order_succeeds() {
            each(only(all(), Variant::openid_connect), flows::other_scope_order).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_test_claims_parameter_identity_claims() {
            each(only(all(), Variant::openid_connect), flows::claims_parameter).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_access_token_type_header_case_sensitivity() {
            each(only(all(), Variant::own_resource), flows::scheme_in_other_case).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_check_dpop_proof_nbf_exp() {
            each(only(all(), Variant::dpop), dpop::nbf_and_exp).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_dpopproof_with_iat_10seconds_before_succeeds() {
            each(only(all(), Variant::dpop), dpop::ten_seconds_before).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_dpopproof_with_iat_10seconds_after_succeeds() {
            each(only(all(), Variant::dpop), dpop::ten_seconds_after).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_mismatched_dpop_jkt_fails() {
            each(only(all(), Variant::dpop), dpop::mismatched_jkt).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_token_endpoint_fails_with_mismatched_dpop_proof_jkt() {
            each(only(all(), Variant::dpop), dpop::other_key_than_pushed).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_token_endpoint_fails_with_mismatched_dpop_jkt() {
            each(only(all(), Variant::dpop), dpop::other_key_than_named).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_dpopproof_at_par_endpoint_binding_success() {
            each(only(all(), Variant::dpop), dpop::same_key_as_pushed).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_dpop_auth_code_binding_success() {
            each(only(all(), Variant::dpop), dpop::same_key_as_named).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_different_nonce_inside_and_outside_request_object() {
            each(only(all(), Variant::openid_connect), requests::other_nonce_outside).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_different_state_inside_and_outside_request_object() {
            each(all(), requests::other_state_outside).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_authorization_request_with_long_nonce() {
            each(only(all(), Variant::openid_connect), requests::long_nonce).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_authorization_request_with_long_state() {
            each(all(), requests::long_state).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_state_only_outside_request_object_not_used() {
            each(all(), requests::state_outside_only).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_request_object_without_redirect_uri_fails() {
            each(all(), requests::without_redirect_uri).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_plain_fapi_tolerate_unregistered_redirect_uri() {
            each(all(), requests::unregistered_redirect_uri).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_unsigned_authorization_request_without_using_par_fails()
         {
            each(all(), requests::without_pushing).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_redirect_uri_in_authorization_request() {
            each(all(), requests::redirect_uri_in_request).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_response_type_code_idtoken_fails() {
            each(all(), requests::response_type_code_id_token).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_response_type_token_fails() {
            each(all(), requests::response_type_token).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_client_id_in_token_endpoint() {
            each(all(), codes::client_id_of_another).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_holder_of_key_required() {
            each(all(), codes::holder_of_key).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_authorization_code_is_bound_to_client() {
            each(all(), codes::code_of_another).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_attempt_reuse_authorization_code_after_one_second() {
            each(all(), codes::used_code).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_token_endpoint_fails_with_expired_auth_code() {
            each(all(), codes::expired_code).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_signed_client_assertion_with_rs256_fails() {
            each(only(all(), Variant::private_key_jwt), client_authentication::rs256).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_client_assertion_in_token_endpoint() {
            each(only(all(), Variant::private_key_jwt), client_authentication::none).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_client_assertion_with_exp_is_5_minutes_in_past_fails()
        {
            each(only(all(), Variant::private_key_jwt), client_authentication::expired).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_client_assertion_with_wrong_aud_fails() {
            each(only(all(), Variant::private_key_jwt), client_authentication::wrong_audience).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_client_assertion_with_no_sub_fails() {
            each(only(all(), Variant::private_key_jwt), client_authentication::no_subject).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_dpop_negative_tests() {
            each(only(all(), Variant::dpop_at_own_resource), negatives::dpop_negative_tests).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_refresh_token() {
            each(all(), refresh::refresh_token).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_ensure_reused_request_uri_prior_to_auth_completion_succeeds()
         {
            each(all(), requests::opened_twice).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_attempt_reuse_request_uri() {
            each(all(), requests::used_request_uri).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_attempt_to_use_expired_request_uri() {
            each(all(), requests::expired_request_uri).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_ensure_jwt_client_assertions_nbf_8_seconds_in_the_future_is_accepted()
         {
            each(only(all(), Variant::private_key_jwt), client_authentication::soon).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_ensure_jwt_client_assertions_nbf_over_60_seconds_in_the_future_fails()
         {
            each(only(all(), Variant::private_key_jwt), client_authentication::too_early).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_attempt_to_use_request_uri_for_different_client() {
            each(all(), requests::request_uri_of_another).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_authorization_request_containing_request_uri_form_param()
        {
            each(all(), pushed::request_uri_as_field).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_attempt_invalid_http_method() {
            each(all(), pushed::invalid_http_method).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_ensure_pkce_required() {
            each(all(), requests::without_pkce).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_ensure_pkce_code_verifier_required() {
            each(all(), codes::without_verifier).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_incorrect_pkce_code_verifier_rejected() {
            each(all(), codes::wrong_verifier).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_plain_pkce_rejected() {
            each(all(), requests::plain_pkce).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_without_duplicate_parameters() {
            each(all(), requests::nothing_beside).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_test_array_as_audience_fails() {
            each(only(all(), Variant::private_key_jwt), client_authentication::several_audiences).await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_test_par_endpoint_url_as_audience_fails() {
            each(only(all(), Variant::private_key_jwt), client_authentication::par_endpoint_as_audience)
                .await;
        }

        #[tokio::test]
        async fn fapi2_security_profile_final_par_test_token_endpoint_url_as_audience_fails() {
            each(only(all(), Variant::private_key_jwt), client_authentication::token_endpoint_as_audience)
                .await;
        }
    };
}
