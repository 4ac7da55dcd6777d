//! The JSON Schema of the document, as `plimsoll schema matrix` prints it and `docs/schema/` keeps it.

use super::document::Matrix;

/// The JSON Schema (draft 2020-12) of what `plimsoll matrix --json` prints.
pub fn matrix() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Matrix);
    schema.insert("title".to_owned(), "Configurations of a command beside a baseline".into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use plimsoll_memory::testing::{assert_committed, faults};

    #[test]
    fn the_committed_schema_is_up_to_date() {
        assert_committed("plimsoll.matrix-1.json", &matrix());
    }

    #[test]
    fn documents_follow_the_schema_and_others_do_not() {
        let table = sample::nemo_rl_2003();
        let mut document = serde_json::to_value(&table).unwrap();
        assert_eq!(faults(&matrix(), &document), [""; 0]);
        assert_eq!(serde_json::from_value::<Matrix>(document.clone()).unwrap(), table);

        document["schema"] = "plimsoll.matrix/2".into();
        document["rows"][0]["verdict"] = "fine".into();
        document.as_object_mut().unwrap().remove("outcome");
        let faults = faults(&matrix(), &document);
        for at in ["/schema", "/rows/0/verdict", ": no outcome"] {
            assert!(faults.iter().any(|fault| fault.starts_with(at)), "{at} is not among {faults:?}");
        }
    }
}
