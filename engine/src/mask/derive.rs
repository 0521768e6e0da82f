//! From a value to the texts that are looked for.

use std::collections::HashSet;

use super::encode::{STANDARD, URL_SAFE, base64, base64_within, command, form, hex, json, percent, xml};
use super::index::cost;
use super::{Check, Encoding, check};

/// Texts longer than this are looked for in pieces, so that little has to be held back; the pieces of a value that
/// is printed as a whole touch each other and are masked as one.
const PIECE: usize = 256;
/// Base64 longer than this is looked for in short pieces that overlap, as tools fold it into rows.
const FOLDED: usize = 56;
/// The length of such a piece in digits: twelve bytes of the value.
const FOLDED_PIECE: usize = 16;
/// Encodings of longer values are not looked for, only the values themselves.
const ENCODED_LIMIT: usize = 64 * 1024;
/// Encodings of lines are not looked for in a value of more lines.
const LINES_LIMIT: usize = 4096;

/// The texts of one value.
pub(super) struct Patterns {
    pub found: Vec<(String, Encoding)>,
    /// Not so if there was no room for all.
    pub complete: bool,
}

/// Derives the texts; `room` is what the index can still take, in units of [`cost`].
pub(super) fn patterns(value: &str, room: usize) -> Patterns {
    let mut collector = Collector {
        found: Vec::new(),
        seen: HashSet::new(),
        room,
        complete: true,
    };
    collector.add(Encoding::Raw, value);
    let lines: Vec<&str> = value
        .split(['\r', '\n'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    if lines.len() > 1 || lines.first().is_some_and(|line| line.len() != value.len()) {
        collector.add(Encoding::Raw, &value.replace("\r\n", "\n"));
        for line in lines.iter().filter(|line| matches!(check(line), Check::Fine)) {
            collector.add(Encoding::Raw, line);
        }
    }
    if value.len() <= ENCODED_LIMIT {
        collector.encode(value);
        if lines.len() <= LINES_LIMIT {
            for line in lines
                .iter()
                .filter(|line| line.len() != value.len() && matches!(check(line), Check::Fine))
            {
                collector.encode(line);
            }
        }
    }
    Patterns {
        found: collector.found,
        complete: collector.complete,
    }
}

struct Collector {
    found: Vec<(String, Encoding)>,
    seen: HashSet<String>,
    room: usize,
    complete: bool,
}

impl Collector {
    /// Adds a text, in pieces if it is long.
    fn add(&mut self, encoding: Encoding, text: &str) {
        let mut rest = text;
        while rest.len() >= 2 * PIECE {
            let end = rest.ceil_char_boundary(PIECE);
            let (piece, after) = rest.split_at(end);
            self.add_piece(encoding, piece);
            rest = after;
        }
        self.add_piece(encoding, rest);
    }

    fn add_piece(&mut self, encoding: Encoding, text: &str) {
        if !self.complete || text.len() < super::index::ANCHOR || self.seen.contains(text) {
            return;
        }
        match self.room.checked_sub(cost(text.len())) {
            Some(room) => self.room = room,
            None => return self.complete = false,
        }
        self.seen.insert(text.to_owned());
        self.found.push((text.to_owned(), encoding));
    }

    fn encode(&mut self, value: &str) {
        self.encode_base64(Encoding::Base64, value.as_bytes(), STANDARD);
        self.encode_base64(Encoding::Base64Url, value.as_bytes(), URL_SAFE);
        // What RFC 3986, encodeURIComponent, encodeURI, path segments and paths leave as they are.
        for keep in ["", "!'()*", "!'()*;,/?:@&=+$#", "$&+=:@", "/"] {
            self.add(Encoding::Percent, &percent(value, keep, true));
            self.add(Encoding::Percent, &percent(value, keep, false));
        }
        self.add(Encoding::Percent, &form(value));
        for also in ["", "<>&", "<>&'\"+", "\u{7F}\u{85}\u{2028}\u{2029}"] {
            self.add(Encoding::Json, &json(value, also, false));
            self.add(Encoding::Json, &json(value, also, true));
        }
        self.add(Encoding::Json, &json(value, "", false).replace('/', "\\/"));
        for (double, single) in [
            ("\"", "'"),
            ("&quot;", "'"),
            ("&quot;", "&apos;"),
            ("&quot;", "&#x27;"),
            ("&quot;", "&#39;"),
            ("&#34;", "&#39;"),
        ] {
            self.add(Encoding::Xml, &xml(value, double, single));
        }
        self.add(Encoding::Hex, &hex(value, false));
        self.add(Encoding::Hex, &hex(value, true));
        self.add(Encoding::Expression, &value.replace('\'', "''"));
        self.add(Encoding::Command, &command(value, false));
        self.add(Encoding::Command, &command(value, true));
        self.add(Encoding::Quoted, &value.replace('"', "\\\""));
        self.add(Encoding::Quoted, &value.replace('\'', "'\\''"));
        self.add_unquoted(value);
        self.add_fragments(value);
    }

    fn encode_base64(&mut self, encoding: Encoding, value: &[u8], alphabet: &[u8; 64]) {
        let alone = base64(value, alphabet);
        let padding = "=".repeat((4 - alone.len() % 4) % 4);
        self.add_folded(encoding, &format!("{alone}{padding}"));
        self.add_folded(encoding, &alone);
        for before in 0..3 {
            self.add_folded(encoding, &base64_within(value, before, alphabet));
        }
    }

    /// Adds base64 so that a row break in the middle hides at most a few digits from the search.
    fn add_folded(&mut self, encoding: Encoding, digits: &str) {
        if digits.len() <= FOLDED {
            return self.add_piece(encoding, digits);
        }
        let last = digits.len() - FOLDED_PIECE;
        for start in (0..last).step_by(4).chain([last]) {
            self.add_piece(
                encoding,
                digits.get(start..start + FOLDED_PIECE).unwrap_or_default(),
            );
        }
    }

    /// Some tools strip the quotes around a value.
    fn add_unquoted(&mut self, value: &str) {
        let inside = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        if let Some(inside) = inside.filter(|_| value.chars().count() > 8) {
            self.add(Encoding::Unquoted, inside);
        }
    }

    /// PowerShell splits a value that it fails to run at `&+`, or else at the last `&`, and colours the parts. After
    /// `&+` one more character is lost.
    fn add_fragments(&mut self, value: &str) {
        let (before, after) = if let Some((before, after)) = value.split_once("&+") {
            let mut after = after.chars();
            after.next();
            (value.get(..before.len() + 2), after.as_str())
        } else if let Some((before, after)) = value.rsplit_once('&') {
            (value.get(..=before.len()), after)
        } else {
            return;
        };
        for fragment in before
            .into_iter()
            .chain([after])
            .filter(|fragment| fragment.chars().count() >= 6)
        {
            self.add(Encoding::PowerShell, fragment);
        }
    }
}
