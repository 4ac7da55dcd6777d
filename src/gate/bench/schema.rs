//! The JSON Schema of the document, as `plimsoll schema bench-gate` prints it and `docs/schema/` keeps it.

use super::report::BenchGate;
use plimsoll_memory::schema::Document;

impl Document for BenchGate {
    const NAME: &'static str = "plimsoll.bench-gate/1";
    const TITLE: &'static str = "The benchmarks of criterion, judged by plimsoll";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll bench-gate --json` prints.
pub fn bench_gate() -> serde_json::Value {
    BenchGate::document_schema()
}
