//! Statements over lists of rows.
//!
//! For SQLite a statement takes one row: no statement is a round trip there, and a short one is the cheapest. For
//! PostgreSQL it takes a list of any length as arrays, one for each column, and several lists go in one statement
//! (adr/0100).

use super::value::Value;
use std::sync::OnceLock;

/// What a column holds, by the name that PostgreSQL has for it.
#[derive(Clone, Copy)]
pub(super) enum Column {
    Int,
    Text,
    Bytes,
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Int => "bigint",
            Self::Text => "text",
            Self::Bytes => "bytea",
        }
    }
}

/// A statement over a list of rows.
pub(super) struct Batch {
    columns: &'static [Column],
    /// For one row.
    one: &'static str,
    /// For one row, tried first: it writes less, and touches no row where that would not be enough.
    lighter: Option<&'static str>,
    /// What stands before and after a list, for PostgreSQL.
    around: (String, &'static str),
    /// For a list.
    many: &'static str,
}

impl Batch {
    /// Takes the statement for one row, and what stands before and after a list.
    pub(super) fn new(
        columns: &'static [Column],
        one: &'static str,
        (before, after): (&str, &'static str),
    ) -> Self {
        let around = (before.to_owned(), after);
        let mut batch = Self { columns, one, lighter: None, around, many: "" };
        batch.many = leaked(batch.from(0));
        batch
    }

    /// Has SQLite try a statement of the same values before that for one row.
    pub(super) fn trying(self, lighter: &'static str) -> Self {
        Self { lighter: Some(lighter), ..self }
    }

    /// Inserts rows into `target`, a table and its columns.
    pub(super) fn insert(columns: &'static [Column], target: &str, ending: &'static str) -> Self {
        let places: Vec<String> = (1..=columns.len()).map(|place| format!("${place}")).collect();
        let one = format!("INSERT INTO {target} VALUES ({}) {ending}", places.join(", "));
        Self::new(columns, leaked(one), (&format!("INSERT INTO {target} SELECT * FROM"), ending))
    }

    /// Returns the statement for a list whose arrays come after as many other values.
    pub(super) fn from(&self, others: usize) -> String {
        let array = |(place, column): (usize, &Column)| {
            format!("${}::{}[]", others + place + 1, column.name())
        };
        let arrays: Vec<String> = self.columns.iter().enumerate().map(array).collect();
        let (before, after) = &self.around;
        format!("{before} unnest({}) {after}", arrays.join(", "))
    }

    pub(super) fn bind<'a>(&'static self, values: Vec<Value<'a>>) -> BoundBatch<'a> {
        BoundBatch { batch: self, values }
    }
}

/// A batch and its values, row by row.
pub(super) struct BoundBatch<'a> {
    batch: &'static Batch,
    values: Vec<Value<'a>>,
}

impl<'a> BoundBatch<'a> {
    /// Returns the statement for one row, and the rows.
    pub(super) fn rows(&self) -> (&'static str, impl Iterator<Item = &[Value<'a>]>) {
        (self.batch.one, self.values.chunks_exact(self.batch.columns.len()))
    }

    /// Returns the statement for one row that is tried first.
    pub(super) fn lighter(&self) -> Option<&'static str> {
        self.batch.lighter
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn len(&self) -> u64 {
        (self.values.len() / self.batch.columns.len()) as u64
    }

    /// Returns the statement for the list, and its arrays.
    pub(super) fn list(&self) -> (&'static str, Vec<Array<'a>>) {
        (self.batch.many, self.arrays().collect())
    }

    /// Returns the statement for the list, whose arrays come after as many other values, and how many arrays it takes.
    pub(super) fn list_after(&self, others: usize) -> (String, usize) {
        (self.batch.from(others), self.batch.columns.len())
    }

    pub(super) fn arrays(&self) -> impl Iterator<Item = Array<'a>> {
        let columns = self.batch.columns;
        (0..columns.len()).map(move |place| {
            let values = self.values.iter().skip(place).step_by(columns.len());
            Array::of(columns[place], values)
        })
    }
}

/// A statement and its values, in their order.
pub(super) struct Statement<'s> {
    pub(super) sql: &'static str,
    pub(super) rows: Vec<Array<'s>>,
    pub(super) moved: Vec<Value<'s>>,
    pub(super) others: Vec<Array<'s>>,
}

