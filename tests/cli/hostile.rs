//! Hostile workers: whatever a worker answers, a run fails; it does not pass, hang or exhaust the memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use plimsoll::capture::Capture;
use plimsoll::record::{FailureKind, Record};
use plimsoll::run::{AuditOptions, Check};
use plimsoll::timing::Protocol;
use plimsoll_harness::supervisor::Workers;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::support::Scene;

/// Answers each kind of request with the file of its name, `@` in it being the number of the request.
const WORKER: &str = r#"#!/bin/sh
export LC_ALL=C
dir=$(dirname "$0")
head -c 65536 /dev/zero >&4
id=0
while IFS= read -r line <&3; do
    case "$line" in *'"id":'*) id=${line#*'"id":'}; id=${id%%[!0-9]*} ;; esac
    type=${line#*'"type":"'}
    type=${type%%'"'*}
    [ "$type" = bye ] && exit 0
    [ -x "$dir/$type" ] && . "$dir/$type"
    sed "s/@/$id/g" "$dir/$type" >&3
    [ -e "$dir/$type.last" ] && exit 0
done
"#;

/// What a worker would answer that launched a kernel, if its outputs were right.
const OUTPUT: &str = r#"{"path":"","tensor":{"dtype":"bfloat16","shape":[1,32,64],"offset":0,"bytes":4096}}"#;

fn answers() -> Vec<(&'static str, String)> {
    let times = |count: usize| vec!["100"; count].join(",");
    let outcome = format!(r#""elapsed_ns":5,"outputs":[{OUTPUT}],"mutated":[]"#);
    vec![
        ("idle", r#"{"type":"region","id":@,"durations_ns":[1],"outputs":[]}"#.to_owned()),
        ("hello", r#"{"type":"hello","protocol":2,"worker":"builtin","pid":1,"versions":{},"sources":[]}"#.to_owned()),
        ("launch", format!(r#"{{"type":"launched","id":@,{outcome}}}"#)),
        (
            "profile",
            format!(
                r#"{{"type":"timed","id":@,"index":0,"launches_per_sample":1,"durations_ns":[{}],"again":{{{outcome}}}}}"#,
                times(3)
            ),
        ),
        ("next", r#"{"type":"profiled","id":@}"#.to_owned()),
        ("audit", r#"{"type":"ready","id":@}"#.to_owned()),
        (
            "region",
            format!(
                r#"{{"type":"region","id":@,"starts_ns":[{0}],"durations_ns":[{0}],"outputs":[[{OUTPUT}]]}}"#,
                times(6)
            ),
        ),
        ("settle", r#"{"type":"settled","id":@,"mutated":[]}"#.to_owned()),
        ("release", r#"{"type":"released"}"#.to_owned()),
    ]
}

/// A worker that answers so.
struct Hostile {
    scene: Scene,
}

impl Hostile {
    fn new() -> Self {
        let hostile = Self { scene: Scene::new(1) };
        fs::create_dir(hostile.path("")).unwrap();
        fs::write(hostile.path("worker"), WORKER).unwrap();
        fs::set_permissions(hostile.path("worker"), fs::Permissions::from_mode(0o755)).unwrap();
        answers()
            .iter()
            .for_each(|(request, answer)| hostile.answers(request, format!("{answer}\n").as_bytes(), false));
        hostile
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scene.path("hostile").join(name)
    }

    /// Has it answer a request with these bytes, and end then if they are the last.
    fn answers(&self, request: &str, answer: &[u8], last: bool) {
        fs::write(self.path(request), answer).unwrap();
        let last_of = self.path(&format!("{request}.last"));
        if last {
            fs::write(last_of, "").unwrap();
        } else {
            let _ = fs::remove_file(last_of);
        }
    }

    /// Has it do this when it is asked.
    fn does(&self, request: &str, script: &str) {
        fs::write(self.path(request), script).unwrap();
        fs::set_permissions(self.path(request), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The record of a check; `None` if the run did not begin.
    fn check(&self, audit: bool) -> Option<Record> {
        let capture = Capture::open(&self.scene.capture()).unwrap();
        let workers = Workers::of(self.path("worker")).unwrap().timeout(Duration::from_secs(2));
        let workers = if audit { workers.audited() } else { workers };
        let kernel = || "builtin:embedding".parse().unwrap();
        let mut check = Check::of(&capture)
            .protocol(Protocol::Samples { warmup: 1, launches: 3.try_into().unwrap() })
            .kernel(workers.isolated(kernel()));
        if audit {
            // What is right is no secret of the worker's.
            let witness = Workers::of(env!("CARGO_BIN_EXE_plimsoll")).unwrap().audited();
            check = check.profile_only().audit(AuditOptions::default(), witness.isolated(kernel()));
        }
        check.run().ok().map(|report| report.into_record())
    }

    fn failure(&self) -> (FailureKind, String) {
        let record = self.check(false).unwrap();
        let failure = record.results.entries[0].validation.clone().unwrap().error.unwrap();
        (failure.kind, failure.message)
    }
}

/// Numbers that answers may hold in place of theirs.
const NUMBERS: [&str; 10] = [
    "-1",
    "0",
    "4097",
    "1e300",
    "-0.5",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "\"7\"",
    "[[[[[[]]]]]]",
];

/// One change of an answer.
#[derive(Clone, Debug)]
enum Change {
    Nothing,
    Bytes(Vec<u8>),
    Cut(Index),
    Twice,
    Number(Index, &'static str),
    Byte(Index, u8),
    Grown(Index, u16),
}

impl Change {
    fn of(&self, answer: &str) -> Vec<u8> {
        let mut bytes = answer.as_bytes().to_vec();
        match self {
            Self::Nothing => {}
            Self::Bytes(other) => bytes.clone_from(other),
            Self::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Self::Twice => bytes = [answer, "\n", answer].concat().into_bytes(),
            Self::Number(at, number) => {
                let digits: Vec<_> = answer.match_indices(|c: char| c.is_ascii_digit()).map(|(at, _)| at).collect();
                if !digits.is_empty() {
                    let start = digits[at.index(digits.len())];
                    let end = answer[start..].find(|c: char| !c.is_ascii_digit()).map_or(answer.len(), |n| start + n);
                    bytes.splice(start..end, number.bytes());
                }
            }
            Self::Byte(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            // A piece of it again and again.
            Self::Grown(at, times) => {
                let at = at.index(bytes.len());
                let piece = bytes[at..].iter().take(8).copied().collect::<Vec<_>>().repeat(usize::from(*times));
                bytes.splice(at..at, piece);
            }
        }
        bytes
    }
}

fn changes() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => Just(Change::Nothing),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(Change::Bytes),
        1 => any::<Index>().prop_map(Change::Cut),
        1 => Just(Change::Twice),
        4 => (any::<Index>(), select(&NUMBERS[..])).prop_map(|(at, number)| Change::Number(at, number)),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => (any::<Index>(), any::<u16>()).prop_map(|(at, times)| Change::Grown(at, times)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_passes_hangs_or_is_a_fault_of_the_supervisor(
        changes in prop::collection::vec((changes(), any::<bool>()), 9), audit: bool,
    ) {
        let hostile = Hostile::new();
        for ((request, answer), (change, last)) in answers().iter().zip(&changes) {
            let mut bytes = change.of(answer);
            // Silence is the timeout's.
            let last = *last && !matches!(change, Change::Nothing);
            if !last {
                bytes.push(b'\n');
            }
            hostile.answers(request, &bytes, last);
        }
        if let Some(record) = hostile.check(audit) {
            prop_assert!(record.exit_code != 0, "{:#?}", record.results);
        }
    }
}

#[test]
fn a_worker_that_answers_without_an_end_is_ended() {
    let hostile = Hostile::new();
    for (script, kind, said) in [
        ("exec sh -c 'yes x | tr -d \"\\n\" >&3'\n", FailureKind::ChannelClosed, "a message of more than"),
        ("exec yes '{\"type\":\"released\"}' >&3\n", FailureKind::ChannelClosed, "CachesDropped in answer to launch"),
        ("exec yes\n", FailureKind::Timeout, "no answer within 2s"),
        ("exec sleep 600\n", FailureKind::Timeout, "no answer within 2s"),
        ("kill -STOP $$\n", FailureKind::Timeout, "was stopped (SIGSTOP)"),
        ("exec 3>&- 4>&-; exec sleep 600\n", FailureKind::ChannelClosed, "closed its channel"),
        ("exit 3\n", FailureKind::Exit, "code 3"),
    ] {
        hostile.does("launch", script);
        let failure = hostile.failure();
        assert!(failure.0 == kind && failure.1.contains(said), "{script}: {failure:?}");
    }
}

#[test]
fn a_worker_names_no_file_that_never_ends() {
    let hostile = Hostile::new();
    let pipe = hostile.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let sources = format!(r#"["/dev/zero","{}"]"#, pipe.display());
    let hello = answers()[1].1.replace(r#""sources":[]"#, &format!(r#""sources":{sources}"#));
    hostile.answers("hello", format!("{hello}\n").as_bytes(), false);
    let record = hostile.check(false).unwrap();
    assert_eq!(record.exit_code, 1, "zeros do not match");
}
