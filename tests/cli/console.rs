//! The console examples in the manual match the command's real behaviour.
//!
//! A ```` ```console ```` block has commands after `$ ` and their output below. The blocks of a page run in sequence in
//! one folder, which `tests/console/PAGE.sh` has filled; `...` in an output stands for any text, and figures match any
//! figure. A block that cannot run everywhere names its needs after `console`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use regex::Regex;

/// Requirements of a block that a machine with only Rust lacks.
const NEEDS: [(&str, &str); 6] = [
    ("needs-gpu", "a GPU"),
    ("needs-torch", "PyTorch"),
    ("needs-time", "minutes"),
    ("needs-rights", "rights, or another user"),
    ("needs-checkout", "a checkout of Plimsoll, which it builds"),
    ("needs-project", "a project of the reader's own"),
];

/// A console block of a page: its first line, and its requirements.
struct Block {
    line: usize,
    needs: Option<String>,
    lines: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn file(page: &str) -> PathBuf {
    root().join(if page == "README" { "README.md".to_owned() } else { format!("docs/{page}.md") })
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut blocks, mut open): (Vec<Block>, bool) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        if let Some(needs) = line.strip_prefix("```console").filter(|_| !open) {
            let needs = Some(needs.trim().to_owned()).filter(|needs| !needs.is_empty());
            blocks.push(Block { line: number + 1, needs, lines: Vec::new() });
            open = true;
        } else if line.starts_with("```") {
            open = false;
        } else if open {
            blocks.last_mut().unwrap().lines.push(line.to_owned());
        }
    }
    blocks
}

/// The commands of a block with their expected output.
fn commands(block: &Block) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => panic!("a block begins with a command: {line}"),
        }
    }
    commands
}

/// The words of an output. Figures with units, digests and plots match each other; rules, line breaks and the legend of
/// signs, which depends on the run, are ignored.
fn words(output: &str) -> Vec<String> {
    static FIGURE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?x) [-+×]? \d[\d,]* (\.\d+)? (e-?\d+)?
                   ( \ ? (B|KiB|MiB|GiB|TiB|ns|µs|us|ms|s|min|%|KiB/s|MiB/s|GiB/s|x) \b | \ ?% )? [~≥]? ",
        )
        .unwrap()
    });
    static DIGEST: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b[0-9a-f]{7,}\b").unwrap());
    static EXIT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\(exit (\d+)").unwrap());
    static TIME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d{4}-\d{2}-\d{2}(T[\d:.]+Z)?").unwrap());
    let is_legend = |line: &&str| ["~ ", "≥ ", "no mark:"].iter().any(|sign| line.trim_start().starts_with(sign));
    let output = output.lines().filter(|line| !is_legend(line)).collect::<Vec<_>>().join("\n");
    let output = EXIT.replace_all(&output, |found: &regex::Captures<'_>| {
        // One letter per digit: the code is not a figure.
        let code: String = found[1].bytes().map(|digit| char::from(b'a' + (digit - b'0'))).collect();
        format!("(exit-{code}")
    });
    let output = TIME.replace_all(&output, "#");
    let output = DIGEST.replace_all(&output, |found: &regex::Captures<'_>| {
        // Plain digits are a figure.
        if found[0].bytes().all(|byte| byte.is_ascii_digit()) { found[0].to_owned() } else { "#".to_owned() }
    });
    let output = FIGURE.replace_all(&output, "#");
    let is_word = |word: &&str| !word.chars().all(|c| matches!(c, '─' | '▁'..='▏' | '└' | '┘'));
    output.split_whitespace().filter(is_word).map(str::to_owned).collect()
}

