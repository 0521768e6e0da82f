//! From the ECMAScript flavour of matcher files to the flavour of the `regex` crate.
//!
//! The crate runs in linear time, so a hostile expression cannot stall the log; what it cannot do in linear time
//! (look-around, back references) is refused.

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r" \t\n\r\f\x0B";

/// Translates an expression.
pub(super) fn translate(source: &str) -> Result<String, &'static str> {
    let mut translator = Translator {
        rest: source,
        out: String::with_capacity(source.len() * 2),
    };
    while let Some(char) = translator.next() {
        match char {
            '\\' => translator.escape(false)?,
            '[' => translator.class()?,
            '(' => translator.group()?,
            '{' => translator.brace(),
            '}' => translator.literal('}'),
            other => translator.out.push(other),
        }
    }
    Ok(translator.out)
}

struct Translator<'s> {
    rest: &'s str,
    out: String,
}

impl Translator<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let char = chars.next();
        self.rest = chars.as_str();
        char
    }

    fn literal(&mut self, char: char) {
        // `\<` and `\>` are word boundaries in the target's flavour.
        if char.is_ascii_punctuation() && !matches!(char, '<' | '>') {
            self.out.push('\\');
        }
        self.out.push(char);
    }

    /// What follows a backslash. The classes are those of ASCII, as ECMAScript has them.
    fn escape(&mut self, in_class: bool) -> Result<(), &'static str> {
        let char = self.next().ok_or("it ends with a backslash")?;
        match char {
            'd' => self.set("", DIGIT),
            'w' => self.set("", WORD),
            's' => self.set("", SPACE),
            'D' => self.set("^", DIGIT),
            'W' => self.set("^", WORD),
            'S' => self.set("^", SPACE),
            'b' if in_class => self.out.push_str(r"\x08"),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' if !in_class => self.out.push_str(r"\B"),
            'n' | 'r' | 't' | 'f' | 'v' | 'p' | 'P' => self.out.extend(['\\', char]),
            'e' => self.out.push_str(r"\x1B"),
            '0' => self.out.push_str(r"\x00"),
            '1'..='9' | 'k' => return Err("back references need more than linear time"),
            'x' => self.code_point(2),
            'u' => self.code_point(4),
            'c' => {
                let letter = self.next().ok_or("it ends with \\c")?;
                self.out.extend(char::from_u32(u32::from(letter) % 32));
            }
            other => self.literal(other),
        }
        Ok(())
    }

    fn set(&mut self, prefix: &str, members: &str) {
        self.out.extend(["[", prefix, members, "]"]);
    }

    /// `\xHH` or `\uHHHH`; with too few digits the letter stands for itself.
    fn code_point(&mut self, digits: usize) {
        match self
            .rest
            .get(..digits)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        {
            Some(text) => {
                self.out.extend(["\\x{", text, "}"]);
                self.rest = self.rest.get(digits..).unwrap_or_default();
            }
            None => self.out.push(if digits == 2 { 'x' } else { 'u' }),
        }
    }

    /// A character class; set operations and nested classes are only of the target's flavour and are escaped.
    fn class(&mut self) -> Result<(), &'static str> {
        self.out.push('[');
        if let Some(rest) = self.rest.strip_prefix('^') {
            self.rest = rest;
            self.out.push('^');
        }
        let mut first = true;
        let mut after_dash = false;
        while let Some(char) = self.next() {
            match char {
                ']' if !first => {
                    self.out.push(']');
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                '-' if after_dash || self.starts_class_escape() => self.literal('-'),
                '-' => self.out.push('-'),
                '[' | ']' | '&' | '~' => self.literal(char),
                other => self.out.push(other),
            }
            after_dash = char == '-';
            first = false;
        }
        Err("a character class is not closed")
    }

    fn starts_class_escape(&self) -> bool {
        self.rest
            .strip_prefix('\\')
            .is_some_and(|rest| rest.starts_with(['d', 'D', 'w', 'W', 's', 'S']))
    }

    fn group(&mut self) -> Result<(), &'static str> {
        if ["?=", "?!", "?<=", "?<!"]
            .iter()
            .any(|prefix| self.rest.starts_with(prefix))
        {
            return Err("look-around needs more than linear time");
        }
        if self.rest.starts_with("?>") {
            return Err("atomic groups need more than linear time");
        }
        self.out.push('(');
        Ok(())
    }

    /// A brace is literal unless it is a whole quantifier.
    fn brace(&mut self) {
        let quantifier = self
            .rest
            .split_once('}')
            .map(|(inside, _)| inside)
            .filter(|inside| {
                let (low, high) = inside.split_once(',').unwrap_or((inside, ""));
                !low.is_empty()
                    && low.len() < 6
                    && high.len() < 6
                    && (low.bytes().chain(high.bytes())).all(|b| b.is_ascii_digit())
            });
        match quantifier {
            Some(inside) => {
                self.out.extend(["{", inside, "}"]);
                self.rest = self.rest.get(inside.len() + 1..).unwrap_or_default();
            }
            None => self.literal('{'),
        }
    }
}
