//! Shared by the tests of Plimsoll's packages: sample readings, approved snapshots, committed schemas.

mod readings;
#[cfg(feature = "schema")]
mod schema;

pub use readings::{phase, phases, phases_of};
#[cfg(feature = "schema")]
pub use schema::{assert_committed, faults};

/// Compares `text` with the approved `/snapshots/NAME.snap`.
pub fn assert_snapshot(name: &str, text: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots");
    insta::with_settings!({ snapshot_path => path, prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}
