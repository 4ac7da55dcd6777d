//! The reader against files that torch wrote, whose truth is known, and against files that were made to do harm.

mod good;
mod hostile;
mod mutated;
mod probe;
mod rebuilt;
mod support;
mod truth;
