//! Colours, and the rows of a job as a person sees them.

use gantry_actors::engine::plan::Conclusion;

use super::terminal::Style;

/// SGR code of what stands out.
pub const BOLD: &str = "1";

/// SGR code of what stands back.
pub const DIM: &str = "90";

/// Appends `text`, in the colour `code` if there are colours.
pub fn push_coloured(out: &mut Vec<u8>, colour: bool, code: &str, text: &str) {
    if colour {
        out.extend([b"\x1b[", code.as_bytes(), b"m", text.as_bytes(), b"\x1b[0m"].concat());
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

/// The colour of a conclusion.
pub fn colour_of(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Success => "32",
        Conclusion::Failure => "31",
        Conclusion::Cancelled => "33",
        Conclusion::Skipped => DIM,
    }
}

/// The markers that the log of a job has at the start of a row: colour, and what a person reads instead.
const MARKERS: [(&str, &str, &str); 7] = [
    ("##[error]", "31", "error: "),
    ("##[warning]", "33", "warning: "),
    ("##[notice]", "36", "notice: "),
    ("##[debug]", DIM, "debug: "),
    ("##[command]", "34", ""),
    ("##[group]", BOLD, "▾ "),
    ("##[endgroup]", DIM, "▴"),
];

fn marker(row: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    if !row.starts_with("##[") {
        return None;
    }
    MARKERS.iter().find(|(marker, ..)| row.starts_with(marker))
}

/// Appends a row of a job; markers stay as they are where there are no colours, so that programs find them.
pub fn push_row(out: &mut Vec<u8>, row: &str, style: Style) {
    match marker(row).filter(|_| style.colour) {
        Some((marker, code, label)) => {
            out.extend([b"\x1b[", code.as_bytes(), b"m", label.as_bytes()].concat());
            let plain = Style {
                colour: false,
                ..style
            };
            plain.push(out, &row[marker.len()..]);
            out.extend_from_slice(b"\x1b[0m");
        }
        None => style.push(out, row),
    }
}

/// A row of a job as text that cannot act on a terminal and is one line, without colours and markers.
pub fn plain_row(row: &str) -> String {
    let (label, rest) = match marker(row) {
        Some((marker, _, label)) => (*label, &row[marker.len()..]),
        None => ("", row),
    };
    let mut out = label.as_bytes().to_vec();
    let plain = Style {
        colour: false,
        terminal: true,
    };
    plain.push(&mut out, rest);
    String::from_utf8_lossy(&out).replace('\t', "    ")
}
