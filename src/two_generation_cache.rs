//! A cache of two generations: what is not asked for while a new one fills up is evicted with the next.

use std::{
    borrow::Borrow,
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, PoisonError},
};

/// Values by key, each with a weight; the owner says when the next generation begins.
pub struct TwoGenerationCache<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    /// Of the young generation.
    weight: usize,
}

impl<K, V> Default for TwoGenerationCache<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), weight: 0 }
    }
}

impl<K: Hash + Eq, V> TwoGenerationCache<K, V> {
    /// Returns a value, which belongs to the young generation from now on and weighs there.
    pub fn find<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if let Some((key, (value, weight))) = self.old.remove_entry(key) {
            self.insert(key, value, weight);
        }
        self.young.get(key).map(|(value, _)| value)
    }

    pub fn insert(&mut self, key: K, value: V, weight: usize) {
        self.old.remove(&key);
        if let Some((_, replaced)) = self.young.insert(key, (value, weight)) {
            self.lighten(replaced);
        }
        self.weight = self.weight.saturating_add(weight);
    }

    /// Takes a value out.
    pub fn remove<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let (value, _) = match self.young.remove(key) {
            Some(young) => {
                self.lighten(young.1);
                young
            }
            None => self.old.remove(key)?,
        };
        Some(value)
    }

    fn lighten(&mut self, gone: usize) {
        self.weight = self.weight.saturating_sub(gone);
    }

    /// Begins a generation: what is old now is evicted.
    pub fn turn(&mut self) {
        self.old = std::mem::take(&mut self.young);
        self.weight = 0;
    }

    /// Begins one where the present one weighs so much. What is found weighs as well as what is put in, so owners call
    /// this before both.
    pub fn turn_at(&mut self, most: usize) {
        if self.weight >= most {
            self.turn();
        }
    }

    /// What the young generation weighs.
    pub fn weight(&self) -> usize {
        self.weight
    }

    fn values(&self) -> impl Iterator<Item = &V> {
        self.young.values().chain(self.old.values()).map(|(value, _)| value)
    }

    /// How many values there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

/// A cache of values by key that all callers share, no more than so many: those go first that were not asked for longest.
pub struct BoundedCache<K, V> {
    kept: Mutex<TwoGenerationCache<K, V>>,
    /// How many values begin a new generation.
    generation: usize,
}

impl<K: Hash + Eq, V: Clone> BoundedCache<K, V> {
    pub fn new(most: usize) -> Self {
        Self { kept: Mutex::default(), generation: most / 2 }
    }

    /// Returns the value of `key`. Where there is none, `make` makes it while other callers wait.
    pub fn get_or_make<Q>(&self, key: &Q, make: impl FnOnce() -> V) -> V
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.turn_at(self.generation);
        if let Some(value) = kept.find(key) {
            return value.clone();
        }
        let made = make();
        kept.insert(key.to_owned(), made.clone(), 1);
        made
    }

    /// Returns the value of `key`, if there is one.
    pub fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.turn_at(self.generation);
        kept.find(key).cloned()
    }

    /// Returns what `pick` makes of the first value that it makes something of.
    pub fn find_map<T>(&self, pick: impl FnMut(&V) -> Option<T>) -> Option<T> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.values().find_map(pick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_for_all_who_ask() {
        let shared: BoundedCache<String, u32> = BoundedCache::new(8);
        assert_eq!((shared.get_or_make("a", || 1), shared.get_or_make("a", || 2)), (1, 1));
        assert_eq!(shared.get_or_make("b", || 3), 3);
        assert_eq!((shared.get("b"), shared.get("c")), (Some(3), None));
        assert_eq!(shared.find_map(|value| (*value == 3).then_some("three")), Some("three"));
        assert_eq!(shared.find_map(|value| (*value == 4).then_some("four")), None);
    }

    #[test]
    fn of_ever_more_values_few_are_kept_and_what_is_asked_for_between_them_stays() {
        let shared: BoundedCache<u32, u32> = BoundedCache::new(8);
        shared.get_or_make(&0, || 7);
        for number in 1..10_000 {
            shared.get_or_make(&number, || number);
            assert_eq!(shared.get_or_make(&0, || number), 7, "after {number}");
            assert!(shared.kept.lock().unwrap().len() <= 8, "after {number}");
        }
        assert_eq!(shared.get_or_make(&1, || 9), 9, "it was forgotten");
    }

    #[test]
    fn what_is_asked_for_stays_and_the_rest_goes_with_the_second_turn() {
        let mut kept: TwoGenerationCache<Box<str>, u8> = TwoGenerationCache::default();
        kept.insert("a".into(), 1, 5);
        kept.insert("b".into(), 2, 5);
        kept.turn();
        assert_eq!((kept.find("a").copied(), kept.weight(), kept.len()), (Some(1), 5, 2));
        kept.turn();
        assert_eq!(
            (kept.find("a").copied(), kept.find("b").copied(), kept.len()),
            (Some(1), None, 1)
        );
    }

    #[test]
    fn a_value_is_replaced_and_removed_in_either_generation() {
        let mut kept: TwoGenerationCache<Box<str>, u8> = TwoGenerationCache::default();
        kept.insert("a".into(), 1, 5);
        kept.turn();
        kept.insert("a".into(), 2, 3);
        assert_eq!((kept.find("a").copied(), kept.weight(), kept.len()), (Some(2), 3, 1));
        kept.insert("a".into(), 2, 4);
        assert_eq!(kept.weight(), 4);
        kept.turn();
        assert_eq!((kept.remove("a"), kept.remove("a")), (Some(2), None));
        assert_eq!((kept.find("a").copied(), kept.weight(), kept.len()), (None, 0, 0));
    }
}
