//! The cross product with its filters.

use std::sync::Arc;

use super::MAX_LEGS;
use super::filter::Filter;
use super::name::{Ids, display, segments};
use super::read::{Entry, Matrix, Vector};
use crate::expr::{Object, Value};

/// Bounds the work on a matrix whose combinations are nearly all excluded.
const MAX_COMPARISONS: usize = 2_000_000;

/// A leg before its place among the others is known.
#[derive(Debug)]
pub(super) struct RawLeg {
    pub id: String,
    pub name: String,
    pub matrix: Object,
}

/// An entry of `include`: its filter, and what it adds to the combinations that it applies to.
struct Include {
    filter: Filter,
    extra: Entry,
    /// All items of the entry: those that filter, then those that are added.
    whole: Entry,
    applied: bool,
}

/// Builds the legs of `matrix`, none if all combinations are excluded; nothing if there are too many.
pub(super) fn legs(matrix: &Matrix, base: &str) -> Option<Vec<RawLeg>> {
    let include = matrix
        .include
        .iter()
        .map(|entry| include(entry, &matrix.vectors))
        .collect();
    let exclude = matrix
        .exclude
        .iter()
        .map(|entry| filter(entry, &matrix.vectors))
        .collect();
    let mut builder = Builder {
        include,
        exclude,
        base,
        ids: Ids::default(),
        legs: Vec::new(),
        comparisons: 0,
    };
    builder.fill(&matrix.vectors)?;
    Some(builder.legs)
}

fn vector_named(vectors: &[Vector], name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    vectors
        .iter()
        .position(|vector| vector.name.to_lowercase() == name)
}

fn include(entry: &Entry, vectors: &[Vector]) -> Include {
    let is_filter = |(key, _): &&(Arc<str>, Value)| vector_named(vectors, key).is_some();
    let (mut whole, extra): (Entry, Entry) = {
        let (filters, extra): (Vec<_>, Vec<_>) = entry.iter().partition(is_filter);
        (
            filters.into_iter().cloned().collect(),
            extra.into_iter().cloned().collect(),
        )
    };
    whole.extend(extra.iter().cloned());
    Include {
        filter: filter(entry, vectors),
        extra,
        whole,
        applied: false,
    }
}

/// The demands of an entry on vectors; its other keys demand nothing.
fn filter(entry: &Entry, vectors: &[Vector]) -> Filter {
    let mut filter = Filter::default();
    for (key, value) in entry {
        if let Some(vector) = vector_named(vectors, key) {
            filter.require(vector, value);
        }
    }
    filter
}

struct Builder<'a> {
    include: Vec<Include>,
    exclude: Vec<Filter>,
    base: &'a str,
    ids: Ids,
    legs: Vec<RawLeg>,
    comparisons: usize,
}

impl Builder<'_> {
    /// Builds all legs; nothing if there are too many.
    ///
    /// Combinations are made one at a time, so that a product of any size costs no memory.
    fn fill(&mut self, vectors: &[Vector]) -> Option<()> {
        let mut places = vec![0; vectors.len()];
        let mut more = !vectors.is_empty();
        while more {
            let combination: Vec<&Value> = vectors
                .iter()
                .zip(&places)
                .filter_map(|(vector, place)| vector.values.get(*place))
                .collect();
            self.combine(vectors, &combination)?;
            more = advance(&mut places, vectors);
        }
        let appended = self.include.iter_mut().filter(|include| !include.applied);
        let appended: Vec<_> = appended
            .map(|include| std::mem::take(&mut include.whole))
            .collect();
        for items in appended {
            let mut matrix = Object::default();
            for (key, value) in items {
                matrix.insert(key, value);
            }
            let mut parts = Vec::new();
            matrix.values().for_each(|value| segments(value, &mut parts));
            self.push(&parts, matrix)?;
        }
        Some(())
    }

    fn combine(&mut self, vectors: &[Vector], combination: &[&Value]) -> Option<()> {
        self.comparisons += vectors.len() + self.exclude.iter().map(Filter::cost).sum::<usize>();
        if self.comparisons > MAX_COMPARISONS {
            return None;
        }
        if self.exclude.iter().any(|filter| filter.matches(combination)) {
            return Some(());
        }
        let mut matrix = Object::default();
        let mut parts = Vec::new();
        for (vector, value) in vectors.iter().zip(combination) {
            matrix.insert(Arc::clone(&vector.name), (*value).clone());
            segments(value, &mut parts);
        }
        for include in &mut self.include {
            if include.filter.matches(combination) {
                include.applied = true;
                for (key, value) in &include.extra {
                    matrix.insert(Arc::clone(key), value.clone());
                }
            }
        }
        self.push(&parts, matrix)
    }

    fn push(&mut self, parts: &[String], matrix: Object) -> Option<()> {
        if self.legs.len() >= MAX_LEGS {
            return None;
        }
        let id = self.ids.make(parts);
        self.legs.push(RawLeg {
            id,
            name: display(self.base, parts),
            matrix,
        });
        Some(())
    }
}

/// Goes to the next combination, the last vector fastest; false after the last combination.
fn advance(places: &mut [usize], vectors: &[Vector]) -> bool {
    for (place, vector) in places.iter_mut().zip(vectors).rev() {
        *place += 1;
        if *place < vector.values.len() {
            return true;
        }
        *place = 0;
    }
    false
}
