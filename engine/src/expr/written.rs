//! Expressions as their authors write them, and what they depend on.

use super::ast::{Builtin, Index, Literal, Node};
use super::format::{Segment, segments};
use super::{Expression, nodes};

/// The key of an entry of `needs`, `steps` and `jobs` that says how it ended.
const RESULT: &str = "result";

impl Expression {
    /// The expression as it stands in a template: `${{ ... }}`, and for mixed text the text around it too.
    pub fn template(&self) -> String {
        self.mixed_text()
            .unwrap_or_else(|| format!("${{{{ {} }}}}", self.source()))
    }

    /// Mixed text is one call of `format`, whose first argument is the text.
    fn mixed_text(&self) -> Option<String> {
        let Node::Call {
            function: Builtin::Format,
            arguments,
            ..
        } = &self.parsed.root
        else {
            return None;
        };
        let (Node::Literal(Literal(text)), values) = arguments.split_first()? else {
            return None;
        };
        let mut written = String::new();
        for segment in segments(text.as_str()?, values.len()).ok()? {
            match segment {
                Segment::Text(text) => written.push_str(text),
                Segment::Argument { index, .. } => {
                    let value = values.get(index)?;
                    written.extend(["${{ ", &value.to_string(), " }}"]);
                }
            }
        }
        Some(written)
    }

    /// Tells whether the value depends on more of the context `name` than how its entries ended.
    ///
    /// The context is one of entries with results and outputs, such as `needs`: results are known if all goes well,
    /// outputs are not.
    pub fn depends_on_outputs(&self, name: &str) -> bool {
        let is_context =
            |node: &Node| matches!(node, Node::Context(known) if known.eq_ignore_ascii_case(name));
        let is_result = |node: &Node| match node {
            Node::Index {
                base,
                index: Index::Key(key),
            } if key.eq_ignore_ascii_case(RESULT) => {
                matches!(&**base, Node::Index { base, .. } if is_context(base))
            }
            _ => false,
        };
        let uses = nodes(&self.parsed.root).filter(|node| is_context(node)).count();
        let results = nodes(&self.parsed.root).filter(|node| is_result(node)).count();
        uses > results
    }
}

#[cfg(test)]
mod tests {
    use super::super::Names;
    use super::*;

    fn parsed(source: &str) -> Expression {
        let names = Names {
            contexts: &["needs", "matrix", "github"],
            functions: &[],
        };
        Expression::parse(source, names).expect("an expression")
    }

    #[test]
    fn templates_are_as_they_were_written() {
        let cases = [
            ("github.ref", "${{ github.ref }}"),
            (
                "format('on {0} by {1}', github.ref, matrix.x == 1)",
                "on ${{ github.ref }} by ${{ matrix.x == 1 }}",
            ),
            ("format('{{a}} {0}', github.ref)", "{a} ${{ github.ref }}"),
            ("format(github.ref)", "${{ format(github.ref) }}"),
            ("format('{9}')", "${{ format('{9}') }}"),
        ];
        for (source, want) in cases {
            assert_eq!(parsed(source).template(), want);
        }
    }

    #[test]
    fn results_are_no_outputs() {
        let cases = [
            ("github.ref", false),
            ("needs.a.result == 'success'", false),
            ("contains(needs.*.result, 'failure')", false),
            ("needs[matrix.x].result", false),
            ("needs.a.outputs.x", true),
            ("needs.a.result == needs.b.outputs.x", true),
            ("toJSON(needs)", true),
            ("NEEDS.a.outputs", true),
        ];
        for (source, want) in cases {
            assert_eq!(parsed(source).depends_on_outputs("needs"), want, "{source}");
        }
    }
}
