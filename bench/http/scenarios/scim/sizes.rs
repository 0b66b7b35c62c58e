//! What a request costs as an organization grows.

use super::{
    Engine, Home, NAME,
    batch::{self, Batch},
    beside,
    client::{external_id, user_name},
    counted,
};
use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, Spread, thousands},
    lines::{self, Line},
    load::Plan,
    report::{Picture, Section},
    servers::Stage,
};
use serde_json::Value;
use std::time::Instant;

const SIZES: [u32; 4] = [100, 1_000, 10_000, 100_000];

/// The most that the most expensive size may cost of the cheapest.
const MOST: f64 = 1.5;

/// Which Users are asked for lies far apart.
const STRIDE: usize = 7_919;

/// How often a filter is tried that looks at all Users.
const TRIES: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    ById,
    ByUserName,
    ByExternalId,
    Page,
    PageByCursor,
    Create,
    Patch,
    Delete,
}

impl Operation {
    const ALL: [Self; 8] = [
        Self::ById,
        Self::ByUserName,
        Self::ByExternalId,
        Self::Page,
        Self::PageByCursor,
        Self::Create,
        Self::Patch,
        Self::Delete,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::ById => "GET by id",
            Self::ByUserName => "userName eq",
            Self::ByExternalId => "externalId eq",
            Self::Page => "first page of 50",
            Self::PageByCursor => "page of 50 in the middle, by cursor",
            Self::Create => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }

    /// How many requests a round has.
    fn requests(self) -> usize {
        match self {
            Self::ById | Self::ByUserName | Self::ByExternalId => 8_000,
            Self::Page | Self::PageByCursor => 400,
            Self::Create | Self::Delete => 500,
            Self::Patch => 1_000,
        }
    }
}

/// A figure of each round, for each operation.
#[derive(Default)]
struct Rounds {
    cpu: Vec<f64>,
    p50: Vec<f64>,
    rate: Vec<f64>,
}

/// What an operation cost at one size.
struct AtSize {
    cpu: Spread,
    p50: Spread,
    rate: Spread,
}

pub async fn measure(
    (stage, engine): (&Stage, &Engine),
    (plan, rounds): (Plan, usize),
    share: f64,
) -> Outcome<(Vec<Section>, Picture)> {
    let most = (f64::from(SIZES[3]) * share).max(f64::from(SIZES[1]));
    let sizes: Vec<u32> = SIZES.into_iter().filter(|size| f64::from(*size) <= most).collect();
    let mut homes = Vec::new();
    for size in &sizes {
        let size = usize::try_from(*size)?;
        homes.push(Home::open((stage, engine), (size, plan.connections)).await?);
    }
    let costs = press(engine, &homes, (plan.connections, rounds)).await?;
    let mut sections = vec![section(engine, (&sizes, plan), &costs)];
    sections.push(scans(engine, &homes).await?);
    if let Some(largest) = homes.last() {
        sections.push(beside::measure((stage, engine), largest, (plan, rounds)).await?);
    }
    for home in homes {
        home.close().await?;
    }
    Ok((sections, picture(engine, &sizes, &costs)))
}

/// Asks all sizes in turn; the first round counts for nothing.
async fn press(
    engine: &Engine,
    homes: &[Home],
    (connections, rounds): (usize, usize),
) -> Outcome<Vec<Vec<AtSize>>> {
    let each = || homes.iter().map(|_| Rounds::default()).collect::<Vec<_>>();
    let mut found: Vec<Vec<Rounds>> = Operation::ALL.iter().map(|_| each()).collect();
    for number in 0..=rounds {
        for (place, home) in homes.iter().enumerate() {
            // What a round makes it deletes: the organization stays as large as it was.
            let mut made = Vec::new();
            for (operation, found) in Operation::ALL.into_iter().zip(&mut found) {
                let requests = home.requests(operation, (number, &made)).await?;
                let done = batch::send(&home.server, requests, connections).await?;
                check(operation, &done)?;
                if operation == Operation::Create {
                    made = done.ids()?;
                }
                eprintln!(
                    "{NAME} {} {number}/{rounds} {:7} {}: {:.0}/s, {:.0} µs",
                    engine.name(),
                    home.size,
                    operation.name(),
                    done.rate,
                    done.cpu * 1e6
                );
                if number > 0 {
                    found[place].cpu.push(done.cpu);
                    found[place].p50.push(done.p50);
                    found[place].rate.push(done.rate);
                }
            }
        }
    }
    let at = |Rounds { cpu, p50, rate }: Rounds| AtSize {
        cpu: Spread::of(cpu),
        p50: Spread::of(p50),
        rate: Spread::of(rate),
    };
    Ok(found.into_iter().map(|sizes| sizes.into_iter().map(at).collect()).collect())
}

