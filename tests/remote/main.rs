//! Captures in object stores: what is fetched, what servers can do wrong, and what is kept.

mod ahead;
mod faults;
mod kept;
mod reading;
mod server;
mod support;
