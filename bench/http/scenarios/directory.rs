//! What a directory costs as it grows: a page, a read and a permission check from a thousand accounts
//! to a million, and how an installation is filled.
//!
//! Only by its name: it takes minutes. Accounts beyond the first are copies of one row for row, made while
//! the server is down; what is measured looks at the list of an organization that all of them belong to.

use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, MIB, thousands},
    load::{Always, Plan, Script, press},
    portal::{Portal, code_in},
    process::peak_of,
    report::Section,
    request::{get, parameters, post_form},
    servers::{Server, Stage, porteiro::Installation},
};
use rusqlite::{Connection as Database, params};
use serde_json::Value;
use std::{fmt::Write as _, net::SocketAddr, time::Instant};

pub const NAME: &str = "directory";

const SIZES: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];
const TEMPLATE: &str = "template@bench.test";
const KEY_PERMISSIONS: [&str; 4] =
    ["memberships:read", "accounts:read", "organizations:read", "invoices:read"];

/// What is asked, over and over.
#[derive(Clone, Copy)]
enum Asked {
    FirstPage,
    DeepPage,
    Read,
    ByAddress,
    Introspection,
}

impl Asked {
    const ALL: [Self; 5] =
        [Self::FirstPage, Self::DeepPage, Self::Read, Self::ByAddress, Self::Introspection];

    fn name(self) -> &'static str {
        match self {
            Self::FirstPage => "first page of 50 members",
            Self::DeepPage => "page of 50 further down",
            Self::Read => "one member, by API key",
            Self::ByAddress => "one member, found by e-mail",
            Self::Introspection => "permission check (introspection of a member's token)",
        }
    }
}

/// What requests are made of.
struct Means {
    address: SocketAddr,
    key: String,
    /// Of the client that asks about tokens.
    credentials: String,
    /// A token of a member.
    token: String,
    /// A cursor far down the list.
    cursor: String,
    /// A member who was copied.
    member: String,
    organization: String,
}

pub async fn measure(stage: &Stage, plan: Plan, share: f64) -> Outcome<Vec<Section>> {
    Ok(vec![fill(stage)?, grow(stage, plan, share).await?])
}

/// Fills an installation with one file, and watches what that takes.
fn fill(stage: &Stage) -> Outcome<Section> {
    let installation = Installation::prepare(stage, "directory-filled")?;
    installation.apply()?;
    let mut text = String::new();
    for one in 0..1_000 {
        let _ = writeln!(
            text,
            "[[client]]\nclient_id = \"app-{one}\"\nclient_name = \"App {one}\"\n\
             client_secret = \"a-secret-of-more-than-thirty-two-characters\"\n\
             redirect_uris = [\"https://app-{one}.bench.test/cb\"]\n"
        );
    }
    for one in 0..10_000 {
        let _ = writeln!(
            text,
            "[[account]]\nemail = \"filled-{one}@bench.test\"\ngiven_name = \"Person {one}\"\n\
             memberships = [{{ organization = \"{}\", roles = [\"{}\"] }}]\n",
            stage.scene.organization, stage.scene.role
        );
    }
    let begun = Instant::now();
    let peak = peak_of(installation.applying(&text)?)?;
    let took = begun.elapsed().as_secs_f64();
    let again = Instant::now();
    peak_of(installation.applying(&text)?)?;
    let mut section = Section::new("Filling an installation");
    section.line(&format!(
        "`porteiro apply` of one file with 1,000 clients and 10,000 accounts, each a member: {took:.1} s; the same \
         file again, when nothing changes: {:.1} s.",
        again.elapsed().as_secs_f64()
    ));
    let what = format!("{NAME}: peak memory of apply");
    section.verdicts.push(Bound::Ceiling(200.0).judge(what, peak / MIB, " MiB"));
    Ok(section)
}

