//! The JSON Schema of the document, printed by `plimsoll schema bench-gate` and stored in `docs/schema/`.

use super::report::BenchGate;
use plimsoll_memory::schema::Document;

impl Document for BenchGate {
    const NAME: &'static str = "plimsoll.bench-gate/1";
    const TITLE: &'static str = "Benchmarks, judged by plimsoll";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll bench-gate --json` prints.
pub fn bench_gate() -> serde_json::Value {
    BenchGate::document_schema()
}
