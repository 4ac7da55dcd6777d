//! A metric is declared once: flags, settings, schemas, names in tests and the documented table follow from that.

use std::fmt::Write as _;
use std::path::Path;

use plimsoll::meter::{Metric, Subject, When};

use super::support::{plimsoll, run};

/// The page that documents every metric, from its declarations.
fn page() -> String {
    let mut text = "# Metrics\n\n<!-- Generated from the declarations of the metrics: PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll-harness metrics -->\n\n\
         Every figure that a ceiling can limit, by the name that it has everywhere: in `assert_memory!` and\n\
         `#[plimsoll::test]`, in `[ceilings]` of `plimsoll.toml`, in records, and, if it has a flag, on the command line\n\
         (`peak_rss` is `--peak-rss` and `PLIMSOLL_PEAK_RSS`). All are amounts of bytes. A peak is the worst instant of a\n\
         phase, a growth is that peak less the amount when the first phase began, and retained is the amount at the end less\n\
         that same amount. [Measuring](measuring.md) explains the words.\n\n\
         | metric | what it is | of | limit | flag | read from, for a tree of processes |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for metric in Metric::ALL {
        let facts = metric.facts();
        let of = match facts.of {
            Subject::Processes => "the processes",
            Subject::Heap => "the program's allocator",
            Subject::Machine => "the machine",
        };
        let limit = match (metric.is_floor(), facts.when) {
            (true, _) => "floor, in every phase",
            (false, When::Retained) => "ceiling, in the last phase",
            (false, _) => "ceiling, in every phase",
        };
        let flag = if facts.flag { "yes" } else { "no" };
        writeln!(text, "| `{metric}` | {} | {of} | {limit} | {flag} | {} |", facts.help, facts.source).unwrap();
    }
    text
}

#[test]
fn the_page_of_metrics_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == page(), "{} is out of date: PLIMSOLL_UPDATE_DOCS=1 writes it", path.display());
}

#[test]
fn every_metric_that_has_a_flag_is_one_of_every_command_that_limits_memory() {
    for command in ["run", "check", "validate", "profile", "gate", "ab"] {
        let (code, help, _) = run(plimsoll().args([command, "--help"]));
        assert_eq!(code, 0);
        for metric in Metric::ALL {
            let flag = format!("--{} <BYTES>", metric.name().replace('_', "-"));
            assert_eq!(help.contains(&flag), metric.facts().flag, "{command}: {flag}");
        }
    }
}

#[test]
fn a_page_that_lists_metrics_has_them_all() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for page in ["testing.md", "testing-python.md", "run.md"] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        let listed = Metric::ALL.iter().filter(|metric| match page {
            "run.md" => metric.facts().flag,
            "testing-python.md" => metric.facts().of != Subject::Heap,
            _ => true,
        });
        for name in listed.map(|metric| metric.name()) {
            let flag = format!("`--{}`", name.replace('_', "-"));
            assert!(text.contains(&format!("`{name}`")) || text.contains(&flag), "{page} lacks {name}");
        }
    }
}

#[test]
fn every_metric_is_a_setting_and_a_value_of_the_schemas() {
    for metric in Metric::ALL {
        let setting = plimsoll::config::settings().find(|setting| setting.key() == format!("ceilings.{metric}"));
        assert_eq!(setting.map(|setting| setting.about), Some(metric.facts().help));
        for schema in ["record", "config", "gate", "calibration", "ratchet"] {
            let path = format!("{}/../docs/schema/plimsoll.{schema}-1.json", env!("CARGO_MANIFEST_DIR"));
            let schema_text = std::fs::read_to_string(&path).unwrap();
            assert!(schema_text.contains(&format!("\"{metric}\"")), "{path} does not have {metric}");
        }
    }
}

#[test]
fn check_holds_ceilings_that_only_run_had() {
    let scene = super::support::Scene::new(2);
    let check = |flag: &str, limit: &str| {
        let mut check = plimsoll();
        check.arg("check").arg(scene.capture()).args(["--kernel", "builtin:embedding", "--no-record", flag, limit]);
        let (code, out, err) = run(&mut check);
        let metric = flag.trim_start_matches('-').replace('-', "_");
        assert!(out.contains(&format!("ceiling {metric}")), "{flag}: {code}\n{out}{err}");
        // A ceiling on a figure that this machine does not report is not measurable, and never passes.
        if code == 3 && out.contains("not measurable") { None } else { Some(code) }
    };
    for flag in ["--peak-pss", "--peak-cgroup"] {
        assert!(check(flag, "1KiB").is_none_or(|code| code == 1), "{flag}");
    }
    for flag in ["--peak-pss", "--peak-shmem", "--peak-swap", "--peak-cgroup"] {
        assert!(check(flag, "64GiB").is_none_or(|code| code == 0), "{flag}");
    }
}
