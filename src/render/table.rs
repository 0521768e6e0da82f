//! Text in columns.

use std::io::{self, Write};

use super::diagnostic::printable;

/// Writes rows of cells under a head, each column as wide as its widest cell.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(out: &mut impl Write, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    line(out, &widths, head.iter().copied())?;
    for row in rows {
        line(out, &widths, row.iter().map(String::as_str))?;
    }
    Ok(())
}

fn line<'a>(
    out: &mut impl Write,
    widths: &[usize],
    cells: impl ExactSizeIterator<Item = &'a str>,
) -> io::Result<()> {
    let last = cells.len().saturating_sub(1);
    for (column, (cell, width)) in cells.zip(widths).enumerate() {
        if column == last {
            write!(out, "{}", printable(cell))?;
        } else {
            write!(out, "{:width$}  ", printable(cell))?;
        }
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_aligned() {
        let mut out = Vec::new();
        let rows = [
            vec!["ü".to_owned(), "x".to_owned()],
            vec!["long".to_owned(), "y".to_owned()],
        ];
        super::write(&mut out, &["A", "B"], &rows).expect("a vector takes all");
        assert_eq!(String::from_utf8_lossy(&out), "A     B\nü     x\nlong  y\n");
    }
}
