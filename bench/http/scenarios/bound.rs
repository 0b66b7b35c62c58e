//! What a proof of a key costs (`DPoP`, RFC 9449): requests with one beside the same without, in one run.
//!
//! Only by its name. All rounds are of one Porteiro and alternate. Proofs and assertions are signed before the clock
//! runs ([`SignedAhead`]), on both sides of each ratio: while it presses, the generator signs nothing.

use super::{
    Compared, Load, Scripts, private_key_jwt,
    refresh::{self, Refresh},
};
use crate::{
    Outcome,
    connection::Answer,
    figures::{Bound, Spread},
    load::{Plan, Script, Turn},
    portal::{Identity, Portal},
    report::Section,
    request::{parameters, post_form},
    rounds::{self, Looked, set_beside},
    scene::Scene,
    servers::{Server, Stage, TOKEN, Who},
    signing::SignedAhead,
    token,
};
use std::net::SocketAddr;

pub const NAME: &str = "bound";

/// More than a second of any of these needs.
const SIGNED_A_SECOND: f64 = 20_000.0;

/// What is divided by what, and the least that is wanted; by their places among the loads.
const WANTED: [(usize, usize, f64); 3] = [(1, 0, 0.6), (3, 2, 0.6), (5, 4, 0.8)];

pub async fn measure(stage: &Stage, plan: Plan, number: usize) -> Outcome<Section> {
    let server = stage.start(Who::Porteiro).await?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few hundred thousand"
    )]
    let ahead = ((plan.warm_up + plan.measured).as_secs_f64() * SIGNED_A_SECOND) as usize;
    let refreshed = |identity| ProvedRefresh { identity, ahead };
    let credentials = |asserts, proves| SignedCredentials { asserts, proves, ahead };
    let loads: [&dyn Load; 7] = [
        &Refresh(Identity::Rs256),
        &refreshed(Identity::Rs256),
        &Refresh(Identity::Es256),
        &refreshed(Identity::Es256),
        &credentials(true, false),
        &credentials(false, true),
        &credentials(true, true),
    ];
    let mut shown: Vec<Vec<Looked>> = loads.iter().map(|_| Vec::new()).collect();
    // The first round counts for nothing.
    for round in 0..=number {
        for (load, shown) in loads.iter().zip(&mut shown) {
            let looked = rounds::one(*load, &stage.scene, &server, plan)
                .await
                .map_err(|error| format!("{NAME}, {}, round {round}: {error}", load.name()))?;
            eprintln!("{NAME} {round}/{number} {:26} {:9.0}/s", load.name(), looked.round.rate);
            if round > 0 {
                shown.push(looked);
            }
        }
    }
    server.process.stop().await?;
    Ok(section(&loads, &shown))
}

fn section(loads: &[&dyn Load], shown: &[Vec<Looked>]) -> Section {
    let mut section = Section::new("Bound tokens");
    section.line(
        "`POST /connect/token` with and without a proof of a key (DPoP, ES256), in alternating rounds of one server. The \
         proof makes the access token a bound one and is used up by the commit that issues it. Proofs and assertions are \
         signed before a round.",
    );
    for load in loads {
        section.line(&format!("`{}`: {}", load.name(), load.about()));
    }
    let columns =
        ["operation", "operations/s", "p99, ms", "server CPU, µs", "commits", "generator, cores"];
    section.table(&columns);
    let spread =
        |rounds: &[Looked], figure: fn(&Looked) -> f64| Spread::of(rounds.iter().map(figure));
    for (load, rounds) in loads.iter().zip(shown) {
        let commits = Spread::of(rounds.iter().filter_map(|looked| looked.commits));
        section.row(&[
            load.name(),
            &spread(rounds, |looked| looked.round.rate).text(0),
            &spread(rounds, |looked| looked.round.p99 * 1e3).text(2),
            &spread(rounds, |looked| looked.round.cpu * 1e6).text(1),
            &format!("{:.3}", commits.median),
            &format!("{:.2}", spread(rounds, |looked| looked.round.generator).median),
        ]);
    }
    for (bound, beside, floor) in WANTED {
        let named = |place: usize| {
            let rounds = shown[place].iter().map(|looked| &looked.round);
            (loads[place].name(), rounds)
        };
        set_beside(&mut section, named(bound), named(beside), floor);
    }
    section
}

/// A refresh with a proof.
struct ProvedRefresh {
    identity: Identity,
    ahead: usize,
}

