//! The known name that a mistyped one was probably meant to be.

/// The candidate that is nearest to `name`, if it is near enough to be a mistyping.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    let limit = (name.chars().count() / 2).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate.to_owned())
}

/// The least number of insertions, deletions and replacements that turn `left` into `right`.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(index + 1);
        for ((to, above), diagonal) in right.iter().zip(row.iter().skip(1)).zip(&row) {
            let before = next.last().copied().unwrap_or_default();
            let replaced = diagonal + usize::from(from != *to);
            next.push(replaced.min(above + 1).min(before + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested() {
        for (name, expected) in [
            ("buidl", Some("build")),
            ("BUILD", Some("build")),
            ("tests", Some("test")),
            ("deploy", None),
        ] {
            assert_eq!(nearest(name, ["build", "test"]).as_deref(), expected, "{name}");
        }
    }
}
