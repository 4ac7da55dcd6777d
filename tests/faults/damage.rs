//! Documents and files damaged by a disk or an attacker.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll::random::SplitMix64;

use crate::scene::{Fault, Scene, plimsoll, tries};

/// Damage to a file: flipped bits, a cut end, a run of zeros, a repeated part, other words.
pub fn damaged(content: &[u8], random: &mut SplitMix64) -> Vec<u8> {
    let mut out = content.to_vec();
    for _ in 0..1 + random.below(4) {
        let at = random.below(out.len());
        let run = 1 + random.below(64).min(out.len().saturating_sub(at + 1));
        match random.below(6) {
            _ if out.is_empty() => out.push(random.word() as u8),
            0 => out[at] ^= 1 << random.below(8),
            1 => out.truncate(at),
            2 => out[at..at + run].fill(0),
            3 => {
                let part = out[at..at + run].to_vec();
                out.splice(at..at, part);
            }
            4 => out[at..at + run].iter_mut().for_each(|byte| *byte = random.word() as u8),
            _ => {
                let words: [&[u8]; 5] = [b"null", b"18446744073709551616", b"[[[[", b"\"\\ud800\"", b"1e999"];
                out.splice(at..at + run, words[random.below(words.len())].iter().copied());
            }
        }
    }
    out
}

/// Every file below `folder`.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        if item.path().is_dir() { below(&item.path(), found) } else { found.push(item.path()) }
    }
    found.sort();
}

#[test]
fn documents() {
    let scene = Scene::new(3);
    let (record, history, config) =
        (scene.path("record.json"), scene.path("history.sqlite"), scene.path("plimsoll.toml"));
    let made = |command: &mut std::process::Command| {
        let ended = scene.run(command).and_then(|ended| ended.one_of(&[0], "the scene"));
        if let Err(Fault::Lost(what) | Fault::Wrong(what) | Fault::Hung(what)) = ended {
            panic!("{what}");
        }
    };
    made(
        plimsoll(&[&"check", &scene.capture(), &"-k", &"builtin:embedding", &"--record", &record]).arg("--launches=1"),
    );
    let commit = ["--commit", "aaaaaaaa", "--branch", "main"];
    made(plimsoll(&[&"history", &"add", &record, &"--history", &history]).args(commit).current_dir(scene.path("")));
    fs::write(&config, "[gate.limits]\npeak_rss = \"10 %\"\n[run.ceilings]\npeak_rss = \"1 GiB\"\n").expect("a file");
    let originals = [&record, &history, &config].map(|path| fs::read(path).expect("a file"));
    tries("a document is damaged", 8, |random| {
        let which = random.below(3);
        let path = [&record, &history, &config][which];
        fs::write(path, damaged(&originals[which], random)).expect("a file");
        let readers: &[&[&dyn AsRef<std::ffi::OsStr>]] = match which {
            0 => &[
                &[&"report", &record, &"--markdown", &"page.md"],
                &[&"compare", &record, &record],
                &[&"gate", &record],
            ],
            1 => &[&[&"history", &"show", &"--history", &history], &[&"gate", &record, &"--history", &history]],
            _ => &[&[&"config", &"--config", &config], &[&"gate", &record, &"--config", &config]],
        };
        // Without the ceilings that a cut configuration has lost, nothing is judged: 3.
        let outcomes: Result<Vec<_>, _> = readers
            .iter()
            .map(|reader| scene.run(plimsoll(reader).current_dir(scene.path("")))?.one_of(&[0, 1, 2, 3], "a reader"))
            .collect();
        fs::write(path, &originals[which]).expect("a file");
        outcomes.map(drop)
    });
}

#[test]
fn stores() {
    let scene = Scene::new(3);
    tries("a file of a store is damaged", 5, |random| {
        let store = scene.path("store");
        let _ = fs::remove_dir_all(&store);
        scene.run(&mut plimsoll(&[&"pack", &scene.capture(), &"--out", &store]))?.one_of(&[0], "pack")?;
        let mut all = Vec::new();
        below(&store, &mut all);
        let victim = &all[random.below(all.len())];
        let before = fs::read(victim).expect("a file");
        let after = damaged(&before, random);
        // Objects are read-only.
        fs::remove_file(victim).and_then(|()| fs::write(victim, &after)).expect("a file");
        let verified = scene.run(&mut plimsoll(&[&"verify", &store]))?.one_of(&[0, 1, 2], "verify")?;
        let is_object = victim.components().any(|part| part.as_os_str() == "objects");
        if is_object && before != after && verified.code == 0 {
            return Err(Fault::Wrong(format!("{} is damaged, and verify says: {}", victim.display(), verified.said)));
        }
        let reference = store.join("captures/capture");
        for reader in [
            plimsoll(&[&"store", &"ls", &store]),
            plimsoll(&[&"inspect", &store]),
            plimsoll(&[&"check", &reference, &"-k", &"builtin:embedding", &"--launches", &"1", &"--no-record"]),
            plimsoll(&[&"unpack", &store, &"--out", &scene.fresh("out")]),
        ]
        .iter_mut()
        {
            scene.run(reader)?.one_of(&[0, 1, 2], "a reader")?;
        }
        let originals = crate::scene::files(&scene.capture());
        let unpacked = crate::scene::files(&scene.path("out"));
        match unpacked.iter().find(|(name, content)| !originals.iter().any(|(n, c)| n == name && c == content)) {
            Some((name, _)) => Err(Fault::Wrong(format!("{name} was unpacked and is not what was packed"))),
            None => Ok(()),
        }
    });
}

#[test]
fn files_of_torch() {
    let scene = Scene::new(1);
    let original = fs::read(scene.capture().join("entry_000000.pt")).expect("an entry");
    tries("a hostile .pt", 12, |random| {
        let folder = scene.fresh("hostile");
        // The structure of the file is at its end and around its pickle; damage to a table says little.
        let mut content = original.clone();
        let head = content.len().min(2048);
        match random.below(3) {
            0 => {
                let tail = content.split_off(content.len().saturating_sub(2048));
                content.extend(damaged(&tail, random));
            }
            1 => {
                let tail = content.split_off(head);
                content = [damaged(&content, random), tail].concat();
            }
            _ => content = damaged(&content, random),
        }
        fs::write(folder.join("entry_000000.pt"), content).expect("a file");
        for reader in [
            plimsoll(&[&"inspect", &folder, &"--digest", &"blake3", &"--verify"]),
            plimsoll(&[&"check", &folder, &"-k", &"builtin:embedding", &"--launches", &"1", &"--no-record"]),
            plimsoll(&[&"pack", &folder, &"--out", &folder.join("store")]),
        ]
        .iter_mut()
        {
            scene.run(reader)?.one_of(&[0, 1, 2], "a reader")?;
        }
        Ok(())
    });
}
