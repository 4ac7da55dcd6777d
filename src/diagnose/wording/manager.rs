//! Managers of jobs, containers, services and workers whose lines need more than a pattern: Slurm, Kubernetes, systemd,
//! earlyoom, Ray.

use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::position::{Position, position};
use super::{Pattern, regex, size};
use plimsoll_memory::bytes::ByteSize;

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    if let Some(reason) = ended(&line.text) {
        found.push(Sighting::new(Cause::OtherEnd(reason), line));
        return;
    }
    for recognise in [slurm, container, service, ray] {
        let Some((start, sighting)) = recognise(lines, at) else { continue };
        match position(&line.text, start) {
            Position::Talk(reason) => found.push(Sighting::new(Cause::Dismissed(reason), line)),
            _ => found.push(sighting),
        }
        return;
    }
}

/// Why a manager ended processes, if memory was not the reason.
fn ended(text: &str) -> Option<&'static str> {
    if regex!(r"DUE TO TIME LIMIT|TERM_RUNLIMIT|walltime \d+ exceeded limit|exceeded (?:its )?wall ?(?:clock|time)|DeadlineExceeded").is_match(text) {
        return Some("a time limit ended it");
    }
    if regex!(r"DUE TO (?:PREEMPTION|NODE FAILURE|JOB REQUEUE|SIGNAL)").is_match(text) {
        return Some("the batch system ended it for another reason");
    }
    if regex!(r"\*\*\* (?:JOB|STEP) \S+ ON \S+ CANCELLED AT").is_match(text) {
        return Some("the job was cancelled");
    }
    if regex!(r"(?:^|[\s:.])KeyboardInterrupt$|^\^C").is_match(text) {
        return Some("it was interrupted by hand");
    }
    regex!(r"\[CRITICAL\] WORKER TIMEOUT").is_match(text).then_some("its server ended it after a timeout")
}

fn number(text: &str, regex: &Pattern) -> Option<u64> {
    regex.captures(text)?.get(1)?.as_str().parse().ok()
}

/// Slurm, in all versions.
fn slurm(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    let text = line.text.as_str();
    let detected = regex!(
        r"[Dd]etected ([1-9]\d*) oom[-_]kill event\(?s?\)? in (?:step |StepId ?= ?|Step )?(\w+)?(?:\.\w+)?|[Ss]ome of (?:your processes|the step tasks) (?:may )?have been (?:OOM Killed|killed by the cgroup out-of-memory handler)"
    );
    if let Some(matched) = detected.captures(text) {
        let mut sighting = Sighting::new(Cause::Limit, line).backend("slurm");
        let job = matched.get(2).map(|job| job.as_str().to_owned());
        sighting.job = job.filter(|job| job.bytes().any(|byte| byte.is_ascii_digit()));
        return Some((matched.get(0)?.start(), sighting));
    }
    if let Some(matched) = regex!(r"srun: error: (\S+): tasks? ([\d,\[\]-]+): Out Of Memory").captures(text) {
        let mut sighting = Sighting::new(Cause::Limit, line).backend("slurm");
        sighting.host = Some(matched[1].to_owned());
        sighting.rank = matched[2].parse().ok();
        return Some((matched.get(0)?.start(), sighting));
    }
    if text.contains("memory limit at some point") {
        return None;
    }
    let exceeded = regex!(
        r"(?:[Jj]ob|[Ss]tep) (?:StepId=)?(\d+)(?:\.\w+)? exceeded (?:job )?memory limit(?: \((\d+) ?> ?(\d+)\))?|[Ee]xceeded (?:job|step) memory limit()()()"
    );
    if let Some(matched) = exceeded.captures(text) {
        let mut sighting = Sighting::new(Cause::Limit, line).backend("slurm");
        sighting.job = matched.get(1).map(|job| job.as_str().to_owned());
        let kib = |at: usize| matched.get(at).and_then(|kib| size::bytes(&format!("{}kB", kib.as_str())));
        sighting.numbers.this_process = kib(2);
        sighting.numbers.allowed = kib(3);
        return Some((matched.get(0)?.start(), sighting));
    }
    // `sacct`, `seff`, mails, `scontrol`.
    let state =
        regex!(r"\bOUT_OF_ME(?:MORY|MO|M)?\+?(?:\s+\(exit code \d+\)|,? +(?:ExitCode|Reason)|,|\s+\d+:\d+|\s*$)");
    // A summary counts the jobs of each state.
    let none = |before: &str| regex!(r"(?:^|[\s,(:=])(?:0|no) $").is_match(before);
    let matched = state.find(text).filter(|matched| !none(&text[..matched.start()]))?;
    let mut sighting = Sighting::new(Cause::Limit, line).backend("slurm");
    sighting.job =
        regex!(r"(?:Job_id ?= ?|JobId ?= ?|Job ID: ?|^\s*)(\d{3,})").captures(text).map(|job| job[1].to_owned());
    Some((matched.start(), sighting))
}

