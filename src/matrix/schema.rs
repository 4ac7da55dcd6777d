//! The JSON Schema of the document, printed by `plimsoll schema matrix` and stored in `docs/schema/`.

use super::document::Matrix;
use plimsoll_memory::schema::Document;

impl Document for Matrix {
    const NAME: &'static str = "plimsoll.matrix/1";
    const TITLE: &'static str = "Configurations of a command beside a baseline";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll matrix --json` prints.
pub fn matrix() -> serde_json::Value {
    Matrix::document_schema()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use plimsoll_memory::testing::faults;

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
