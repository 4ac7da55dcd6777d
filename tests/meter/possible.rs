//! Requirements of some tests that a machine may lack: permission to create control groups, or to swap.
//!
//! A test that is truly impossible here says so on standard error and passes; its own probe decides that, not the code
//! under test. If `PLIMSOLL_TESTS_MAY_LACK` is set, as on a machine that should have everything, only what it names may
//! be missing (`swap`, `cgroup`, separated by commas; empty for nothing): anything else fails its tests.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Whether the test of `what` can run: `Err` is the reason why not.
#[track_caller]
pub fn possible(what: &str, probe: Result<(), String>) -> bool {
    let Err(reason) = probe else { return true };
    if let Ok(may_lack) = std::env::var("PLIMSOLL_TESTS_MAY_LACK") {
        assert!(
            may_lack.split(',').any(|name| name.trim() == what),
            "{what} is not possible here: {reason}. Run the tests as root where {what} is allowed, or add `{what}` to \
             PLIMSOLL_TESTS_MAY_LACK"
        );
    }
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Not `eprintln!`, which the harness captures if a test passes.
    let _ = writeln!(std::io::stderr(), "{test}: not possible here: {what}: {reason}");
    false
}

/// Whether this process can create a control group that counts memory.
pub fn cgroup() -> Result<(), String> {
    let text = std::fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let first =
        text.lines().find(|line| line.split(':').nth(1).is_some_and(|names| names.split(',').any(|n| n == "memory")));
    let below = |line: &str| line.splitn(3, ':').nth(2).unwrap_or("/").trim_start_matches('/').to_owned();
    let (parents, file): (Vec<PathBuf>, &str) = match (first, text.lines().find(|line| line.starts_with("0::"))) {
        (Some(line), _) => (vec![Path::new("/sys/fs/cgroup/memory").join(below(line))], "memory.limit_in_bytes"),
        (None, Some(line)) => {
            let own = Path::new("/sys/fs/cgroup").join(below(line));
            (
                own.ancestors().take_while(|path| path.starts_with("/sys/fs/cgroup")).map(Path::to_owned).collect(),
                "memory.max",
            )
        }
        (None, None) => return Err("this process is in no control group".to_owned()),
    };
    let mut reasons = Vec::new();
    for parent in parents {
        let probe = parent.join(format!("plimsoll-probe-{}-{:?}", std::process::id(), std::thread::current().id()));
        match std::fs::create_dir(&probe) {
            Ok(()) => {
                let counts = probe.join(file).exists();
                std::fs::remove_dir(&probe).unwrap();
                if counts {
                    return Ok(());
                }
                reasons.push(format!("{} has no memory controller", parent.display()));
            }
            Err(error) => reasons.push(format!("{}: {error}", parent.display())),
        }
    }
    Err(reasons.join(", "))
}
