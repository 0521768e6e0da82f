//! What is measured on: made by code, the same in every run.

pub mod commands;
pub mod expressions;
pub mod log;
pub mod secrets;
pub mod workflow;

/// Numbers that look random and are the same in every run (a 64-bit xorshift).
pub struct Numbers(u64);

impl Numbers {
    /// Starts a sequence; each seed has its own.
    pub fn new(seed: u64) -> Self {
        // The state must not be zero, and seeds that are close must not stay close.
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number, which is below `limit`.
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below a usize")]
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    /// One of some.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}
