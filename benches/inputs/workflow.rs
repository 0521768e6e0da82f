//! A long workflow: jobs with needs, matrix, services, expressions, scripts and comments.

const HEAD: &str = "\
# Made by benches/inputs/workflow.rs.
name: ci
run-name: ${{ github.event_name }} by ${{ github.actor }}
on:
  push:
    branches: [main, 'release/**']
    paths-ignore: ['docs/**', '*.md']
  pull_request:
    types: [opened, synchronize, reopened]
  workflow_dispatch:
    inputs:
      level: {description: how much to log, type: choice, options: [info, debug], default: info}
env:
  LEVEL: ${{ inputs.level || 'info' }}
defaults:
  run:
    shell: bash
jobs:
";

const JOB: &str = "  jobNN:
    name: Build NN on ${{ matrix.os }}
    runs-on: ${{ matrix.os }}
    needs: [NEEDS]
    if: ${{ !cancelled() && github.event_name != 'schedule' }}
    timeout-minutes: 30
    strategy:
      fail-fast: false
      matrix:
        os: [ubuntu-22.04, ubuntu-24.04]
        version: [20, 22, 24]
        include:
          - os: ubuntu-24.04
            version: 25
            experimental: true
    env:
      CARGO_TERM_COLOR: always
      TOKEN: ${{ secrets.TOKEN_NN }}
    outputs:
      digest: ${{ steps.build.outputs.digest }}
    services:
      database:
        image: postgres:17
        ports: ['5432:5432']
        options: >-
          --health-cmd pg_isready
          --health-interval 10s
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0
      - name: Set up node ${{ matrix.version }}
        uses: actions/setup-node@v4
        with:
          node-version: ${{ matrix.version }}
          cache: npm
      # The cache is shared by all jobs of this system.
      - uses: actions/cache@v4
        with:
          path: |
            ~/.cargo/registry
            target
          key: ${{ runner.os }}-cargo-${{ hashFiles('**/Cargo.lock') }}
      - name: Build
        id: build
        run: |
          set -euo pipefail
          cargo build --release --locked
          digest=$(sha256sum target/release/app | cut -d' ' -f1)
          echo \"digest=$digest\" >> \"$GITHUB_OUTPUT\"
      - name: Test
        if: ${{ steps.build.outputs.digest != '' && !contains(github.ref, 'draft') }}
        continue-on-error: ${{ matrix.experimental == true }}
        env:
          DATABASE_URL: postgres://localhost:${{ job.services.database.ports['5432'] }}/test
        run: cargo test --workspace -- --nocapture
      - name: Report
        if: failure()
        working-directory: reports
        run: echo \"::error::build NN of $GITHUB_REF failed\"
";

/// A valid workflow of so many lines, or up to a job more.
pub fn of_lines(lines: usize) -> String {
    let jobs = (lines - HEAD.lines().count()).div_ceil(JOB.lines().count());
    let mut text = String::from(HEAD);
    for job in 0..jobs {
        let needs = match job {
            0 => String::new(),
            _ => format!("job{}", job / 2),
        };
        text.push_str(&JOB.replace("NN", &job.to_string()).replace("NEEDS", &needs));
    }
    text
}
