//! [`DOCUMENTS`]: every document with a JSON Schema, as `plimsoll schema` lists and prints them.

use plimsoll_memory::schema::Document;
use serde_json::Value;

use crate::{config, diagnose, estimate, gate, gpu, inspect, matrix, record};

/// A document with a JSON Schema.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// The name for `plimsoll schema`.
    pub word: &'static str,
    /// A description, in one line.
    pub about: &'static str,
    /// The name and version; `docs/schema` has the schema under them.
    pub name: &'static str,
    /// Its JSON Schema (draft 2020-12).
    pub schema: fn() -> Value,
}

impl Listed {
    const fn of<D: Document>(word: &'static str, about: &'static str) -> Self {
        Self { word, about, name: D::NAME, schema: D::document_schema }
    }
}

/// Every document with a JSON Schema.
pub const DOCUMENTS: [Listed; 16] = [
    Listed::of::<record::Record>("record", "The record of a run, `plimsoll.record/1`"),
    Listed::of::<record::Differences>("differences", "What changed between two records, `plimsoll.differences/1`"),
    Listed::of::<inspect::Inspection>("inspect", "What is inside files, `plimsoll.inspect/1`"),
    Listed::of::<diagnose::Findings>("findings", "What went wrong, `plimsoll.findings/1`"),
    Listed::of::<estimate::Report>("estimate", "What training a model should cost, `plimsoll.estimate/1`"),
    Listed::of::<diagnose::ledger::Ledger>("ledger", "Bytes a parameter by stage, `plimsoll.ledger/1`"),
    Listed::of::<matrix::Matrix>("matrix", "Configurations beside a baseline, `plimsoll.matrix/1`"),
    Listed::of::<config::schema::ConfigFile>("config", "The configuration, plimsoll.toml"),
    Listed::of::<gate::history::HistoryReport>("history", "Figures over the commits, `plimsoll.history/1`"),
    Listed::of::<gate::bisect::Bisection>("bisect", "A search for a commit, `plimsoll.bisect/1`"),
    Listed::of::<gate::GateReport>("gate", "Records, judged, `plimsoll.gate/1`"),
    Listed::of::<gpu::Devices>("devices", "The GPUs of this machine, `plimsoll.devices/1`"),
    Listed::of::<record::Machine>("doctor", "What this machine allows, `plimsoll.doctor/1`"),
    Listed::of::<gate::bench::BenchGate>("bench-gate", "Benchmarks, judged, `plimsoll.bench-gate/1`"),
    Listed::of::<gate::calibration::Calibration>("calibration", "Ceilings that are proposed, `plimsoll.calibration/1`"),
    Listed::of::<gate::ratchet::Ratchet>("ratchet", "Ceilings that can be lowered, `plimsoll.ratchet/1`"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use plimsoll_memory::testing::assert_committed;

    use super::*;

    #[test]
    fn every_committed_schema_is_up_to_date_and_of_a_document() {
        let file = |document: &Listed| document.name.replace('/', "-") + ".json";
        for document in &DOCUMENTS {
            assert_eq!(document.name, format!("plimsoll.{}/1", document.word));
            assert_committed(&file(document), &(document.schema)());
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let committed: BTreeSet<String> = files.filter(|name| name.ends_with(".json")).collect();
        assert_eq!(committed, DOCUMENTS.iter().map(file).collect());
    }
}
