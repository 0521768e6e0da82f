//! The numbers that the lenient reader takes.

use super::super::super::number::is_decimal;
use super::super::scanner::Mistake;

/// Integers with more digits than this are refused.
const MAX_INTEGER_LENGTH: usize = 380;

/// Reads a number: one that begins with `0x` is hexadecimal, one that begins with another `0` octal.
pub(super) fn parse(digits: &str) -> Result<f64, Mistake> {
    let invalid = || Mistake::from(format!("Input string '{digits}' is not a valid number."));
    let is_other_base =
        digits.len() > 1 && digits.starts_with('0') && !digits[1..].starts_with(['.', 'e', 'E']);
    if is_other_base {
        let bits = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hexadecimal) => integer_bits(hexadecimal, 16),
            None => integer_bits(digits, 8),
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "numbers are doubles, as in every JSON reader"
        )]
        return bits.map(|bits| bits.cast_signed() as f64).ok_or_else(invalid);
    }
    if !is_decimal(digits) {
        return Err(invalid());
    }
    if digits.len() > MAX_INTEGER_LENGTH && !digits.contains(['.', 'e', 'E']) {
        return Err(format!("JSON integer {digits} is too large to parse.").into());
    }
    digits.parse().map_err(|_| invalid())
}

/// Reads the bits of a 64-bit integer.
fn integer_bits(digits: &str, radix: u32) -> Option<u64> {
    // The standard parser would also accept a sign here.
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}
