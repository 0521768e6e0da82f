//! From tokens to a tree, by two stacks: operands that are complete, and operators that wait for their right operand.
//!
//! Nothing here calls itself, so neither the length nor the nesting of a text can exhaust the stack. Nodes that are
//! too deep are replaced as they are made: a tree never is deeper than [`MAX_DEPTH`].

use std::ops::Range;
use std::sync::Arc;

use super::ast::{Builtin, Index, Literal, Node};
use super::functions::{self, Signature};
use super::lexer::{Lexer, Operator, Token, TokenKind, Unexpected};
use super::memory::utf16_len;
use super::{Names, ParseError, Place, Value};

/// The greatest depth of a tree; parentheses do not count.
pub(super) const MAX_DEPTH: usize = 50;

/// The greatest length of an expression in UTF-16 units.
const MAX_LENGTH: usize = 21_000;

/// Parses a whole expression.
pub(super) fn parse(source: &str, names: Names<'_>) -> Result<Node, ParseError> {
    if utf16_len(source) > MAX_LENGTH {
        return Err(ParseError::TooLong);
    }
    Parser {
        source,
        names,
        lexer: Lexer::new(source),
        operands: Vec::new(),
        operators: Vec::new(),
        called: None,
        is_too_deep: false,
    }
    .parse()
}

/// An operand that is complete.
struct Operand {
    node: Node,
    /// 1 for a leaf.
    depth: usize,
}

/// An operator that waits for its right operand, or a bracket that waits for its end.
enum Pending {
    Operator(Operator),
    Dereference,
    Group,
    Index,
    Call {
        signature: Signature,
        /// Where the parenthesis stands.
        parenthesis: Range<usize>,
        /// The number of operands before the first argument.
        operands: usize,
    },
}

struct Parser<'a> {
    source: &'a str,
    names: Names<'a>,
    lexer: Lexer<'a>,
    operands: Vec<Operand>,
    operators: Vec<Pending>,
    /// The function whose name was read last; its parenthesis follows.
    called: Option<Signature>,
    is_too_deep: bool,
}

