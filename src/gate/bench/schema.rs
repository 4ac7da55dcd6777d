//! The JSON Schema of the document, as `plimsoll schema bench-gate` prints it and `docs/schema/` keeps it.

use super::report::BenchGate;

/// The JSON Schema (draft 2020-12) of what `plimsoll bench-gate --json` prints.
pub fn bench_gate() -> serde_json::Value {
    let mut schema = schemars::schema_for!(BenchGate);
    schema.insert("title".to_owned(), "The benchmarks of criterion, judged by plimsoll".into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_memory::testing::assert_committed;

    #[test]
    fn the_committed_schema_is_up_to_date() {
        assert_committed("plimsoll.bench-gate-1.json", &bench_gate());
    }
}
