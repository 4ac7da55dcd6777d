//! The digest of everything that a run depends on.

use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::{Configuration, Plan};

/// Everything that determines the figures of a run.
#[derive(Serialize)]
struct Made<'a> {
    name: &'a str,
    command: Option<Vec<String>>,
    environment: BTreeMap<String, String>,
    log: Option<&'a String>,
    label: Option<&'a String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    given: Option<plimsoll_diagnose::trend::Readings>,
}

impl Plan {
    /// `blake3:` and the hexadecimal BLAKE3 digest of what a run of `configuration` depends on, as canonical JSON (RFC
    /// 8785): its name, command, environment, log and label. The timeout and the gate are not part of it: a different
    /// gate judges the same runs.
    pub fn digest(&self, configuration: &Configuration) -> String {
        let made = Made {
            name: &configuration.name,
            command: self.command(configuration),
            environment: self.environment(configuration),
            log: configuration.log.as_ref().or(self.log.as_ref()),
            label: self.label.as_ref(),
            given: configuration.given(),
        };
        let mut hasher = blake3::Hasher::new();
        serde_json_canonicalizer::to_writer(&made, &mut hasher).expect("texts have a canonical form");
        format!("blake3:{}", hasher.finalize().to_hex())
    }
}