impl Load for ProvedRefresh {
    fn name(&self) -> &'static str {
        match self.identity {
            Identity::Rs256 => "refresh_proved",
            Identity::Es256 => "refresh_es256_proved",
        }
    }

    fn about(&self) -> &'static str {
        match self.identity {
            Identity::Rs256 => "`refresh` with a proof",
            Identity::Es256 => "`refresh_es256` with a proof",
        }
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let families = refresh::begun(scene, server, (self.identity, number)).await?;
            let proofs = proofs(scene, server, self.ahead)?;
            let script = |(portal, answer): (Portal, Vec<u8>)| {
                let mut one =
                    ProvedRotation { portal, proofs: proofs.clone(), request: Vec::new() };
                one.after(&answer)?;
                Ok(Box::new(one) as Box<dyn Script>)
            };
            families.into_iter().map(script).collect()
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        let key = scene.key.thumbprint();
        token::verify_bound_of_person(server, scene, body, (None, self.identity, Some(&key)))
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[]
    }
}

/// Each token is got with the one before it, and a proof.
struct ProvedRotation {
    portal: Portal,
    proofs: SignedAhead,
    request: Vec<u8>,
}

impl ProvedRotation {
    fn after(&mut self, answer: &[u8]) -> Outcome<()> {
        self.request = self.portal.refresh_proved(&refresh::next(answer)?, &self.proofs.next()?);
        Ok(())
    }
}

impl Script for ProvedRotation {
    fn request(&mut self) -> &[u8] {
        &self.request
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        self.after(answer.body)?;
        Ok(Turn::Done)
    }
}

/// A client in its own name that signs who it is, that it holds a key, or both; otherwise it has a secret.
struct SignedCredentials {
    asserts: bool,
    proves: bool,
    ahead: usize,
}

impl SignedCredentials {
    fn client<'a>(&self, scene: &'a Scene) -> &'a str {
        if self.asserts { &scene.signer } else { &scene.client_id }
    }
}

impl Load for SignedCredentials {
    fn name(&self) -> &'static str {
        match (self.asserts, self.proves) {
            (_, false) => "private_key_jwt",
            (false, true) => "client_credentials_proved",
            (true, true) => "private_key_jwt_proved",
        }
    }

    fn about(&self) -> &'static str {
        match (self.asserts, self.proves) {
            (_, false) => "client credentials by `private_key_jwt`, for a bearer token",
            (false, true) => "client credentials by a secret, with a proof",
            (true, true) => "client credentials by `private_key_jwt`, with a proof",
        }
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let assert = || scene.key.assert(&scene.signer, &server.issuer);
            let one = Credentials {
                address: server.address,
                scope: scene.scope(),
                secret: scene.credentials(&scene.client_id),
                assertions: self
                    .asserts
                    .then(|| SignedAhead::new(self.ahead, assert))
                    .transpose()?,
                proofs: self.proves.then(|| proofs(scene, server, self.ahead)).transpose()?,
                request: Vec::new(),
            };
            let script = |_| {
                let mut one = one.clone();
                one.next()?;
                Ok(Box::new(one) as Box<dyn Script>)
            };
            (0..number).map(script).collect()
        })
    }

    fn check(&self, scene: &Scene, server: &Server, body: &[u8]) -> Outcome<()> {
        let key = scene.key.thumbprint();
        let key = self.proves.then_some(&*key);
        token::verify_bound(server, scene, body, (self.client(scene), key))
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[]
    }
}

/// Asks for one token after the other.
#[derive(Clone)]
struct Credentials {
    address: SocketAddr,
    scope: String,
    secret: String,
    assertions: Option<SignedAhead>,
    proofs: Option<SignedAhead>,
    request: Vec<u8>,
}

impl Credentials {
    fn next(&mut self) -> Outcome<()> {
        let assertion = self.assertions.as_ref().map(SignedAhead::next).transpose()?;
        let proof = self.proofs.as_ref().map(SignedAhead::next).transpose()?;
        let proof = proof.as_deref().map(|proof| ("DPoP", proof));
        self.request = if let Some(assertion) = assertion {
            let fields: Vec<_> = proof.into_iter().collect();
            private_key_jwt::request(self.address, &self.scope, &assertion, &fields)
        } else {
            let form = [("grant_type", "client_credentials"), ("scope", &*self.scope)];
            let secret = ("Authorization", &*self.secret);
            let fields: Vec<_> = [secret].into_iter().chain(proof).collect();
            post_form(self.address, TOKEN, &fields, &parameters(&form))
        };
        Ok(())
    }
}

impl Script for Credentials {
    fn request(&mut self) -> &[u8] {
        &self.request
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        answer.success()?;
        self.next()?;
        Ok(Turn::Done)
    }
}

/// Signs so many proofs for the token endpoint.
fn proofs(scene: &Scene, server: &Server, number: usize) -> Outcome<SignedAhead> {
    let url = format!("{}{TOKEN}", server.issuer);
    SignedAhead::new(number, || scene.key.prove(&url))
}
