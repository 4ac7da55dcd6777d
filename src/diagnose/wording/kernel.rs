//! Reports of the Linux kernel: `invoked oom-killer`, the control group's figures, the chosen process, the kill.

use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::position::talk_about;
use super::{regex, size};
use plimsoll_memory::bytes::ByteSize;

/// How many lines after the end of a search may show whether the machine stopped.
const STOPS: usize = 6;

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    let text = line.text.as_str();
    if text.contains("oom_reaper") {
        found.push(Sighting::new(Cause::Dismissed("the reaper only frees what the kill left behind"), line));
        return;
    }
    let sighting =
        killed(lines, at).or_else(|| chose(lines, at)).or_else(|| usage(lines, at)).or_else(|| began(lines, at));
    let Some((start, sighting)) = sighting else { return };
    // Characters that people put before pasted lines do not make a comment.
    let own = line.origin().end;
    let talk = if start >= own { talk_about(line.message(), start - own) } else { talk_about(text, start) };
    found.push(match talk {
        Some(reason) => Sighting::new(Cause::Dismissed(reason), line),
        None => sighting.backend("linux"),
    });
}

/// `Out of memory: Killed process 1 (python) total-vm:..kB, anon-rss:..kB, ...`, and its older forms.
fn killed(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    let matched = regex!(
        r"(?:(Memory cgroup out of memory|(?i:(?:memory )?cgroup (?:memory )?limit (?:exceeded|reached))|(?i:Out of memory)(?: \([^)]*\))?)(?::|,)? )?((?i:Kill(?:ed)?)) process (\d+)(?:, UID \d+,)?,? \(([^\n]*?)\)(?: score (\d+) or sacrifice child|,? ?(?:UID:? ?\d+,? ?)?total-vm:|,? total-vm|$|,)"
    )
    .captures(&line.text)?;
    let head = matched.get(1).map(|head| head.as_str());
    let old = matched[2].eq_ignore_ascii_case("kill");
    if old && head.is_none() {
        return None;
    }
    let group = match head {
        Some(head) if head.to_ascii_lowercase().contains("cgroup") => Some(true),
        Some(_) => Some(false),
        None => None,
    };
    // The older form announces the kill, which may then hit a child process instead.
    let cause = match group {
        Some(group) if old => Cause::KernelChose { group },
        group => Cause::KernelKilled { group },
    };
    let mut sighting = Sighting::new(cause, line);
    sighting.pid = matched[3].parse().ok();
    sighting.victim = Some(matched[4].to_owned());
    let figure = |name: &str| {
        let text = line.text.split_once(name)?.1;
        size::bytes(&regex!(r"^: ?([\d,]+ ?kB)").captures(text)?[1])
    };
    let resident = [figure("anon-rss"), figure("file-rss"), figure("shmem-rss")];
    sighting.numbers.this_process = resident[0].is_some().then(|| resident.into_iter().flatten().sum::<ByteSize>());
    Some((matched.get(0)?.start(), sighting))
}

/// `oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),...,oom_memcg=/x,task_memcg=/x/y,task=python,pid=1,uid=0`.
fn chose(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    // A control group's limit shows in the stack of the report and, on older kernels, in a separate line.
    let limited = regex!(r"\bmem_cgroup_out_of_memory\+0x|\bkilled as a result of limit of (\S+)").captures(&line.text);
    if let Some(matched) = limited {
        let mut sighting = Sighting::new(Cause::KernelChose { group: true }, line);
        sighting.victim = matched.get(1).map(|group| group.as_str().to_owned());
        return Some((matched.get(0)?.start(), sighting));
    }
    // If there is nothing to kill, the machine stops, unless only a control group is full.
    if let Some(matched) = regex!(r"\bOut of memory and no killable processes").find(&line.text) {
        let behind = lines[at..lines.len().min(at + STOPS)].iter();
        let group = !behind.map(|line| &line.text).any(|text| text.contains("Kernel panic"));
        return Some((matched.start(), Sighting::new(Cause::KernelChose { group }, line)));
    }
    let matched = regex!(r"oom-kill:constraint=(CONSTRAINT_\w+)").captures(&line.text)?;
    let mut sighting = Sighting::new(Cause::KernelChose { group: &matched[1] == "CONSTRAINT_MEMCG" }, line);
    // A logger may have wrapped the line: the rest is on the next line.
    let text = super::joined::joined(lines, at, "", |text| regex!(r",uid=\d").is_match(text));
    let field = |name: &str| {
        let value = text.split_once(&format!("{name}="))?.1;
        Some(value.split(',').next()?.trim().to_owned()).filter(|value| !value.is_empty())
    };
    sighting.pid = field(",pid").and_then(|pid| pid.parse().ok());
    sighting.victim = field(",task").or_else(|| field("oom_memcg"));
    sighting.job = field("oom_memcg").and_then(|path| Some(regex!(r"/job_(\d+)").captures(&path)?[1].to_owned()));
    Some((matched.get(0)?.start(), sighting))
}

/// `memory: usage 8388608kB, limit 8388608kB, failcnt 31`.
fn usage(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    let matched = regex!(r"\bmemory: usage (\d+ ?kB), limit (\d+ ?kB), failcnt \d+").captures(&line.text)?;
    let mut sighting = Sighting::new(Cause::KernelUsage, line);
    sighting.numbers.allocated = size::bytes(&matched[1]);
    sighting.numbers.allowed = size::bytes(&matched[2]);
    Some((matched.get(0)?.start(), sighting))
}

/// `python invoked oom-killer: gfp_mask=..., order=0, oom_score_adj=0`.
fn began(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    let matched = regex!(r"invoked oom-killer: ?gfp_mask=").find(&line.text)?;
    Some((matched.start(), Sighting::new(Cause::KernelBegan, line)))
}
