//! `bisect`: finds the commit that changed a figure, in repositories of a few commits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use plimsoll::gate::bisect::{Bisection, SearchEnd, Tried};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{comes, git, plimsoll, run};

/// A repository whose program, `load.sh`, holds as many MiB as the file `level` says, and logs its runs to `runs`
/// outside the repository.
struct Scene {
    dir: TempDir,
}

impl Scene {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("repository")).unwrap();
        let scene = Self { dir };
        git(&scene.path(), &["init", "--quiet", "--initial-branch", "main"]);
        let runs = scene.dir.path().join("runs");
        let held = "exec dd if=/dev/zero of=/dev/null bs=${level}M count=1";
        let script = format!("level=$(cat level)\ncat name >> {}\n{held} 2> /dev/null\n", runs.display());
        fs::write(scene.path().join("load.sh"), script).unwrap();
        scene
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("repository")
    }

    /// A commit whose program holds this many MiB.
    fn commit(&self, name: &str, mib: u32) {
        fs::write(self.path().join("level"), mib.to_string()).unwrap();
        fs::write(self.path().join("name"), format!("{name}\n")).unwrap();
        git(&self.path(), &["add", "."]);
        git(&self.path(), &["commit", "--quiet", "--message", name]);
        git(&self.path(), &["tag", name]);
    }

    fn commits(&self, levels: &[u32]) {
        for (number, mib) in levels.iter().enumerate() {
            self.commit(&format!("c{number}"), *mib);
        }
    }

    fn bisect(&self, words: &[&str]) -> (i32, Bisection) {
        let (code, out, err) = self.run(&[&["--json"], words, &["--", "sh", "load.sh"]].concat());
        (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}")))
    }

    fn run(&self, words: &[&str]) -> (i32, String, String) {
        run(plimsoll().current_dir(self.path()).args(["bisect", "--no-config"]).args(words))
    }

    /// Asserts that a search left nothing behind.
    fn assert_clean(&self) {
        let worktrees = git(&self.path(), &["worktree", "list", "--porcelain"]);
        assert_eq!(worktrees.lines().filter(|line| line.starts_with("worktree ")).count(), 1, "{worktrees}");
        assert!(!self.path().join(".git/plimsoll-bisect").exists());
    }
}

fn found(search: &Bisection) -> &str {
    match &search.end {
        Some(SearchEnd::Found { commit, .. }) => &commit.title,
        other => panic!("{other:?}: {:?}", search.tried),
    }
}

#[test]
fn the_commit_is_found_and_the_checkout_stays_as_it_was() {
    let scene = Scene::new();
    scene.commits(&[16, 17, 16, 16, 48, 49, 48]);
    fs::write(scene.path().join("level"), "999").unwrap();
    let before = git(&scene.path(), &["status", "--porcelain", "--branch"]);

    let (code, search) = scene.bisect(&["c0", "main"]);
    assert_eq!((code, found(&search)), (0, "c4"));
    let Some(SearchEnd::Found { merge: false, before: ref parent, share, .. }) = search.end else { panic!() };
    assert!(parent.title == "c3" && share > 0.9, "{parent:?} {share}");
    let figure = search.figure.as_ref().unwrap();
    assert!(figure.name.starts_with("peak_") && figure.change > 30e6, "{figure:?}");
    let report = search.report.as_ref().unwrap();
    assert!(report.baseline.as_ref().unwrap().ends_with("c3") && report.exit_code() == 1, "{report:?}");
    assert!(search.tried.len() <= 3, "halves: {:?}", search.tried);

    assert_eq!(git(&scene.path(), &["status", "--porcelain", "--branch"]), before);
    assert_eq!(fs::read_to_string(scene.path().join("level")).unwrap(), "999");
    scene.assert_clean();
    let (code, out, err) = scene.run(&["main", "c1", "--", "sh", "load.sh"]);
    assert!(code == 2 && err.contains("BAD is an ancestor of GOOD"), "{out}{err}");
}

