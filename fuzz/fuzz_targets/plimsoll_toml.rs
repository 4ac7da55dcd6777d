//! Any text as plimsoll.toml: it is read, or refused with the place of the error; the gate accepts the settings of
//! every profile.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use plimsoll::config::{Config, ConfigError};

fuzz_target!(|text: &str| {
    let config = match Config::parse(Path::new("plimsoll.toml"), text) {
        Ok(config) => config,
        Err(error) => {
            assert!(!matches!(error, ConfigError::Read { .. }) && !error.to_string().is_empty());
            return;
        }
    };
    let profiles: Vec<Option<&str>> = [None].into_iter().chain(config.profiles().map(Some)).collect();
    for profile in profiles {
        for label in [None, Some(""), Some("train-large")] {
            let resolved = config.resolve(profile, label).expect("the profile is there");
            let _ = (resolved.ceilings(), resolved.baseline(), resolved.allow());
            for section in ["gate", "bench_gate"] {
                let limits = resolved.limits(section).len();
                let prefix = format!("{section}.limits.");
                assert_eq!(limits, resolved.iter().filter(|(key, _)| key.starts_with(&prefix)).count());
                assert!(resolved.confidence(section).is_none_or(|confidence| (0.5..1.0).contains(&confidence)));
            }
            assert!(resolved.iter().all(|(_, set)| set.origin.to_string().starts_with("plimsoll.toml:")));
        }
    }
});
