//! `plimsoll doctor`: its claims about a machine match what `plimsoll run` then does there.

use std::process::Command;

use plimsoll::meter::{Doctor, FigureSight, Metric, Sight, Source};
use plimsoll::record::Record;

use crate::support::{plimsoll, run};

fn examined() -> Doctor {
    let (code, out, err) = run(plimsoll().args(["doctor", "--json"]));
    assert_eq!((code, err.as_str()), (0, ""));
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

fn of<'a>(doctor: &'a Doctor, figure: &str) -> &'a FigureSight {
    doctor.figures.iter().find(|one| one.figure == figure).unwrap_or_else(|| panic!("no {figure}: {doctor:?}"))
}

fn metered(flags: &[&str]) -> Record {
    metered_command(flags, &["sleep", "0.1"])
}

fn metered_command(flags: &[&str], command: &[&str]) -> Record {
    let (_, _, json) = run(plimsoll().args(["run", "--json", "--no-config"]).args(flags).arg("--").args(command));
    serde_json::from_str(&json[json.find('{').unwrap_or(0)..]).unwrap_or_else(|error| panic!("{error}: {json}"))
}

#[test]
fn what_is_called_exact_is_exact_in_a_run() {
    let doctor = examined();
    let phase = metered(&["--cgroup"]).phases.remove(0);
    let own = phase.readings.get(&Metric::PeakCgroup).filter(|reading| reading.counter.contains("plimsoll-"));
    let group = of(&doctor, "peak of a control group");
    match group.sight {
        Sight::Exact => assert_eq!(own.map(|reading| reading.source), Some(Source::Exact), "{group:?}: {phase:?}"),
        Sight::Sampled | Sight::Missing => {
            assert!(own.is_none_or(|reading| reading.source != Source::Exact), "{group:?}: {own:?}");
            assert!(!group.how.is_empty());
        }
    }
    // A single process is known to be one on every machine; several are counted exactly if the kernel reports each.
    let count = metered_command(&[], &["sh", "-c", "sleep 0.1; :"]).phases.remove(0).process_count.unwrap();
    let births = of(&doctor, "number of processes").sight;
    assert_eq!(births == Sight::Exact, count.source == Source::Exact, "{count:?}");
    assert_eq!(of(&doctor, "peak RSS of one process").sight, Sight::Exact);
}

#[test]
fn a_ceiling_is_kept_in_the_way_that_is_told() {
    let shown = examined();
    let by_group = of(&shown, "ceilings that --enforce keeps").sight == Sight::Exact;
    let record = metered(&["--enforce", "--peak-rss", "1GiB"]);
    let command = record.verdicts.iter().find(|verdict| verdict.subject == "command").unwrap();
    assert_eq!(command.message.contains("of a control group"), by_group, "{}", command.message);
}

#[test]
fn a_person_is_told_what_would_help() {
    let doctor = examined();
    let (code, out, _) = run(plimsoll().arg("doctor"));
    assert!(code == 0 && out.contains("machine") && out.contains("peak RSS of one process"), "{out}");
    for command in doctor.commands() {
        assert!(out.contains(command), "{command}: {out}");
    }
}

#[test]
fn a_user_namespace_alone_gives_no_group() {
    let exact = |json: &str| {
        let doctor: Doctor = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
        of(&doctor, "peak of a control group").sight == Sight::Exact
    };
    let mut unshared = Command::new("unshare");
    unshared.args(["--user", "--map-root-user", "--cgroup"]).arg(plimsoll().get_program());
    let (code, inside, said) = run(unshared.args(["doctor", "--json"]));
    if said.starts_with("unshare") {
        return println!("not possible here: {said}");
    }
    assert_eq!(code, 0, "{said}");
    let (_, outside, _) = run(plimsoll().args(["doctor", "--json"]));
    assert!(!exact(&inside) || exact(&outside), "{inside} {outside}");
}
