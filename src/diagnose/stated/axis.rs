//! When a reading was taken: at a time, or after how much of the same work. Readings in such an order that rise need
//! nobody to say so.

use super::{Pattern, regex};

/// The names of days and months, which differ between rows that are alike.
pub(super) fn named_times() -> &'static Pattern {
    regex!(
        r"(?i)\b(?:(?:mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day)?|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|tember|ober|ember)?|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|lun(?:di|es)|mar(?:di|tes)|mercredi|mi\x{e9}rcoles|jeudi|jueves|vendredi|viernes)\b|(?:\x{5468}|\x{661f}\x{671f})[\x{4e00}\x{4e8c}\x{4e09}\x{56db}\x{4e94}\x{516d}\x{65e5}\x{5929}]|[\x{6708}\x{706b}\x{6c34}\x{6728}\x{91d1}\x{571f}\x{65e5}]\x{66dc}"
    )
}

/// The most words of a line that says when the reading below it was taken.
const WORDS: usize = 4;

/// Whether `text`, what stands before a reading, says when it was taken.
pub(super) fn is_timed(text: &str) -> bool {
    let begins = regex!(
        r"(?i)^(?:\W|_)*(?:(?-i:\pL{1,13})\W+)?(?:(?:day|hour|week|month|night|morning|evening|calendar week|cw|t\+|epoch|ep|round|cycle|iter(?:ation)?|lap|visit|reload)[ =]*(?:no\.? ?|#)?\d+|20\d\d,\d{1,2},\d{1,2}\}|\d{1,2} ?(?:h|am|pm)\b|\d{1,2}:\d\d|\d\d\.\d\d\.?(?:\d{4})? {1,3}\d\d:\d\d|\d\d\.\d\d\.20\d\d\b|\d+\.\d{2,3}s\b|(?:noon|midnight|lunch)\b|\d{4}([-/.])\d\d[-/.]\d\d|\d{1,2}/\d{1,2}(?:/\d{2,4} |\s{2}| \d{1,2}:\d\d)|\d\d-\d\d\b|1[5-9]\d{8}(?:\d{3})?\b|\d{3,10}\) \w[\w-]*: |\d+ ?(?:min(?:utes?)?|hours?|hrs?|days?|weeks?|nights?|months?)\b)"
    );
    let begins_so = |text: &str| {
        named_times().find(text).is_some_and(|found| !text[..found.start()].contains(|c: char| c.is_ascii_alphabetic()))
    };
    let later = regex!(
        r"(?i)\bafter\s+(?:about |around |~ ?|another )?(?:\d[\d.,]*[km]?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|hundred) ?(?:(?:more |full |whole )?(?:minutes?|min|hours?|hrs?|h|days?|d|weeks?|nights?|months?|epochs?|iterations?|iters?|requests?|reqs?|calls?|cycles?|rounds?|runs?|loops?|visits?|reloads?|inferences?|messages?)\b|\W*$)|\b(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|some|a few|several) (?:minutes?|hours?|days?|nights?|weeks?|months?) (?:later|in|of uptime)\b|\bnext (?:morning|day|evening|week)\b|\b(?:up(?:time)?|elapsed)(?:_\w+)?\x22?\W{0,3}\d|\b\d[\d.,]*[km]? (?:calls|requests|reqs|iterations|cycles|epochs|rounds|loops|messages|steps)\b|\b20\d{6}[T_-]\d{4,6}\b|\b20\d\d-\d\d-\d\dT\d\d:\d\d"
    );
    begins.is_match(text) || begins_so(text) || later.is_match(text)
}

/// Whether a header's first column says when a reading was taken.
pub(super) fn heads_times(header: &str) -> bool {
    regex!(
        r"(?i)^\W*(?:n\W+)?(?:steps?|epochs?|iter(?:ation)?s?|time(?:stamp)?|t|ts|hours?|h|days?|date|clock|(?:uptime|elapsed)(?:_[a-z]+)?|min(?:ute)?s?|rounds?|cycles?|calls?|requests?|reqs?|loops?)\b\W+\w"
    )
    .is_match(header)
}

/// Whether `line` names what prints readings again and again: a command, or the header of its table.
pub(super) fn is_watched(line: &str) -> bool {
    regex!(
        r"(?i)\b(?:docker stats|MEM USAGE|k(?:ubectl)?(?: -\S+(?: [\w.-]+)?){0,4} top|top -b|htop|free -[a-z]|pmap|smem|slabtop|ps -|ps aux|footprint|bjobs|sstat|ms_print|massif|vmstat|nvidia-smi|rocm-smi|amd-smi|xpu-smi|npu-smi|dcgmi|atop|sar -r|VmRSS|jstat|jcmd|tasklist|Get-Process|tracemalloc|erlang[:.]memory|pprof|dumpsys|inuse_space|pidstat|crictl|systemd-cgtop|pm2 (?:ls|list|status|jlist)|mprof|Billed Duration|perf:mem_over_time)|MEMORY\(bytes\)|^\s*PID\s|/proc/\S+/(?:statm?|status|smaps)|\bS0C?\s.*\sYGC\s|^MemTotal:|garbage-first heap +total|^Dynamic space usage is:|\bcurl\b.*/metrics\b|^Control Group\s.*\sMemory\b"
    )
    .is_match(line)
}

