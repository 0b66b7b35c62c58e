//! A code for tokens: RFC 6749 §4.1.3 as OAuth 2.1 has it, RFC 7636 §4.5.

use super::{
    Grant, TokenResponse,
    issue::{self, INVALID_GRANT, TokenRequest},
};
use crate::{
    crypto::OpaqueKind,
    domain::{
        Fingerprint,
        client::GrantType,
        token_family::{Command, Narrowing, Redeem},
    },
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::{client_auth::Caller, form::Form},
    },
};

pub const GRANT: Grant = Grant {
    kind: GrantType::AuthorizationCode,
    serve: |app, caller, form| Box::pin(redeem(app, caller, form)),
};

async fn redeem(app: &App, caller: &Caller, form: &Form) -> Result<TokenResponse, OAuthError> {
    let client = caller.client();
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter code is missing");
    let code = form.get("code").ok_or(missing)?;
    let code = OpaqueKind::AuthorizationCode.read(code, &app.crypto.vault.now());
    let Some(code) = code else { return Err(INVALID_GRANT.because("no code of ours")) };
    let verifier = form.get("code_verifier").filter(|verifier| is_verifier(verifier));
    let refreshable = client.may_use(GrantType::RefreshToken);
    // The scopes were said when the code was asked for.
    let narrowing = Narrowing { scopes: None, ..issue::narrowing(app, form) };
    let presented = TokenRequest { caller, family: &code.id, refreshable, narrowing };
    issue::issue(app, presented, |issuing| {
        Command::Redeem(Box::new(Redeem {
            code: code.fingerprint,
            redirect_uri: form.get("redirect_uri").map(str::to_owned),
            verifier: verifier.map(|verifier| Fingerprint::of(verifier.as_bytes())),
            refreshable,
            longest: client.rules().longest_code,
            issuing,
        }))
    })
    .await
}

/// RFC 7636 §4.1: 43 to 128 unreserved characters.
fn is_verifier(text: &str) -> bool {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    (43..=128).contains(&text.len()) && text.bytes().all(unreserved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_has_43_to_128_unreserved_characters() {
        assert!(is_verifier(&"a".repeat(43)) && is_verifier(&".~-_".repeat(32)));
        for bad in [&"a".repeat(42), &"a".repeat(129), &"+".repeat(43), &"é".repeat(30)] {
            assert!(!is_verifier(bad), "{bad}");
        }
    }
}
