//! The one read that an answer costs where rows are kept on PostgreSQL.
//!
//! On SQLite Porteiro remembers what it has read while the file has not changed (adr/0099), and the limit answers from
//! memory. On PostgreSQL nothing of rows can be remembered: Porteiro asks once for each answer. The limit asks as well, by
//! the same connections and statements of `porteiro::store`, but for one row by its key, and of what comes back it looks at
//! nothing. Where it commits, it makes no read beside the commit.

use super::{HTML, Limit, introspected, person::value_of, told};
use crate::{
    Outcome,
    families::{Families, Written},
};
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use serde::Deserialize;
use std::{borrow::Cow, sync::Arc};

pub struct Reads {
    families: Arc<Families>,
    /// The row that is read where a request names none of ours: a token of a client in its own name, or a page.
    common: String,
}

impl Reads {
    /// Begins to read, if this is the address of a server.
    pub async fn of(families: Arc<Families>, store: &str) -> Outcome<Option<Self>> {
        if store.starts_with("sqlite:") {
            return Ok(None);
        }
        let common = families.begin().await?.id;
        Ok(Some(Self { families, common }))
    }

    /// Reads what says whether a token is good, by the statement that Porteiro asks for all that a token rests on.
    async fn look(&self, token: &str) {
        let family = family_of(token);
        self.families.look(family.as_deref().unwrap_or(&self.common)).await.unwrap();
    }

    /// Reads a whole row, as a poll does to see what was decided.
    pub async fn read_polled(&self, form: &str) -> Outcome<()> {
        let code = value_of(form, "device_code=").or_else(|| value_of(form, "auth_req_id="));
        let written = code.and_then(Written::read).ok_or("the poll names no row")?;
        self.families.read(&written.id).await
    }
}

/// Answers with a page after a read, as that of the flow it is about.
pub async fn page(limit: Arc<Limit>, page: Bytes) -> Response {
    let Some(reads) = &limit.reads else { return StatusCode::NOT_FOUND.into_response() };
    reads.families.look(&reads.common).await.unwrap();
    ([(header::CONTENT_TYPE, HTML)], page).into_response()
}

/// As [`super::introspect`], after a read.
pub async fn introspect(State(limit): State<Arc<Limit>>, body: Bytes) -> Response {
    let form = std::str::from_utf8(&body).unwrap_or_default();
    let token = value_of(form, "token=");
    after_read(&limit, token, introspected).await
}

/// As [`super::userinfo`], after a read.
pub async fn userinfo(State(limit): State<Arc<Limit>>, headers: HeaderMap) -> Response {
    let presented = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = presented.and_then(|value| value.strip_prefix("Bearer "));
    after_read(&limit, token, told).await
}

async fn after_read(
    limit: &Limit,
    token: Option<&str>,
    answer: fn(&Limit) -> Response,
) -> Response {
    let (Some(reads), Some(token)) = (&limit.reads, token) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    reads.look(token).await;
    answer(limit)
}

/// Finds the row that a token of ours names; one of a client in its own name names none.
fn family_of(token: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Payload<'a> {
        #[serde(borrow)]
        jti: Cow<'a, str>,
    }
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let Payload { jti } = serde_json::from_slice(&payload).ok()?;
    let (family, _) = jti.split_once('.')?;
    Some(family.to_owned())
}
