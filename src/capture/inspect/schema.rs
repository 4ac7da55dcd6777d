//! The JSON Schema of the document, which `plimsoll schema inspect` prints and `docs/schema/` holds.

use super::document::Inspection;
use plimsoll_memory::schema::Document;

impl Document for Inspection {
    const NAME: &'static str = "plimsoll.inspect/1";
    const TITLE: &'static str = "What is inside files of torch.save";
}

/// The JSON Schema (draft 2020-12) of the output of `plimsoll inspect --json`.
pub fn inspection() -> serde_json::Value {
    Inspection::document_schema()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::inspect::{DigestFunction, Options, inspect};
    use plimsoll_memory::testing::faults;

    #[test]
    fn documents_follow_the_schema_and_others_do_not() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        for options in [Options::default(), Options { digest: Some(DigestFunction::Blake3), verify: true }] {
            let found = inspect(&fixtures, options);
            assert_eq!(found.error, None);
            let mut document = serde_json::to_value(&found).unwrap();
            assert_eq!(faults(&inspection(), &document), [""; 0]);
            assert_eq!(serde_json::from_value::<Inspection>(document.clone()).unwrap(), found);

            document["schema"] = "plimsoll.inspect/2".into();
            document["entries"][0]["tensors"][0]["dtype"] = "float7".into();
            document["totals"].as_object_mut().unwrap().remove("tensors");
            let faults = faults(&inspection(), &document);
            for at in ["/schema", "/entries/0/tensors/0/dtype", "/totals: no tensors"] {
                assert!(faults.iter().any(|fault| fault.starts_with(at)), "{at} is not among {faults:?}");
            }
        }
    }
}
