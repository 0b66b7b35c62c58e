//! A store with many people in it: each has an account, a membership, a consent, a session and a token family.
//!
//! One person is made by the product, over HTTP. Their rows are copied while the server is down: entities, names,
//! lists and lines of the security log, with ids as the product draws them, and moved back in time by days. People
//! come in the order of their ids and times, so that most rows are written beside the one before. Two things are not
//! as the product writes them: secrets are those of the first person, and the MACs of copied lines prove nothing;
//! no request reads either.

use crate::{
    Outcome,
    connection::Connection,
    portal::{Portal, code_in},
    servers::{Stage, porteiro::Installation},
};
use porteiro::{
    crypto::{SystemDice, draw_id, draw_id_at, draw_uuid},
    domain::Timestamp,
};
use rusqlite::{
    Connection as Database, Statement,
    types::{Value, ValueRef},
};
use std::{fmt::Write as _, fs::File, path::Path, time::Instant};

/// The person that is copied.
const FIRST: &str = "first@bench.test";

/// People in one transaction.
const BATCH: usize = 10_000;

const DAY: i64 = 24 * 60 * 60 * 1_000;

/// On how many days people come, the last of them before the first person; sessions live longer.
const DAYS: i64 = 4;

/// A number in a row that is no further from the birth of the first person is a moment.
const NEAR: i64 = 60 * DAY;

/// What sessions are ranked by counts down from here: the newest comes first.
const LAST_RANK: i64 = 999_999_999_999_999;

/// The entities that are copied, by the account.
const COPIED: &str = r#"SELECT kind, id FROM entities WHERE instr(id || state, ?1) > 0 AND
    (kind IN ('account', 'membership', 'consent', 'session') OR kind = 'token_family' AND state LIKE '{"Alive"%')"#;

/// The rows of the first person.
pub struct Population {
    tables: Vec<Table>,
    /// The ids in them, and how another is drawn.
    ids: Vec<(String, Drawn)>,
    born: i64,
    /// The chain of the log that lines are added to.
    lane: String,
}

struct Table {
    insert: String,
    rows: Vec<Vec<Column>>,
}

enum Column {
    Same(Value),
    Moment(i64),
    Text(Vec<Part>),
    /// The number of a line of the log, after the last one.
    Number(i64),
}

enum Part {
    Same(String),
    /// By its place among the ids.
    Id(usize),
    Moment {
        millis: i64,
        width: usize,
    },
    /// A moment from which ranks count down.
    Downward(i64),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Drawn {
    Address,
    Uuid,
    AtItsTime,
    Anywhere,
}

/// What one copy has for its own.
struct Person {
    ids: Vec<String>,
    /// Milliseconds after the first person; before, where it is negative.
    moved: i64,
    /// The last line of the log before theirs.
    line: i64,
}

/// The address of a copy.
pub fn address(number: usize) -> String {
    format!("member-{number:07}@bench.test")
}

impl Population {
    /// Has the product make the first person, who signs in and gets tokens.
    pub async fn begin(stage: &Stage, installation: &Installation<'_>) -> Outcome<Self> {
        let scene = &stage.scene;
        installation.apply_with(&format!(
            "\n[[account]]\nemail = \"{FIRST}\"\npassword = \"{}\"\n\
             memberships = [{{ organization = \"{}\", roles = [\"{}\"] }}]\n",
            scene.password, scene.organization, scene.role
        ))?;
        let server = installation.started().await?;
        let portal = Portal::at(&server, scene);
        let cookie = portal.sign_in(scene, FIRST).await?;
        let mut connection = Connection::open(server.address).await?;
        let code = {
            let answer = connection.exchange(&portal.authorize(&cookie)).await?;
            code_in(answer.location()?)?.to_owned()
        };
        connection.exchange(&portal.redeem(&code)).await?.success()?;
        server.process.stop().await?;
        Self::read(&installation.database())
    }

    fn read(file: &Path) -> Outcome<Self> {
        let database = Database::open(file)?;
        let by_address = "SELECT id FROM names WHERE space = 'email_addresses' AND name = ?1";
        let account: String = database.query_row(by_address, [FIRST], |row| row.get(0))?;
        let birth = "SELECT version FROM entities WHERE kind = 'account' AND id = ?1";
        let born = database.query_row(birth, [&account], |row| row.get(0))?;
        let last = "SELECT lane FROM security_log WHERE account = ?1 ORDER BY at DESC LIMIT 1";
        let lane = database.query_row(last, [&account], |row| row.get(0))?;
        let mut first = Self { tables: Vec::new(), ids: ids(&database, &account)?, born, lane };
        for table in ["entities", "names", "listings"] {
            let query = format!("SELECT * FROM {table} WHERE (kind, id) IN ({COPIED})");
            first.add(&database, table, (&query, &account))?;
        }
        let lines = "SELECT * FROM security_log WHERE account = ?1 ORDER BY at, seq";
        first.add(&database, "security_log", (lines, &account))?;
        match first.tables[0].rows.len() {
            5 => Ok(first),
            other => Err(format!("the first person has {other} entities and not 5").into()),
        }
    }

