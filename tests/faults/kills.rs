//! Commands and processes that are killed at a random moment.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use plimsoll::meter::process_tree;
use plimsoll::random::SplitMix64;
use plimsoll::record::Record;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::scene::{Ended, Fault, Scene, ended, files, litter, plimsoll, started, tries};

/// Starts `arguments` and kills its group with SIGKILL at a random moment within `whole`, its undisturbed run time.
fn killed(
    scene: &Scene,
    random: &mut SplitMix64,
    whole: Duration,
    arguments: &[&dyn AsRef<std::ffi::OsStr>],
) -> Result<Ended, Fault> {
    let said = scene.path("said-of-killed");
    let child = started(&mut plimsoll(arguments), &said);
    std::thread::sleep(Duration::from_micros(random.below(1 + whole.as_micros() as usize) as u64));
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    ended(child, &said)?.one_of(&[0, 137], "what was killed")
}

/// Runs `arguments` to completion.
fn whole(scene: &Scene, arguments: &[&dyn AsRef<std::ffi::OsStr>]) -> Result<Ended, Fault> {
    let what: Vec<_> = arguments.iter().map(|argument| argument.as_ref().to_string_lossy().into_owned()).collect();
    scene.run(&mut plimsoll(arguments))?.one_of(&[0], &what.join(" "))
}

/// The entries of `expected` that are neither in `folder` nor restored from the store.
fn lost(scene: &Scene, store: &Path, folder: &Path, expected: &[(String, Vec<u8>)]) -> Result<(), Fault> {
    let out = scene.fresh("out");
    // A store without a capture has nothing to unpack.
    let _ = scene.run(&mut plimsoll(&[&"unpack", &store, &"--out", &out]))?;
    let (unpacked, left) = (files(&out), files(folder));
    match expected.iter().find(|file| !unpacked.contains(file) && !left.contains(file)) {
        Some((name, _)) => Err(Fault::Lost(format!("{name} is neither in the folder nor in the store"))),
        None => Ok(()),
    }
}

#[test]
fn commands_of_a_store() {
    let scene = Scene::new(6);
    let expected = files(&scene.capture());
    let mut measured = None;
    tries("a store's command is killed", 6, |random| {
        let (store, folder, out) = (scene.path("store"), scene.fresh("captured"), scene.fresh("out"));
        let _ = fs::remove_dir_all(&store);
        expected.iter().for_each(|(name, content)| fs::write(folder.join(name), content).expect("a file"));
        let took = match measured {
            Some(took) => took,
            None => {
                let began = Instant::now();
                whole(&scene, &[&"pack", &folder, &"--out", &store])?;
                fs::remove_dir_all(&store).expect("a store");
                *measured.insert(began.elapsed())
            }
        };
        let more: &[&str] = [&[][..], &["--move"], &["--compress"]][random.below(3)];
        let mut pack: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"pack", &folder, &"--out", &store];
        more.iter().for_each(|flag| pack.push(flag));
        if killed(&scene, random, took, &pack)?.code != 0 && files(&folder).is_empty() {
            // Every original was moved before the kill.
            lost(&scene, &store, &folder, &expected)?;
            return Ok(());
        }
        lost(&scene, &store, &folder, &expected)?;
        let _ = fs::remove_dir_all(&out);
        if !files(&folder).is_empty() {
            whole(&scene, &pack)?;
        }
        let gc: &[&dyn AsRef<std::ffi::OsStr>] = &[&"store", &"gc", &store];
        killed(&scene, random, took, gc)?;
        whole(&scene, gc)?;
        let unpack: &[&dyn AsRef<std::ffi::OsStr>] = &[&"unpack", &store, &"--out", &out];
        killed(&scene, random, took, unpack)?;
        whole(&scene, unpack)?;
        if files(&out) != expected || !litter(&out).is_empty() {
            return Err(Fault::Lost(format!("{:?} of {} files", litter(&out), files(&out).len())));
        }
        whole(&scene, &[&"verify", &store]).map(drop)
    });
}

#[test]
fn generating_a_capture() {
    let scene = Scene::new(6);
    let mut made = None;
    tries("generate is killed", 5, |random| {
        let target = scene.path("made");
        let _ = fs::remove_dir_all(&target);
        if random.coin() {
            fs::create_dir(&target).expect("a folder");
        }
        let generate: &[&dyn AsRef<std::ffi::OsStr>] =
            &[&"generate", &target, &"--preset", &"embedding", &"--entries", &"40", &"--vocab", &"64", &"--dim", &"64"];
        let (took, expected) = match &made {
            Some(made) => made,
            None => {
                let began = Instant::now();
                whole(&scene, generate)?;
                let found = (began.elapsed(), files(&target));
                fs::remove_dir_all(&target).expect("a folder");
                made.insert(found)
            }
        };
        killed(&scene, random, *took, generate)?;
        // The folder is either complete or absent: a filled folder is not filled again.
        if files(&target) != *expected {
            whole(&scene, generate)?;
        }
        let left = [litter(&target), litter(scene.path("").as_path())].concat();
        match files(&target) == *expected && left.is_empty() {
            true => Ok(()),
            false => Err(Fault::Wrong(format!("{} files, and {left:?}", files(&target).len()))),
        }
    });
}

#[test]
fn processes_of_a_metered_command() {
    let scene = Scene::new(1);
    tries("a process of run is killed", 5, |random| {
        let folder = scene.fresh("run");
        let (record, said) = (folder.join("record.json"), scene.path("said-of-run"));
        // Identified by the duration that it sleeps, which nobody else uses.
        let mark = format!("{}.{}", 600 + std::process::id() % 100, random.below(1 << 30));
        let script = format!("sleep {mark} & sleep {mark} & sleep 0.3; kill %1 %2");
        let child = started(&mut plimsoll(&[&"run", &"--record", &record, &"--", &"sh", &"-c", &script]), &said);
        std::thread::sleep(Duration::from_millis(random.below(400) as u64));
        let processes = process_tree(child.id()).unwrap_or_default();
        if let Some(one) = processes.get(random.below(processes.len())) {
            let _ = kill_process(Pid::from_raw(one.pid.cast_signed()).expect("a process"), Signal::KILL);
        }
        ended(child, &said)?;
        let began = Instant::now();
        // What measures may outlive the one that was killed, and holds its files until it has ended.
        while is_running(&mark) || is_running(&record.display().to_string()) {
            if began.elapsed() > Duration::from_secs(60) {
                return Err(Fault::Wrong(format!("a process is left: sleep {mark}, or what measured it")));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for path in [&record, &folder.join("record.json.partial")] {
            if path.exists()
                && let Err(error) = Record::read(path)
            {
                return Err(Fault::Lost(error.to_string()));
            }
        }
        // The next run removes leftovers.
        whole(&scene, &[&"run", &"--record", &record, &"--", &"true"])?;
        let left = litter(&folder);
        if left.is_empty() { Ok(()) } else { Err(Fault::Wrong(format!("left in the folder of the record: {left:?}"))) }
    });
}

/// Whether a process has this word in its command line.
fn is_running(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("Linux has it").flatten();
    let mut lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.any(|found| found.split(|byte| *byte == 0).any(|found| found == word.as_bytes()))
}
