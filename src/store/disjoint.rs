//! Which commits may share a transaction: those that touch no row of each other.

use super::commit::Commit;
use std::collections::HashSet;

/// A row for which commits can compete: (kind or space, id or name).
pub(super) type RowKey<'a> = (&'a str, &'a str);

/// Takes from the front of `waiting` the commits that touch no row another one has claimed.
pub(super) fn take_disjoint<'a>(waiting: &[&'a Commit], most: usize) -> Vec<usize> {
    let (mut written, mut read) = (HashSet::<RowKey<'a>>::new(), HashSet::<RowKey<'a>>::new());
    let mut taken = Vec::new();
    for (place, commit) in waiting.iter().enumerate() {
        if taken.len() == most {
            break;
        }
        let writes = places_written(commit);
        let reads = || commit.requirements.iter().map(|fact| (fact.kind(), fact.id()));
        let in_the_way = writes.iter().any(|row| written.contains(row) || read.contains(row))
            || reads().any(|row| written.contains(&row));
        if !in_the_way {
            written.extend(writes);
            read.extend(reads());
            taken.push(place);
        }
    }
    taken
}

fn places_written(commit: &Commit) -> Vec<RowKey<'_>> {
    let rows = commit.changes.iter().map(|change| (change.kind, change.id.as_str()));
    let names = commit.changes.iter().flat_map(|change| {
        let names = change.names.added.iter().chain(&change.names.removed);
        names.map(|name| (name.space, name.name.as_str()))
    });
    rows.chain(names).collect()
}
