//! [`Reason`]: the record's [`FailureKind`], limited to kinds that a worker may name.

use plimsoll::record::FailureKind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Why a worker could not do what was asked: a word of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reason {
    /// A failure for the record of the call.
    Failure(#[serde(deserialize_with = "of_a_worker")] FailureKind),
    /// The kernel cannot be loaded on this machine.
    Unavailable(Unavailable),
}

/// A requirement of the kernel is missing: only in answer to `hello`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unavailable {
    /// `unavailable`.
    #[serde(rename = "unavailable")]
    Unavailable,
}

impl Reason {
    /// The failure for the record.
    pub fn failure(self) -> FailureKind {
        match self {
            Self::Failure(kind) => kind,
            Self::Unavailable(_) => FailureKind::Unsupported,
        }
    }
}

impl From<FailureKind> for Reason {
    fn from(kind: FailureKind) -> Self {
        Self::Failure(kind)
    }
}

/// Whether a worker can know of such a failure. Only the supervisor sees how a worker ends; a worker that could name
/// such an end would forge evidence.
const fn is_of_a_worker(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Exception
        | FailureKind::HostOom
        | FailureKind::DeviceOom
        | FailureKind::DeviceFault
        | FailureKind::MutatedInput
        | FailureKind::StaleOutput
        | FailureKind::LateWrite
        | FailureKind::NotATensor
        | FailureKind::UnwrittenOutput
        | FailureKind::Unsupported
        | FailureKind::Input => true,
        FailureKind::Timeout
        | FailureKind::Signal
        | FailureKind::Exit
        | FailureKind::OomKill
        | FailureKind::Ceiling
        | FailureKind::ChannelClosed
        | FailureKind::TimeMismatch
        | FailureKind::Tampered
        | FailureKind::Cancelled => false,
    }
}

fn of_a_worker<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FailureKind, D::Error> {
    let kind = FailureKind::deserialize(deserializer)?;
    if is_of_a_worker(kind) {
        Ok(kind)
    } else {
        Err(D::Error::custom(format!("only the supervisor may report `{}`", kind.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_says_the_words_of_the_record_for_what_it_can_know() {
        let words = [
            "exception",
            "host-oom",
            "device-oom",
            "device-fault",
            "unsupported",
            "unavailable",
            "input",
            "stale-output",
            "late-write",
            "mutated-input",
            "not-a-tensor",
            "unwritten-output",
        ];
        for word in words {
            let text = format!("\"{word}\"");
            let reason: Reason = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&reason).unwrap(), text);
            let recorded = if word == "unavailable" { "unsupported" } else { word };
            assert_eq!(reason.failure().name(), recorded);
        }
        let others = FailureKind::ALL.map(FailureKind::name).into_iter().filter(|name| !words.contains(name));
        let others: Vec<_> = others.chain(["", "Unavailable", "surprise"]).collect();
        assert_eq!(others.len(), 9 + 3, "{others:?}");
        for word in others {
            assert!(serde_json::from_str::<Reason>(&format!("\"{word}\"")).is_err(), "{word}");
        }
        assert!(serde_json::from_str::<Reason>("null").is_err());
    }
}
