//! The comparison operators with their coercions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Value, casing};

/// Two operands after coercion.
enum Operands<'a> {
    /// Both are null.
    Nulls,
    /// Both are truth values.
    Bools(bool, bool),
    /// Both are numbers, or are compared as such.
    Numbers(f64, f64),
    /// Both are texts.
    Texts(&'a str, &'a str),
    /// Both are lists or both are mappings; `true` if they are the same one.
    Composites(bool),
    /// A list or a mapping with something else.
    Incomparable,
}

fn coerce<'a>(left: &'a Value, right: &'a Value) -> Operands<'a> {
    match (left, right) {
        (Value::Null, Value::Null) => Operands::Nulls,
        (Value::Bool(left), Value::Bool(right)) => Operands::Bools(*left, *right),
        (Value::String(left), Value::String(right)) => Operands::Texts(left, right),
        (Value::Array(left), Value::Array(right)) => Operands::Composites(Arc::ptr_eq(left, right)),
        (Value::Object(left), Value::Object(right)) => Operands::Composites(Arc::ptr_eq(left, right)),
        _ if left.is_primitive() && right.is_primitive() => {
            Operands::Numbers(left.to_number(), right.to_number())
        }
        _ => Operands::Incomparable,
    }
}

/// The operator `==`.
#[expect(clippy::float_cmp, reason = "the language compares numbers exactly")]
pub(super) fn equal(left: &Value, right: &Value) -> bool {
    match coerce(left, right) {
        Operands::Nulls => true,
        Operands::Bools(left, right) => left == right,
        Operands::Numbers(left, right) => left == right,
        Operands::Texts(left, right) => casing::equal(left, right),
        Operands::Composites(same) => same,
        Operands::Incomparable => false,
    }
}

/// The operator `<`.
pub(super) fn less(left: &Value, right: &Value) -> bool {
    match coerce(left, right) {
        Operands::Bools(left, right) => !left && right,
        Operands::Numbers(left, right) => left < right,
        Operands::Texts(left, right) => casing::compare(left, right) == Ordering::Less,
        Operands::Nulls | Operands::Composites(_) | Operands::Incomparable => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_of_different_kinds_are_compared_as_numbers() {
        let cases = [
            (Value::Null, Value::from(false), true),
            (Value::Null, Value::from(""), true),
            (Value::Null, Value::Null, true),
            (Value::from(true), Value::from("1"), true),
            (Value::from(true), Value::from("true"), false),
            (Value::from("01"), Value::from(1.0), true),
            (Value::from("01"), Value::from("1"), false),
            (Value::from("A"), Value::from("a"), true),
            (Value::from(f64::NAN), Value::from(f64::NAN), false),
            (Value::array(Vec::new()), Value::array(Vec::new()), false),
            (Value::array(Vec::new()), Value::Null, false),
        ];
        for (left, right, want) in cases {
            assert_eq!(equal(&left, &right), want, "{left:?} == {right:?}");
            assert_eq!(equal(&right, &left), want, "{right:?} == {left:?}");
        }
        let array = Value::array(Vec::new());
        assert!(equal(&array, &array.clone()));
    }

    #[test]
    fn order_follows_the_same_coercions() {
        let cases = [
            (Value::Null, Value::Null, false),
            (Value::Null, Value::from(1.0), true),
            (Value::from(false), Value::from(true), true),
            (Value::from("10"), Value::from("9"), true),
            (Value::from("10"), Value::from(9.0), false),
            (Value::from("Z"), Value::from("_"), true),
            (Value::from(1.0), Value::from(f64::NAN), false),
            (Value::from(0.0), Value::array(Vec::new()), false),
        ];
        for (left, right, want) in cases {
            assert_eq!(less(&left, &right), want, "{left:?} < {right:?}");
        }
    }
}
