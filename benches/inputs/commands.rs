//! Rows that are commands, of each kind that steps print.

const ROWS: [&str; 8] = [
    "::error file=src/main.rs,line=17,col=5,title=Build::expected one of `,` or `)`%0Afound `;`",
    "::warning::the option is deprecated, use --output",
    "::group::Install dependencies",
    "::endgroup::",
    "::debug::cache key: linux-node-22-0123456789abcdef",
    "::notice title=Release,file=CHANGELOG.md,line=3::version 1.2.3%2C not published yet",
    "::echo::off",
    "##[group]Run tests",
];

/// So many rows, one kind after the other.
pub fn of_lines(count: usize) -> String {
    ROWS.iter()
        .cycle()
        .take(count)
        .flat_map(|row| [row, "\n"])
        .collect()
}
