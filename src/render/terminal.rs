//! What the output is able to show, and job output made harmless for a terminal.

use std::env;
use std::io::IsTerminal;

/// How rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour.
    pub colour: bool,
    /// Whether control sequences of the jobs must be kept away from the output.
    pub terminal: bool,
}

impl Style {
    /// The style for an output of this process.
    ///
    /// `NO_COLOR` turns colours off and `CLICOLOR_FORCE` turns them on even if the output is no terminal.
    pub fn of(output: &impl IsTerminal) -> Self {
        let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = set("CLICOLOR_FORCE") && env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        Self::decide(output.is_terminal(), set("NO_COLOR"), forced)
    }

    fn decide(terminal: bool, no_colour: bool, forced: bool) -> Self {
        Self {
            colour: !no_colour && (terminal || forced),
            terminal,
        }
    }
}

/// Tells whether an output is a terminal on which lines can be replaced.
pub fn can_redraw(output: &impl IsTerminal) -> bool {
    let kind = env::var_os("TERM");
    output.is_terminal() && kind.is_some_and(|kind| !kind.is_empty() && kind != "dumb")
}

impl Style {
    /// Appends a row of a job to `out`.
    ///
    /// On a terminal only printable text, tabs and, where there are colours, SGR sequences (`ESC [ ... m`) are kept:
    /// other escape and control sequences could move the cursor, set the title, or write to the clipboard.
    /// Of text that a carriage return overwrites, the last is kept.
    /// Elsewhere only escape sequences are dropped.
    pub fn push(self, out: &mut Vec<u8>, row: &str) {
        let row = if self.terminal { visible_part(row) } else { row };
        let harmless = if self.terminal {
            !row.bytes().any(is_suspicious)
        } else {
            !row.contains('\u{1b}')
        };
        if harmless {
            out.extend_from_slice(row.as_bytes());
        } else {
            push_cleaned(out, row, self.colour);
        }
    }
}

fn push_cleaned(out: &mut Vec<u8>, row: &str, colour: bool) {
    let mut rest = row;
    let mut styled = false;
    while let Some(at) = rest.find(|c: char| c.is_control() && c != '\t') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let sequence = Sequence::at(&rest[at..]);
        if sequence.sgr && colour {
            out.extend_from_slice(&rest.as_bytes()[at..at + sequence.length]);
            styled = true;
        }
        rest = &rest[at + sequence.length..];
    }
    out.extend_from_slice(rest.as_bytes());
    if styled {
        out.extend_from_slice(b"\x1b[0m");
    }
}

/// Bytes that a control character may begin with: C0, DEL, and the first byte of C1 in UTF-8.
fn is_suspicious(byte: u8) -> bool {
    byte < 0x20 && byte != b'\t' || byte == 0x7f || byte == 0xc2
}

/// What remains visible of a row with carriage returns: the text after the last one that has any.
fn visible_part(row: &str) -> &str {
    if !row.contains('\r') {
        return row;
    }
    row.rsplit('\r').find(|part| !part.is_empty()).unwrap_or("")
}

/// A control character and what belongs to it.
struct Sequence {
    /// Its length in bytes, at least that of the control character.
    length: usize,
    /// Whether it only selects colours and weights.
    sgr: bool,
}

impl Sequence {
    /// The sequence at the start of `text`, by the grammar of ECMA-48.
    fn at(text: &str) -> Self {
        let mut chars = text.chars();
        let first = chars.next().unwrap_or_default();
        let (kind, introducer) = match first {
            '\u{1b}' => match chars.next() {
                Some(kind) => (kind, 1 + kind.len_utf8()),
                None => {
                    return Self {
                        length: 1,
                        sgr: false,
                    };
                }
            },
            // C1 controls are the two-character sequences in one: 0x9b is CSI, 0x9d is OSC.
            '\u{80}'..='\u{9f}' => (
                char::from_u32(u32::from(first) - 0x40).unwrap_or_default(),
                first.len_utf8(),
            ),
            other => {
                return Self {
                    length: other.len_utf8(),
                    sgr: false,
                };
            }
        };
        let body = &text[introducer..];
        match kind {
            '[' => Self::csi(body, introducer),
            // DCS, SOS, OSC, PM and APC hold a string that ends with BEL or ST; an open one takes the row.
            'P' | 'X' | ']' | '^' | '_' => Self {
                length: introducer + string_length(body),
                sgr: false,
            },
            ' '..='/' => Self {
                length: introducer + body.chars().next().map_or(0, char::len_utf8),
                sgr: false,
            },
            // An ESC before a control character or text beyond ASCII is dropped alone.
            kind if first == '\u{1b}' && !('0'..='~').contains(&kind) => Self {
                length: 1,
                sgr: false,
            },
            _ => Self {
                length: introducer,
                sgr: false,
            },
        }
    }

