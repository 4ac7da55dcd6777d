//! Faults on purpose: processes killed at random moments, full disks, files that change while they are read, damaged documents,
//! hostile `.pt` files. Whatever happens, nothing is lost, nothing wrong holds, and nothing hangs.
//!
//! Every kind runs a few tries from a fixed seed; `harness/faults.sh MINUTES` runs them from another seed for as long as it is
//! asked to, and prints the rows as a table.

mod damage;
mod disk;
mod kills;
mod readers;
mod scene;