/// One column of a list.
pub(super) enum Array<'a> {
    Int(Vec<Option<i64>>),
    Text(Vec<Option<&'a str>>),
    Bytes(Vec<Option<&'a [u8]>>),
}

impl<'a> Array<'a> {
    fn of<'v>(column: Column, values: impl Iterator<Item = &'v Value<'a>>) -> Self
    where
        'a: 'v,
    {
        match column {
            Column::Int => Self::Int(values.map(Value::int).collect()),
            Column::Text => Self::Text(values.map(Value::text).collect()),
            Column::Bytes => Self::Bytes(values.map(Value::bytes).collect()),
        }
    }
}

/// Batches that are carried out together and do not touch each other's rows.
pub(super) struct BatchSet<const N: usize> {
    parts: [&'static Batch; N],
    /// For PostgreSQL: all of those that have rows at once, by which they are. It makes ready for every part that it is
    /// given, and that takes longer than a row.
    statements: Box<[OnceLock<&'static str>]>,
}

impl<const N: usize> BatchSet<N> {
    pub(super) fn new(parts: [&'static Batch; N]) -> Self {
        Self { parts, statements: (0..1 << N).map(|_| OnceLock::new()).collect() }
    }

    /// Binds the values of each batch.
    pub(super) fn bind<'a>(&'static self, values: [Vec<Value<'a>>; N]) -> BoundBatchSet<'a, N> {
        let mut values = values.into_iter();
        let parts = self.parts.map(|part| part.bind(values.next().unwrap_or_default()));
        BoundBatchSet { parts, together: self }
    }
}

/// Batches and their values.
pub(super) struct BoundBatchSet<'a, const N: usize> {
    pub(super) parts: [BoundBatch<'a>; N],
    together: &'static BatchSet<N>,
}

impl<'a, const N: usize> BoundBatchSet<'a, N> {
    /// Returns one statement for the parts that have rows, and their arrays; nothing where none has. It answers how many
    /// rows each of them has touched.
    pub(super) fn list(&self) -> Option<(&'static str, Vec<Array<'a>>)> {
        let filled = || self.parts.iter().filter(|part| !part.is_empty());
        filled().next()?;
        let places = self.parts.iter().enumerate().filter(|(_, part)| !part.is_empty());
        let which = places.fold(0, |which, (place, _)| which | 1 << place);
        let statement = self.together.statements[which].get_or_init(|| statement(filled()));
        Some((statement, filled().flat_map(BoundBatch::arrays).collect()))
    }
}

fn statement<'p, 'a: 'p>(parts: impl Iterator<Item = &'p BoundBatch<'a>>) -> &'static str {
    let mut others = 0;
    let (mut with, mut counts) = (Vec::new(), Vec::new());
    for (place, BoundBatch { batch, .. }) in parts.enumerate() {
        with.push(format!("part{place} AS ({} RETURNING 1)", batch.from(others)));
        counts.push(format!("(SELECT COUNT(*) FROM part{place})"));
        others += batch.columns.len();
    }
    leaked(format!("WITH {} SELECT {}", with.join(", "), counts.join(", ")))
}

/// Once in a process for each statement: drivers want static text.
pub(super) fn leaked(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static PUT: LazyLock<Batch> = LazyLock::new(|| {
        Batch::insert(&[Column::Text, Column::Int], "t (a, b)", "ON CONFLICT DO NOTHING")
    });
    static DROP: LazyLock<Batch> = LazyLock::new(|| {
        let around = ("DELETE FROM t USING", "AS gone (a) WHERE t.a = gone.a");
        Batch::new(&[Column::Text], "DELETE FROM t WHERE a = $1", around)
    });

    #[test]
    fn a_batch_takes_a_row_or_a_list() {
        let bound = PUT.bind(vec!["x".into(), 1.into(), "y".into(), None::<i64>.into()]);
        let (one, rows) = bound.rows();
        assert_eq!(one, "INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT DO NOTHING");
        assert_eq!((rows.map(<[_]>::len).collect::<Vec<_>>(), bound.len()), (vec![2, 2], 2));
        let (many, arrays) = bound.list();
        let list = "SELECT * FROM unnest($1::text[], $2::bigint[])";
        assert_eq!(many, format!("INSERT INTO t (a, b) {list} ON CONFLICT DO NOTHING"));
        assert!(matches!(&arrays[0], Array::Text(text) if *text == [Some("x"), Some("y")]));
        assert!(matches!(&arrays[1], Array::Int(numbers) if *numbers == [Some(1), None]));
    }

    #[test]
    fn batches_together_are_one_statement_with_a_count_of_each_that_has_rows() {
        static BOTH: LazyLock<BatchSet<2>> = LazyLock::new(|| BatchSet::new([&*PUT, &*DROP]));
        assert!(BOTH.bind([vec![], vec![]]).list().is_none());
        let drop = "AS gone (a) WHERE t.a = gone.a RETURNING 1)";
        let second = BOTH.bind([vec![], vec!["z".into()]]);
        let (statement, arrays) = second.list().unwrap();
        let expected = format!(
            "WITH part0 AS (DELETE FROM t USING unnest($1::text[]) {drop} \
             SELECT (SELECT COUNT(*) FROM part0)"
        );
        assert_eq!((statement, arrays.len()), (expected.as_str(), 1));
        let both = BOTH.bind([vec!["x".into(), 1.into()], vec!["z".into()]]);
        let (statement, arrays) = both.list().unwrap();
        let expected = format!(
            "WITH part0 AS (INSERT INTO t (a, b) SELECT * FROM unnest($1::text[], $2::bigint[]) \
             ON CONFLICT DO NOTHING RETURNING 1), \
             part1 AS (DELETE FROM t USING unnest($3::text[]) {drop} \
             SELECT (SELECT COUNT(*) FROM part0), (SELECT COUNT(*) FROM part1)"
        );
        assert_eq!((statement, arrays.len()), (expected.as_str(), 3));
    }
}
