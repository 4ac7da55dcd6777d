//! [`Calibration`]: the result of `plimsoll calibrate` for a command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use plimsoll_memory::ceiling::Proposal;
use plimsoll_memory::schema::Document;

/// The result of `plimsoll calibrate` for a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// `plimsoll.calibration/1`.
    #[schemars(extend("const" = "plimsoll.calibration/1"))]
    pub schema: String,
    /// The name of the command.
    pub label: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The proposed ceilings.
    pub proposal: Proposal,
}

impl Calibration {
    /// Creates the calibration of `command` under the name `label`.
    pub fn new(label: String, command: Vec<String>, proposal: Proposal) -> Self {
        Self { schema: "plimsoll.calibration/1".to_owned(), label, command, proposal }
    }
}

impl Document for Calibration {
    const NAME: &'static str = "plimsoll.calibration/1";
    const TITLE: &'static str = "Ceilings proposed by plimsoll";
}

/// The JSON Schema (draft 2020-12) of what `plimsoll calibrate --json` prints.
pub fn schema() -> serde_json::Value {
    Calibration::document_schema()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_memory::testing::phases_of;

    use crate::gate::propose;
    use plimsoll_memory::testing::faults;

    #[test]
    fn a_calibration_follows_the_schema() {
        let proposal = propose(&[phases_of(10), phases_of(12)], "10% | 4 MiB".parse().unwrap());
        let calibration = Calibration::new("load".to_owned(), vec!["./load".to_owned()], proposal);
        assert_eq!(faults(&schema(), &serde_json::to_value(calibration).unwrap()), [""; 0]);
    }
}