impl Home {
    /// Renders the requests of a round.
    async fn requests(
        &self,
        operation: Operation,
        (round, made): (usize, &[String]),
    ) -> Outcome<Vec<Vec<u8>>> {
        let (directory, count) = (&self.directory, operation.requests());
        let picked = (0..count).map(|one| (one + round * count) * STRIDE % self.users.len());
        let id = |number: usize| self.users[number].as_str();
        Ok(match operation {
            Operation::ById => picked.map(|one| directory.show(id(one))).collect(),
            Operation::ByUserName => picked
                .map(|one| directory.filter(&format!("userName eq \"{}\"", user_name(one))))
                .collect(),
            Operation::ByExternalId => picked
                .map(|one| directory.filter(&format!("externalId eq \"{}\"", external_id(one))))
                .collect(),
            Operation::Page => picked.map(|_| directory.list(&[("count", "50")])).collect(),
            Operation::PageByCursor => {
                let cursor = self.middle().await?;
                let page = directory.list(&[("cursor", &cursor), ("count", "50")]);
                picked.map(|_| page.clone()).collect()
            }
            Operation::Create => {
                // Numbers that no User has had: a User who is deleted leaves an account behind.
                let first = self.size + round * count;
                (first..first + count).map(|number| directory.create(number)).collect()
            }
            Operation::Patch => {
                // Two changes of one User lie far apart: they would wait for each other.
                let title = |one: usize| format!("Engineer {round}.{}", one / self.users.len());
                let each = picked.enumerate();
                each.map(|(place, one)| directory.patch(id(one), &title(place))).collect()
            }
            Operation::Delete => made.iter().map(|id| directory.delete(id)).collect(),
        })
    }

    /// Returns a cursor in the middle of the list, or at the end of the first page.
    async fn middle(&self) -> Outcome<String> {
        let mut connection = Connection::open(self.server.address).await?;
        let mut cursor = String::new();
        for _ in 0..(self.size / 2 / 200).clamp(1, 50) {
            let count = if self.size < 400 { "30" } else { "200" };
            let request = self.directory.list(&[("cursor", &cursor), ("count", count)]);
            let answer = connection.exchange(&request).await?;
            answer.success()?;
            let page: Value = serde_json::from_slice(answer.body)?;
            page["nextCursor"].as_str().ok_or("the list is over")?.clone_into(&mut cursor);
        }
        Ok(cursor)
    }
}

/// Fails unless answers show what was asked for.
fn check(operation: Operation, done: &Batch) -> Outcome<()> {
    let wanted = match operation {
        Operation::ByUserName | Operation::ByExternalId => 1,
        Operation::Page | Operation::PageByCursor => 50,
        _ => return Ok(()),
    };
    for body in &done.bodies {
        let shown: Value = serde_json::from_slice(body)?;
        if shown["Resources"].as_array().map(Vec::len) != Some(wanted) {
            return Err(format!("{}: not {wanted} Users: {shown}", operation.name()).into());
        }
    }
    Ok(())
}

/// What of a cost is judged: with SQLite the whole cost is the server's, with PostgreSQL a part of it is another process's.
fn judged(engine: &Engine) -> (&'static str, fn(&AtSize) -> f64) {
    match engine {
        Engine::Sqlite => ("server CPU", |at| at.cpu.median),
        Engine::Postgres(_) => ("p50", |at| at.p50.median),
    }
}

