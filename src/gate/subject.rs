//! [`Subject`]: what a record measured, which groups runs and finds their baselines.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Record, Semantics};

/// What a record measured. Runs of the same subject are compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Subject {
    /// The kind of subject.
    pub kind: SubjectKind,
    /// The test binary; absent for other kinds, and if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The label of a command, the name of a test, the operator of a capture.
    pub label: String,
}

/// The kind of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// A kernel on the entries of a capture.
    Capture,
    /// A test in a process of its own.
    Test,
    /// A command and the processes below it.
    Command,
    /// A benchmark of another tool, whose figures were imported.
    Benchmark,
}

impl Subject {
    /// The subject of `record`.
    pub fn of(record: &Record) -> Self {
        let (kind, suite) = match &record.semantics {
            Semantics::Capture(_) => (SubjectKind::Capture, None),
            Semantics::Test(test) => (SubjectKind::Test, test.suite.clone()),
            Semantics::Command(_) => (SubjectKind::Command, None),
        };
        Self { kind, suite, label: record.semantics.subject().to_owned() }
    }

    /// The name of its file in a folder of baselines: the label of a command if it is a valid file name; otherwise the
    /// closest valid name plus part of a digest, so that no two subjects share a file.
    ///
    /// If a subject has several records, those after the first have their number before the extension.
    pub fn file_name(&self, number: usize) -> String {
        let number = if number == 0 { String::new() } else { format!(".{}", number + 1) };
        const LONGEST_NAME: usize = 120;
        let whole = self.to_string();
        let may = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '=' | '@' | ',');
        // `train.2` may also be a label: a digest distinguishes it.
        let numbered = whole.rsplit('.').next().is_some_and(|end| end.parse::<usize>().is_ok());
        let plain: String = whole.chars().map(|c| if may(c) { c } else { '_' }).take(LONGEST_NAME).collect();
        let begins = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if self.kind == SubjectKind::Command && !numbered && plain == whole && plain.starts_with(begins) {
            return format!("{plain}{number}.json");
        }
        let digest = blake3::hash(format!("{:?} {whole}", self.kind).as_bytes()).to_hex();
        format!("{}-{}{number}.json", if plain.starts_with(begins) { &plain } else { "_" }, &digest[..8])
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.suite {
            Some(suite) => write!(f, "{suite}::{}", self.label),
            None => f.write_str(&self.label),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::sample;

    fn command(label: &str) -> Subject {
        Subject { kind: SubjectKind::Command, suite: None, label: label.to_owned() }
    }

    #[test]
    fn records_say_what_they_are_of() {
        assert_eq!(Subject::of(&sample::command()), command("train"));
        assert_eq!(Subject::of(&sample::test()).to_string(), "reader::tests::opens_in_constant_memory");
        assert_eq!(Subject::of(&sample::record()).label, "torch.nn.functional.embedding");
    }

    #[test]
    fn a_file_is_called_like_its_subject_where_it_may_be() {
        assert_eq!(command("train").file_name(0), "train.json");
        let name = command("a/b").file_name(0);
        assert!(name.starts_with("a_b-") && name.len() == "a_b-01234567.json".len(), "{name}");
        assert_ne!(Subject { kind: SubjectKind::Test, ..command("train") }.file_name(0), "train.json");
        assert_ne!(command("a/b").file_name(0), command("a:b").file_name(0));
        assert_eq!(command("train").file_name(2), "train.3.json");
        assert!(!command("../../etc").file_name(0).starts_with('.'));
    }

    proptest! {
        #[test]
        fn any_subject_has_a_file_of_its_own(one in ".{0,200}", other in ".{0,200}") {
            let (a, b) = (command(&one).file_name(0), command(&other).file_name(0));
            prop_assert!(!a.contains('/') && !a.starts_with('.') && a.len() < 160 && a.is_ascii());
            prop_assert_eq!(a == b, one == other);
        }
    }
}
