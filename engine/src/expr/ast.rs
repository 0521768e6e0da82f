//! The tree of an expression, and its canonical text.

use std::fmt;
use std::sync::Arc;

use super::lexer::{Operator, is_name};
use super::{StatusFunction, Value};

/// A primitive value that is written in the expression.
#[derive(Debug, Clone)]
pub(super) struct Literal(pub(super) Value);

/// A function, as the evaluator knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    Contains,
    StartsWith,
    EndsWith,
    Format,
    Join,
    ToJson,
    FromJson,
    Case,
    HashFiles,
    Status(StatusFunction),
}

/// A node of the tree. `Display` gives the canonical text: parsed again, it yields the same tree.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Literal(Literal),
    /// A context, named as the place of the expression spells it.
    Context(Arc<str>),
    Call {
        function: Builtin,
        /// The name as the documentation spells it.
        name: &'static str,
        arguments: Vec<Node>,
    },
    Index {
        base: Box<Node>,
        index: Index,
    },
    /// A `*` that an operator is applied to, as in `a[* == 'b']`; it is the text `*`.
    Wildcard,
    Not(Box<Node>),
    /// A comparison.
    Compare {
        operator: Operator,
        operands: Box<[Node; 2]>,
    },
    /// Two or more operands, none of which is an `And`.
    And(Vec<Node>),
    /// Two or more operands, none of which is an `Or`.
    Or(Vec<Node>),
}

/// What follows the operand that is indexed.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Index {
    /// `.*` or `[*]`
    Wildcard,
    /// `.key` or `['key']`
    Key(Arc<str>),
    /// Any other expression in brackets.
    Computed(Box<Node>),
}

impl PartialEq for Literal {
    /// Unlike the language's own equality this one is exact: it tells whether two trees are the same.
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Value::Number(left), Value::Number(right)) => {
                left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
            }
            (Value::String(left), Value::String(right)) => left == right,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Null, Value::Null) => true,
            _ => false,
        }
    }
}

impl Node {
    /// The children in the order of evaluation.
    pub(super) fn children(&self) -> Vec<&Self> {
        match self {
            Self::Literal(_) | Self::Context(_) | Self::Wildcard => Vec::new(),
            Self::Call { arguments: nodes, .. } | Self::And(nodes) | Self::Or(nodes) => {
                nodes.iter().collect()
            }
            Self::Index {
                base,
                index: Index::Computed(index),
            } => vec![base, index],
            Self::Index { base: node, .. } | Self::Not(node) => vec![node],
            Self::Compare { operands, .. } => operands.iter().collect(),
        }
    }

    /// How tightly the node holds together; a node needs parentheses where a tighter one is expected.
    fn tightness(&self) -> Tightness {
        match self {
            Self::Or(_) => Tightness::Or,
            Self::And(_) => Tightness::And,
            Self::Compare {
                operator: Operator::Equal | Operator::NotEqual,
                ..
            } => Tightness::Equality,
            Self::Compare { .. } => Tightness::Relation,
            Self::Not(_) => Tightness::Not,
            Self::Literal(_) => Tightness::Literal,
            Self::Context(_) | Self::Call { .. } | Self::Index { .. } | Self::Wildcard => {
                Tightness::Indexable
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tightness {
    Or,
    And,
    Equality,
    Relation,
    Not,
    Literal,
    Indexable,
}

impl Operator {
    fn text(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::And => "&&",
            Self::Or => "||",
        }
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => literal.fmt(f),
            Self::Context(name) => f.write_str(name),
            Self::Call { name, arguments, .. } => {
                write!(f, "{name}(")?;
                write_joined(f, arguments, ", ", Tightness::Or)?;
                f.write_str(")")
            }
            Self::Index { base, index } => {
                write_operand(f, base, Tightness::Indexable)?;
                index.fmt(f)
            }
            Self::Wildcard => f.write_str("*"),
            Self::Not(operand) => {
                f.write_str("!")?;
                write_operand(f, operand, Tightness::Not)
            }
            Self::Compare { operator, operands } => {
                let [left, right] = operands.as_ref();
                // Comparisons group from the left, so only the right operand must hold tighter.
                let (own, tighter) = match self.tightness() {
                    Tightness::Equality => (Tightness::Equality, Tightness::Relation),
                    _ => (Tightness::Relation, Tightness::Not),
                };
                write_operand(f, left, own)?;
                write!(f, " {} ", operator.text())?;
                write_operand(f, right, tighter)
            }
            Self::And(operands) => write_joined(f, operands, " && ", Tightness::Equality),
            Self::Or(operands) => write_joined(f, operands, " || ", Tightness::And),
        }
    }
}

fn write_operand(f: &mut fmt::Formatter<'_>, node: &Node, least: Tightness) -> fmt::Result {
    if node.tightness() < least {
        write!(f, "({node})")
    } else {
        write!(f, "{node}")
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, nodes: &[Node], between: &str, least: Tightness) -> fmt::Result {
    for (at, node) in nodes.iter().enumerate() {
        if at > 0 {
            f.write_str(between)?;
        }
        write_operand(f, node, least)?;
    }
    Ok(())
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wildcard => f.write_str(".*"),
            Self::Key(key) if is_name(key) => write!(f, ".{key}"),
            Self::Key(key) => write!(f, "['{}']", key.replace('\'', "''")),
            Self::Computed(node) => write!(f, "[{node}]"),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Null => f.write_str("null"),
            Value::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Value::Number(number) if number.is_infinite() => {
                f.write_str(if *number > 0.0 { "Infinity" } else { "-Infinity" })
            }
            // Numbers far from 1 get an exponent; all digits are kept, so the text gives the same number.
            Value::Number(number) if *number != 0.0 && !(1e-7..1e21).contains(&number.abs()) => {
                write!(f, "{number:e}")
            }
            Value::Number(number) => write!(f, "{number}"),
            other => f.write_str(&other.to_text()),
        }
    }
}
