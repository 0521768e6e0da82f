//! A mistake in a file as a person reads it: its place, what is wrong, and the line with a caret under it.

use std::io::{self, Write};

use gantry_actors::engine::model::{Diagnostic, Position};

/// The most characters of a source line that are shown.
const WIDTH: usize = 100;

/// Writes a mistake and, where its place is in `source`, the line.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(out: &mut impl Write, diagnostic: &Diagnostic, source: &str) -> io::Result<()> {
    writeln!(out, "{}", printable(&diagnostic.to_string()))?;
    let Some(Position { line, column }) = diagnostic.place() else {
        return Ok(());
    };
    let text = usize::try_from(line)
        .ok()
        .and_then(|line| source.lines().nth(line.checked_sub(1)?));
    let Some(text) = text else { return Ok(()) };
    let column = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    let (shown, caret) = window(text, column);
    let margin = line.to_string();
    writeln!(out, "  {margin} | {shown}")?;
    writeln!(out, "  {:width$} | {:caret$}^", "", "", width = margin.len())
}

/// The part of a line that is shown, and how many characters of it stand before the caret.
fn window(line: &str, column: usize) -> (String, usize) {
    let length = line.chars().take(column.saturating_add(WIDTH)).count();
    let column = column.min(length);
    let start = if column < WIDTH { 0 } else { column - WIDTH / 2 };
    let shown: String = line.chars().skip(start).take(WIDTH).map(visible).collect();
    (shown, column - start)
}

/// A text of a file without characters that could act on the terminal; line breaks stay.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' { c } else { visible(c) })
        .collect()
}

fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, line: u32, column: u32, want: &str) {
        let diagnostic = Diagnostic {
            file: "w.yml".into(),
            position: Some(Position { line, column }),
            reached: None,
            message: "wrong".to_owned(),
        };
        let mut out = Vec::new();
        write(&mut out, &diagnostic, source).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        let (head, excerpt) = text.split_once('\n').expect("a first line");
        assert_eq!(head, format!("w.yml (Line: {line}, Col: {column}): wrong"));
        assert_eq!(excerpt, want);
    }

    #[test]
    fn the_caret_stands_under_the_place() {
        check("a: 1\n\tb\u{1b}ü: 2\n", 2, 3, "  2 |  b\u{fffd}ü: 2\n    |   ^\n");
        check("a: 1\n", 1, 5, "  1 | a: 1\n    |     ^\n");
        check("a: 1\n", 1, 99, "  1 | a: 1\n    |     ^\n");
        check("a: 1\n", 9, 1, "");
        check(&"x\n".repeat(10), 10, 1, "  10 | x\n     | ^\n");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = "0123456789".repeat(1000);
        let want = format!("  1 | {}\n    | {}^\n", &line[4950..5050], " ".repeat(50));
        check(&line, 1, 5001, &want);
    }
}
