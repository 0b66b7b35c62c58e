//! Begins the family of a grant that one party holds for another, and issues its one token (adr/0088).

use super::{Issued, Signing, Under, lifetimes, sign};
use crate::{
    actors::{Failure, Replied},
    crypto::{OpaqueKind, draw_id},
    domain::{
        Context, Machine as _,
        account::Account,
        api_key::ApiKey,
        client::{Client, KnownClient},
        grant::Grant,
        session::Session,
        token_family::{Command, Issue, Issuing, Narrowing, Refusal, Reply, Start, TokenFamily},
    },
    http::{
        answer::error::OAuthError,
        app::App,
        facts::{
            limits::{self, Limited},
            reading::Reading,
            tries::{Stopped, Tries},
        },
    },
};
use serde_json::Map;

/// Why no token was issued.
pub enum NotStarted {
    /// Something that the grant rests on is over.
    Over {
        kind: &'static str,
    },
    Stopped(Stopped<Refusal>),
    Failed(OAuthError),
}

impl From<Stopped<Refusal>> for NotStarted {
    fn from(stopped: Stopped<Refusal>) -> Self {
        Self::Stopped(stopped)
    }
}

/// Begins the family of the grant and issues its one token.
pub async fn start(
    app: &App,
    (context, client): (&Context, &KnownClient),
    grant: Grant,
    narrowing: Narrowing,
) -> Result<Issued, NotStarted> {
    // Drawn once for all tries: by them the family knows a command that it has carried out.
    let family = draw_id(&*app.dice);
    let next = OpaqueKind::RefreshToken.mint(&family, &app.vault.now(), &*app.dice).fingerprint;
    let mut tries = Tries::new();
    let (Issue { grant, granted }, roles) = loop {
        let reading = Reading::anew_if(tries.anew());
        let limited = limits::gather(app, client, &grant, reading).await;
        let Limited { limits, roles, requirements } = tries.read(limited)?;
        let issuing = Issuing {
            client_id: client.client_id.clone(),
            narrowing: narrowing.clone(),
            next,
            limits,
            requirements,
            lifetimes: lifetimes(app),
        };
        let start = Start { grant: grant.clone(), refreshable: false, issuing };
        let command = Command::Start(Box::new(start));
        let answer = if tries.anew() {
            app.families.ask(context, &family, command).await
        } else {
            app.families.ask_new(context, &family, command).await
        };
        match answer {
            Ok(Replied { reply: Reply::Issue(issue), .. }) => break (*issue, roles),
            Ok(_) => return Err(NotStarted::Failed(OAuthError::unavailable())),
            Err(Failure::Unmet {
                kind:
                    kind @ (Session::KIND
                    | Account::KIND
                    | TokenFamily::KIND
                    | Client::KIND
                    | ApiKey::KIND),
            }) => return Err(NotStarted::Over { kind }),
            Err(failure) => tries.after(failure).await?,
        }
    };
    let nothing = Map::new();
    let under = Under { grant: &grant, family: &family, nonce: None, profile: &nothing };
    let (epoch, roles) = (grant.epochs(), &*roles);
    let signing = Signing { client, granted: &granted, roles, epoch, under: Some(under) };
    sign(app, signing, None).map_err(NotStarted::Failed)
}
