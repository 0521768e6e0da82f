//! Laws of the matrix, on vectors and entries without a file.

use std::sync::Arc;

use proptest::prelude::*;

use super::build::{RawLeg, legs};
use super::read::{Entry, Matrix, Vector};
use super::{MAX_LEGS, assemble};
use crate::expr::Value;

/// Vectors by name with small numbers as values, and entries as pairs of name and number.
type Pairs = Vec<(String, u8)>;

fn matrix(vectors: &[(String, Vec<u8>)], exclude: &[Pairs], include: &[Pairs]) -> Matrix {
    Matrix {
        vectors: vectors
            .iter()
            .map(|(name, values)| Vector {
                name: Arc::from(name.as_str()),
                values: values.iter().map(|value| number(*value)).collect(),
            })
            .collect(),
        exclude: exclude.iter().map(|pairs| entry(pairs)).collect(),
        include: include.iter().map(|pairs| entry(pairs)).collect(),
    }
}

fn number(value: u8) -> Value {
    Value::Number(f64::from(value))
}

fn entry(pairs: &[(String, u8)]) -> Entry {
    pairs
        .iter()
        .map(|(name, value)| (Arc::from(name.as_str()), number(*value)))
        .collect()
}

fn build(vectors: &[(String, Vec<u8>)], exclude: &[Pairs], include: &[Pairs]) -> Vec<RawLeg> {
    legs(&matrix(vectors, exclude, include), "j").unwrap()
}

/// What a leg has for the given names.
fn values(leg: &RawLeg, names: &[String]) -> Vec<Option<u8>> {
    names
        .iter()
        .map(|name| leg.matrix.get(name).map(|value| value.to_text().parse().unwrap()))
        .collect()
}

fn names(vectors: &[(String, Vec<u8>)]) -> Vec<String> {
    vectors.iter().map(|(name, _)| name.clone()).collect()
}

/// The cross product, written down independently: the last vector varies fastest.
fn product(vectors: &[(String, Vec<u8>)]) -> Vec<Vec<Option<u8>>> {
    let mut rows = vec![Vec::new()];
    for (_, values) in vectors {
        rows = rows
            .into_iter()
            .flat_map(|row: Vec<Option<u8>>| {
                values
                    .iter()
                    .map(move |value| row.iter().copied().chain([Some(*value)]).collect())
            })
            .collect();
    }
    rows
}

fn vectors() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    prop::collection::vec(prop::collection::vec(0..4_u8, 1..4), 1..4).prop_map(|all| {
        all.into_iter()
            .enumerate()
            .map(|(index, values)| (format!("v{index}"), values))
            .collect()
    })
}

/// Entries over the first vectors' names and, if wanted, a few others.
fn entries(extra: bool) -> impl Strategy<Value = Vec<Pairs>> {
    let names: Vec<&str> = if extra {
        vec!["v0", "v1", "v2", "x", "y"]
    } else {
        vec!["v0"]
    };
    let pair = (prop::sample::select(names), 0..5_u8);
    prop::collection::vec(
        prop::collection::btree_map(pair.clone().prop_map(|(name, _)| name.to_owned()), 0..5_u8, 1..4),
        0..4,
    )
    .prop_map(|all| all.into_iter().map(|entry| entry.into_iter().collect()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn legs_are_the_cross_product_in_order(vectors in vectors()) {
        let names = names(&vectors);
        let actual: Vec<_> = build(&vectors, &[], &[]).iter().map(|leg| values(leg, &names)).collect();
        prop_assert_eq!(actual, product(&vectors));
    }

    #[test]
    fn exclude_removes_exactly_what_matches(vectors in vectors(), exclude in entries(false)) {
        let names = names(&vectors);
        let actual: Vec<_> = build(&vectors, &exclude, &[]).iter().map(|leg| values(leg, &names)).collect();
        let mut expected = product(&vectors);
        expected.retain(|row| {
            !exclude.iter().any(|pairs| pairs.iter().all(|(name, value)| {
                names.iter().zip(row).any(|(known, actual)| known == name && *actual == Some(*value))
            }))
        });
        prop_assert_eq!(actual, expected);
    }

    #[test]
    fn include_never_changes_a_vector(vectors in vectors(), include in entries(true)) {
        let names = names(&vectors);
        let with = build(&vectors, &[], &include);
        let rows = product(&vectors);
        prop_assert!(with.len() >= rows.len() && with.len() <= rows.len() + include.len());
        let actual: Vec<_> = with.iter().take(rows.len()).map(|leg| values(leg, &names)).collect();
        prop_assert_eq!(actual, rows);
    }

    #[test]
    fn ids_are_unique_and_the_total_counts_legs(vectors in vectors(), include in entries(true)) {
        let built = build(&vectors, &[], &include);
        let total = built.len();
        let strategy = assemble(&super::Definition::default(), "j", built);
        let mut ids: Vec<String> = strategy.legs.iter().map(|leg| leg.id.to_ascii_lowercase()).collect();
        ids.sort();
        ids.dedup();
        prop_assert_eq!(ids.len(), total);
        for leg in &strategy.legs {
            prop_assert_eq!(leg.strategy.get("job-total").map(Value::to_number), Some(f64::from(u32::try_from(total).unwrap().max(1))));
        }
    }
}

fn many(count: usize) -> Vec<(String, Vec<u8>)> {
    (0..count)
        .map(|index| (format!("v{index}"), (0..10).collect()))
        .collect()
}

#[test]
fn too_many_legs_are_refused_whatever_the_product() {
    for vectors in [many(3), many(5), many(12), many(400)] {
        assert!(legs(&matrix(&vectors, &[], &[]), "j").is_none());
    }
}

#[test]
fn work_on_excluded_combinations_is_bounded() {
    let exclude: Vec<Pairs> = (0..10).map(|value| vec![("v0".to_owned(), value)]).collect();
    assert!(legs(&matrix(&many(12), &exclude, &[]), "j").is_none());
    assert!(build(&many(3), &exclude, &[]).is_empty());
}

#[test]
fn the_limit_itself_is_legal() {
    let vectors = vec![
        ("a".to_owned(), (0..16).collect()),
        ("b".to_owned(), (0..16).collect()),
    ];
    assert_eq!(build(&vectors, &[], &[]).len(), MAX_LEGS);
    let include = vec![vec![("a".to_owned(), 99)]];
    assert!(legs(&matrix(&vectors, &[], &include), "j").is_none());
}
