//! The filters of `include` and `exclude`: every leaf must equal the value at the same path of a combination.

use std::sync::Arc;

use crate::expr::Value;

/// What an entry of `include` or `exclude` demands of a combination.
#[derive(Debug, Default)]
pub(super) struct Filter {
    leaves: Vec<Leaf>,
}

#[derive(Debug)]
struct Leaf {
    vector: usize,
    path: Vec<Segment>,
    expected: Value,
}

#[derive(Debug, Clone)]
enum Segment {
    Key(Arc<str>),
    Index(usize),
}

impl Filter {
    /// Demands that the value of the vector with the number `vector` equals `value`, leaf by leaf.
    ///
    /// A filter's mapping may name fewer keys than the combination has, and an empty one demands nothing.
    pub fn require(&mut self, vector: usize, value: &Value) {
        let mut open = vec![(Vec::new(), value.clone())];
        while let Some((path, value)) = open.pop() {
            match value {
                Value::Array(array) => {
                    for (index, item) in array.iter().enumerate() {
                        open.push((extended(&path, Segment::Index(index)), item.clone()));
                    }
                }
                Value::Object(object) => {
                    for (key, item) in object.iter() {
                        open.push((extended(&path, Segment::Key(Arc::from(key))), item.clone()));
                    }
                }
                expected => self.leaves.push(Leaf {
                    vector,
                    path,
                    expected,
                }),
            }
        }
    }

    /// Tells whether the combination, one value for each vector, has all that is demanded.
    pub fn matches(&self, combination: &[&Value]) -> bool {
        self.leaves.iter().all(|leaf| {
            let actual = combination
                .get(leaf.vector)
                .map_or(Value::Null, |value| at(value, &leaf.path));
            actual.loosely_equals(&leaf.expected)
        })
    }

    /// How many comparisons a match may cost.
    pub fn cost(&self) -> usize {
        self.leaves.len() + 1
    }
}

fn extended(path: &[Segment], segment: Segment) -> Vec<Segment> {
    let mut path = path.to_vec();
    path.push(segment);
    path
}

/// Follows a path as the index operator of expressions does: what is not there is null.
fn at(value: &Value, path: &[Segment]) -> Value {
    let mut value = value.clone();
    for segment in path {
        let next = match (&value, segment) {
            (Value::Object(object), Segment::Key(key)) => object.get(key).cloned(),
            (Value::Object(object), Segment::Index(index)) => object.get(&index.to_string()).cloned(),
            (Value::Array(array), Segment::Index(index)) => array.get(*index).cloned(),
            (Value::Array(array), Segment::Key(key)) => {
                position(key).and_then(|index| array.get(index)).cloned()
            }
            _ => None,
        };
        value = next.unwrap_or(Value::Null);
    }
    value
}

fn position(key: &Arc<str>) -> Option<usize> {
    let number = Value::String(Arc::clone(key)).to_number();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is not negative, and too great a one is out of range for every list"
    )]
    (number >= 0.0).then_some(number as usize)
}
