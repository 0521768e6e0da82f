//! Evaluation of a tree.
//!
//! The evaluator calls itself once for each level of the tree, and no tree has more than 50 levels.

mod call;
mod index;

use super::ast::Node;
use super::lexer::Operator;
use super::memory::{Memory, MemoryExceeded};
use super::{EvalError, Scope, Value, compare};

type Outcome = Result<Value, EvalError>;

/// Evaluates a whole tree.
pub(super) fn evaluate(root: &Node, scope: Scope<'_>) -> Outcome {
    let value = Evaluator {
        scope,
        memory: Memory::new(),
    }
    .node(root, 0)?;
    Ok(index::unfiltered(value))
}

/// The state of one evaluation.
struct Evaluator<'a> {
    scope: Scope<'a>,
    memory: Memory,
}

impl Evaluator<'_> {
    /// Evaluates a node at `depth`, counted from 0.
    fn node(&mut self, node: &Node, depth: usize) -> Outcome {
        let value = self.value(node, depth)?;
        self.memory.hold(depth, &value)?;
        if let Some(recorder) = self.scope.recorder {
            recorder.operand(&node.to_string(), &value);
        }
        Ok(value)
    }

    fn value(&mut self, node: &Node, depth: usize) -> Outcome {
        match node {
            Node::Literal(literal) => Ok(literal.0.clone()),
            Node::Wildcard => Ok(Value::from("*")),
            Node::Context(name) => Ok(self.scope.contexts.get(name).cloned().unwrap_or_default()),
            Node::Index { base, index } => self.index(base, index, depth),
            Node::Call {
                function, arguments, ..
            } => self.call(*function, arguments, depth),
            Node::Not(operand) => Ok(Value::from(!self.node(operand, depth + 1)?.is_truthy())),
            Node::Compare { operator, operands } => {
                let [left, right] = operands.as_ref();
                let left = self.node(left, depth + 1)?;
                let right = self.node(right, depth + 1)?;
                Ok(Value::from(compared(*operator, &left, &right)))
            }
            Node::And(operands) => self.first(operands, depth, |value| !value.is_truthy()),
            Node::Or(operands) => self.first(operands, depth, Value::is_truthy),
        }
    }

    /// The first operand that decides, or the last one; those behind it are not evaluated.
    fn first(&mut self, operands: &[Node], depth: usize, decides: impl Fn(&Value) -> bool) -> Outcome {
        let mut value = Value::Null;
        for operand in operands {
            value = self.node(operand, depth + 1)?;
            if decides(&value) {
                break;
            }
        }
        Ok(value)
    }
}

fn compared(operator: Operator, left: &Value, right: &Value) -> bool {
    match operator {
        Operator::Equal => compare::equal(left, right),
        Operator::NotEqual => !compare::equal(left, right),
        Operator::Less => compare::less(left, right),
        Operator::LessOrEqual => compare::less(left, right) || compare::equal(left, right),
        Operator::Greater => compare::less(right, left),
        Operator::GreaterOrEqual => compare::less(right, left) || compare::equal(left, right),
        // The parser makes nodes of their own for these.
        Operator::Not | Operator::And | Operator::Or => false,
    }
}

impl From<MemoryExceeded> for EvalError {
    fn from(error: MemoryExceeded) -> Self {
        Self::Failed(error.to_string())
    }
}
