//! Any JSON as a record, with its digest made right so that it gets past that check: it is read or refused, and a
//! record that is read can be compared, judged, reported and written again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::record::{Record, compare_records, figures};
use plimsoll::report;
use plimsoll_fuzz::with_file;

fuzz_target!(|bytes: &[u8]| {
    let as_it_is = with_file(bytes, Record::read);
    let Ok(mut record) = serde_json::from_slice::<Record>(bytes) else {
        assert!(as_it_is.is_err(), "what is no record is not read");
        return;
    };
    record.semantics_digest = record.semantics.digest();
    if record.check().is_err() || record.schema != "plimsoll.record/1" {
        return;
    }
    let _ = figures(&record);
    assert!(!compare_records(&record, &record).semantics_changed(), "a record means what it means");
    for text in [report::markdown(std::slice::from_ref(&record)), report::html(std::slice::from_ref(&record))] {
        assert!(!text.contains('\u{1b}'), "escape sequences do not get through");
    }
    let written = serde_json::to_vec(&record).expect("a record has a JSON form");
    let again = with_file(&written, Record::read).expect("what was written is read");
    assert_eq!(serde_json::to_vec(&again).expect("a JSON form"), written);
});