async fn grow(stage: &Stage, plan: Plan, share: f64) -> Outcome<Section> {
    let installation = Installation::prepare(stage, "directory-growing")?;
    let membership = format!(
        "\n[[account]]\nemail = \"{TEMPLATE}\"\nmemberships = [{{ organization = \"{}\", roles = [\"{}\"] }}]\n",
        stage.scene.organization, stage.scene.role
    );
    installation.apply_with(&membership)?;
    let mut arguments =
        vec!["create", "--organization", &stage.scene.organization, "--name", "bench"];
    for permission in KEY_PERMISSIONS {
        arguments.extend(["--permission", permission]);
    }
    arguments.push("--json");
    let made: Value = serde_json::from_str(&installation.run("apikey", &arguments)?)?;
    let key = made["key"].as_str().ok_or("no key")?.to_owned();
    let mut rows: Vec<(u32, Vec<f64>)> = Vec::new();
    let mut copied = 0;
    let most = (f64::from(SIZES[3]) * share).max(f64::from(SIZES[0]));
    for size in SIZES.into_iter().filter(|size| f64::from(*size) <= most) {
        copy(&installation.database(), copied, size)?;
        copied = size;
        let server = installation.started().await?;
        let means = means(stage, &server, key.clone()).await?;
        let mut rates = Vec::new();
        for asked in Asked::ALL {
            let scripts = (0..plan.connections).map(|_| means.script(asked)).collect();
            let round = press(&server, scripts, plan).await?;
            eprintln!("{NAME} {size} {}: {:.0}/s", asked.name(), round.rate);
            rates.push(round.rate);
        }
        rows.push((size, rates));
        server.process.stop().await?;
    }
    let mut section = Section::new("A directory that grows");
    section.line(&format!(
        "Requests per second over {} connections, by an API key unless said otherwise. All accounts are members of one organization.",
        plan.connections
    ));
    let mut head = vec!["what".to_owned()];
    head.extend(rows.iter().map(|(size, _)| format!("{} accounts", thousands(&size.to_string()))));
    section.table(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for (place, asked) in Asked::ALL.into_iter().enumerate() {
        let mut cells = vec![asked.name().to_owned()];
        cells.extend(rows.iter().map(|(_, rates)| thousands(&format!("{:.0}", rates[place]))));
        section.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
        let rates: Vec<f64> = rows.iter().map(|(_, rates)| rates[place]).collect();
        let (most, least) =
            rates.iter().fold((0.0, f64::MAX), |(most, least): (f64, f64), rate| {
                (most.max(*rate), least.min(*rate))
            });
        let what = format!("{NAME}: {}: dearest size ÷ cheapest", asked.name());
        section.verdicts.push(Bound::Ceiling(1.5).judge(what, most / least, ""));
    }
    // Read and introspection lie side by side in each run.
    let of = |place: usize| rows.iter().map(move |(_, rates)| rates[place]);
    let ratios = of(2).zip(of(4)).map(|(read, check)| read / check);
    let worst = ratios.fold(f64::MAX, f64::min);
    let what = format!("{NAME}: read by API key ÷ introspection");
    section.verdicts.push(Bound::Floor(0.5).judge(what, worst, ""));
    section.line(&plot(&rows));
    Ok(section)
}

/// Gets everything that the requests need.
async fn means(stage: &Stage, server: &Server, key: String) -> Outcome<Means> {
    let scene = &stage.scene;
    let portal = Portal::at(server, scene);
    let cookie = portal.sign_in(scene, &scene.people[0]).await?;
    let mut connection = Connection::open(server.address).await?;
    let code = {
        let answer = connection.exchange(&portal.authorize(&cookie)).await?;
        code_in(answer.location()?)?.to_owned()
    };
    let answer = connection.exchange(&portal.redeem(&code)).await?;
    answer.success()?;
    let tokens: Value = serde_json::from_slice(answer.body)?;
    let token = tokens["access_token"].as_str().ok_or("no token")?.to_owned();
    let mut means = Means {
        address: server.address,
        key,
        credentials: scene.credentials(&scene.portal),
        token,
        cursor: String::new(),
        member: String::new(),
        organization: scene.organization.clone(),
    };
    // As far down as the smallest list has a whole page left.
    for _ in 0..8 {
        let answer = connection.exchange(&means.page(100)).await?;
        answer.success()?;
        let page: Value = serde_json::from_slice(answer.body)?;
        if let Some(id) = page["items"][50]["id"].as_str() {
            id.clone_into(&mut means.member);
        }
        match page["next_cursor"].as_str() {
            Some(next) if page["items"].as_array().is_some_and(|items| items.len() == 100) => {
                next.clone_into(&mut means.cursor);
            }
            _ => break,
        }
    }
    Ok(means)
}

impl Means {
    fn page(&self, limit: u32) -> Vec<u8> {
        let limit = limit.to_string();
        let mut query = vec![("limit", limit.as_str())];
        if !self.cursor.is_empty() {
            query.push(("cursor", &self.cursor));
        }
        self.get(&format!("/members?{}", parameters(&query)))
    }

    fn get(&self, path: &str) -> Vec<u8> {
        let bearer = format!("Bearer {}", self.key);
        let path = format!("/api/organizations/{}{path}", self.organization);
        get(self.address, &path, &[("Accept", "application/json"), ("Authorization", &bearer)])
    }

    fn script(&self, asked: Asked) -> Box<dyn Script> {
        Box::new(Always(match asked {
            Asked::FirstPage => self.get("/members?limit=50"),
            Asked::DeepPage => self.page(50),
            Asked::Read => self.get(&format!("/members/{}", self.member)),
            Asked::ByAddress => {
                self.get(&format!("/members?{}", parameters(&[("email", TEMPLATE)])))
            }
            Asked::Introspection => {
                let fields = [("Authorization", self.credentials.as_str())];
                let form = parameters(&[("token", &self.token)]);
                post_form(self.address, "/connect/introspect", &fields, &form)
            }
        }))
    }
}

/// Copies the template account and its membership, row for row, until there are so many.
fn copy(database: &std::path::Path, from: u32, to: u32) -> Outcome<()> {
    let database = Database::open(database)?;
    let account: String = database.query_row(
        "SELECT id FROM names WHERE name = ?1 AND kind = 'account'",
        [TEMPLATE],
        |row| row.get(0),
    )?;
    let membership: String = database.query_row(
        "SELECT id FROM names WHERE kind = 'membership' AND name LIKE '%' || ?1 || '%'",
        [&account],
        |row| row.get(0),
    )?;
    // Ids are UUIDs: their last twelve digits make them another's.
    let changed = |column: &str| {
        let address = format!("replace({column}, 'template@', 'copy-' || n.i || '@')");
        let of_account =
            format!("replace({address}, ?1, substr(?1, 1, 24) || printf('%012x', n.i))");
        format!("replace({of_account}, ?2, substr(?2, 1, 24) || printf('%012x', n.i))")
    };
    let numbers =
        "WITH RECURSIVE n(i) AS (SELECT ?3 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?4) ";
    let (id, state, name, owner, rank) = (
        changed("t.id"),
        changed("t.state"),
        changed("t.name"),
        changed("t.owner"),
        changed("t.rank"),
    );
    for text in [
        format!(
            "INSERT INTO entities (kind, id, version, revision, state, live_until, forget_at) {numbers} \
             SELECT t.kind, {id}, t.version, t.revision, {state}, t.live_until, t.forget_at \
             FROM n, entities t WHERE t.id IN (?1, ?2)"
        ),
        format!(
            "INSERT INTO names (space, name, kind, id) {numbers} \
             SELECT t.space, {name}, t.kind, {id} FROM n, names t WHERE t.id IN (?1, ?2)"
        ),
        format!(
            "INSERT INTO listings (list, owner, rank, kind, id) {numbers} \
             SELECT t.list, {owner}, {rank}, t.kind, {id} FROM n, listings t WHERE t.id IN (?1, ?2)"
        ),
    ] {
        database.execute(&text, params![account, membership, from, to])?;
    }
    Ok(())
}

/// Draws cost against size, as text: one line a row, its length what a request costs.
fn plot(rows: &[(u32, Vec<f64>)]) -> String {
    let mut text =
        String::from("Cost of a request, the cheapest size of each = 20 signs:\n\n```text\n");
    for (place, asked) in Asked::ALL.into_iter().enumerate() {
        let most = rows.iter().map(|(_, rates)| rates[place]).fold(0.0, f64::max);
        let _ = writeln!(text, "{}", asked.name());
        for (size, rates) in rows {
            let cost = 20.0 * most / rates[place];
            let _ = writeln!(
                text,
                "{size:>9} {}",
                (0..100)
                    .filter(|sign| f64::from(*sign) + 0.5 < cost)
                    .map(|_| '#')
                    .collect::<String>()
            );
        }
    }
    text.push_str("```");
    text
}
