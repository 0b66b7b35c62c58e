//! One request and its whole answer over an open connection.

use super::{OutboundError, Response};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::{Body, Bytes, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

const HEADERS: usize = 100;
/// Also the most that is read ahead of what the caller has taken.
const HEADER_BYTES: usize = 64 * 1024;

/// How much of an answer is read.
#[derive(Clone, Copy)]
pub(super) enum Reading {
    Whole { size_limit: usize },
    Head,
}

/// Sends `message` and reads the answer; the connection is closed at the end of this call.
pub(super) async fn exchange<S>(
    stream: S,
    message: Request<Full<Bytes>>,
    reading: Reading,
) -> Result<Response, OutboundError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(HEADERS)
        .max_buf_size(HEADER_BYTES)
        .handshake(TokioIo::new(stream))
        .await?;
    let answer = async move {
        let response = sender.send_request(message).await?;
        match reading {
            Reading::Whole { size_limit } => whole(response, size_limit).await,
            Reading::Head => {
                let (head, _unread) = response.into_parts();
                Ok(Response { status: head.status, headers: head.headers, body: Vec::new() })
            }
        }
    };
    tokio::pin!(answer, connection);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // How the connection ended does not matter: a body cut short has failed, a whole one is good.
        _ = &mut connection => answer.await,
    }
}

async fn whole(
    response: hyper::Response<Incoming>,
    size_limit: usize,
) -> Result<Response, OutboundError> {
    let (head, mut incoming) = response.into_parts();
    let announced = incoming.size_hint().exact();
    let fits = |size: u64| usize::try_from(size).is_ok_and(|size| size <= size_limit);
    if announced.is_some_and(|size| !fits(size)) {
        return Err(OutboundError::TooLong);
    }
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if data.len() > size_limit - body.len() {
            return Err(OutboundError::TooLong);
        }
        body.extend_from_slice(&data);
    }
    if announced.is_some_and(|size| size != body.len() as u64) {
        return Err(OutboundError::Short);
    }
    Ok(Response { status: head.status, headers: head.headers, body })
}
