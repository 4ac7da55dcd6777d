//! Captures in object stores: what is fetched, server faults, and what is kept.

mod ahead;
mod faults;
mod kept;
mod reading;
mod server;
mod support;