#[test]
fn what_does_not_build_is_skipped_and_at_the_border_leaves_suspects() {
    let scene = Scene::new();
    scene.commits(&[16, 16]);
    fs::write(scene.path().join("broken"), "").unwrap();
    scene.commit("c2", 16);
    git(&scene.path(), &["rm", "--quiet", "broken"]);
    scene.commit("c3", 16);
    scene.commit("c4", 48);
    let build = ["--build", "echo building; test ! -e broken && cp level built"];
    let (code, search) = scene.bisect(&[&build[..], &["c0", "c4"]].concat());
    assert_eq!((code, found(&search)), (0, "c4"));
    let skipped = search.tried.iter().find(|tried| tried.found == Tried::Skipped).unwrap();
    assert!(skipped.named.title == "c2" && skipped.runs == 0, "{skipped:?}");
    assert!(skipped.why.as_ref().unwrap().contains("exited with code 1: building"), "{skipped:?}");

    // The commit before the change does not run, so it remains open which of the two made it.
    fs::write(scene.path().join("load.sh"), "exit 125\n").unwrap();
    scene.commit("c5", 48);
    git(&scene.path(), &["checkout", "--quiet", "c4", "load.sh"]);
    scene.commit("c6", 80);
    let (code, search) = scene.bisect(&["c4", "c6"]);
    let Some(SearchEnd::Suspects { commits }) = &search.end else { panic!("{search:?}") };
    let titles: Vec<&str> = commits.iter().map(|commit| &*commit.title).collect();
    assert!(code == 3 && titles == ["c6", "c5"], "{titles:?}");
    assert!(search.tried[0].why.as_ref().unwrap().contains("exited with code 125"), "{search:?}");
    let (code, out, _) = scene.run(&["c4", "c6", "--", "sh", "load.sh"]);
    assert!(code == 3 && out.contains("one of 2 commits made the change"), "{out}");
    scene.assert_clean();
}

#[test]
fn ends_that_do_not_differ_or_do_not_run_are_said_before_a_search() {
    let scene = Scene::new();
    // So large that what a kernel counts late is too little for doubt.
    scene.commits(&[96, 192, 96]);
    // What is sampled of a program that runs for milliseconds may stay open on a machine under load.
    let (code, search) = scene.bisect(&["--limit", "peak_rss=5% | 4 MiB", "c0", "c2"]);
    assert!(code == 3 && search.tried.is_empty(), "{search:?}");
    assert!(
        matches!(search.end, Some(SearchEnd::NoDifference { ref why }) if why.contains("do not differ")),
        "{search:?}"
    );
    let (code, out, _) = scene.run(&["c0", "c1", "--", "sh", "missing.sh"]);
    assert!(code == 3 && out.contains("GOOD cannot be measured: the command failed: it exited with code"), "{out}");
    let (code, out, _) = scene.run(&["--build", "false", "c0", "c1", "--", "sh", "load.sh"]);
    assert!(code == 3 && out.contains("GOOD cannot be measured: the build exited with code 1"), "{out}");
    // A search for an improvement works the same way.
    let (code, search) = scene.bisect(&["c1", "c2"]);
    assert!(code == 0 && found(&search) == "c2" && !search.figure.as_ref().unwrap().is_worse(), "{search:?}");
    scene.assert_clean();
}

#[test]
fn merges_are_entered_and_branches_that_parted_are_told() {
    let scene = Scene::new();
    scene.commit("base", 16);
    git(&scene.path(), &["checkout", "--quiet", "-b", "side"]);
    scene.commit("side-1", 16);
    scene.commit("side-2", 48);
    git(&scene.path(), &["checkout", "--quiet", "main"]);
    fs::write(scene.path().join("other"), "").unwrap();
    git(&scene.path(), &["add", "."]);
    git(&scene.path(), &["commit", "--quiet", "--message", "main-1"]);
    git(&scene.path(), &["merge", "--quiet", "--no-edit", "side"]);
    fs::write(scene.path().join("other"), "more").unwrap();
    git(&scene.path(), &["commit", "--quiet", "--all", "--message", "main-3"]);
    let (code, search) = scene.bisect(&["base", "main"]);
    assert_eq!((code, found(&search)), (0, "side-2"));

    // GOOD is not an ancestor of BAD, and their common ancestor is good.
    git(&scene.path(), &["checkout", "--quiet", "-b", "release", "base"]);
    scene.commit("release-1", 16);
    let (code, search) = scene.bisect(&["release", "main"]);
    assert_eq!((code, found(&search)), (0, "side-2"));
    assert_eq!(search.tried[0].named.title, "base");

    // The common ancestor is bad: GOOD was fixed on its branch.
    git(&scene.path(), &["checkout", "--quiet", "-b", "mended", "side"]);
    scene.commit("mended-1", 16);
    let (code, search) = scene.bisect(&["mended", "main"]);
    let Some(SearchEnd::BaseIsBad { ref base }) = search.end else { panic!("{search:?}") };
    assert!(code == 3 && base.title == "side-2", "{base:?}");
    scene.assert_clean();
}

