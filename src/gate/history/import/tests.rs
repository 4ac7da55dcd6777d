//! Tests of imports: files as the tools write them, and hostile ones.

use std::fs;

use proptest::prelude::*;

use super::*;

fn file(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    (dir, path)
}

/// One line per figure: `commit benchmark figure unit values`.
fn lines_of(import: &Import) -> Vec<String> {
    let commit = |one: &ImportedFigure| one.commit.as_ref().map_or("-".to_owned(), |at| at.id.clone());
    let line = |one: &ImportedFigure| {
        let Figure { name, unit, direction, values, .. } = &one.figure;
        format!("{} {} {name} {unit:?} {direction:?} {values:?}", commit(one), one.subject)
    };
    import.figures.iter().map(line).collect()
}

#[test]
fn a_folder_of_asv_has_a_figure_for_each_combination_of_parameters() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(
        "benchmarks.json",
        r#"{"mem.peak": {"type": "peakmemory", "unit": "bytes", "params": [["'a'", "'b'"], ["1", "2"]]},
            "t.run": {"type": "time", "unit": "seconds", "params": []}, "version": 2}"#,
    );
    put("box/machine.json", r#"{"machine": "box"}"#);
    put(
        "box/0123abcd-env.json",
        r#"{"version": 2, "commit_hash": "0123abcd", "env_name": "env", "date": 1700000000000,
            "params": {"machine": "box"}, "result_columns": ["result", "params", "version"],
            "results": {"mem.peak": [[1e6, 2e6, null, 4e6], [["'a'", "'b'"], ["1", "2"]], "v"],
                        "t.run": [[0.5], [], "v"], "gone": [[1.0], [], "v"], "t.skipped": [null, []]}}"#,
    );
    // asv's older format.
    put(
        "box/4567abcd-env.json",
        r#"{"version": 1, "commit_hash": "4567abcd", "env_name": "env", "date": 1700000100000,
            "params": {"machine": "box"}, "results": {"t.run": 0.25, "mem.peak": {"result": [1, 2, 3, 4],
            "params": [["'a'", "'b'"], ["1", "2"]]}}}"#,
    );
    let import = read(dir.path(), &[]).unwrap();
    let lines = lines_of(&import);
    assert_eq!((import.tool, import.left_out, lines.len()), ("asv", 1, 9), "{lines:?}");
    assert_eq!(lines[1], "0123abcd box/env::mem.peak('a', 2) peak_memory Bytes Lower [2000000.0]");
    assert_eq!(lines[2], "0123abcd box/env::mem.peak('b', 2) peak_memory Bytes Lower [4000000.0]");
    assert!(lines.contains(&"0123abcd box/env::t.run time Nanoseconds Lower [500000000.0]".to_owned()));
    assert!(lines.contains(&"4567abcd box/env::t.run time Nanoseconds Lower [250000000.0]".to_owned()));
    assert_eq!(import.figures[0].commit.as_ref().unwrap().committed, Some(1_700_000_000));
}

#[test]
fn the_page_of_github_action_benchmark_has_commits_and_a_list_has_none() {
    let data = r#"window.BENCHMARK_DATA = {"lastUpdate": 1, "repoUrl": "", "entries": {"Rust": [
        {"commit": {"id": "abcd", "message": "Fix it\n\nmore", "timestamp": "2024-01-31T10:00:00+01:00"},
         "date": 1, "tool": "cargo", "benches": [{"name": "open", "value": 120, "range": "± 3", "unit": "ns/iter"}]},
        {"commit": {"id": "ef01", "message": "x"}, "date": 1700000000000, "tool": "customBiggerIsBetter",
         "benches": [{"name": "rate", "value": "7.5", "unit": "GiB"}]}]}};"#;
    let (_dir, path) = file("data.js", data);
    let import = read(&path, &[]).unwrap();
    assert_eq!(
        lines_of(&import),
        ["abcd Rust::open value Nanoseconds Lower [120.0]", "ef01 Rust::rate value Bytes Higher [8053063680.0]"]
    );
    let at = import.figures[0].commit.as_ref().unwrap();
    assert_eq!((at.committed, &*at.title), (Some(1_706_691_600), "Fix it"));
    let (_dir, path) =
        file("out.json", r#"[{"name": "a", "unit": "MiB", "value": 2}, {"name": "b", "unit": "ops/sec", "value": 3}]"#);
    assert_eq!(
        lines_of(&read(&path, &[]).unwrap()),
        ["- a value Bytes Lower [2097152.0]", "- b value Count Higher [3.0]"]
    );
    // Plimsoll's own output for the tool can be read back.
    let text = crate::report::github_benchmark(&[crate::record::sample::command()]);
    let (_dir, path) = file("own.json", &text);
    assert!(lines_of(&read(&path, &[]).unwrap()).iter().any(|line| line.contains("peak_rss value Bytes Lower")));
}