    /// Adds the rows of a table.
    fn add(
        &mut self,
        database: &Database,
        table: &str,
        (query, account): (&str, &str),
    ) -> Outcome<()> {
        let mut statement = database.prepare(query)?;
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let values = vec!["?"; names.len()].join(", ");
        let insert = format!("INSERT INTO {table} ({}) VALUES ({values})", names.join(", "));
        let mut rows = Vec::new();
        let mut found = statement.query([account])?;
        while let Some(row) = found.next()? {
            let mut columns = Vec::new();
            for (place, name) in names.iter().enumerate() {
                columns.push(match name.as_str() {
                    "lane" => Column::Same(Value::Text(self.lane.clone())),
                    "seq" => Column::Number(i64::try_from(rows.len())? + 1),
                    _ => self.column(row.get_ref(place)?)?,
                });
            }
            rows.push(columns);
        }
        self.tables.push(Table { insert, rows });
        Ok(())
    }

    fn column(&self, value: ValueRef<'_>) -> Outcome<Column> {
        Ok(match value {
            ValueRef::Integer(number) if is_near(number, self.born) => Column::Moment(number),
            ValueRef::Text(text) => Column::Text(self.parts(std::str::from_utf8(text)?)),
            other => Column::Same(Value::try_from(other)?),
        })
    }

    /// Takes a text apart at its ids and its moments.
    fn parts(&self, text: &str) -> Vec<Part> {
        let (mut parts, mut same, mut rest) = (Vec::new(), String::new(), text);
        while let Some(first) = rest.chars().next() {
            let id = self.ids.iter().position(|(id, _)| rest.starts_with(id.as_str()));
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (part, length) = match (id, moment(&rest[..digits], self.born)) {
                (Some(place), _) => (Some(Part::Id(place)), self.ids[place].0.len()),
                (None, Some(moment)) => (Some(moment), digits),
                (None, None) => (None, digits.max(first.len_utf8())),
            };
            let (taken, left) = rest.split_at(length);
            match part {
                None => same.push_str(taken),
                Some(part) => parts.extend([Part::Same(std::mem::take(&mut same)), part]),
            }
            rest = left;
        }
        parts.push(Part::Same(same));
        parts
    }

    /// Adds the people of one day to a store that has so many of them, until it has as many as are wanted.
    pub async fn grow(&self, file: &Path, (from, to): (usize, usize), day: i64) -> Outcome<()> {
        let begun = Instant::now();
        let mut database = Database::open(file)?;
        // Nothing reads it meanwhile, and a run that is broken off leaves nothing behind. The server sets its own.
        let journal: String =
            database.pragma_update_and_check(None, "journal_mode", "off", |row| row.get(0))?;
        if journal != "off" {
            return Err(format!("the journal of the store is {journal}").into());
        }
        database.pragma_update(None, "synchronous", "off")?;
        database.pragma_update(None, "cache_size", -256 * 1024)?;
        let mut line = database.query_row(
            "SELECT seq FROM log_lanes WHERE lane = ?1",
            [&self.lane],
            |row| row.get(0),
        )?;
        let many = to - from;
        let uuids: Vec<Vec<String>> =
            self.ids.iter().map(|(_, drawn)| drawn.sorted(many)).collect();
        for batch in (from..to).step_by(BATCH) {
            let end = to.min(batch + BATCH);
            let transaction = database.transaction()?;
            let inserts = self.tables.iter().map(|table| transaction.prepare(&table.insert));
            let mut inserts = inserts.collect::<rusqlite::Result<Vec<_>>>()?;
            for number in batch..end {
                let place = number - from;
                let part = DAY * i64::try_from(place)? / i64::try_from(many)?;
                let moved = part - (DAYS - day) * DAY;
                let person = Person { ids: self.draw(number, (place, &uuids), moved), moved, line };
                self.write(&mut inserts, &person)?;
                line += i64::try_from(self.tables.last().map_or(0, |lines| lines.rows.len()))?;
            }
            drop(inserts);
            transaction.execute(
                "UPDATE log_lanes SET seq = ?2, mac = (SELECT mac FROM security_log WHERE lane = ?1 AND seq = ?2) \
                 WHERE lane = ?1",
                (&self.lane, line),
            )?;
            transaction.commit()?;
            if end.is_multiple_of(10 * BATCH) || end == to {
                eprintln!("{end} of {to} people after {:.1} s", begun.elapsed().as_secs_f64());
            }
            // A run that is told to stop does so here.
            tokio::task::yield_now().await;
        }
        drop(database);
        // What the kernel has still to write would disturb what is measured.
        File::open(file)?.sync_all()?;
        eprintln!("{to} people are on the disk after {:.1} s", begun.elapsed().as_secs_f64());
        Ok(())
    }