    fn csi(body: &str, introducer: usize) -> Self {
        let parameters = body
            .bytes()
            .take_while(|byte| (0x20..0x40).contains(byte))
            .count();
        let last = body
            .as_bytes()
            .get(parameters)
            .copied()
            .filter(|byte| (0x40..0x7f).contains(byte));
        let plain = body
            .bytes()
            .take(parameters)
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b';' | b':'));
        let length = introducer + parameters + usize::from(last.is_some());
        Self {
            length,
            sgr: last == Some(b'm') && plain,
        }
    }
}

fn string_length(body: &str) -> usize {
    let ends = [("\u{7}", 1), ("\u{1b}\\", 2), ("\u{9c}", 2)];
    let end = ends
        .iter()
        .filter_map(|(end, length)| body.find(end).map(|at| at + length))
        .min();
    end.unwrap_or(body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: &str, want: &str) {
        let mut out = Vec::new();
        Style {
            colour: true,
            terminal: true,
        }
        .push(&mut out, row);
        assert_eq!(String::from_utf8_lossy(&out), want, "{row:?}");
    }

    #[test]
    fn colours_stay_and_attacks_go() {
        check("plain\ttext grüß 日本", "plain\ttext grüß 日本");
        check("\u{1b}[1;31mred", "\u{1b}[1;31mred\u{1b}[0m");
        check("\u{1b}[38:5:196mx\u{1b}[m", "\u{1b}[38:5:196mx\u{1b}[m\u{1b}[0m");
        check("a\u{1b}[2Jb\u{1b}[1;1Hc\u{1b}[?1049hd", "abcd");
        check("a\u{1b}]0;title\u{7}b\u{1b}]52;c;eA==\u{1b}\\c", "abc");
        check("a\u{1b}]8;;http://x\u{1b}\\link", "alink");
        check("a\u{1b}Pq#0\u{9c}b\u{1b}_x", "ab");
        check("a\u{9b}2Jb\u{9d}0;t\u{7}c\u{85}d", "abcd");
        check("a\u{1b}(0b\u{1b}cd\u{8}\u{7f}\u{0}e\u{1b}", "abde");
        check("\u{1b}[>4;2mx\u{1b}[", "x");
        check("\u{1b}\u{1b}[2Jx\u{1b}ü", "xü");
        check("10%\r20%\r", "20%");
    }

    #[test]
    fn colours_go_where_none_are_wanted() {
        for terminal in [true, false] {
            let mut out = Vec::new();
            Style {
                colour: false,
                terminal,
            }
            .push(&mut out, "\u{1b}[31mred\u{1b}[0m");
            assert_eq!(out, b"red");
        }
        let mut out = Vec::new();
        Style {
            colour: false,
            terminal: false,
        }
        .push(&mut out, "10%\r20%");
        assert_eq!(out, b"10%\r20%");
    }

    #[test]
    fn styles_follow_the_variables() {
        let cases = [
            ((false, false, false), (false, false)),
            ((true, false, false), (true, true)),
            ((true, true, false), (false, true)),
            ((true, true, true), (false, true)),
            ((false, false, true), (true, false)),
        ];
        for ((terminal, no_colour, forced), (colour, is_terminal)) in cases {
            let want = Style {
                colour,
                terminal: is_terminal,
            };
            assert_eq!(Style::decide(terminal, no_colour, forced), want);
        }
    }
}