impl Parser<'_> {
    fn parse(mut self) -> Result<Node, ParseError> {
        let mut last = None;
        while let Some(token) = self.next_token()? {
            last = Some(token.span.clone());
            self.push(token)?;
        }
        let Some(last) = last else {
            return Err(ParseError::Empty);
        };
        if !self.lexer.may_end() {
            return Err(ParseError::UnexpectedEnd(self.place(last)));
        }
        self.flush(0);
        match self.operands.pop() {
            Some(whole) if !self.is_too_deep => Ok(whole.node),
            _ => Err(ParseError::TooDeep),
        }
    }

    fn next_token(&mut self) -> Result<Option<Token>, ParseError> {
        self.lexer
            .next()
            .map_err(|Unexpected(span)| ParseError::UnexpectedSymbol(self.place(span)))
    }

    fn place(&self, span: Range<usize>) -> Place {
        Place {
            position: 1 + utf16_len(&self.source[..span.start]),
            symbol: self.source[span].to_owned(),
            expression: self.source.into(),
        }
    }

    fn push(&mut self, token: Token) -> Result<(), ParseError> {
        match token.kind {
            TokenKind::Literal(literal) => self.push_leaf(Node::Literal(literal)),
            TokenKind::PropertyName => {
                let name = Value::from(&self.source[token.span]);
                self.push_leaf(Node::Literal(Literal(name)));
            }
            TokenKind::Wildcard => self.push_leaf(Node::Wildcard),
            TokenKind::NamedValue => {
                let context = self.context(token.span)?;
                self.push_leaf(context);
            }
            TokenKind::Function => {
                let found = functions::find(&self.source[token.span.clone()], self.names);
                let unknown = || ParseError::UnrecognizedFunction(self.place(token.span.clone()));
                self.called = Some(found.ok_or_else(unknown)?);
            }
            TokenKind::Operator(operator) => self.push_operator(operator),
            TokenKind::Dereference => {
                self.flush(precedence(&Pending::Dereference));
                self.operators.push(Pending::Dereference);
            }
            TokenKind::StartIndex => {
                self.flush(precedence(&Pending::Dereference));
                self.operators.push(Pending::Index);
            }
            TokenKind::StartGroup => self.operators.push(Pending::Group),
            TokenKind::StartParameters => self.start_call(token.span),
            TokenKind::Separator => self.flush(0),
            TokenKind::EndGroup | TokenKind::EndIndex | TokenKind::EndParameters => self.close()?,
        }
        Ok(())
    }

    fn push_leaf(&mut self, node: Node) {
        self.operands.push(Operand { node, depth: 1 });
    }

    fn context(&self, span: Range<usize>) -> Result<Node, ParseError> {
        let name = canonical_context(&self.source[span.clone()]);
        match self
            .names
            .contexts
            .iter()
            .find(|known| known.eq_ignore_ascii_case(name))
        {
            Some(known) => Ok(Node::Context(Arc::from(*known))),
            None => Err(ParseError::UnrecognizedNamedValue(self.place(span))),
        }
    }

    fn push_operator(&mut self, operator: Operator) {
        let pending = Pending::Operator(operator);
        // A prefix operator waits for the operand that follows; it ends nothing.
        if operator != Operator::Not {
            self.flush(precedence(&pending));
        }
        self.operators.push(pending);
    }

    fn start_call(&mut self, parenthesis: Range<usize>) {
        if let Some(signature) = self.called.take() {
            let operands = self.operands.len();
            self.operators.push(Pending::Call {
                signature,
                parenthesis,
                operands,
            });
        }
    }

    /// Applies the waiting operators of at least this precedence, up to the innermost open bracket.
    fn flush(&mut self, least: u8) {
        while let Some(top) = self.operators.pop() {
            match top {
                Pending::Operator(operator) if precedence(&top) >= least => self.apply(operator),
                Pending::Dereference if precedence(&top) >= least => self.apply_index(),
                waiting => {
                    self.operators.push(waiting);
                    return;
                }
            }
        }
    }

    /// Completes the innermost open bracket.
    fn close(&mut self) -> Result<(), ParseError> {
        self.flush(0);
        match self.operators.pop() {
            Some(Pending::Index) => self.apply_index(),
            Some(Pending::Call {
                signature,
                parenthesis,
                operands,
            }) => {
                let arguments = self.operands.split_off(operands);
                self.check_count(&signature, arguments.len(), parenthesis)?;
                let depth = deepest(&arguments);
                let arguments = arguments.into_iter().map(|argument| argument.node).collect();
                let Signature {
                    builtin: function,
                    name,
                    ..
                } = signature;
                self.push_node(
                    Node::Call {
                        function,
                        name,
                        arguments,
                    },
                    depth,
                );
            }
            _ => {}
        }
        Ok(())
    }

    fn check_count(
        &self,
        signature: &Signature,
        count: usize,
        parenthesis: Range<usize>,
    ) -> Result<(), ParseError> {
        if count < signature.min {
            return Err(ParseError::TooFewParameters(self.place(parenthesis)));
        }
        if count > signature.max {
            return Err(ParseError::TooManyParameters(self.place(parenthesis)));
        }
        if signature.builtin == Builtin::Case && count.is_multiple_of(2) {
            return Err(ParseError::EvenParameters(self.place(parenthesis)));
        }
        Ok(())
    }

    fn apply_index(&mut self) {
        let (Some(index), Some(base)) = (self.operands.pop(), self.operands.pop()) else {
            return;
        };
        let depth = index.depth.max(base.depth);
        let index = match index.node {
            Node::Wildcard => Index::Wildcard,
            Node::Literal(Literal(Value::String(key))) => Index::Key(key),
            node => Index::Computed(Box::new(node)),
        };
        self.push_node(
            Node::Index {
                base: Box::new(base.node),
                index,
            },
            depth,
        );
    }

    fn apply(&mut self, operator: Operator) {
        let Some(right) = self.operands.pop() else { return };
        if operator == Operator::Not {
            self.push_node(Node::Not(Box::new(right.node)), right.depth);
            return;
        }
        let Some(left) = self.operands.pop() else { return };
        match operator {
            Operator::And | Operator::Or => self.apply_logical(operator, left, right),
            _ => {
                let depth = left.depth.max(right.depth);
                let operands = Box::new([left.node, right.node]);
                self.push_node(Node::Compare { operator, operands }, depth);
            }
        }
    }

    /// Joins two operands; one that has the same operator gives its operands to the new node.
    fn apply_logical(&mut self, operator: Operator, left: Operand, right: Operand) {
        let (mut operands, left_depth) = operands_of(operator, left);
        let (more, right_depth) = operands_of(operator, right);
        operands.extend(more);
        let node = if operator == Operator::And {
            Node::And(operands)
        } else {
            Node::Or(operands)
        };
        self.push_node(node, left_depth.max(right_depth));
    }

    /// Pushes a node whose deepest child has the depth `below`.
    fn push_node(&mut self, node: Node, below: usize) {
        let depth = below + 1;
        if depth > MAX_DEPTH {
            self.is_too_deep = true;
            self.push_leaf(Node::Wildcard);
        } else {
            self.operands.push(Operand { node, depth });
        }
    }
}

/// The name of the context that an author means: the forges that came after GitHub have names of their own for its
/// context (Gitea: docs, "Compared to GitHub Actions"; Forgejo: docs, "Forgejo Actions reference").
fn canonical_context(name: &str) -> &str {
    let is_github = ["gitea", "forgejo", "forge"]
        .iter()
        .any(|alias| alias.eq_ignore_ascii_case(name));
    if is_github { "github" } else { name }
}

fn deepest(operands: &[Operand]) -> usize {
    operands.iter().map(|operand| operand.depth).max().unwrap_or(0)
}

/// The operands that an operand adds to a node of `operator`, and the depth of the deepest.
fn operands_of(operator: Operator, operand: Operand) -> (Vec<Node>, usize) {
    match (operator, operand.node) {
        (Operator::And, Node::And(nodes)) | (Operator::Or, Node::Or(nodes)) => (nodes, operand.depth - 1),
        (_, node) => (vec![node], operand.depth),
    }
}

/// The precedence of what waits; brackets wait until they are closed.
fn precedence(pending: &Pending) -> u8 {
    match pending {
        Pending::Dereference => 6,
        Pending::Operator(Operator::Not) => 5,
        Pending::Operator(
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual,
        ) => 4,
        Pending::Operator(Operator::Equal | Operator::NotEqual) => 3,
        Pending::Operator(Operator::And) => 2,
        Pending::Operator(Operator::Or) => 1,
        Pending::Group | Pending::Index | Pending::Call { .. } => 0,
    }
}