/// Whether a line above each reading says that the same work was done once more: `lines` differ in their numbers alone,
/// one of which grows in equal steps.
pub(super) fn counts_up(lines: &[&str]) -> bool {
    let again = regex!(
        r"(?i)\b(?:after|iter\w*|rounds?|runs?|pass|cycles?|open\w*|close[ds]?|requests?|visits?|reloads?|snapshots?|dumps?|samples?|readings?|hours?|calls?|loops?|steps?|epochs?|measure\w*|batch \d+|x\d+|\d+ ?h)\b"
    );
    let digits = regex!(r"\d+");
    let shape = |line: &str| digits.replace_all(line, "#").into_owned();
    let first = shape(lines[0]);
    if !again.is_match(lines[0]) || lines.iter().any(|line| shape(line) != first) {
        return false;
    }
    let counts = |line: &str| digits.find_iter(line).map(|digits| digits.as_str().parse().ok()).collect::<Vec<_>>();
    let counts: Vec<Vec<Option<u64>>> = lines.iter().map(|line| counts(line)).collect();
    let column = |place: usize| counts.iter().map(|counts| counts[place]).collect::<Option<Vec<u64>>>();
    (0..counts[0].len()).filter_map(column).any(|counts| in_equal_steps(&counts))
}

/// Whether each of several counts is as much more than the one before it.
pub(super) fn in_equal_steps(counts: &[u64]) -> bool {
    let mut steps = counts.windows(2).map(|two| two[1].checked_sub(two[0]).filter(|step| *step > 0));
    steps.next().flatten().is_some_and(|first| steps.all(|step| step == Some(first)))
}

/// Whether `word`, of a header, is when the readings below it were taken: `t20`, `8:00`, `day 3`.
pub(super) fn is_time(word: &str) -> bool {
    regex!(
        r"(?i)^(?:t\W?\d+\w?|\d+(?:s|m|min|h|d)|\d{1,2}:\d\d|(?:day|d|week|w|hour|h|epoch|run|round|iter|step)\W?\d+|(?:mon|tue|wed|thu|fri|sat|sun)\w*)$"
    )
    .is_match(word)
}

/// Whether `line` says nothing but when the reading below it was taken, or is a heading that says it.
pub(super) fn heads_a_reading(line: &str) -> bool {
    const WORDS_OF_A_HEADING: usize = 8;
    // The output of `date`.
    if regex!(r"^\w{3} (?:\w{3} +\d{1,2}|\d{1,2} \w{3}) (?:20\d\d )?\d\d:\d\d:\d\d\b").is_match(line) && is_timed(line)
    {
        return true;
    }
    let heads = regex!(r"^(?:==|--|##)|:\s*$").is_match(line);
    let most = if heads { WORDS_OF_A_HEADING } else { WORDS };
    line.split_whitespace().count() <= most && is_timed(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_the_same_work_go_up_in_equal_steps() {
        for lines in [
            ["--- open the screen x0", "--- open the screen x20", "--- open the screen x40"],
            ["== request batch 1 (1000)", "== request batch 2 (1000)", "== request batch 3 (1000)"],
            ["pprof heap.00h.gz | head -5", "pprof heap.01h.gz | head -5", "pprof heap.02h.gz | head -5"],
        ] {
            assert!(counts_up(&lines), "{lines:?}");
        }
        for lines in [
            ["run 1", "run 2", "run 4"],
            ["users 10", "users 20", "users 30"],
            ["after 1 run", "after 2 runs", "after 3 runs"],
            ["run 1", "run 1", "run 1"],
        ] {
            assert!(!counts_up(&lines), "{lines:?}");
        }
    }

    #[test]
    fn times_and_counts_of_the_same_work_are_told_from_sizes() {
        for text in [
            "[I] 00:35:00 wifi ok free heap ",
            "| 2025/09/11 20:15:03.117, ",
            "1751349600  ",
            "Tue  cert-rotator 4m ",
            " * 9 hours later: Wired ",
            "next morning (19 hours): ",
            "after 100k req { rss: '",
            "after 15 - ",
            "night 3   available 19702   kmalloc ",
            "epoch 02  val 0.27  gpu 9.8G  ram ",
            "14 May   OU ",
            "\u{5468}\u{4e8c} ",
            "{\"uptime_s\":3600,\"rss\":",
            "[I][main.cpp:88] loop(): up 4 h   free heap ",
            "9am     phys_footprint: ",
            "02.10 00:00  trafacctd  rss=",
            "Mo 15.07.  06:00   ",
            "* 100k calls: ",
        ] {
            assert!(is_timed(text), "{text}");
        }
        for text in ["batch 16: ", "after 10k rows: ", "after the upgrade ", "model 7b ", "v1.2.3 ", "8 threads "] {
            assert!(!is_timed(text), "{text}");
        }
        assert!(heads_a_reading("%% one hour later") && heads_a_reading("09:00"));
        assert!(heads_a_reading("Tue Apr  1 06:00:04 UTC 2025") && heads_a_reading("Tue 1 Apr 2025 06:00:04 CEST"));
        assert!(!heads_a_reading("09:00 the server was restarted by hand"));
    }
}
