//! The JSON Schema of the document, as `plimsoll schema ledger` prints it and `docs/schema/` keeps it.

use super::document::Ledger;
use plimsoll_memory::schema::Document;

impl Document for Ledger {
    const NAME: &'static str = "plimsoll.ledger/1";
    const TITLE: &'static str = "Bytes a parameter by stage, measured beside expected";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll ledger --json` prints.
pub fn ledger() -> serde_json::Value {
    Ledger::document_schema()
}

#[cfg(test)]
mod tests {
    use super::super::{MemoryKind, Reading};
    use super::*;
    use crate::estimate::{Model, Offload, Setup, ZeroStage};
    use plimsoll_memory::testing::faults;

    #[test]
    fn documents_follow_the_schema_and_others_do_not() {
        let readings: Vec<Reading> =
            ["start=1GB", "init=11GB", "step1=27GB", "later=29GB"].iter().map(|text| text.parse().unwrap()).collect();
        let setup = Setup { zero: ZeroStage::Two, offload: Offload::Cpu, ..Setup::default() };
        let model = Model::new(1_000_000_000);
        let found = Ledger::account(&model, &setup, MemoryKind::Host, readings, &[], Some(80_000_000_000)).unwrap();
        let mut document = serde_json::to_value(&found).unwrap();
        assert_eq!(faults(&ledger(), &document), [""; 0]);
        assert_eq!(serde_json::from_value::<Ledger>(document.clone()).unwrap(), found);

        document["excesses"][0]["ground"] = "guess".into();
        document.as_object_mut().unwrap().remove("movements");
        let faults = faults(&ledger(), &document);
        for at in ["/excesses/0/ground", ": no movements"] {
            assert!(faults.iter().any(|fault| fault.starts_with(at)), "{at} is not among {faults:?}");
        }
    }
}