/// The container's limit from the rest of a pod description: `Limits:`, then `memory: 512Mi`.
fn described(lines: &Lines, at: usize) -> Option<ByteSize> {
    const AROUND: usize = 40;
    let begins = |text: &&str| regex!(r"^(?:Container ID|Image): ").is_match(text);
    let behind = lines.after(at).take(AROUND).map(|line| line.message().trim());
    let behind: Vec<&str> = behind.take_while(|text| !begins(text)).collect();
    // Older versions print the limits first, after the image.
    let above = lines.before(at).take(AROUND).map(|line| line.message().trim());
    let mut above: Vec<&str> = above.take_while(|text| !begins(text)).collect();
    above.reverse();
    limit(&behind).or_else(|| limit(&above))
}

fn limit(lines: &[&str]) -> Option<ByteSize> {
    let mut behind = lines.iter();
    behind.find(|text| regex!(r#"^"?[Ll]imits"?:(?: \{)?$"#).is_match(text))?;
    let memory = behind
        .take(4)
        .take_while(|text| !regex!(r#"^"?[Rr]equests"?:"#).is_match(text))
        .find_map(|text| regex!(r#"^"?memory"?: *"?(\d+(?:\.\d+)?(?:[KMGT]i?)?)"?,?$"#).captures(text))?;
    size::bytes(&memory[1])
}

/// Kubernetes, Docker and managers built on them.
fn container(lines: &Lines, index: usize) -> Option<(usize, Sighting)> {
    let line = &lines[index];
    let text = line.text.as_str();
    let killed = regex!(
        r#"(?:[Rr]eason"?\s*[:= ]\s*\\?["']?|(?:[Rr]eason|[Mm]essage)[*"`]*\s*[:=]\s*[*`]*\\?["'`]?|\d/\d\s+(?:Init:)?|[Ss]tatus"?\s*[:=]\s*\\?"?|[Tt]erminated:? |^\s*[-*(\x{2022}\x{2716}\x{2717}]?\s*|\(|(?:[Pp]od|[Cc]ontainer|[Pp]rocess|[Tt]ask|[Jj]ob|[Ww]orker)\b\D{0,60}\S* (?:was |got |has been )|: |container \S+ |\|\s*|^\W*\d{1,2}:\d\d(?::\d\d)?\b[^.;]{0,60} (?:is|are|was|were|got|has been|have been) )OOM[- ]?[Kk]illed\b"#
    );
    if let Some(matched) = killed.find(text).filter(|_| !regex!(r#"OOMKilled"?\s*[:=]\s*false"#).is_match(text)) {
        let at = matched.start() + matched.as_str().len() - matched.as_str().trim_start_matches(|c| c != 'O').len();
        return match position(text, at) {
            Position::Said(_) | Position::Talk(_) => None,
            _ => {
                let mut sighting = Sighting::new(Cause::Limit, line).backend("kubernetes");
                sighting.numbers.allowed = described(lines, index);
                Some((at, sighting))
            }
        };
    }
    None
}

/// systemd, systemd-oomd, earlyoom and similar services.
fn service(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    let text = line.text.as_str();
    let unit = regex!(
        r"(\S+\.(?:service|scope|slice)): (?:Failed with result 'oom-kill'|A process of this unit has been killed by the OOM killer|.*\bresult 'oom-kill')|Result: oom-kill|\(Result: oom-kill\)"
    );
    if let Some(matched) = unit.captures(text) {
        let mut sighting = Sighting::new(Cause::Machine, line).backend("systemd");
        sighting.victim = matched.get(1).map(|unit| unit.as_str().to_owned());
        return Some((matched.get(0)?.start(), sighting));
    }
    if let Some(matched) = regex!(r"Your session crashed after using all available RAM").find(text) {
        return Some((matched.start(), Sighting::new(Cause::Machine, line).backend("colab")));
    }
    // An AWS Lambda function that had used all of its memory when it ended.
    if let Some(report) = regex!(r"Memory Size: (\d+ MB)\s+Max Memory Used: (\d+ MB)").captures(text) {
        let (allowed, used) = (size::bytes(&report[1]), size::bytes(&report[2]));
        if used < allowed {
            return None;
        }
        let mut sighting = Sighting::new(Cause::Limit, line).backend("lambda");
        sighting.software = Some("lambda");
        sighting.numbers.allowed = allowed;
        sighting.numbers.this_process = used;
        return Some((report.get(0)?.start(), sighting));
    }
    // A control group's own counter, as in `memory.events` and `memory.oom_control`.
    if let Some(matched) = regex!(r"^\s*oom_kill [1-9]\d*$").find(line.message()) {
        return Some((matched.start(), Sighting::new(Cause::Limit, line).backend("linux")));
    }
    let early = regex!(r#"sending SIG(?:TERM|KILL) to process (\d+)(?: uid \d+)? "([^"]*)".*?(?:VmRSS (\d+ MiB))?"#);
    let matched = early
        .captures(text)
        .filter(|_| text.contains("badness") || text.contains("oom_score") || text.contains("VmRSS"))?;
    let mut sighting = Sighting::new(Cause::Machine, line).backend("earlyoom");
    sighting.pid = matched[1].parse().ok();
    sighting.victim = Some(matched[2].to_owned());
    sighting.numbers.this_process = regex!(r"VmRSS (\d+ MiB)").captures(text).and_then(|rss| size::bytes(&rss[1]));
    Some((matched.get(0)?.start(), sighting))
}

/// Ray's memory monitor, in all versions.
fn ray(lines: &Lines, at: usize) -> Option<(usize, Sighting)> {
    let line = &lines[at];
    let text = line.text.as_str();
    let killed = regex!(
        r"(?x) (?:^|\D)([1-9]\d*)\ [Ww]orkers?\ \(tasks\ /\ actors\)\ killed\ due\ to\ memory\ pressure\ \(OOM\)
        | exceeds\ the\ memory\ usage\ threshold
        | System\ memory\ low\ at\ node\ with\ IP
        | (?:Task|Actor)\ was\ killed\ due\ to\ the\ node\ running\ low\ on\ memory
        | ray\.exceptions\.OutOfMemoryError
        | \bRayOutOfMemoryError\b
        | More\ than\ \d+%\ of\ the\ memory\ on\ node"
    );
    let matched = killed.find(text)?;
    let text =
        super::joined::joined(lines, at, " ", |text| regex!(r"threshold of [\d.]+|threshold [\d.]+,").is_match(text));
    let mut sighting = Sighting::new(Cause::Ray, line).backend("ray");
    let gigabytes = regex!(r"(?:was running was |Used memory \()([\d.]+ ?GB)\)? ?/ (?:total capacity \()?([\d.]+ ?GB)")
        .captures(&text);
    if let Some(used) = &gigabytes {
        let (used, capacity) = (size::bytes(&used[1]), size::bytes(&used[2]));
        sighting.numbers.allocated = used;
        sighting.numbers.capacity = capacity;
        sighting.numbers.free = used.zip(capacity).map(|(used, capacity)| capacity.saturating_sub(used));
        let threshold =
            regex!(r"threshold (?:of )?(0\.\d+|1(?:\.0+)?)\b").captures(&text).and_then(|t| t[1].parse::<f64>().ok());
        sighting.numbers.allowed = capacity
            .zip(threshold)
            .map(|(capacity, threshold)| ByteSize::new((capacity.bytes() as f64 * threshold).round() as u64));
        sighting.numbers.this_process =
            regex!(r"memory used=([\d.]+ ?GB)").captures(&text).and_then(|used| size::bytes(&used[1]));
    }
    if let Some(used) = regex!(r"is used \(([\d.]+) / ([\d.]+) GB\)").captures(&text) {
        let gigabytes = |at: usize| size::bytes(&format!("{} GB", &used[at]));
        sighting.numbers.allocated = gigabytes(1);
        sighting.numbers.capacity = gigabytes(2);
    }
    sighting.pid = number(&text, regex!(r"(?:task|actor|lease) ID: \w+, [^)]*\bpid=(\d+)")).or(sighting.pid);
    let node = regex!(r"IP:? (\d+\.\d+\.\d+\.\d+)").captures(&text).map(|node| node[1].to_owned());
    sighting.host = node.or(sighting.host);
    sighting.victim = regex!(r"\bname=([^,)]+)").captures(&text).map(|name| name[1].to_owned());
    Some((matched.start(), sighting))
}
