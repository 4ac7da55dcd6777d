//! Files that change while they are read.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use plimsoll::random::SplitMix64;

use crate::scene::{Fault, Scene, ended, files, plimsoll, started, tries};

/// Overwrites, cuts, lengthens or replaces one of the files repeatedly, until the command has ended.
fn change(folder: &std::path::Path, originals: &[(String, Vec<u8>)], random: &mut SplitMix64) {
    let (name, content) = &originals[random.below(originals.len())];
    let path = folder.join(name);
    let Ok(file) = File::options().write(true).open(&path) else { return };
    match random.below(4) {
        0 => drop(file.write_all_at(&random.word().to_le_bytes(), random.below(content.len()) as u64)),
        1 => drop(file.set_len(random.below(content.len()) as u64)),
        2 => drop(file.set_len((content.len() + random.below(1 << 16)) as u64)),
        _ => {
            let beside = folder.join("beside");
            let _ = fs::write(&beside, content).and_then(|()| fs::rename(&beside, &path));
        }
    }
}

#[test]
fn files_that_change_under_the_reader() {
    let scene = Scene::new(4);
    let originals = files(&scene.capture());
    tries("a file changes while it is read", 6, |random| {
        let (folder, store) = (scene.fresh("changing"), scene.path("store"));
        let _ = fs::remove_dir_all(&store);
        originals.iter().for_each(|(name, content)| fs::write(folder.join(name), content).expect("a file"));
        let mut command = match random.below(3) {
            0 => plimsoll(&[&"inspect", &folder, &"--digest", &"sha256", &"--verify"]),
            1 => plimsoll(&[&"check", &folder, &"-k", &"builtin:embedding", &"--launches", &"20", &"--no-record"]),
            _ => plimsoll(&[&"pack", &folder, &"--out", &store]),
        };
        let said = scene.path("said-of-reader");
        let mut child = started(&mut command, &said);
        while matches!(child.try_wait(), Ok(None)) {
            change(&folder, &originals, random);
            std::thread::sleep(std::time::Duration::from_micros(random.below(3000) as u64));
        }
        ended(child, &said)?.one_of(&[0, 1, 2], "a reader")?;
        if store.exists() {
            let verified = scene.run(&mut plimsoll(&[&"verify", &store]))?;
            if verified.code == 1 {
                return Err(Fault::Wrong(format!("what was packed does not hold: {}", verified.said)));
            }
        }
        Ok(())
    });
}
