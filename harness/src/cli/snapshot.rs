//! Memory snapshots in `diagnose`: pictures of one, and changes from another.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use plimsoll::diagnose::snapshot::{Options, Snapshot};
use plimsoll::diagnose::{Analysis, Findings};
use plimsoll::report::{snapshot as pictures, terminal};

use super::Failed;

/// The columns of a timeline: more than a screen has, so that one can zoom.
const COLUMNS: usize = 2000;

#[derive(Args)]
pub struct SnapshotFlags {
    /// Compare the memory snapshot with this earlier one
    #[arg(long, value_name = "SNAPSHOT")]
    pub baseline: Option<PathBuf>,

    /// Write a page with the timeline of the memory snapshot
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,

    /// Write a flame graph of the memory at the peak of the snapshot
    #[arg(long, value_name = "FILE.svg")]
    pub flamegraph: Option<PathBuf>,
}

/// Compares and draws the only snapshot, as the flags ask.
pub fn run(snapshots: &mut [Snapshot], flags: &SnapshotFlags, analysis: &mut Analysis) -> Result<(), Failed> {
    if flags.baseline.is_none() && flags.html.is_none() && flags.flamegraph.is_none() {
        return Ok(());
    }
    let [snapshot] = snapshots else {
        return Err("--baseline, --html and --flamegraph take one readable memory snapshot among the files".into());
    };
    if let Some(baseline) = &flags.baseline {
        analysis.add_difference(snapshot.difference(&Snapshot::open(baseline, Options::default())?));
    }
    let devices: Vec<u32> = snapshot.devices().collect();
    let findings = snapshot.findings()?;
    if let Some(path) = &flags.html {
        let mut timelines = Vec::new();
        for &device in &devices {
            timelines.extend(snapshot.timeline(device, COLUMNS)?);
        }
        write(path, &pictures::page(&findings, &timelines))?;
    }
    if let Some(path) = &flags.flamegraph {
        let fullest = findings.devices.iter().max_by_key(|device| device.state.reserved).map(|device| device.device);
        let device = fullest.ok_or("--flamegraph: the snapshot holds no memory")?;
        let root = snapshot.flame_graph(device)?.ok_or("--flamegraph: the snapshot holds no memory")?;
        let title = format!("{}, device {device}: allocated at the peak", findings.name);
        write(path, &pictures::flame_graph(&root, &title))?;
    }
    Ok(())
}

/// Writes beside the file and renames, so that a picture is whole or missing.
fn write(path: &Path, text: &str) -> Result<(), Failed> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut file = tempfile::Builder::new().permissions(plain()).tempfile_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The permissions of a readable file under the umask; temporary files start without.
fn plain() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

/// The findings of the snapshots, for the terminal.
pub fn text(findings: &Findings) -> String {
    let screen = super::screen();
    let mut text = String::new();
    for snapshot in &findings.snapshots {
        text.push('\n');
        text.push_str(&terminal::snapshot(snapshot, &screen));
    }
    if let Some(difference) = &findings.snapshot_difference {
        text.push('\n');
        text.push_str(&terminal::snapshot_difference(difference, &screen));
    }
    text
}
