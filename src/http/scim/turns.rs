//! How long a request that looks at many documents runs before others of its thread do: by the bytes that it looks at,
//! and not by how many documents they are.

use serde_json::{Map, Value};

/// So many bytes are looked at in one turn.
const TURN: usize = 256 * 1024;

/// How many documents are read at once: few while it is not known how large they are.
const FIRST: usize = 20;
const FEWEST: usize = 4;
const MOST: usize = 100;

/// The turns of one request.
pub struct Turns {
    /// How often a document is looked at: when it is read, and for each comparison of a filter.
    looks: usize,
    /// What was looked at in this turn.
    looked_at: usize,
    /// The documents of the part that was read last, and their bytes.
    part: usize,
    bytes: usize,
}

impl Turns {
    pub fn new(comparisons: usize) -> Self {
        Self { looks: 1 + comparisons, looked_at: 0, part: 0, bytes: 0 }
    }

    /// Begins a part, and returns how many documents it has: as many as are a turn to read, if they are as large as those
    /// of the part before; and never many more than those.
    pub fn begin_part(&mut self) -> usize {
        let next = match self.part {
            0 => FIRST,
            last => {
                let size = (self.bytes / last).max(1);
                (TURN / size).min(last * 2).clamp(FEWEST, MOST)
            }
        };
        (self.part, self.bytes) = (0, 0);
        next
    }

    /// Counts a document, and tells whether it is the turn of others.
    pub fn count(&mut self, document: &Map<String, Value>) -> bool {
        let bytes = of_members(document);
        self.part += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.looked_at = self.looked_at.saturating_add(bytes.saturating_mul(self.looks));
        let is_over = self.looked_at >= TURN;
        if is_over {
            self.looked_at = 0;
        }
        is_over
    }
}

/// Estimates how many bytes a document has as JSON.
fn of_members(members: &Map<String, Value>) -> usize {
    members.iter().map(|(name, value)| name.len() + 4 + of(value)).sum()
}

fn of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(values) => values.iter().map(|value| of(value) + 1).sum(),
        Value::Object(members) => of_members(members),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(bytes: usize) -> Map<String, Value> {
        let body = json!({ "emails": [{ "value": "x".repeat(bytes) }] });
        body.as_object().unwrap().clone()
    }

    /// Counts documents until it is the turn of others.
    fn until_others(turns: &mut Turns, document: &Map<String, Value>) -> usize {
        (1..=10_000).find(|_| turns.count(document)).unwrap()
    }

    #[test]
    fn a_turn_ends_by_what_is_looked_at_and_not_by_how_many_documents_there_are() {
        let (small, large) = (document(1_000), document(16_000));
        assert!((200..=300).contains(&until_others(&mut Turns::new(0), &small)));
        assert!((10..=20).contains(&until_others(&mut Turns::new(0), &large)));
        // A filter looks at each as often as it has comparisons.
        assert!((2..=4).contains(&until_others(&mut Turns::new(99), &small)));
        let mut turns = Turns::new(200);
        for _ in 0..3 {
            assert_eq!(until_others(&mut turns, &large), 1, "after each of them");
        }
    }

    #[test]
    fn large_documents_are_read_in_small_parts_and_small_ones_in_large_parts() {
        let mut turns = Turns::new(0);
        let part_of = |turns: &mut Turns, document: &Map<String, Value>| {
            let part = turns.begin_part();
            for _ in 0..part {
                turns.count(document);
            }
            part
        };
        let (small, large, huge) = (document(500), document(16_000), document(1_000_000));
        let parts: Vec<usize> = (0..5).map(|_| part_of(&mut turns, &small)).collect();
        assert_eq!(parts, [20, 40, 80, 100, 100]);
        part_of(&mut turns, &large);
        assert!((10..=16).contains(&part_of(&mut turns, &large)));
        part_of(&mut turns, &huge);
        assert_eq!(part_of(&mut turns, &huge), 4);
    }
}