    /// Draws the ids of a person, in the order of those of the first.
    fn draw(
        &self,
        number: usize,
        (place, uuids): (usize, &[Vec<String>]),
        moved: i64,
    ) -> Vec<String> {
        let at = Timestamp::from_millis(self.born + moved);
        let of = |((_, drawn), sorted): (&(String, Drawn), &Vec<String>)| match drawn {
            Drawn::Address => address(number),
            Drawn::Uuid => sorted[place].clone(),
            Drawn::AtItsTime => draw_id_at(&SystemDice, at),
            Drawn::Anywhere => draw_id(&SystemDice),
        };
        self.ids.iter().zip(uuids).map(of).collect()
    }

    fn write(&self, inserts: &mut [Statement<'_>], person: &Person) -> rusqlite::Result<()> {
        let mut text = String::with_capacity(1024);
        for (table, insert) in self.tables.iter().zip(inserts) {
            for row in &table.rows {
                for (place, column) in (1..).zip(row) {
                    column.bind((&mut *insert, place), person, &mut text)?;
                }
                insert.raw_execute()?;
            }
        }
        Ok(())
    }
}

impl Column {
    /// Gives a statement the value that it has for a person; `text` is room to write in.
    fn bind(
        &self,
        (insert, place): (&mut Statement<'_>, usize),
        person: &Person,
        text: &mut String,
    ) -> rusqlite::Result<()> {
        match self {
            Self::Same(value) => insert.raw_bind_parameter(place, value),
            Self::Moment(millis) => insert.raw_bind_parameter(place, millis + person.moved),
            Self::Number(number) => insert.raw_bind_parameter(place, person.line + number),
            Self::Text(parts) => {
                text.clear();
                for part in parts {
                    part.write(person, text);
                }
                insert.raw_bind_parameter(place, text.as_str())
            }
        }
    }
}

impl Part {
    fn write(&self, person: &Person, text: &mut String) {
        let _ = match self {
            Self::Same(same) => text.write_str(same),
            Self::Id(place) => text.write_str(&person.ids[*place]),
            Self::Moment { millis, width } => write!(text, "{:0width$}", millis + person.moved),
            Self::Downward(millis) => {
                write!(text, "{:015}", LAST_RANK - (millis + person.moved))
            }
        };
    }
}

impl Drawn {
    /// UUIDs for so many people, in their order; nothing where others are drawn.
    fn sorted(self, many: usize) -> Vec<String> {
        if self != Self::Uuid {
            return Vec::new();
        }
        let mut drawn: Vec<String> = (0..many).map(|_| draw_uuid(&SystemDice)).collect();
        drawn.sort_unstable();
        drawn
    }
}

/// Finds the ids in the rows of an account.
fn ids(database: &Database, account: &str) -> Outcome<Vec<(String, Drawn)>> {
    let mut ids = vec![(FIRST.to_owned(), Drawn::Address)];
    let query = format!("{COPIED} UNION SELECT kind, id FROM security_log WHERE account = ?1");
    let mut statement = database.prepare(&query)?;
    let mut found = statement.query([account])?;
    while let Some(row) = found.next()? {
        let (kind, id): (String, String) = (row.get(0)?, row.get(1)?);
        let drawn = match kind.as_str() {
            "account" | "membership" => Drawn::Uuid,
            "session" | "token_family" => Drawn::AtItsTime,
            "flow" => Drawn::Anywhere,
            // The id of a consent is made of the account's.
            _ => continue,
        };
        ids.push((id, drawn));
    }
    Ok(ids)
}

/// Reads a run of digits, if it is a moment.
fn moment(digits: &str, born: i64) -> Option<Part> {
    let (width, number) = (digits.len(), digits.parse().ok()?);
    if is_near(number, born) {
        return Some(Part::Moment { millis: number, width });
    }
    let millis = LAST_RANK.checked_sub(number)?;
    (width == 15 && is_near(millis, born)).then_some(Part::Downward(millis))
}

fn is_near(millis: i64, born: i64) -> bool {
    (millis - born).abs() < NEAR
}
