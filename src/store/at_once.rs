//! A group of commits as one statement: for PostgreSQL, where each statement is a round trip (adr/0168).
//!
//! It locks what is required, writes, and appends to the log. It counts as it goes, and where a count is short it divides by
//! zero: the server then takes back all of it, and the group is written again by statements that find out who lost.

use super::{
    batch::{Array, BoundBatch, BoundBatchSet, Statement, leaked},
    chain::{Head, PreparedAppend},
    disjoint::RowKey,
    sql,
};
use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

/// The most runs of rows that are locked: each number of them is a statement of its own.
pub(super) const MOST_RUNS: usize = 6;

/// How many parts [`sql::WRITE`] has.
const PARTS: usize = 7;

/// The parts of [`sql::WRITE`] whose rows are counted, the one first that waits for rows of others.
const COUNTED: [usize; 3] = [2, 0, 1];

/// What keeps others from changing a row until the group is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hold {
    /// It is as required when the statement begins, and may change then.
    None,
    /// It stays as it is.
    Shared,
    /// The group changes it.
    Changed,
}

/// A row that must be there as it was read, or be live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequiredRow<'a> {
    pub(super) kind: &'a str,
    pub(super) id: &'a str,
    pub(super) hold: Hold,
    pub(super) version: Option<i64>,
    pub(super) live_after: Option<i64>,
}

impl RequiredRow<'_> {
    /// Requires what another one does as well, where both are of one row and can both hold.
    fn takes_in(&mut self, other: &Self) -> bool {
        let is_same = (self.kind, self.id, self.hold) == (other.kind, other.id, other.hold);
        let can_hold =
            [self.version, other.version].contains(&None) || self.version == other.version;
        if is_same && can_hold {
            self.version = self.version.or(other.version);
            self.live_after = self.live_after.max(other.live_after);
        }
        is_same && can_hold
    }
}

/// A group that is carried out at once.
pub(super) struct AtOnce<'a> {
    /// What it makes under ids that callers chose.
    chosen: Vec<RowKey<'a>>,
    looked_at: Vec<RequiredRow<'a>>,
    /// In one order with those of other groups.
    locks: Vec<Vec<RequiredRow<'a>>>,
    written: BoundBatchSet<'a, PARTS>,
    append: Option<PreparedAppend<'a>>,
}

