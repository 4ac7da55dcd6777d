use std::path::Path;

use super::*;
use plimsoll_diagnose::trend;
use crate::gate::Outcome;

const GIB: u64 = 1 << 30;

fn plan(text: &str) -> Plan {
    Plan::parse(Path::new("m.toml"), text).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    Plan::parse(Path::new("m.toml"), text).unwrap_err().to_string()
}

#[test]
fn nemo_rl_2003_s_table_is_reproduced_from_its_logs() {
    let table = sample::nemo_rl_2003();
    let readings: Vec<_> = table.rows.iter().map(|row| (row.verdict, &*row.reading)).collect();
    let expected = [
        (RowVerdict::Baseline, "baseline"),
        (RowVerdict::Leak, "leak, growing"),
        (RowVerdict::Fragmentation, "fragmentation, varies by rank"),
        (RowVerdict::Cured, "cured at +33.7 % time"),
    ];
    assert_eq!(readings, expected);
    let of = |row: &Row, figure| row.figures[&figure].value as f64;
    for (row, (seconds, allocated, reserved)) in
        table.rows.iter().zip([(95.0, 0.5, 5.2), (87.0, 8.9, 26.0), (91.0, 0.6, 15.5), (127.0, 1.1, 3.0)])
    {
        assert_eq!(of(row, Figure::StepTime), seconds * 1e9, "{}", row.name);
        for (figure, gib) in [(Figure::Allocated, allocated), (Figure::Reserved, reserved)] {
            assert!((of(row, figure) / GIB as f64 - gib).abs() < 0.005, "{} {figure}", row.name);
        }
    }
    let spread = table.rows[2].reserved_spread.unwrap();
    assert_eq!((spread.lowest_worker.rank, spread.ranks, spread.rank_dependent), (Some(3), 6, true));
    // Memory is near the baseline but time is not: no configuration passes the gate.
    assert_eq!((table.outcome, table.exit_code()), (Outcome::Fail, 1));
    assert_eq!(table.rows.iter().map(|row| row.passes).collect::<Vec<_>>(), [None, Some(false), Some(false), Some(false)]);
}

#[test]
fn another_gate_is_another_judgement_of_the_same_runs() {
    let (plan, runs) = sample::nemo_rl_2003_runs();
    for (time, expected) in [("33%", Some(false)), ("34%", Some(true)), ("1s", Some(false)), ("32s", Some(true))] {
        let gate = Gate { time: Some(time.parse().unwrap()), ..plan.gate };
        let table = Matrix::of(&Plan { gate, ..plan.clone() }, &runs);
        assert_eq!(table.rows[3].passes, expected, "{time}");
    }
    let table = Matrix::of(&Plan { gate: Gate::default(), ..plan.clone() }, &runs);
    assert_eq!((table.outcome, table.rows[1].verdict), (Outcome::Pass, RowVerdict::Leak));
    let gate = Gate { peak_rss: Some("5%".parse().unwrap()), ..Gate::default() };
    assert_eq!(Matrix::of(&Plan { gate, ..plan.clone() }, &runs).exit_code(), 3, "no log has it");
    assert_eq!(Matrix::of(&plan, &runs[1..]).exit_code(), 3, "the baseline has no run");
}

#[test]
fn what_is_expected_to_fail_and_passes_is_noticed() {
    let (mut plan, runs) = sample::nemo_rl_2003_runs();
    plan.configurations[1].expect = Some(Expect::Fail);
    plan.configurations[2].expect = Some(Expect::Any);
    plan.gate.time = Some("50%".parse().unwrap());
    assert_eq!(Matrix::of(&plan, &runs).exit_code(), 0);
    plan.configurations[3].expect = Some(Expect::Fail);
    let table = Matrix::of(&plan, &runs);
    assert!(table.exit_code() == 1 && table.message.contains("unexpectedly"), "{}", table.message);
}

#[test]
fn runs_are_interleaved_and_figures_are_medians() {
    let plan = plan("command = ['x']\nrepeats = 3\n[[configuration]]\nname = 'a'\n[[configuration]]\nname = 'b'\nflags = ['-q']");
    let order: Vec<_> = plan.turns().map(|turn| (&*turn.configuration.name, turn.repeat)).collect();
    assert_eq!(order, [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3), ("b", 3)]);
    assert_eq!(plan.command(&plan.configurations[1]).unwrap(), ["x", "-q"]);
    let runs: Vec<Run> = plan
        .turns()
        .zip([100, 300, 110, 1000, 90, 200])
        .map(|(turn, wall)| {
            let mut run = Run::new(&turn.configuration.name, plan.digest(turn.configuration), turn.repeat);
            run.wall_ns = Some(wall);
            run.metered.insert(plimsoll_memory::meter::Metric::PeakRss, plimsoll_memory::ByteSize::gib(1));
            run
        })
        .collect();
    let table = Matrix::of(&plan, &runs);
    let time = table.rows[1].figures[&Figure::WallTime];
    assert_eq!((time.value, time.lowest, time.highest, time.share), (300, 200, 1000, Some(2.0)));
    assert_eq!((table.rows[1].verdict, &*table.rows[1].reading), (RowVerdict::MoreTime, "near the baseline at +200.0 % time"));
}

