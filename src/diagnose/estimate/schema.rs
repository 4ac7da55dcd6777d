//! The JSON Schema of the document, as `plimsoll schema estimate` prints it and `docs/schema/` keeps it.

use super::document::Report;
use plimsoll_memory::schema::Document;

impl Document for Report {
    const NAME: &'static str = "plimsoll.estimate/1";
    const TITLE: &'static str = "What training a model should cost";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll estimate --json` prints.
pub fn estimate() -> serde_json::Value {
    Report::document_schema()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Limits, Model, Setup, Shape, Tuning, ZeroStage};
    use plimsoll_memory::ByteSize;
    use plimsoll_memory::testing::faults;

    #[test]
    fn documents_follow_the_schema_and_others_do_not() {
        let shape = Shape { vocabulary: Some(32_000), ..Shape::new(32, 3072) };
        let model = Model { shape: Some(shape), ..Model::new(4_000_000_000) };
        let work = Setup { batch: Some(8), sequence: Some(2048), ..Setup::default() };
        let limits = Limits { vram: Some(ByteSize::gib(80)), ram: Some(ByteSize::gib(64)) };
        for setup in [
            Setup::default(),
            work,
            Setup { tuning: Tuning::Lora { rank: 8 }, zero: ZeroStage::Three, gpus: 8, ..work },
        ] {
            let report = Report::of(&model, &setup, &limits).unwrap();
            let mut document = serde_json::to_value(&report).unwrap();
            assert_eq!(faults(&estimate(), &document), [""; 0]);
            assert_eq!(serde_json::from_value::<Report>(document.clone()).unwrap(), report);

            document["schema"] = "plimsoll.estimate/2".into();
            document["rows"][0]["group"] = "other".into();
            document.as_object_mut().unwrap().remove("peak");
            let faults = faults(&estimate(), &document);
            for at in ["/schema", "/rows/0/group", ": no peak"] {
                assert!(faults.iter().any(|fault| fault.starts_with(at)), "{at} is not among {faults:?}");
            }
        }
    }
}
