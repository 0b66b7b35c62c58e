//! What a certificate costs (RFC 8705): tokens bound to one beside bearer tokens, over the same TLS listener in one run.
//!
//! Only by its name. All rounds are of one Porteiro and alternate; connections are kept, so that a handshake is made once. The
//! families that are refreshed begin before their client demands bound tokens.

use super::refresh::{self, Rotation};
use crate::{
    Outcome,
    figures::Spread,
    load::{Always, Plan, Round, Script, press},
    portal::Identity,
    report::Section,
    request::{parameters, post_form},
    rounds::set_beside,
    scene::Scene,
    secured::{Own, secure},
    servers::{Server, Stage, TOKEN, porteiro},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::{net::SocketAddr, time::Duration};

pub const NAME: &str = "certificates";

/// As long as a client that was changed may be seen as it was.
const SEEN_AFTER: Duration = Duration::from_secs(2);

/// What is pressed: its name, and whether the connection has a certificate.
const LOADS: [(&str, bool); 4] = [
    ("client_credentials", false),
    ("client_credentials_bound", true),
    ("refresh", false),
    ("refresh_bound", true),
];

const WANTED: f64 = 0.9;

pub async fn measure(stage: &Stage, plan: Plan, rounds: usize) -> Outcome<Section> {
    let own = rcgen::generate_simple_self_signed(vec!["client.bench.test".to_owned()])?;
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der())?;
    let holder: Own = (own.cert.der().clone(), key);
    let print = URL_SAFE_NO_PAD.encode(Sha256::digest(own.cert.der()));
    let secured = porteiro::start_secured(stage).await?;
    let (mut server, asking) = (secured.server, secured.asking);
    let public = server.address;
    let mut families: Vec<Vec<Box<dyn Script>>> = Vec::new();
    for _ in 0..=rounds {
        for identity in [Identity::Rs256, Identity::Es256] {
            families.push(begun(&stage.scene, &server, (identity, plan.connections)).await?);
        }
    }
    families.reverse();
    (secured.bind)()?;
    tokio::time::sleep(SEEN_AFTER).await;
    let mut shown: [Vec<Round>; 4] = Default::default();
    // The first round counts for nothing.
    for number in 0..=rounds {
        for ((name, bound), shown) in LOADS.into_iter().zip(&mut shown) {
            let scripts = match name {
                "refresh" | "refresh_bound" => families.pop().ok_or("no families are left")?,
                _ => credentials(&stage.scene, (asking, bound), plan.connections),
            };
            secure(asking, &secured.trusted, bound.then_some(&holder))?;
            server.address = asking;
            let round = press(&server, scripts, plan).await;
            server.address = public;
            let round = round.map_err(|error| format!("{NAME}, {name}, {number}: {error}"))?;
            for body in &round.samples {
                check(body, bound.then_some(&print))?;
            }
            eprintln!("{NAME} {number}/{rounds} {name:26} {:9.0}/s", round.rate);
            if number > 0 {
                shown.push(round);
            }
        }
    }
    server.process.stop().await?;
    Ok(section(&shown))
}

/// Families of a client, each with its first refresh token.
async fn begun(
    scene: &Scene,
    server: &Server,
    wanted: (Identity, usize),
) -> Outcome<Vec<Box<dyn Script>>> {
    let families = refresh::begun(scene, server, wanted).await?;
    let script = |(portal, answer): (_, Vec<u8>)| {
        Ok(Box::new(Rotation::after(portal, &answer)?) as Box<dyn Script>)
    };
    families.into_iter().map(script).collect()
}

fn credentials(
    scene: &Scene,
    (address, bound): (SocketAddr, bool),
    number: usize,
) -> Vec<Box<dyn Script>> {
    let form = parameters(&[("grant_type", "client_credentials"), ("scope", &scene.scope())]);
    let client = if bound { porteiro::BOUND_MACHINE } else { &scene.client_id };
    let fields = [("Authorization", &*scene.credentials(client))];
    let request = post_form(address, TOKEN, &fields, &form);
    (0..number).map(|_| Box::new(Always(request.clone())) as Box<dyn Script>).collect()
}

/// Looks whether a token is bound, and to what.
fn check(body: &[u8], print: Option<&String>) -> Outcome<()> {
    let issued: Value = serde_json::from_slice(body)?;
    let token = issued["access_token"].as_str().ok_or("there is no token")?;
    let payload = token.split('.').nth(1).ok_or("it is no token")?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload)?)?;
    let is_right = claims["cnf"]["x5t#S256"].as_str() == print.map(String::as_str);
    if is_right { Ok(()) } else { Err(format!("bound otherwise: {claims}").into()) }
}

fn section(shown: &[Vec<Round>; 4]) -> Section {
    let mut section = Section::new("Tokens bound to certificates");
    section.line(
        "`POST /connect/token` over the listener that asks for certificates: bearer tokens over connections without one, tokens \
         bound to the certificate over connections with one, in alternating rounds of one server. The client authenticates by \
         its secret; ID tokens are signed by ES256.",
    );
    section.table(&["operation", "operations/s", "p99, ms", "server CPU, µs", "generator, cores"]);
    let spread =
        |rounds: &[Round], figure: fn(&Round) -> f64| Spread::of(rounds.iter().map(figure));
    for ((name, _), rounds) in LOADS.iter().zip(shown) {
        section.row(&[
            name,
            &spread(rounds, |round| round.rate).text(0),
            &spread(rounds, |round| round.p99 * 1e3).text(2),
            &spread(rounds, |round| round.cpu * 1e6).text(1),
            &format!("{:.2}", spread(rounds, |round| round.generator).median),
        ]);
    }
    for (bound, beside) in [(1, 0), (3, 2)] {
        let named = |place: usize| (LOADS[place].0, shown[place].iter());
        set_beside(&mut section, named(bound), named(beside), WANTED);
    }
    section
}