#[test]
fn a_merge_whose_parents_are_good_is_found_itself() {
    let scene = Scene::new();
    scene.commit("base", 16);
    git(&scene.path(), &["checkout", "--quiet", "-b", "side"]);
    fs::write(scene.path().join("side"), "").unwrap();
    git(&scene.path(), &["add", "."]);
    git(&scene.path(), &["commit", "--quiet", "--message", "side-1"]);
    git(&scene.path(), &["checkout", "--quiet", "main"]);
    scene.commit("main-1", 17);
    git(&scene.path(), &["merge", "--quiet", "--no-commit", "side"]);
    scene.commit("merge", 48);
    let (code, search) = scene.bisect(&["base", "main"]);
    let Some(SearchEnd::Found { merge: true, ref commit, .. }) = search.end else { panic!("{search:?}") };
    assert_eq!((code, &*commit.title), (0, "merge"));
    let (_, out, _) = scene.run(&["base", "main", "--", "sh", "load.sh"]);
    assert!(out.contains("the merge ") && out.contains("sure to 99 %"), "{out}");
}

#[test]
fn a_search_that_was_stopped_goes_on_when_it_is_asked_for_again() {
    let scene = Scene::new();
    scene.commits(&[16, 16, 16, 16, 16, 48, 48, 48, 48]);
    let words = ["bisect", "--no-config", "c0", "c8", "--", "sh", "load.sh"];
    let home = scene.path().join(".git/plimsoll-bisect");
    for (number, signal) in [Signal::INT, Signal::KILL].into_iter().enumerate() {
        let mut command = plimsoll();
        command.current_dir(scene.path()).args(words).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let tried = || searches(&home).first().map_or(0, |search| search.tried.len());
        assert!(comes(|| tried() > number), "a commit is noted as soon as it was tried");
        kill_process(pid(&child), signal).unwrap();
        let out = child.wait_with_output().unwrap();
        if signal == Signal::INT {
            let err = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.code() == Some(3) && err.contains("repeat the command to continue from here"), "{err}");
        }
        // A killed search is taken over by the next one, once its last process is gone.
        assert!(comes(|| !is_locked(&home)));
    }
    let known = searches(&home)[0].tried.len();
    let again: Vec<String> = searches(&home)[0].tried.iter().map(|tried| tried.named.title.clone()).collect();
    fs::remove_file(scene.dir.path().join("runs")).unwrap();
    let (code, out, err) = run(plimsoll().current_dir(scene.path()).args(words));
    assert!(code == 0 && out.contains("FOUND") && out.contains("c5"), "{out}{err}");
    assert!(err.contains(&format!("a search in which {known} commit")), "{err}");
    let runs = fs::read_to_string(scene.dir.path().join("runs")).unwrap_or_default();
    assert!(runs.lines().all(|name| name != "c8" && !again.iter().any(|known| known == name)), "{again:?}: {runs}");
    scene.assert_clean();

    // A search that nobody wants to continue can be dropped.
    let mut command = plimsoll();
    let child = command.current_dir(scene.path()).args(words).stderr(Stdio::null()).spawn().unwrap();
    assert!(comes(|| !searches(&home).is_empty()));
    kill_process(pid(&child), Signal::INT).unwrap();
    child.wait_with_output().unwrap();
    let (code, _, err) = run(plimsoll().current_dir(scene.path()).args(["bisect", "--reset"]));
    assert!(code == 0 && err.contains("1 search forgotten"), "{err}");
    scene.assert_clean();
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// The searches with readable state.
fn searches(home: &Path) -> Vec<Bisection> {
    let folders = fs::read_dir(home).into_iter().flatten().filter_map(Result::ok);
    let texts = folders.filter_map(|folder| fs::read(folder.path().join("search.json")).ok());
    texts.filter_map(|text| serde_json::from_slice(&text).ok()).collect()
}

fn is_locked(home: &Path) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let folders = fs::read_dir(home).into_iter().flatten().filter_map(Result::ok);
    let mut locks = folders.filter_map(|folder| fs::File::open(folder.path().join("lock")).ok());
    locks.any(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err())
}

#[test]
fn what_has_no_meaning_is_refused() {
    let scene = Scene::new();
    scene.commits(&[16, 16]);
    for (words, says) in [
        (&["c0", "c0", "--", "true"][..], "the same commit"),
        (&["c0", "nothing", "--", "true"], "`nothing` is not a commit"),
        (&["c0", "--", "true"], "BAD"),
        (&["--record", "x.json", "c0", "c1", "--", "true"], "--json prints the result"),
        (&["--peak-rss", "1GiB", "c0", "c1", "--", "true"], "say with --limit"),
        (&["--diagnose", "c0", "c1", "--", "true"], "does not read output"),
    ] {
        let (code, _, err) = scene.run(words);
        assert!(code == 2 && err.contains(says), "{words:?}: {err}");
    }
    let (code, _, err) = run(plimsoll().current_dir(scene.dir.path()).args(["bisect", "a", "b", "--", "true"]));
    assert!(code == 2 && err.contains("there is no git repository here"), "{err}");
    scene.assert_clean();
}
