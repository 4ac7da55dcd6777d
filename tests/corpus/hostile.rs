//! Damaged or malicious files end in an error that names them, quickly and in little memory.

use std::collections::BTreeMap;

use crate::probe::{Outcome, probe};
use crate::support::hostile;

#[test]
fn no_hostile_file_does_harm() {
    let folder = hostile();
    let expected = std::fs::read(folder.join("expected.json")).unwrap();
    let expected: BTreeMap<String, String> = serde_json::from_slice(&expected).unwrap();
    assert!(expected.len() >= 250, "{} files", expected.len());
    let mut wrong = Vec::new();
    for (name, allowed) in &expected {
        // One process per file, so that one file's usage does not hide another's.
        match &probe(&[&folder.join(name)])[0] {
            Outcome::Refused(error) if error.contains(name.as_str()) => {}
            Outcome::Read if allowed == "harmless" => {}
            outcome => wrong.push(format!("{name}: {outcome:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} files:\n{}", wrong.len(), expected.len(), wrong.join("\n"));
    assert!(!std::path::Path::new("/tmp/plimsoll-hostile").exists(), "a file was executed");
}
