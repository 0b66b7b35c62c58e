//! A device that asks, and asks again before the person has decided: RFC 8628.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Answer,
    figures::Bound,
    load::{Script, Turn},
    request::{parameters, post_form},
    scene::Scene,
    servers::{DEVICE, Server, TOKEN, Who},
};
use serde::Deserialize;
use std::{borrow::Cow, net::SocketAddr};

pub struct Device;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

#[derive(Deserialize)]
struct Begun<'a> {
    #[serde(borrow)]
    device_code: Cow<'a, str>,
}

impl Load for Device {
    fn name(&self) -> &'static str {
        "device"
    }

    fn about(&self) -> &'static str {
        "One operation is two requests: `POST /connect/device` by a public client, and one poll of \
         `POST /connect/token`, which is told that the person has not decided yet. The poll commits nothing."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let form = parameters(&[("client_id", &scene.device), ("scope", "openid")]);
            let begin = post_form(server.address, DEVICE, &[], &form);
            let script = |_| {
                let (begin, address) = (begin.clone(), server.address);
                let client = scene.device.clone();
                Box::new(Waiting { begin, client, address, poll: None }) as Box<dyn Script>
            };
            Ok((0..number).map(script).collect())
        })
    }

    fn check(&self, _scene: &Scene, _server: &Server, body: &[u8]) -> Outcome<()> {
        let said: serde_json::Value = serde_json::from_slice(body)?;
        if said["error"] == "authorization_pending" { Ok(()) } else { Err(said.to_string().into()) }
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[
            (Compared::Rate, Who::Limit, Bound::Floor(0.5)),
            (Compared::Rate, Who::Peer, Bound::Floor(2.2)),
        ]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(1.0)
    }
}

struct Waiting {
    begin: Vec<u8>,
    client: String,
    address: SocketAddr,
    poll: Option<Vec<u8>>,
}

impl Script for Waiting {
    fn request(&mut self) -> &[u8] {
        self.poll.as_ref().unwrap_or(&self.begin)
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        if self.poll.take().is_some() {
            return if answer.status == 400 { Ok(Turn::Done) } else { Err(answer.unexpected()) };
        }
        answer.success()?;
        let Begun { device_code } = serde_json::from_slice(answer.body)?;
        let form = parameters(&[
            ("grant_type", GRANT),
            ("client_id", &self.client),
            ("device_code", &device_code),
        ]);
        self.poll = Some(post_form(self.address, TOKEN, &[], &form));
        Ok(Turn::GoesOn)
    }
}