/// The texts of all shapes, each written when it is first needed.
struct Texts(Box<[OnceLock<&'static str>]>);

impl Texts {
    fn new() -> Self {
        let shapes = ((MOST_RUNS + 1) * 2 * 2 * 2) << PARTS;
        Self((0..shapes).map(|_| OnceLock::new()).collect())
    }
}

impl<'a> AtOnce<'a> {
    /// Takes the rows that are required or changed; nothing where those that are locked change too often between the one
    /// and the other.
    pub(super) fn new(
        chosen: Vec<RowKey<'a>>,
        mut rows: Vec<RequiredRow<'a>>,
        written: BoundBatchSet<'a, PARTS>,
        append: Option<PreparedAppend<'a>>,
    ) -> Option<Self> {
        rows.sort_unstable();
        rows.dedup_by(|next, kept| kept.takes_in(next));
        let looked_at = rows.extract_if(.., |row| row.hold == Hold::None).collect();
        let runs = rows.chunk_by(|one, next| one.hold == next.hold);
        let mut locks: Vec<_> = runs.map(<[_]>::to_vec).collect();
        // The last ones are locked by what changes them, in the same order.
        locks.pop_if(|run| run[0].hold == Hold::Changed);
        (locks.len() <= MOST_RUNS).then_some(Self { chosen, looked_at, locks, written, append })
    }

    /// The rows that must not be there, and may well be: a group is not to be taken back for what is presented twice.
    pub(super) fn chosen(&self) -> &[RowKey<'a>] {
        &self.chosen
    }

    /// The log's head afterwards.
    pub(super) fn head(&self) -> Option<Head> {
        self.append.as_ref().and_then(PreparedAppend::head)
    }

    pub(super) fn statement(&self) -> Statement<'_> {
        let rows = self.append.as_ref().map(PreparedAppend::rows);
        let looked_at = (!self.looked_at.is_empty()).then_some(&self.looked_at);
        let required = looked_at.into_iter().chain(&self.locks).flat_map(|rows| {
            [
                Array::Text(rows.iter().map(|row| Some(row.kind)).collect()),
                Array::Text(rows.iter().map(|row| Some(row.id)).collect()),
                Array::Int(rows.iter().map(|row| row.version).collect()),
                Array::Int(rows.iter().map(|row| row.live_after).collect()),
            ]
        });
        let written = self.filled().flat_map(|(_, part)| part.arrays());
        Statement {
            sql: self.sql(),
            rows: rows.iter().flat_map(BoundBatch::arrays).collect(),
            moved: self.append.iter().flat_map(PreparedAppend::moved).collect(),
            others: required.chain(written).collect(),
        }
    }

    fn filled(&self) -> impl Iterator<Item = (usize, &BoundBatch<'a>)> {
        self.written.parts.iter().enumerate().filter(|(_, part)| !part.is_empty())
    }

    /// Returns the text, which is written once for each shape: the parts that have rows, and how many runs there are, of
    /// which each second one is of rows that are changed.
    fn sql(&self) -> &'static str {
        static TEXTS: LazyLock<Texts> = LazyLock::new(Texts::new);
        let begins_with_changed =
            self.locks.first().is_some_and(|run| run[0].hold == Hold::Changed);
        let flags = [begins_with_changed, self.append.is_some(), !self.looked_at.is_empty()];
        let place =
            flags.into_iter().fold(self.locks.len(), |place, flag| place << 1 | usize::from(flag));
        let parts = self.filled().fold(0, |which, (part, _)| which | 1 << part);
        TEXTS.0[(place << PARTS) | parts].get_or_init(|| leaked(self.text()))
    }

    fn text(&self) -> String {
        let (mut with, mut counts) = (Vec::new(), Vec::new());
        let mut values = 0;
        let all = |part: &str, array: usize| {
            format!("(SELECT COUNT(*) FROM {part}) = cardinality(${array}::text[])")
        };
        if self.append.is_some() {
            with.push(format!("moved AS ({})", sql::MOVE_LANE_AFTER_ROWS));
            with.push(format!("logged AS ({} RETURNING 1)", sql::APPEND_TO_MOVED.from(0)));
            values = 17;
        }
        if !self.looked_at.is_empty() {
            with.push(format!("looked_at AS ({})", as_required(values)));
            counts.push(all("looked_at", values + 1));
            values += 4;
        }
        for (place, run) in self.locks.iter().enumerate() {
            let lock = if run[0].hold == Hold::Changed { "NO KEY UPDATE" } else { "SHARE" };
            let rows = as_required(values);
            with.push(format!("locked{place} AS ({rows} ORDER BY need.place FOR {lock} OF e)"));
            counts.push(all(&format!("locked{place}"), values + 1));
            values += 4;
        }
        let mut first_arrays = BTreeMap::new();
        for (place, part) in self.filled() {
            let (text, arrays) = part.list_after(values);
            with.push(format!("part{place} AS ({text} RETURNING 1)"));
            first_arrays.insert(place, values + 1);
            values += arrays;
        }
        let counted = COUNTED.iter().filter_map(|place| Some((place, first_arrays.remove(place)?)));
        counts.extend(counted.map(|(place, array)| all(&format!("part{place}"), array)));
        // The others are carried out before the lane is moved: another writer that takes it is waited for.
        let others = first_arrays.keys();
        counts.extend(others.map(|place| format!("(SELECT COUNT(*) FROM part{place}) >= 0")));
        if self.append.is_some() {
            counts.push(all("logged", 1));
        }
        // They are evaluated in this order, each of them only where all before it hold.
        format!(
            "WITH {} SELECT 1 / CASE WHEN {} THEN 1 ELSE 0 END",
            with.join(", "),
            counts.join(" AND ")
        )
    }
}

