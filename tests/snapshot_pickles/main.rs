//! Memory snapshots, read as a user's program reads them.

mod hostile;
mod large;
mod model;
mod simulation;
mod writer;
