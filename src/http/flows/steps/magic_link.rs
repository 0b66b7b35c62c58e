//! `magic_link/send` and `magic_link`: a link that is sent to the person's address. Opening it does
//! nothing; the page behind it, or the program, presents its token in the flow that asked for it.

use super::{
    Step, StepRequest, Taking,
    recipient::CodeOrLink,
    sent::{OutgoingCode, draw_token},
};
use crate::{
    domain::{
        assurance::Worth,
        flow::{ProofStep, Role},
    },
    http::{app::App, routes},
};
use serde::Deserialize;

const SEND: &str = "magic_link/send";
const LINK: &str = "magic_link";

/// No token of ours is longer.
const LONGEST: usize = 128;

pub struct MagicLinkSend;
pub struct MagicLink;

#[derive(Deserialize)]
struct Body {
    token: String,
}

impl Step for MagicLinkSend {
    fn path(&self) -> &'static str {
        SEND
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let (app, id) = (request.app, &request.opened.id);
            let open = request.offered(self).await?;
            let sending =
                OutgoingCode { by: SEND, step: LINK, lives: app.settings.lifetimes.magic_link };
            let kind = open.seed.kind.clone();
            let link = |token: String| CodeOrLink::Link(page(app, &kind, id, &token));
            request.send_mail(&open, sending, draw_token, link).await
        })
    }
}

impl Step for MagicLink {
    fn path(&self) -> &'static str {
        LINK
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: LINK,
            preparing: &[SEND],
            worth: Worth::MAGIC_LINK,
            roles: &[Role::First, Role::Address],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { token } = request.body()?;
            let token = token.get(..LONGEST).unwrap_or(&token);
            request.take_link(self, token).await
        })
    }
}

/// The page that a link leads to: the installation's own, or the one of `[links]`.
fn page(app: &App, kind: &str, flow: &str, token: &str) -> String {
    let links = &app.settings.links;
    let (link, path) = match kind {
        "recovery" => (&links.recovery, routes::RESET_PASSWORD),
        "report" => (&links.report, routes::REPORT),
        "verify_email" => (&links.verify_email, routes::VERIFY_EMAIL),
        "sign_up" => (&links.sign_in, routes::SIGN_UP),
        "invitation" => (&links.invitation, routes::SIGN_UP),
        _ => (&links.sign_in, routes::SIGN_IN),
    };
    app.page(link.as_ref(), path, &[("flow", flow), ("token", token)])
}
