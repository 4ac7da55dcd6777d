//! `calibrate`: ceilings from several runs in every form, and failing runs.

use std::fs;

use plimsoll::gate::Calibration;
use plimsoll::meter::Metric;

use crate::support::{plimsoll, run};

/// A program that takes about 40 MiB.
const TAKES_40_MIB: [&str; 3] = ["sh", "-c", "head -c 40M /dev/zero | tail -c 40M | wc -c >&2"];

#[test]
fn what_is_proposed_holds_for_the_next_run() {
    let (code, out, err) =
        run(plimsoll().args(["calibrate", "--runs", "3", "--json", "--label", "tail", "--"]).args(TAKES_40_MIB));
    assert_eq!(code, 0, "{err}");
    assert_eq!(err.matches("41943040").count(), 3, "it ran three times: {err}");
    let calibration: Calibration = serde_json::from_str(&out).unwrap();
    assert_eq!((&*calibration.schema, &*calibration.label), ("plimsoll.calibration/1", "tail"));
    let ceilings = calibration.proposal.ceilings();
    let rss = ceilings.get(Metric::PeakRss).unwrap();
    assert!((44 << 20..120 << 20).contains(&rss.bytes()), "{rss}");

    let (_, out, _) =
        run(plimsoll().args(["calibrate", "--runs", "1", "--metric", "peak_rss,swap_growth", "--"]).args(TAKES_40_MIB));
    let line = out.lines().find(|line| line.starts_with("plimsoll run ")).unwrap();
    let flags: Vec<&str> = line.split(' ').skip(2).take_while(|word| *word != "--").collect();
    assert!(matches!(flags[..], ["--peak-rss", _, "--swap-growth", _]), "{line}");
    let (code, _, err) = run(plimsoll().arg("run").args(&flags).arg("--").args(TAKES_40_MIB));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("#[plimsoll::test(peak_rss = \"") && out.contains("\n[ceilings.sh]\npeak_rss = \""), "{out}");
}

#[test]
fn a_file_keeps_whatever_else_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plimsoll.toml");
    let text = "# mine\n[profile]\nname = \"ci\"\n\n# of the loader\n[ceilings.load]\npeak_rss = \"1 KiB\"\n\n[ceilings.other]\npeak_rss = \"2 GiB\" # kept\n";
    fs::write(&file, text).unwrap();
    let mut command = plimsoll();
    command.args(["calibrate", "--runs", "1", "--metric", "peak_anon", "--label", "load", "--write"]);
    let (code, out, err) = run(command.arg(&file).args(["--", "sleep", "0.1"]));
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("[ceilings.load] is in"), "{out}");
    let written = fs::read_to_string(&file).unwrap();
    for kept in ["# mine\n[profile]", "# of the loader\n[ceilings.load]\npeak_anon = \"", "peak_rss = \"2 GiB\" # kept"]
    {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    assert!(!written.contains("1 KiB"), "{written}");

    for (text, says) in
        [("= no toml", "is not valid TOML and was not changed"), ("ceilings = 1\n", "`ceilings` is not a table")]
    {
        fs::write(&file, text).unwrap();
        let mut command = plimsoll();
        let (code, _, err) = run(command.args(["calibrate", "--runs", "1", "--write"]).arg(&file).args(["--", "true"]));
        assert!(code == 2 && err.contains(says), "{err}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_run_that_fails_is_no_measure() {
    let dir = tempfile::tempdir().unwrap();
    // The second run finds the file that the first one left.
    let script = "test -e once && exit 4; touch once";
    let mut command = plimsoll();
    command.current_dir(dir.path()).args(["calibrate", "--runs", "5", "--", "sh", "-c", script]);
    let (code, out, err) = run(&mut command);
    assert_eq!((code, &*out), (3, ""));
    assert!(err.contains("run 2 of 5 exited with status 4") || err.contains("run 2 of 5"), "{err}");
    let (code, _, err) = run(plimsoll().args(["calibrate", "--timeout", "50ms", "--", "sleep", "3600"]));
    assert!(code == 3 && err.contains("run 1 of 10 ran longer than its timeout of 50ms"), "{err}");
    let (code, _, err) = run(plimsoll().args(["calibrate", "--", "/nowhere/program"]));
    assert!(code == 2 && err.contains("/nowhere/program"), "{err}");
    let mut command = plimsoll();
    let (code, out, err) = run(command.args(["calibrate", "--runs", "1", "--metric", "retained_heap", "--", "true"]));
    assert!(code == 3 && out.contains("not read    retained_heap"), "{out}{err}");
    let (code, _, err) = run(plimsoll().args(["calibrate", "--runs", "0", "--", "true"]));
    assert!(code == 2 && err.contains("--runs"), "{err}");
}
