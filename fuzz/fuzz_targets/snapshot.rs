//! Any bytes as a memory snapshot, with every report that is made of one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::ByteSize;
use plimsoll::diagnose::snapshot::{Options, Snapshot};
use plimsoll::report::snapshot::{flame_graph, page};

fuzz_target!(|bytes: &[u8]| {
    let options = Options { budget: ByteSize::mib(64), ..Options::default() };
    let Ok(mut snapshot) = Snapshot::read("fuzz", bytes, options) else { return };
    let findings = snapshot.findings().unwrap();
    let devices: Vec<u32> = snapshot.devices().collect();
    let timelines: Vec<_> = devices.iter().filter_map(|&device| snapshot.timeline(device, 100).unwrap()).collect();
    let _ = page(&findings, &timelines);
    for device in devices {
        if let Some(root) = snapshot.flame_graph(device).unwrap() {
            let _ = flame_graph(&root, "fuzz");
        }
    }
});
