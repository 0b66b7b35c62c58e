//! A page for people: the sign-in screen of a flow that is there, beside a file of the same size.

use super::{Compared, Load, Scripts};
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, Spread},
    load::{Always, Script},
    report::Section,
    request::get,
    scene::Scene,
    servers::{SIGN_IN, Server, Stage, Who},
};
use porteiro::crypto::{SystemDice, draw};
use std::time::Instant;

pub const NAME: &str = "screens";

/// How much later the first byte may come than that of a file.
const MOST: f64 = 3.0;

/// How many requests of each count for nothing.
const WARM_UP: usize = 200;

/// Of a single request little is seen; there are more of them.
const MORE: usize = 5;

pub struct Screens;

impl Load for Screens {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "`GET /sign-in?flow=ID` in the browser that began the flow: the flow is looked up and its page is \
         drawn. The limit serves a page of the same size from memory, on PostgreSQL after one read; the peer has none."
    }

    fn scripts<'a>(&'a self, _scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for _ in 0..number {
                scripts.push(Box::new(Always(page_of_a_flow(server).await?)));
            }
            Ok(scripts)
        })
    }

    fn check(&self, _scene: &Scene, _server: &Server, body: &[u8]) -> Outcome<()> {
        let page = std::str::from_utf8(body)?;
        let drawn = page.contains("name=\"identifier\"") && page.ends_with("</html>");
        drawn.then_some(()).ok_or_else(|| format!("this is no sign-in: {page}").into())
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[]
    }

    fn is_for(&self, who: Who) -> bool {
        who != Who::Peer
    }
}

/// Begins a flow as a browser does, and renders the request for its page.
async fn page_of_a_flow(server: &Server) -> Outcome<Vec<u8>> {
    let html = ("Accept", "text/html");
    let mut connection = Connection::open(server.address).await?;
    let answer = connection.exchange(&get(server.address, SIGN_IN, &[html])).await?;
    answer.success()?;
    let pairs: Vec<&str> =
        answer.fields("set-cookie").filter_map(|cookie| cookie.split(';').next()).collect();
    let cookies = pairs.join("; ");
    let page = std::str::from_utf8(answer.body)?;
    let id = page.split("name=\"flow\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let path = format!("{SIGN_IN}?flow={}", id.ok_or("the page has no flow")?);
    Ok(get(server.address, &path, &[html, ("Cookie", &cookies)]))
}

/// Compares how soon an answer begins, one request at a time: of each a pair, in random order.
pub async fn first_byte(
    (stage, servers): (&Stage, &[Server]),
    pairs: usize,
) -> Outcome<Option<Section>> {
    let find = |who: Who| servers.iter().find(|server| server.who == who);
    let Some((ours, limit)) = find(Who::Porteiro).zip(find(Who::Limit)) else { return Ok(None) };
    let mut sides = [Side::open(ours).await?, Side::open(limit).await?];
    let pairs = pairs * MORE;
    for number in 0..WARM_UP + pairs {
        let first = usize::from(draw::<1>(&SystemDice)[0] % 2);
        for side in [first, 1 - first] {
            sides[side].ask(number >= WARM_UP).await?;
        }
    }
    let [ours, limit] = sides.map(|side| Spread::of(side.took));
    let mut section = Section::new("First byte of a screen");
    section.line(&format!(
        "One connection to each server and one request at a time, in {pairs} pairs of random order: from \
         the request until the first byte of the answer. The median, the least and the most.",
    ));
    section.table(&["page", "first byte, µs"]);
    section.row(&["of a flow that is there", &ours.times(1e6).text(0)]);
    // On PostgreSQL it is reported only.
    if stage.postgres.is_some() {
        section.row(&["a file of the same size, after one read", &limit.times(1e6).text(0)]);
        return Ok(Some(section));
    }
    section.row(&["a file of the same size", &limit.times(1e6).text(0)]);
    let what = format!("{NAME}: first byte ÷ that of a file");
    section.verdicts.push(Bound::Ceiling(MOST).judge(what, ours.median / limit.median, ""));
    Ok(Some(section))
}

/// One server, and how long it took to answer.
struct Side {
    connection: Connection,
    request: Vec<u8>,
    took: Vec<f64>,
}

impl Side {
    async fn open(server: &Server) -> Outcome<Self> {
        let request = page_of_a_flow(server).await?;
        let connection = Connection::open(server.address).await?;
        Ok(Self { connection, request, took: Vec::new() })
    }

    async fn ask(&mut self, counts: bool) -> Outcome<()> {
        let sent = Instant::now();
        self.connection.exchange(&self.request).await?.success()?;
        if counts {
            self.took.push((self.connection.first_byte() - sent).as_secs_f64());
        }
        Ok(())
    }
}
