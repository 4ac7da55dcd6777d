//! Disks that are full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll::record::Record;

use crate::scene::{Fault, Scene, files, plimsoll, tries};

/// A small file system in memory, gone when this is dropped.
struct Disk {
    path: PathBuf,
}

impl Disk {
    /// `None`, with a message, if this machine cannot mount one.
    fn mount(path: PathBuf, kibibytes: usize) -> Option<Self> {
        let size = format!("size={kibibytes}k");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self { path });
        }
        println!("not possible here: mounting a tmpfs");
        assert!(std::env::var_os("CI").is_none(), "CI runs as root");
        None
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

#[test]
fn full_disks() {
    let scene = Scene::new(4);
    let originals = files(&scene.capture());
    let older = scene.path("older.json");
    let check = |record: &Path| {
        let mut check = plimsoll(&[&"check", &scene.capture(), &"-k", &"builtin:embedding", &"--record", &record]);
        check.arg("--launches=1");
        check
    };
    scene.run(&mut check(&older)).unwrap_or_else(|_| panic!("a record"));
    tries("a disk is full", 6, |random| {
        let Some(disk) = Disk::mount(scene.fresh("disk"), 64 + random.below(2048)) else { return Ok(()) };
        let (store, record, history) = (disk.path.join("store"), disk.path.join("r.json"), disk.path.join("h.sqlite"));
        let had_record = fs::copy(&older, &record).is_ok();
        if !had_record {
            let _ = fs::remove_file(&record);
        }
        let mut command = match random.below(5) {
            0 => plimsoll(&[&"pack", &scene.capture(), &"--out", &store]),
            1 => check(&record),
            2 => plimsoll(&[&"run", &"--record", &record, &"--", &"true"]),
            3 => {
                let mut add = plimsoll(&[&"history", &"add", &older, &"--history", &history]);
                add.args(["--commit", "aaaaaaaa", "--branch", "main"]).current_dir(scene.path(""));
                add
            }
            _ => plimsoll(&[&"generate", &disk.path.join("made"), &"--preset", &"embedding", &"--entries", &"9"]),
        };
        let ended = scene.run(&mut command)?.one_of(&[0, 1, 2], "on a full disk")?;
        if ended.code == 2 && !ended.said.contains("space") && !ended.said.contains("disk") {
            return Err(Fault::Wrong(format!("it does not say that the disk is full: {}", ended.said)));
        }
        if had_record && let Err(error) = Record::read(&record) {
            return Err(Fault::Lost(error.to_string()));
        }
        if store.exists() && scene.run(&mut plimsoll(&[&"verify", &store]))?.code == 1 {
            return Err(Fault::Wrong("what was packed does not hold".to_owned()));
        }
        match files(&scene.capture()) == originals {
            true => Ok(()),
            false => Err(Fault::Lost("an original changed".to_owned())),
        }
    });
}
