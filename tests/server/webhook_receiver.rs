//! The endpoint of a customer, which keeps what it is sent.

use crate::shared::eventually;
use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request, Response, body::Incoming, server::conn::http1, service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex},
};
use tokio::net::TcpListener;

/// How an endpoint behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Answers(u16),
    /// To a path of its own, which it would keep as well.
    Redirects,
    /// It takes the request and never answers.
    Hangs,
    /// It answers 200 and more than is read.
    Floods,
}

/// What came.
#[derive(Clone, Debug)]
pub struct Message {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl Message {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    /// Verifies it as a receiver does that has nothing but the secret.
    pub fn is_signed_by(&self, secret: &str) -> bool {
        let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        let (id, at) = (self.header("webhook-id"), self.header("webhook-timestamp"));
        let signed = format!("{id}.{at}.{}", self.body);
        self.header("webhook-signature").split(' ').any(|one| {
            let tag = BASE64_STANDARD.decode(one.strip_prefix("v1,").unwrap()).unwrap();
            hmac::verify(&key, signed.as_bytes(), &tag).is_ok()
        })
    }
}

pub struct Receiver {
    pub url: String,
    manner: Arc<Mutex<Manner>>,
    got: Arc<Mutex<Vec<Message>>>,
}

impl Receiver {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/in?key=a", listener.local_addr().unwrap());
        let manner = Arc::new(Mutex::new(Manner::Answers(204)));
        let got = Arc::<Mutex<Vec<Message>>>::default();
        let (behaves, keeps) = (manner.clone(), got.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (behaves, keeps) = (behaves.clone(), keeps.clone());
                let serve = service_fn(move |request: Request<Incoming>| {
                    answer(behaves.clone(), keeps.clone(), request)
                });
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), serve));
            }
        });
        Self { url, manner, got }
    }

    pub fn behave(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub fn got(&self) -> Vec<Message> {
        self.got.lock().unwrap().clone()
    }

    /// Returns the messages of a type.
    pub fn of_type(&self, kind: &str) -> Vec<Message> {
        self.got().into_iter().filter(|message| message.json()["type"] == kind).collect()
    }

    /// Waits for so many messages of a type.
    pub async fn wait(&self, kind: &str, number: usize) -> Vec<Message> {
        eventually("a message", async || self.of_type(kind).len() >= number).await;
        self.of_type(kind)
    }
}

async fn answer(
    manner: Arc<Mutex<Manner>>,
    got: Arc<Mutex<Vec<Message>>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    got.lock().unwrap().push(Message {
        path: head.uri.path().to_owned(),
        headers: head.headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    });
    let manner = *manner.lock().unwrap();
    let response = match manner {
        Manner::Answers(status) => Response::builder().status(status).body(Full::default()),
        Manner::Redirects => {
            Response::builder().status(302).header("location", "/elsewhere").body(Full::default())
        }
        Manner::Floods => {
            Response::builder().body(Full::new(Bytes::from(vec![b'x'; 3 * 1024 * 1024])))
        }
        Manner::Hangs => pending().await,
    };
    Ok(response.unwrap())
}
