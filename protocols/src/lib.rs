//! Wire
