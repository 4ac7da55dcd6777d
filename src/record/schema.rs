//! JSON Schemas of the documents, as `plimsoll schema` prints them and `docs/schema/` keeps them.

use super::differences::Differences;
use super::document::Record;
use plimsoll_memory::schema::Document;

impl Document for Record {
    const NAME: &'static str = "plimsoll.record/1";
    const TITLE: &'static str = "A record of plimsoll";
}

/// The JSON Schema (draft 2020-12) of a record.
pub fn record() -> serde_json::Value {
    Record::document_schema()
}

impl Document for Differences {
    const NAME: &'static str = "plimsoll.differences/1";
    const TITLE: &'static str = "What changed between two records of plimsoll";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll compare --json` prints.
pub fn differences() -> serde_json::Value {
    Differences::document_schema()
}

#[cfg(test)]
mod tests {
    use plimsoll_memory::testing::faults;
    use serde_json::Value;

    use super::*;
    use crate::record::{compare_records, sample};

    #[test]
    fn documents_follow_their_schemas_and_others_do_not() {
        let shards = sample::shards(2);
        for sample in [sample::test(), sample::command(), sample::repeated(), sample::ranks(2), shards[0].clone()] {
            assert_eq!(faults(&record(), &serde_json::to_value(&sample).unwrap()), [""; 0]);
        }
        for sample in [sample::record(), sample::failing()] {
            let mut document = serde_json::to_value(&sample).unwrap();
            assert_eq!(faults(&record(), &document), [""; 0]);

            document["schema"] = "plimsoll.record/2".into();
            document["wall_ns"] = Value::from(-1);
            document["policy"].as_object_mut().unwrap().remove("threads");
            document["results"]["entries"][0]["validation"]["status"] = "fine".into();
            let found = faults(&record(), &document);
            for at in ["/schema", "/wall_ns", "/policy: breaks oneOf", "/results/entries/0/validation"] {
                assert!(found.iter().any(|fault| fault.starts_with(at)), "{at} is not among {found:?}");
            }
        }
        let found = compare_records(&sample::record(), &sample::failing());
        assert_eq!(faults(&differences(), &serde_json::to_value(found).unwrap()), [""; 0]);
    }
}
