//! A real suite of Rust tests: ceilings by patterns of test names, under nextest and through Cargo's runner.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::run;

/// A crate with tests that hold 8 and 64 MiB.
fn suite(dir: &Path) {
    let put = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("Cargo.toml", "[package]\nname = \"reader\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n");
    let test = |name: &str, mib: u32| {
        format!(
            "#[test] fn {name}() {{ let held = vec![1u8; {mib} << 20]; assert!(std::hint::black_box(held)[7] == 1); }}\n"
        )
    };
    let text = format!("mod import {{ {} }}\n{}{}", test("large", 64), test("small", 1), test("grew", 64));
    put("src/lib.rs", &text);
    put(
        "plimsoll.toml",
        "[ceilings]\npeak_rss = \"32 MiB\"\n\n[[overrides]]\nlabel = \"^import::\"\nceilings = { peak_rss = \"256 MiB\" }\n",
    );
    let wrapper = format!("command = [{:?}, \"run\", \"--quiet\", \"--\"]", env!("CARGO_BIN_EXE_plimsoll"));
    put(
        ".config/nextest.toml",
        &format!(
            "experimental = [\"wrapper-scripts\"]\n[scripts.wrapper.memory]\n{wrapper}\n[[profile.default.scripts]]\n\
             filter = \"all()\"\nrun-wrapper = \"memory\"\n[profile.default.junit]\npath = \"junit.xml\"\n"
        ),
    );
}

/// A command of Cargo in the crate, without the settings of the surrounding run.
fn cargo(program: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars() {
        if ["NEXTEST", "PLIMSOLL_", "CARGO_PROFILE", "RUSTFLAGS"].iter().any(|ours| name.starts_with(ours)) {
            command.env_remove(name);
        }
    }
    command.current_dir(dir).env("CARGO_TARGET_DIR", dir.join("target")).env("NO_COLOR", "1");
    command
}

#[test]
fn patterns_of_test_names_give_a_suite_its_ceilings() {
    let dir = tempfile::tempdir().unwrap();
    suite(dir.path());
    let found = Command::new("cargo-nextest").args(["nextest", "--version"]).output();
    if found.is_ok_and(|output| output.status.success()) {
        let mut nextest = cargo("cargo-nextest", dir.path());
        let (code, out, err) = run(nextest.args(["nextest", "run", "--offline", "--no-fail-fast"]));
        let said = format!("{out}{err}");
        assert!(
            code != 0 && said.contains("2 passed, 1 failed") && said.contains("FAIL") && said.contains("grew"),
            "{said}"
        );
        assert!(said.contains("peak_rss <= 32.00 MiB is broken"), "{said}");
        let junit = fs::read_to_string(dir.path().join("target/nextest/default/junit.xml")).unwrap();
        assert!(junit.contains("peak_rss &lt;= 32.00 MiB is broken"), "{junit}");
    } else {
        println!("cargo-nextest is not installed: this was not tried");
    }

    // All tests of a binary are one process, which goes by the name of the binary.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let test = |pattern: &str| {
        let config = format!(
            "[ceilings]\npeak_rss = \"32 MiB\"\n\n[[overrides]]\nlabel = \"{pattern}\"\nceilings = {{ peak_rss = \"1 GiB\" }}\n"
        );
        fs::write(dir.path().join("plimsoll.toml"), config).unwrap();
        let mut command = cargo(program.to_str().unwrap(), dir.path());
        let runner =
            format!("target.'cfg(all())'.runner = [{:?}, 'run', '--quiet', '--']", env!("CARGO_BIN_EXE_plimsoll"));
        run(command.args(["test", "--offline", "--lib", "--config", &runner]))
    };
    let (code, out, err) = test("^reader$");
    assert!(code == 0 && out.contains("3 passed"), "{out}{err}");
    let (code, out, err) = test("^other$");
    assert!(code != 0 && out.contains("3 passed") && err.contains("peak_rss <= 32.00 MiB is broken"), "{out}{err}");
}
