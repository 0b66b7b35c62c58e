//! Statements over lists of rows.
//!
//! A commit group costs a handful of statements and not a handful for each of its commits, which is
//! what makes a group cheap on a database that is a thread hop (SQLite) or a network round trip
//! (PostgreSQL) away.

use super::value::Value;

/// How many rows the prepared texts of a batch take. Any number is a sum of these, mostly of one or
/// two: each statement is a round trip to the database.
const SIZES: [usize; 17] = [64, 48, 40, 32, 24, 20, 16, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1];

/// A statement over a list of rows, prepared for a few lengths of that list.
pub(super) struct Batch {
    columns: usize,
    texts: [&'static str; SIZES.len()],
    /// For one row, where there is no round trip to save.
    single: &'static str,
}

/// One statement of a batch: how many rows it takes and its text.
type Run = (usize, &'static str);

impl Batch {
    /// Builds `head ($1, $2), ($3, $4) … tail` for each size.
    pub(super) fn new(head: &str, columns: usize, tail: &str) -> Self {
        let text_for = |rows: usize| {
            let tuple = |row: usize| {
                let places: Vec<_> =
                    (1..=columns).map(|column| format!("${}", row * columns + column)).collect();
                format!("({})", places.join(", "))
            };
            let tuples: Vec<_> = (0..rows).map(tuple).collect();
            // Leaked once in a process for each statement and size: the driver wants static text.
            &*Box::leak(format!("{head} {} {tail}", tuples.join(", ")).into_boxed_str())
        };
        let texts = SIZES.map(text_for);
        Self { columns, texts, single: texts[SIZES.len() - 1] }
    }

    /// The same with another text for one row, which only SQLite is given: its values stand as `?1`.
    pub(super) fn with_single(self, single: &'static str) -> Self {
        Self { single, ..self }
    }

    /// Binds exactly these rows, in as many statements as that takes.
    pub(super) fn exactly<'a>(&self, values: Vec<Value<'a>>) -> Bound<'a> {
        let runs = self.split(values.len() / self.columns);
        Bound { columns: self.columns, runs, single: self.single, filled: values.len(), values }
    }

    /// Binds in fewer statements, filled up with rows of `filler` on which the batch has no effect.
    pub(super) fn covering<'a>(
        &self,
        mut values: Vec<Value<'a>>,
        filler: &[Value<'a>],
    ) -> Bound<'a> {
        let runs = self.cover(values.len() / self.columns);
        let filled = values.len();
        let wanted = runs.iter().map(|(size, _)| size * self.columns).sum();
        while values.len() < wanted {
            values.extend_from_slice(filler);
        }
        Bound { columns: self.columns, runs, single: self.single, filled, values }
    }

    /// Asks for entities by kind and id, in the order given.
    pub(super) fn for_entities<'a>(&self, asked: &[(&'a str, &'a str)]) -> Bound<'a> {
        let places = (0i64..).zip(asked);
        let values = places
            .flat_map(|(place, (kind, id))| [place.into(), Value::Text(kind), Value::Text(id)])
            .collect();
        self.covering(values, &[Value::Int(i64::MAX), Value::Text(""), Value::Text("")])
    }

    /// Splits `rows` into the largest runs there is a text for.
    fn split(&self, mut rows: usize) -> Vec<Run> {
        let mut runs = Vec::new();
        for (size, text) in SIZES.into_iter().zip(self.texts) {
            while rows >= size {
                runs.push((size, text));
                rows -= size;
            }
        }
        runs
    }

    /// Covers `rows` with as few runs as possible; the last may take more rows than there are.
    fn cover(&self, rows: usize) -> Vec<Run> {
        let mut runs = vec![(SIZES[0], self.texts[0]); rows / SIZES[0]];
        let rest = rows % SIZES[0];
        let sizes = SIZES.into_iter().zip(self.texts).rev();
        runs.extend(sizes.filter(|(size, _)| rest > 0 && *size >= rest).take(1));
        runs
    }
}

/// A batch and its values.
pub(super) struct Bound<'a> {
    columns: usize,
    runs: Vec<Run>,
    single: &'static str,
    values: Vec<Value<'a>>,
    /// How many of the values are not filler.
    filled: usize,
}

impl<'a> Bound<'a> {
    /// Returns each statement with its share of the values.
    pub(super) fn statements(&self) -> impl Iterator<Item = (&'static str, &[Value<'a>])> {
        let mut rest = self.values.as_slice();
        self.runs.iter().map(move |(size, text)| {
            let (share, after) = rest.split_at(size * self.columns);
            rest = after;
            (*text, share)
        })
    }

    /// Returns a statement for each row: where no statement is a round trip, long ones gain nothing.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &[Value<'a>])> {
        self.values[..self.filled].chunks_exact(self.columns).map(|row| (self.single, row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_split_into_runs_that_add_up_or_cover() {
        let batch = Batch::new("VALUES", 2, "");
        for rows in 0..200 {
            let split: usize = batch.split(rows).iter().map(|(size, _)| size).sum();
            assert_eq!(split, rows);
            let covered: usize = batch.cover(rows).iter().map(|(size, _)| size).sum();
            assert!(covered >= rows && covered < rows.max(1) * 2 + 1, "{rows} by {covered}");
            assert_eq!(batch.cover(rows).len(), rows.div_ceil(64));
        }
        assert_eq!(batch.split(1)[0].1, "VALUES ($1, $2) ");
        assert!(batch.cover(9)[0].1.ends_with("($19, $20) "));
    }
}
