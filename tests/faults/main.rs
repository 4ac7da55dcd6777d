//! Deliberate faults: processes killed at random moments, full disks, files that change while they are read, damaged
//! documents, hostile `.pt` files. Whatever happens, nothing is lost, nothing wrong passes, and nothing hangs.
//!
//! Every kind runs a few tries from a fixed seed; `harness/faults.sh MINUTES` uses another seed for as long as
//! requested, and prints the rows as a table.

mod damage;
mod disk;
mod kills;
mod readers;
mod scene;
