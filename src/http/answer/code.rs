//! The error codes of OAuth 2.1 and its extensions that we answer with.

use axum::http::StatusCode;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    // RFC 6749 §5.2
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    UnauthorizedClient,
    UnsupportedGrantType,
    InvalidScope,
    // RFC 8707 §2
    InvalidTarget,
    // RFC 9396 §5
    InvalidAuthorizationDetails,
    // RFC 6749 §4.1.2.1
    AccessDenied,
    UnsupportedResponseType,
    TemporarilyUnavailable,
    ServerError,
    // OIDC Core §3.1.2.6
    InteractionRequired,
    LoginRequired,
    AccountSelectionRequired,
    ConsentRequired,
    RegistrationNotSupported,
    InvalidRequestUri,
    // RFC 8628 §3.5
    AuthorizationPending,
    SlowDown,
    ExpiredToken,
    // CIBA Core §13
    UnknownUserId,
    InvalidBindingMessage,
    // OIDC Core Error Code unmet_authentication_requirements 1.0
    UnmetAuthenticationRequirements,
    InvalidRequestObject,
    // RFC 7591 §3.2.2
    InvalidRedirectUri,
    InvalidClientMetadata,
    InvalidSoftwareStatement,
    UnapprovedSoftwareStatement,
    // RFC 6750 §3.1
    InvalidToken,
    InsufficientScope,
    // RFC 9470 §3
    InsufficientUserAuthentication,
    // RFC 9449 §5, §8
    InvalidDpopProof,
    UseDpopNonce,
}

impl Code {
    pub const ALL: [Self; 34] = [
        Self::InvalidRequest,
        Self::InvalidClient,
        Self::InvalidGrant,
        Self::UnauthorizedClient,
        Self::UnsupportedGrantType,
        Self::InvalidScope,
        Self::InvalidTarget,
        Self::InvalidAuthorizationDetails,
        Self::AccessDenied,
        Self::UnsupportedResponseType,
        Self::TemporarilyUnavailable,
        Self::ServerError,
        Self::InteractionRequired,
        Self::LoginRequired,
        Self::AccountSelectionRequired,
        Self::ConsentRequired,
        Self::RegistrationNotSupported,
        Self::InvalidRequestUri,
        Self::AuthorizationPending,
        Self::SlowDown,
        Self::ExpiredToken,
        Self::UnknownUserId,
        Self::InvalidBindingMessage,
        Self::UnmetAuthenticationRequirements,
        Self::InvalidRequestObject,
        Self::InvalidRedirectUri,
        Self::InvalidClientMetadata,
        Self::InvalidSoftwareStatement,
        Self::UnapprovedSoftwareStatement,
        Self::InvalidToken,
        Self::InsufficientScope,
        Self::InsufficientUserAuthentication,
        Self::InvalidDpopProof,
        Self::UseDpopNonce,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::InvalidScope => "invalid_scope",
            Self::InvalidTarget => "invalid_target",
            Self::InvalidAuthorizationDetails => "invalid_authorization_details",
            Self::AccessDenied => "access_denied",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::ServerError => "server_error",
            Self::InteractionRequired => "interaction_required",
            Self::LoginRequired => "login_required",
            Self::AccountSelectionRequired => "account_selection_required",
            Self::ConsentRequired => "consent_required",
            Self::RegistrationNotSupported => "registration_not_supported",
            Self::InvalidRequestUri => "invalid_request_uri",
            Self::AuthorizationPending => "authorization_pending",
            Self::SlowDown => "slow_down",
            Self::ExpiredToken => "expired_token",
            Self::UnknownUserId => "unknown_user_id",
            Self::InvalidBindingMessage => "invalid_binding_message",
            Self::UnmetAuthenticationRequirements => "unmet_authentication_requirements",
            Self::InvalidRequestObject => "invalid_request_object",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
            Self::InvalidSoftwareStatement => "invalid_software_statement",
            Self::UnapprovedSoftwareStatement => "unapproved_software_statement",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::InsufficientUserAuthentication => "insufficient_user_authentication",
            Self::InvalidDpopProof => "invalid_dpop_proof",
            Self::UseDpopNonce => "use_dpop_nonce",
        }
    }

    /// Returns the status it is answered with, where it is not told by a redirect.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::InvalidClient | Self::InvalidToken | Self::InsufficientUserAuthentication => {
                StatusCode::UNAUTHORIZED
            }
            Self::InsufficientScope | Self::AccessDenied => StatusCode::FORBIDDEN,
            Self::TemporarilyUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::ServerError => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_spelled_as_it_is_named() {
        for code in Code::ALL {
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
    }
}
