//! Any bytes as a log with telemetry: read, judged, accounted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::diagnose::ledger::{Ledger, Place, Reading};
use plimsoll::diagnose::telemetry::{Position, Reader};
use plimsoll::diagnose::trend::Collector;
use plimsoll::estimate::{Model, Setup};

fuzz_target!(|log: &[u8]| {
    let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
    for (index, line) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        reader.line(Position { line: index as u64 + 1, offset }, &String::from_utf8_lossy(line), &mut samples);
        offset += line.len() as u64;
    }
    reader.finish(&mut samples);
    let mut collector = Collector::default();
    samples.iter().for_each(|sample| collector.push(sample));
    let _ = (collector.trends(), collector.readings(None));
    for place in [Place::Host, Place::Device] {
        let readings = Reading::of_samples(&samples, place);
        let _ = Ledger::account(&Model::new(1_000_000_000), &Setup::default(), place, readings, &samples, Some(1 << 40));
    }
});
