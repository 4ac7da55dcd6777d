//! The reader against files that torch wrote, with known truth, and against malicious files.

mod good;
mod hostile;
mod mutated;
mod probe;
mod rebuilt;
mod support;
mod truth;
