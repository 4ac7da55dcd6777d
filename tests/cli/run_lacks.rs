//! What a machine may lack or do while a command runs: no control group, a disk that cannot be written, limited view of
//! other processes, a clock that jumps. `plimsoll run` reports what it could not do, and does the rest.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use plimsoll::command::{EndCause, Enforcement};
use plimsoll::meter::{Metric, Source};
use plimsoll::record::Record;

use crate::run_faults::elsewhere;
use crate::support::{plimsoll, run};

fn record(json: &str) -> Record {
    let json = &json[json.find('{').unwrap_or_else(|| panic!("{json}"))..];
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn a_folder_that_is_read_only_is_found_before_the_command_runs() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mut command = plimsoll();
    command.args(["run", "--record"]).arg(disk.join("record.json")).args(["--", "touch"]).arg(dir.path().join("ran"));
    let Some((code, report)) = elsewhere(&format!("mount -t tmpfs -o ro tmpfs {}", disk.display()), &command) else {
        return;
    };
    assert_eq!(code, 2, "{report}");
    assert!(report.contains("record.json") && report.contains("its folder is read-only; make it writable"), "{report}");
    assert!(!dir.path().join("ran").exists());
}

#[test]
fn a_disk_that_the_command_fills_holds_the_record_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    fs::create_dir(&disk).unwrap();
    // The record's room was reserved in advance. Intermediate saves find none: each makes a file in the folder, for which
    // the command waits once the disk is full.
    let script = format!(
        "cat /dev/zero > {disk}/fill 2>/dev/null; touch {full}; until [ {disk} -nt {full} ]; do sleep 0.1; done",
        disk = disk.display(),
        full = dir.path().join("full").display(),
    );
    let kept = format!("{}; cp {}/record.json {}/kept.json", "\"$@\"; code=$?", disk.display(), dir.path().display());
    let mut command = Command::new("sh");
    let own = plimsoll();
    command.args(["-c", &format!("{kept}; exit $code"), "sh"]).arg(own.get_program());
    command.args(["run", "--record"]).arg(disk.join("record.json")).args(["--", "sh", "-c", &script]);
    let setup = format!("mount -t tmpfs -o size=2m tmpfs {}", disk.display());
    let Some((code, report)) = elsewhere(&setup, &command) else { return };
    let whole = Record::read(&dir.path().join("kept.json"));
    assert!(code == 0 && whole.is_ok(), "{code}: {report}");
    assert!(report.contains("could not be kept in") && report.contains("No space left on device"), "{report}");
}

#[test]
fn without_control_groups_all_but_their_figures_is_there() {
    let mut command = plimsoll();
    command.args(["run", "--json", "--peak-cgroup", "1GiB", "--peak-rss", "1GiB", "--", "true"]);
    let hidden = "umount -l /sys/fs/cgroup/memory; mount -t tmpfs tmpfs /sys/fs/cgroup";
    let Some((code, json)) = elsewhere(hidden, &command) else { return };
    let read = record(&json);
    assert_eq!(code, 3, "{json}");
    assert!(read.phases[0].readings.contains_key(&Metric::PeakRss));
    let why = &read.phases[0].unavailable[&Metric::PeakCgroup];
    assert!(why.contains("control group") && !read.verdicts.iter().any(|verdict| verdict.message.is_empty()), "{why}");

    let mut command = plimsoll();
    let grows = "dd if=/dev/zero of=/dev/null bs=300M count=1000000 2>/dev/null; sleep 3600";
    command.args(["run", "--json", "--enforce", "--peak-rss", "64MiB", "--", "sh", "-c", grows]);
    let Some((code, json)) = elsewhere(hidden, &command) else { return };
    let read = record(&json);
    let said = &read.verdicts[0].message;
    assert!(said.contains("enforced by the watchdog, which looks every 10ms; it has no control group: "), "{said}");
    let Some(EndCause::CeilingEnforced { by, .. }) = read.end.map(|end| end.cause) else { panic!("{json}") };
    assert!(code == 1 && matches!(by, Enforcement::Watchdog { .. }), "{json}");
}

#[test]
fn who_sees_no_processes_of_others_meters_their_own() {
    let own = plimsoll();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]).arg(own.get_program());
    let script = "(setsid dd if=/dev/zero of=/dev/null count=1 bs=48M 2>/dev/null &); sleep 0.3; dd if=/dev/zero of=/dev/null \
                  count=1 bs=32M 2>/dev/null";
    command.args(["run", "--json", "--no-config", "--", "sh", "-c", script]).current_dir("/");
    let Some((code, json)) = elsewhere("mount -t proc -o hidepid=2 proc /proc", &command) else { return };
    if json.contains("Permission denied") && !json.contains('{') {
        println!("not possible here: the program cannot be reached by another user: {json}");
        return;
    }
    let read = record(&json);
    assert_eq!(code, 0, "{json}");
    let peak = &read.phases[0].readings[&Metric::PeakRss];
    assert!(peak.bytes.bytes() > 30 << 20 && peak.source != Source::Exact, "{peak:?}");
}

/// A clock that is off by a day, in the other direction at each call.
const JUMPS: &str = r"
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
    static long asked;
    int result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME) time->tv_sec += ++asked % 2 ? 86400 : -86400;
    return result;
}
";

#[test]
fn a_clock_that_jumps_changes_no_duration_and_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (source, library) = (dir.path().join("jumps.c"), dir.path().join("jumps.so"));
    fs::write(&source, JUMPS).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status().unwrap();
    assert!(built.success());
    let mut command = plimsoll();
    command.args(["run", "--json", "--timeout", "1h", "--repeat", "2", "--", "sleep", "0.2"]);
    let (code, _, json) = run(command.env("LD_PRELOAD", &library).stdin(Stdio::null()));
    let read = record(&json);
    assert_eq!((code, read.end.map(|end| end.cause)), (0, Some(EndCause::Exited)), "{json}");
    let started = humantime::parse_rfc3339(&read.started).unwrap();
    let off = started.duration_since(SystemTime::now()).unwrap_or_else(|error| error.duration());
    assert!(off > Duration::from_secs(43_200), "the clock was asked, and jumps: {}", read.started);
    // A jump is a day, so half a day is far from both the jump and the run time.
    let half_a_day = Duration::from_secs(43_200);
    let sane = |ns: u64| (Duration::from_millis(200)..half_a_day).contains(&Duration::from_nanos(ns));
    assert!(read.runs.iter().all(|run| sane(run.wall_ns)) && sane(read.runs[1].started_ns), "{json}");
    assert!(sane(read.phases[0].wall_ns) && read.phases[0].timeline.is_sorted_by_key(|point| point.at_ns), "{json}");
    let available = &read.phases[0].readings[&Metric::AvailableFloor];
    assert!(
        matches!(available.source, Source::Sampled { interval_ns } if Duration::from_nanos(interval_ns) < half_a_day),
        "{available:?}"
    );
}
