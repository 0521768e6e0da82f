//! Workflow and action files as typed values with line and column.

mod action;
mod template;
mod workflow;

pub use action::*;
pub use template::*;
pub use workflow::*;
