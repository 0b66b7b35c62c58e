//! Signs and reads tokens, and knows whom their subjects name.

use super::App;
use crate::{
    crypto::PairwiseSubjects,
    domain::{
        access_token, client::KnownClient, id_token::IdToken, possession::HeldKeys,
        signing_keys::SigningAlgorithm,
    },
    http::{answer::error::OAuthError, reading::read_token::ReadToken},
};
use serde::Serialize;
use std::sync::Arc;

impl App {
    /// Signs with the key that signs now.
    pub(in crate::http) fn sign(
        &self,
        algorithm: SigningAlgorithm,
        typ: &str,
        claims: &impl Serialize,
    ) -> Result<String, OAuthError> {
        let (signer, verifiers) = {
            let keys = self.crypto.keys.borrow();
            (keys.signer(algorithm).cloned(), keys.verifiers.clone())
        };
        let signer = signer.ok_or_else(OAuthError::unavailable)?;
        let token = signer.sign(typ, claims).map_err(|error| {
            tracing::error!(%error, "a token could not be signed");
            OAuthError::unavailable()
        })?;
        if typ == access_token::TYPE {
            self.crypto.verified_tokens.note_signed(&verifiers, &token);
        }
        Ok(token)
    }

    /// Reads an access token of ours that is presented by a caller with these keys: one that is bound is nothing without
    /// its key. Says nothing of revocation.
    pub(in crate::http) fn read_held_token(
        &self,
        token: &str,
        held: &HeldKeys,
    ) -> Option<Arc<ReadToken>> {
        let claims = self.read_token_of_another(token)?;
        claims.cnf.is_none_or(|bound| held.holds(&bound)).then_some(claims)
    }

    /// Reads an access token of ours that has not expired, for a caller that asks about it and is granted nothing by it.
    pub(in crate::http) fn read_token_of_another(&self, token: &str) -> Option<Arc<ReadToken>> {
        let verifiers = self.crypto.keys.borrow().verifiers.clone();
        let claims = self.crypto.verified_tokens.read(&verifiers, token)?;
        let now = self.clock.now().seconds();
        (claims.iss == self.issuer && now < claims.exp).then_some(claims)
    }

    /// Reads an ID token of ours for this client and returns the account it names.
    pub(in crate::http) fn subject_of_id_token(
        &self,
        token: &str,
        client: &KnownClient,
    ) -> Option<String> {
        let claims = self.read_id_token_hint(token)?;
        if claims.aud != client.client_id {
            return None;
        }
        self.account_of(client, &claims.sub)
    }

    /// Returns the account that a client knows by this subject.
    pub(in crate::http) fn account_of(
        &self,
        client: &KnownClient,
        subject: &str,
    ) -> Option<String> {
        if !PairwiseSubjects::is_one(subject) {
            return Some(subject.to_owned());
        }
        self.crypto.pairwise.account(&client.pairwise_sector()?, subject)
    }

    /// Reads an ID token of ours, though it has expired or its key was retired; one that a revoked key
    /// signed is not ours (adr/0035).
    pub(in crate::http) fn read_id_token_hint(&self, token: &str) -> Option<IdToken<'static>> {
        let verifiers = self.crypto.keys.borrow().hint_verifiers.clone();
        let claims: IdToken<'static> = verifiers.read("JWT", token).ok()?;
        (claims.iss == self.issuer).then_some(claims)
    }

    /// Returns how a client knows an account: by its id, or by a subject for the client's sector alone.
    pub(in crate::http) fn subject(&self, client: &KnownClient, account: &str) -> String {
        self.crypto.pairwise.known_to(client, account)
    }
}