/// Finds the rows that are as required, by four arrays that come after as many other values.
fn as_required(others: usize) -> String {
    let [kinds, ids, versions, lives] = [1, 2, 3, 4].map(|array| others + array);
    format!(
        "SELECT 1 \
           FROM unnest(${kinds}::text[], ${ids}::text[], ${versions}::bigint[], ${lives}::bigint[]) \
                WITH ORDINALITY AS need (kind, id, version, live_after, place) \
           JOIN entities e ON e.kind = need.kind AND e.id = need.id \
          WHERE (need.version IS NULL OR e.version = need.version) \
            AND (need.live_after IS NULL OR e.live_until > need.live_after)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::value::Value;

    fn lock(kind: &str, is_changed: bool) -> RequiredRow<'_> {
        let hold = if is_changed { Hold::Changed } else { Hold::Shared };
        RequiredRow { kind, id: "1", hold, version: is_changed.then_some(7), live_after: None }
    }

    fn at_once<'a>(rows: &[RequiredRow<'a>]) -> Option<AtOnce<'a>> {
        let mut written: [Vec<Value<'a>>; PARTS] = Default::default();
        let (text, number): (Value<'_>, Value<'_>) = ("x".into(), 7.into());
        written[2] = vec![text, text, number, text, number, number, number];
        AtOnce::new(Vec::new(), rows.to_vec(), sql::WRITE.bind(written), None)
    }

    #[test]
    fn rows_are_locked_in_one_order_and_the_last_by_what_changes_them() {
        let rows = [lock("d", true), lock("b", true), lock("a", false), lock("c", false)];
        let at_once = at_once(&rows).unwrap();
        let kinds =
            |run: &Vec<RequiredRow<'_>>| run.iter().map(|row| row.kind.to_owned()).collect();
        let locked: Vec<Vec<String>> = at_once.locks.iter().map(kinds).collect();
        assert_eq!(locked, [["a"], ["b"], ["c"]]);
        let Statement { sql, rows, moved, others } = at_once.statement();
        assert_eq!((rows.len(), moved.len(), others.len()), (0, 0, 3 * 4 + 7));
        let places = ["FROM locked0) =", "FROM locked1) =", "FROM locked2) =", "FROM part2) ="]
            .map(|part| sql.find(part).unwrap_or_else(|| panic!("{part}: {sql}")));
        assert!(places.is_sorted(), "{sql}");
        assert!(sql.contains("= cardinality($13::text[])") && !sql.contains("$20"), "{sql}");
    }

    #[test]
    fn rows_that_are_only_looked_at_are_counted_first_and_not_locked() {
        let looked_at = RequiredRow { hold: Hold::None, ..lock("b", false) };
        let at_once = at_once(&[lock("a", true), looked_at, lock("c", true)]).unwrap();
        let Statement { sql, others, .. } = at_once.statement();
        assert_eq!((at_once.locks.len(), others.len()), (0, 4 + 7));
        assert!(sql.contains("CASE WHEN (SELECT COUNT(*) FROM looked_at) = "), "{sql}");
        assert!(!sql.contains(" FOR "), "{sql}");
    }

    #[test]
    fn a_group_whose_rows_change_too_often_takes_several_statements() {
        let kinds: Vec<String> = (0..20).map(|number| format!("k{number:02}")).collect();
        let rows = |most: usize| -> Vec<RequiredRow<'_>> {
            let kinds = kinds.iter().take(most).enumerate();
            kinds.map(|(place, kind)| lock(kind, place % 2 == 0)).collect()
        };
        assert!(at_once(&rows(MOST_RUNS)).is_some());
        assert!(at_once(&rows(MOST_RUNS + 2)).is_none());
    }
}
