//! What is remembered in two generations: what is not asked for while a new one fills up is forgotten with the next.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

/// Values by key; the owner says when the next generation begins.
pub struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Generations<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Hash + Eq, V> Generations<K, V> {
    /// Returns a value, which belongs to the young generation from now on.
    pub fn find<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some((key, value)) = self.old.remove_entry(key) {
            self.young.entry(key).or_insert(value);
        }
        self.young.get(key)
    }

    pub fn insert(&mut self, key: K, value: V) {
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    pub fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// Begins a generation: what is old now is forgotten.
    pub fn turn(&mut self) {
        self.old = std::mem::take(&mut self.young);
    }

    /// How many values the young generation has.
    pub fn young(&self) -> usize {
        self.young.len()
    }

    /// How many values there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes_with_the_second_turn() {
        let mut kept: Generations<Box<str>, u8> = Generations::default();
        kept.insert("a".into(), 1);
        kept.insert("b".into(), 2);
        kept.turn();
        assert_eq!((kept.find("a").copied(), kept.young(), kept.len()), (Some(1), 1, 2));
        kept.turn();
        assert_eq!(
            (kept.find("a").copied(), kept.find("b").copied(), kept.len()),
            (Some(1), None, 1)
        );
    }

    #[test]
    fn a_value_is_replaced_and_removed_in_either_generation() {
        let mut kept: Generations<Box<str>, u8> = Generations::default();
        kept.insert("a".into(), 1);
        kept.turn();
        kept.insert("a".into(), 2);
        assert_eq!((kept.find("a").copied(), kept.len()), (Some(2), 1));
        kept.turn();
        kept.remove("a");
        assert_eq!((kept.find("a").copied(), kept.len()), (None, 0));
    }
}
