//! `plimsoll run` after memory was exhausted: whose limit, and the evidence.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plimsoll::command::EndCause;
use plimsoll::meter::{Cgroup, CgroupVersion};
use plimsoll::record::Record;

use crate::support::{plimsoll, run};

/// A group like Slurm's for a step, limited to 96 MiB; removed on drop.
struct Step {
    /// The group of its task.
    task: PathBuf,
    /// The outermost group that was made for it.
    outermost: PathBuf,
}

impl Step {
    /// `None`, with a message, if this machine allows none.
    fn new(job: u32) -> Option<Self> {
        let not_possible = |error| println!("not possible here: a control group as Slurm makes one: {error}");
        Self::made(job).map_err(not_possible).ok()
    }

    fn made(job: u32) -> Result<Self, Box<dyn Error>> {
        let own = Cgroup::of(std::process::id())?;
        // In version 2, only the root may have processes and groups with limits.
        let root = own.path().ancestors().find(|path| !path.join("cgroup.type").exists());
        let (above, below, limit, swap) = match own.version() {
            CgroupVersion::V1 => (
                own.path(),
                format!("uid_0/job_{job}/step_0"),
                "memory.limit_in_bytes",
                ("memory.memsw.limit_in_bytes", "96M"),
            ),
            CgroupVersion::V2 => (
                root.ok_or("no root of the hierarchy")?,
                format!("slurmstepd.scope/job_{job}/step_0/user/task_0"),
                "memory.max",
                ("memory.swap.max", "0"),
            ),
        };
        let outermost = above.join(format!("slurm_{job}"));
        let step = Self { task: outermost.join(below), outermost };
        fs::create_dir_all(&step.task)?;
        if own.version() == CgroupVersion::V2 {
            let above: Vec<_> = step.groups().skip(1).collect();
            above.iter().rev().try_for_each(|path| fs::write(path.join("cgroup.subtree_control"), "+memory"))?;
        }
        let limited = step.groups().find(|path| path.ends_with("step_0")).expect("the step is one of them");
        fs::write(limited.join(limit), "96M")?;
        // A kernel without swap accounting has nothing to limit.
        let _ = fs::write(limited.join(swap.0), swap.1);
        Ok(step)
    }

    /// The groups that were made for it, from the innermost.
    fn groups(&self) -> impl Iterator<Item = &Path> {
        self.task.ancestors().take_while(|path| path.starts_with(&self.outermost))
    }

    /// A command that joins the group before anything else.
    fn inside(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(&self.task);
        shell.arg(command.get_program()).args(command.get_args()).env("NO_COLOR", "1");
        shell
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        // A group is busy for a moment after its last process has ended.
        for path in self.groups() {
            for _ in 0..100 {
                match fs::remove_dir(path) {
                    Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
                        std::thread::sleep(std::time::Duration::from_millis(5));
                    }
                    _ => break,
                }
            }
        }
    }
}

/// `plimsoll run FLAGS --json -- sh -c SCRIPT` in a step; the record and the report.
fn killed(job: u32, flags: &[&str], script: &str) -> Option<(i32, Record, String)> {
    let step = Step::new(job)?;
    let mut command = plimsoll();
    command.args(["run", "--json"]).args(flags).args(["--", "sh", "-c", script]);
    let (code, _, json) = run(step.inside(&command).stdin(Stdio::null()));
    let json = &json[json.find('{').unwrap_or_else(|| panic!("{json}"))..];
    let record: Record = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    let message = record.verdicts[0].message.clone();
    Some((code, record, message))
}

/// Takes 512 MiB at once.
const TAKES: &str = "dd if=/dev/zero of=/dev/null bs=512M count=1 2>/dev/null";

fn of_step(record: &Record, job: u32) -> bool {
    let cause = record.end.as_ref().map(|end| &end.cause);
    matches!(cause, Some(EndCause::SlurmOomKill { step, .. }) if *step.job == job.to_string() && step.step.as_deref() == Some("0"))
}

#[test]
fn a_kill_at_the_limit_of_a_slurm_step_is_called_one() {
    let job = std::process::id();
    let Some((code, record, message)) = killed(job, &[], &format!("exec {TAKES}")) else { return };
    assert!(code == 137 && of_step(&record, job), "{code}: {:?}", record.end);
    let words = format!(
        "it was killed by the kernel at the memory limit of Slurm step {job}.0 (oom_kill of the control group "
    );
    let of = match Cgroup::of(job).map(|own| own.version()) {
        Ok(CgroupVersion::V2) => "/step_0/user/task_0 rose by 1",
        _ => "step_0 rose by 1",
    };
    assert!(message.starts_with(&words) && message.contains(of), "{message}");
}

#[test]
fn a_kill_that_a_shell_tells_of_is_told_as_well() {
    let job = std::process::id() + 1;
    let Some((code, record, message)) = killed(job, &[], &format!("{TAKES}; exit $?")) else { return };
    assert!(code == 137 && of_step(&record, job), "{code}: {:?}", record.end);
    assert!(
        message.starts_with("it exited with code 137 after a process of it was killed by the kernel at"),
        "{message}"
    );
}

#[test]
fn in_a_group_of_its_own_every_kill_is_known() {
    let job = std::process::id() + 2;
    let Some((code, record, message)) = killed(job, &["--cgroup"], &format!("{TAKES} || exit 3")) else { return };
    assert!(code == 3 && of_step(&record, job), "{code}: {:?}", record.end);
    assert!(message.contains("it exited with code 3 after a process of it was killed"), "{message}");
    // An event that the program survived is not the reason for its end.
    let Some((code, record, _)) = killed(job, &["--cgroup"], &format!("{TAKES}; exit 0")) else { return };
    assert_eq!((code, record.end.unwrap().cause), (0, EndCause::Exited));
}

#[test]
fn a_device_that_is_full_is_told_by_what_the_command_said() {
    let dir = tempfile::tempdir().unwrap();
    let said = "echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 \
                GiB of which 1.20 GiB is free.' >&2; exit 1";
    let ended = |file: &Path, flags: &[&str], script: &str| {
        let record = dir.path().join("record.json");
        let mut command = plimsoll();
        command.args(["run", "--record"]).arg(&record).args(flags).args(["--", "sh", "-c", script]);
        let stderr = File::options().append(true).create(true).open(file).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).status().unwrap();
        Record::read(&record).unwrap().end.unwrap()
    };
    let log = dir.path().join("log");
    let full = |end: &plimsoll::command::ProcessEnd| {
        end.exit_code == Some(1)
            && matches!(&end.cause, EndCause::DeviceOutOfMemory { evidence } if evidence[0].contains("2.00 GiB"))
    };
    let end = ended(&log, &[], said);
    assert!(full(&end), "{end:?}");
    assert!(fs::read_to_string(&log).unwrap().contains("because the memory of a device was exhausted"));
    // Earlier contents of the file belong to another run.
    assert_eq!(ended(&log, &[], "exit 1").cause, EndCause::Exited);
    // The text came through a pipe here.
    let end = ended(Path::new("/dev/null"), &["--phase", "begins"], said);
    assert!(full(&end), "{end:?}");
    assert_eq!(ended(Path::new("/dev/null"), &[], said).cause, EndCause::Exited, "nobody can know");
}
