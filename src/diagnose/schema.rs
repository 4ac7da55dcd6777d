//! The JSON Schema of the document, as `plimsoll schema findings` prints it and `docs/schema/` keeps it.

use super::findings::Findings;
use plimsoll_memory::schema::Document;

impl Document for Findings {
    const NAME: &'static str = "plimsoll.findings/1";
    const TITLE: &'static str = "What went wrong";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll diagnose --json` prints.
pub fn findings() -> serde_json::Value {
    Findings::document_schema()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Analysis;
    use plimsoll_memory::testing::faults;

    #[test]
    fn documents_follow_the_schema_and_others_do_not() {
        let mut analysis = Analysis::default();
        analysis.begin("train.log");
        analysis.push(b"micro_batch_size: 4\n");
        analysis
            .push(b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity)\n");
        analysis.push(b"1: Killed\nsrun: error: node7: task 0: Out Of Memory\noom_reaper: reaped process 1 (a)\n");
        analysis.end();
        let found = analysis.findings(None);
        let mut document = serde_json::to_value(&found).unwrap();
        assert_eq!(faults(&findings(), &document), [""; 0]);
        assert_eq!(serde_json::from_value::<Findings>(document.clone()).unwrap(), found);

        document["schema"] = "plimsoll.findings/2".into();
        document["events"][0]["verdict"] = "bad-luck".into();
        document["events"][0].as_object_mut().unwrap().remove("evidence");
        let faults = faults(&findings(), &document);
        for at in ["/schema", "/events/0/verdict", "/events/0: no evidence"] {
            assert!(faults.iter().any(|fault| fault.starts_with(at)), "{at} is not among {faults:?}");
        }
    }
}
