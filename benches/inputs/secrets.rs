//! Secrets of the kinds that people have: tokens, passwords with special characters, keys of several lines.

use super::Numbers;

const TOKEN: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const PASSWORD: &[u8] = b"abcdefghijkmnpqrstuvwxyz23456789!$%&/()=?+*#-_.:,;<>\"'\\";

/// So many secrets; of ten, seven are tokens, two are passwords and one is a key of twelve lines.
pub fn of_count(count: usize) -> Vec<String> {
    let mut numbers = Numbers::new(2);
    (0..count)
        .map(|index| match index % 10 {
            0 => key(&mut numbers),
            1 | 2 => text(&mut numbers, PASSWORD, 16),
            _ => format!("ghp_{}", text(&mut numbers, TOKEN, 36)),
        })
        .collect()
}

fn key(numbers: &mut Numbers) -> String {
    let lines: Vec<String> = (0..12).map(|_| text(numbers, TOKEN, 64)).collect();
    format!("-----BEGIN KEY-----\n{}\n-----END KEY-----", lines.join("\n"))
}

fn text(numbers: &mut Numbers, alphabet: &[u8], length: usize) -> String {
    (0..length).map(|_| char::from(*numbers.pick(alphabet))).collect()
}