/// Whether `actual` is `expected`, in which `...` stands for any words.
fn fits(expected: &[String], actual: &[String]) -> bool {
    let is_gap = |word: &String| matches!(word.as_str(), "..." | "…" | "..");
    let parts: Vec<&[String]> = expected.split(is_gap).collect();
    let (first, rest) = parts.split_first().unwrap();
    if rest.is_empty() {
        return expected == actual;
    }
    let (last, between) = rest.split_last().unwrap();
    let Some(mut left) = actual.strip_prefix(*first) else { return false };
    for part in between.iter().filter(|part| !part.is_empty()) {
        match left.windows(part.len()).position(|window| window == *part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// Runs a script in `folder` as the reader's shell would, with `plimsoll` in the path and no terminal.
fn shell(folder: &Path, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_plimsoll"));
    let (own, programs) = (folder.join("bin"), program.parent().unwrap());
    let path = format!("{}:{}:{}", own.display(), programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder)
        .env("PATH", path)
        .env("PLIMSOLL_SOURCES", root())
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs the blocks of a page; returns the differences from what it shows.
fn differences(page: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let scene = root().join(format!("tests/console/{page}.sh"));
    if scene.exists() {
        let said = shell(folder.path(), &format!("set -e\n. '{}'\necho ready", scene.display()));
        assert!(said.ends_with("ready\n"), "{}: {said}", scene.display());
    }
    // The interpreter itself, if a wrapper of several processes precedes it.
    let interpreter = "mkdir -p bin && ln -sf \"$(python3 -c 'import sys; print(sys.executable)')\" bin/python3 && ln -s python3 bin/python";
    shell(folder.path(), interpreter);
    let mut differences = Vec::new();
    let mut ran = 0;
    for block in blocks(&fs::read_to_string(file(page)).unwrap()).iter().filter(|block| block.needs.is_none()) {
        for (command, expected) in commands(block) {
            // The smallest scale prints the same words and takes a second.
            let actual = shell(folder.path(), &command.replace("--scale 1/64", "--scale 1/1024"));
            let actual = actual.replace(folder.path().to_str().unwrap(), "/home/me/project");
            ran += 1;
            if !expected.trim().is_empty() && !fits(&words(&expected), &words(&actual)) {
                let at = format!("{page}.md:{}: $ {command}", block.line);
                differences.push(format!("{at}\n--- the page shows\n{expected}--- it prints\n{actual}"));
            } else if expected.trim().is_empty() && actual.starts_with("error:") {
                differences.push(format!("{page}.md:{}: $ {command}\n{actual}", block.line));
            }
        }
    }
    assert!(ran > 0, "no block of {page}.md was run");
    differences
}

macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        /// The pages with blocks that run everywhere.
        const PAGES: &[&str] = &[$($page),*];
        $(
            #[test]
            fn $test() {
                let differences = differences($page);
                assert!(differences.is_empty(), "{}", differences.join("\n\n"));
            }
        )*
    };
}

pages! {
    readme: "README",
    benchmarks_of_memory: "benchmarks-of-memory",
    check: "check",
    config: "config",
    diagnose: "diagnose",
    gate: "gate",
    generate: "generate",
    inspect: "inspect",
    kernels: "kernels",
    reports: "reports",
    run_any_command: "run",
    scale: "scale",
    start: "start",
    store: "store",
    training: "training",
}

#[test]
fn every_block_is_run_or_says_what_it_needs() {
    let mut pages = vec!["README".to_owned()];
    for folder in ["docs", "docs/ci"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "md") {
                let name = path.with_extension("").strip_prefix(root().join("docs")).unwrap().to_owned();
                pages.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    for page in pages {
        let blocks = blocks(&fs::read_to_string(file(&page)).unwrap());
        for Block { line, needs, .. } in &blocks {
            let known = needs.as_ref().is_none_or(|needs| NEEDS.iter().any(|(known, _)| known == needs));
            assert!(known, "{page}.md:{line}: `{}` is not one of {NEEDS:?}", needs.as_deref().unwrap_or_default());
        }
        let runs = blocks.iter().any(|block| block.needs.is_none());
        assert_eq!(runs, PAGES.contains(&page.as_str()), "{page}.md has blocks to run, or is in the list without any");
    }
}

#[test]
fn figures_are_alike_and_words_are_not() {
    let all = |text: &str| words(text).join(" ");
    assert_eq!(all("peak 1.02 MiB~ in 12 ms"), all("peak 33 KiB in 1.5 s"));
    assert_eq!(all("blake3:b9be4dc48a19 and"), all("blake3:0123456789ab and"));
    assert_ne!(all("(exit 0, 12 ms)"), all("(exit 1, 12 ms)"));
    let of = |expected: &str, actual: &str| fits(&words(expected), &words(actual));
    assert!(of("a\n...\nz", "a b c z") && of("a ...", "a") && of("... z", "z"));
    assert!(!of("a\n...\nz", "a b c") && !of("a", "a b") && !of("a ... b ... z", "a z"));
}
