//! Any bytes as a configuration of a model or of DeepSpeed, estimated.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::estimate::{Limits, Report, config};
use plimsoll_fuzz::with_file;

fuzz_target!(|text: &[u8]| {
    with_file(text, |path| {
        let Ok(settings) = config::read(path) else { return };
        let Ok((model, setup)) = settings.finish() else { return };
        let _ = Report::of(&model, &setup, &Limits::default());
    });
});