#[test]
fn what_is_wrong_with_a_plan_is_said() {
    let one = "[[configuration]]\nname = 'a'\ncommand = ['x']\n";
    for (text, says) in [
        (format!("repeat = 3\n{one}"), "did you mean `repeats`?"),
        ("gate = {}\n[[configuration]]\nname = 3\n".to_owned(), "m.toml: line 3, column 8, `name = 3`: "),
        (format!("{one}flag = ['x']"), "did you mean `flags`?"),
        (format!("gate = {{ alocated = '5%' }}\n{one}"), "did you mean `allocated`?"),
        (format!("gate = {{ allocated = '5' }}\ngate2 = 1\n{one}"), "unknown field `gate2`"),
        (format!("gate = {{ time = 'five' }}\n{one}"), "`five` is not part of an allowance"),
        (format!("repeats = 0\n{one}"), "a number from 1 to 1000"),
        (format!("timeout = '0s'\n{one}"), "`0s` is not a time"),
        (format!("baseline = 'b'\n{one}"), "there is no such configuration; there is `a`"),
        (format!("{one}{one}"), "two configurations have the name `a`"),
        (format!("{one}expect = 'pass'\n[[configuration]]\nname = 'b'\ncommand = ['x']"), "`a` is the baseline"),
        (format!("{one}[[configuration]]\nname = 'b'\ncommand = ['x']\nexpect = 'pass'"), "there is no gate"),
        ("[[configuration]]\nname = 'a'".to_owned(), "neither a command nor a log"),
        ("configuration = []".to_owned(), "there is no configuration"),
        (String::new(), "missing field `configuration`"),
        ("x = = 1".to_owned(), "line 1"),
    ] {
        let error = refused(&text);
        assert!(error.starts_with("m.toml: ") && error.contains(says), "{says}: {error}");
    }
}

#[test]
fn a_changed_configuration_is_another() {
    let with = |more: &str| plan(&format!("command = ['x']\n[[configuration]]\nname = 'a'\n{more}"));
    let digest = |plan: &Plan| plan.digest(&plan.configurations[0]);
    let before = digest(&with(""));
    for more in ["flags = ['-q']", "environment = { A = '1' }", "log = 'x.log'", "command = ['y']"] {
        assert_ne!(digest(&with(more)), before, "{more}");
    }
    assert_eq!(digest(&plan("command = ['x']\ntimeout = '1h'\nrepeats = 4\n[[configuration]]\nname = 'a'")), before);
}

#[test]
fn the_state_is_read_as_it_was_written_and_broken_ones_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.matrix/state.json");
    assert_eq!(State::read(&path).unwrap(), State::default());
    let (plan, runs) = sample::nemo_rl_2003_runs();
    let state = State { runs, ..State::default() };
    state.write(&path).unwrap();
    assert_eq!(State::read(&path).unwrap(), state);
    assert!(plan.turns().all(|turn| state.done(&plan, &turn).is_some()));
    assert_eq!(state.runs[1].log.as_ref().unwrap().trend, trend::RowVerdict::Leak);
    for text in ["", "{}", "{\"schema\": \"plimsoll.matrix-state/2\", \"runs\": []}"] {
        std::fs::write(&path, text).unwrap();
        let error = State::read(&path).unwrap_err().to_string();
        assert!(error.contains("remove it to start over"), "{error}");
    }
}

#[test]
fn only_keeps_the_baseline() {
    let (plan, _) = sample::nemo_rl_2003_runs();
    let names = |plan: &Plan| plan.configurations.iter().map(|known| known.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&plan.clone().only(&["FP8".to_owned()]).unwrap()), ["BF16", "FP8"]);
    assert_eq!(names(&plan.clone().only(&[]).unwrap()).len(), 4);
    assert_eq!(plan.only(&["FP9".to_owned()]).unwrap_err().to_string(), "there is no configuration `FP9`; did you mean `FP8`?");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(name|command|log|configuration|repeats|gate|\\[|\\]|=|'|\"|x|1|-|\\{|\\}|\n|é){0,24}") {
        let _ = Plan::parse(Path::new("m.toml"), &text);
    }
}

#[test]
fn gb_of_a_plan_are_those_of_a_log() {
    let plan = plan("[[configuration]]\nname = 'a'\nallocated = '0.80GB'\nreserved = '512 MB'\n");
    let given = plan.baseline().given().unwrap();
    let log = crate::matrix::LogReadings::read(
        &b"GPU Memory after refit complete: 0.80GB allocated, 0.50GB reserved\n"[..],
        None,
    );
    let read = log.unwrap().unwrap().readings;
    assert_eq!((given.allocated, given.reserved), (read.allocated, read.reserved));
}