fn section(engine: &Engine, (sizes, plan): (&[u32], Plan), costs: &[Vec<AtSize>]) -> Section {
    let mut section = Section::new(&format!("Cost as an organization grows: {}", engine.name()));
    section.line(&format!(
        "An organization with so many Users, each a member with an account. {} connections in a closed loop; rounds of 8,000 \
         lookups, 400 pages, 500 new Users, 1,000 changes and 500 deletions, of all sizes in turn. What a round makes it deletes.",
        plan.connections
    ));
    let named: Vec<String> = sizes.iter().map(|size| thousands(&size.to_string())).collect();
    let head = ["operation", "figure"].into_iter().chain(named.iter().map(String::as_str));
    section.table(&head.collect::<Vec<_>>());
    let (what, figure) = judged(engine);
    for (operation, sizes) in Operation::ALL.into_iter().zip(costs) {
        let mut add = |name: &str, figure: &str, text: fn(&AtSize) -> String| {
            let cells: Vec<String> = sizes.iter().map(text).collect();
            let cells = cells.iter().map(String::as_str);
            section.row(&[name, figure].into_iter().chain(cells).collect::<Vec<_>>());
        };
        add(operation.name(), "server CPU, µs", |at| at.cpu.times(1e6).text(0));
        add("", "p50, ms", |at| at.p50.times(1e3).text(2));
        add("", "requests/s", |at| at.rate.text(0));
    }
    for (operation, sizes) in Operation::ALL.into_iter().zip(costs) {
        let most = sizes.iter().map(figure).fold(0.0, f64::max);
        let least = sizes.iter().map(figure).fold(f64::MAX, f64::min);
        let what = format!(
            "{NAME}: {}, {}: {what}, most expensive size ÷ cheapest",
            engine.name(),
            operation.name()
        );
        section.verdicts.push(Bound::Ceiling(MOST).judge(what, most / least, ""));
    }
    section
}

fn picture(engine: &Engine, sizes: &[u32], costs: &[Vec<AtSize>]) -> Picture {
    let (_, figure) = judged(engine);
    let line = |(operation, costs): (Operation, &Vec<AtSize>)| {
        let first = figure(&costs[0]);
        let points = sizes.iter().zip(costs).map(|(size, at)| (*size, figure(at) / first));
        Line { title: operation.name(), points: points.collect() }
    };
    let lines: Vec<Line> = Operation::ALL.into_iter().zip(costs).map(line).collect();
    let title = "SCIM: server CPU a request over the Users of an organization; the first size is 1";
    let about = "CPU time per SCIM request of Porteiro for organizations of a hundred to a hundred thousand Users";
    Picture { about, svg: lines::draw((title, about), &lines, MOST) }
}

/// Lists that cost more in a larger organization, one at a time.
async fn scans(engine: &Engine, homes: &[Home]) -> Outcome<Section> {
    let mut section =
        Section::new(&format!("What is looked for among all Users: {}", engine.name()));
    section.line(&format!(
        "Milliseconds of one request, alone, the median of {TRIES}. Filters without an index and sorted lists look at every User, \
         200,000 at most (400 `tooMany` beyond), one at a time for an organization and four on a node (429 beyond).",
    ));
    let named: Vec<String> = homes.iter().map(|home| counted(home.size)).collect();
    section.table(
        &["request"].into_iter().chain(named.iter().map(String::as_str)).collect::<Vec<_>>(),
    );
    let filters = [
        ("`title eq \"nothing\"`: none is found", vec![("filter", "title eq \"nothing\"")]),
        ("`userName sw \"user-1\"`", vec![("filter", "userName sw \"user-1\"")]),
        (
            "`emails[type eq \"work\" and value co \"-99@\"]`",
            vec![("filter", "emails[type eq \"work\" and value co \"-99@\"]")],
        ),
        ("`sortBy=name.familyName`", vec![("sortBy", "name.familyName")]),
    ];
    for (name, query) in filters {
        let mut cells = vec![name.to_owned()];
        for home in homes {
            cells.push(format!("{:.1}", alone(home, &query).await? * 1e3));
        }
        section.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let mut cells = vec!["the last page of 50, by index".to_owned()];
    for home in homes {
        let start = (home.size - 49).to_string();
        cells.push(format!(
            "{:.1}",
            alone(home, &[("startIndex", &start), ("count", "50")]).await? * 1e3
        ));
    }
    section.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
    Ok(section)
}

/// Returns the seconds that one request takes.
async fn alone(home: &Home, query: &[(&str, &str)]) -> Outcome<f64> {
    let mut connection = Connection::open(home.server.address).await?;
    let request = home.directory.list(query);
    let mut took = Vec::new();
    for _ in 0..TRIES {
        let begun = Instant::now();
        connection.exchange(&request).await?.success()?;
        took.push(begun.elapsed().as_secs_f64());
    }
    Ok(Spread::of(took).median)
}