#[test]
fn measures_of_bencher_have_the_units_of_their_names() {
    let text = r#"{"open": {"latency": {"value": 88.5, "lower_value": 80}, "throughput": {"value": 9},
                            "peak-rss": {"value": 1024}}}"#;
    let (_dir, path) = file("results.json", text);
    assert_eq!(
        lines_of(&read(&path, &[]).unwrap()),
        [
            "- open latency Nanoseconds Lower [88.5]",
            "- open peak_rss Bytes Lower [1024.0]",
            "- open throughput Count Higher [9.0]"
        ]
    );
    let text = crate::report::bencher(&[crate::record::sample::command()]);
    let (_dir, path) = file("own.json", &text);
    let own = lines_of(&read(&path, &[]).unwrap());
    assert!(own.iter().any(|line| line.contains(" peak_rss Bytes Lower")), "{own:?}");
    assert!(own.iter().any(|line| line.contains(" wall Nanoseconds Lower")), "{own:?}");
}

#[test]
fn criterion_gives_the_median_of_its_last_run() {
    let dir = tempfile::tempdir().unwrap();
    for (run, median) in [("new", 42.0), ("main", 7.0)] {
        let folder = dir.path().join("open peak_heap/16").join(run);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("benchmark.json"), r#"{"full_id": "open peak_heap/16"}"#).unwrap();
        fs::write(folder.join("estimates.json"), format!(r#"{{"median": {{"point_estimate": {median}}}}}"#)).unwrap();
    }
    let import = read(dir.path(), &[]).unwrap();
    assert_eq!(lines_of(&import), ["- open peak_heap/16 peak_heap Bytes Lower [42.0]"]);
    let empty = tempfile::tempdir().unwrap();
    assert!(read(empty.path(), &[]).unwrap_err().to_string().contains("nor a `new/estimates.json`"));
}

#[test]
fn csv_is_read_by_its_titles_or_by_what_columns_are_said_to_be() {
    let (_dir, path) = file(
        "rows.csv",
        "\u{feff}commit,date,benchmark,metric,unit,value\r\na1,2024-01-31,\"x, \"\"y\"\"\",peak,MiB,2\r\na2,1700000000,x,rate,req/s,-1\r\n\r\n",
    );
    let import = read(&path, &[]).unwrap();
    assert_eq!((lines_of(&import), import.left_out), (vec!["a1 x, \"y\" peak Bytes Lower [2097152.0]".to_owned()], 1));
    assert_eq!(import.figures[0].commit.as_ref().unwrap().committed, Some(1_706_659_200));

    let (_dir, path) = file("nightly.csv", "build,host,peak (MB),wall [ms]\n7,box,3,5\n8,box,4,\n");
    assert!(read(&path, &[]).unwrap_err().to_string().contains("(build, host, peak (MB), wall [ms]): name it with"));
    let columns: Vec<Column> = vec!["commit=build".parse().unwrap()];
    assert_eq!(
        lines_of(&read(&path, &columns).unwrap()),
        [
            "7 nightly peak Bytes Lower [3000000.0]",
            "7 nightly wall Nanoseconds Lower [5000000.0]",
            "8 nightly peak Bytes Lower [4000000.0]"
        ]
    );
    let missing: Vec<Column> = vec!["commit=sha".parse().unwrap()];
    assert!(read(&path, &missing).unwrap_err().to_string().contains("no column `sha`, but build, host"));
    assert!("size=x".parse::<Column>().is_err() && "commit".parse::<Column>().is_err());
}

#[test]
fn what_is_of_no_tool_is_refused() {
    for (text, says) in [
        ("{\"a\": 1}", "it is JSON, but neither Bencher's"),
        ("{\"a\": ", "it is neither JSON nor CSV"),
        ("[{\"name\": \"x\"}]", "a result has no `name` with a `value`"),
        ("{\"entries\": {\"a\": [{}]}}", "a run of a has no commit"),
        ("", "it has no column with the commit"),
        ("[]", "it has no valid value"),
    ] {
        let (_dir, path) = file("x", text);
        let error = read(&path, &[]).unwrap_err().to_string();
        assert!(error.starts_with("cannot import ") && error.contains(says), "{text}: {error}");
    }
    let (dir, _) = file("x", "");
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    assert!(read(&pipe, &[]).unwrap_err().to_string().contains("it is a "), "a pipe is not waited for");
    assert!(read(Path::new("/nowhere"), &[]).unwrap_err().to_string().contains("No such file"));
    let unknown = At { id: "no such commit".to_owned(), ..At::default() }.resolve("main").unwrap_err().to_string();
    assert!(unknown.contains("the file has no date for it"), "{unknown}");
}

proptest! {
    #[test]
    fn no_text_panics(text in "(\\{|\\}|\\[|\\]|\"entries\"|\"commit\"|\"id\"|\"value\"|\"a\"|:|,|\\n|1e308|-1|0|commit|date|window.BENCHMARK_DATA = ){0,24}") {
        let (_dir, path) = file("x", &text);
        let _ = read(&path, &[]);
    }

    #[test]
    fn times_with_any_offset_are_read_or_refused(text in ".{0,30}", tail in "[-+Z:0-9.é]{0,8}") {
        let _ = github::utc(&text);
        let _ = github::utc(&format!("2024-01-31T10:00:00{tail}"));
    }
}
