//! Prefixes that loggers, launchers, kernels and people put before a line, and what they identify: rank, process,
//! machine.

use std::sync::LazyLock;

use regex::Regex;

/// Who wrote a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) rank: Option<u64>,
    pub(super) pid: Option<u64>,
    pub(super) host: Option<String>,
    /// Where the line's own text begins.
    pub(super) end: usize,
}

impl Origin {
    /// What all lines of one process have in common.
    pub(super) fn stream(&self) -> (Option<u64>, Option<u64>, Option<&str>) {
        (self.rank, self.pid, self.host.as_deref())
    }
}

/// One prefix; the first match is removed, and the search starts again after it.
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    let alternatives = [
        // Ranks: torchelastic, Lightning, Megatron; `srun --label`; `mpirun --tag-output`.
        r"\[(?:[Rr]ank ?|RANK ?|default|TP|tp)(?P<rank>\d{1,6})\]:?",
        r"[Rr]ank ?(?P<rank2>\d{1,6})\]?:",
        r"\[\d+,(?P<rank3>\d{1,6})\]<std(?:err|out)>:",
        r" *(?P<rank4>\d{1,5}): ",
        // Processes: Ray and vLLM, syslog.
        r"\([A-Za-z_][\w.:+<>-]*?(?:\[rank=(?P<rank5>\d+)\]| rank=(?P<rank6>\d+)|_TP(?P<rank7>\d+))? pid=(?P<pid>\d+)(?:, ip=(?P<host>[\d.]+))?\)",
        r"\(pid=(?P<pid2>\d+)(?:, ip=(?P<host6>[\d.]+))?\)",
        r"\((?:raylet|autoscaler|gcs_server)(?:, ip=(?P<host2>[\d.]+))?\)",
        // Times.
        r"\[?\d{4}-\d\d-\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)?(?: UTC)?\]?[:,]?",
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[,.]\d+ [A-Z] \d+ \d+\]",
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d TP(?P<rank8>\d+)\]",
        r"\[ *\d+\.\d{3,9}\]",
        r"(?:\d+:[CMSX]|\[\d+\]) \d{1,2} [A-Z][a-z]{2} (?:\d{4} )?\d\d:\d\d:\d\d\.\d{3} [.*#-] ",
        r"\[[^\]\[]{0,12}? ?\d{1,2} \d\d:\d\d:\d\d(?: \d{4})?\]",
        r"\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}\]",
        r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)? (?P<host3>[\w.-]+) (?:[\w./@-]+(?:\[\d+\])?: ?)",
        r"[\w.-]+ kernel: ",
        r"kernel: ",
        r"\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?",
        r"\d\d?/\d\d?/\d{2,4},? \d\d:\d\d:\d\d(?: [AP]M)?",
        // Log levels and positions in a source.
        r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]",
        r"\[(?:debug|info|warning|error)\]",
        r"\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?(?:[:|]| *-| \d\d-\d\d \d\d:\d\d:\d\d| )",
        r"\[[\w./-]+\.(?:py|cc|cpp|cu|rs|go):\d+(?::\w+)?\]",
        r"\((?:[\w./-]+\.(?:py|cc|cpp|cu|rs|go):\d+)\)",
        r"std(?:err|out) (?:\||F|P)",
        r"<\d{1,3}>",
        // Machines and containers.
        r"(?P<host4>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}): ",
        r"(?P<host5>[A-Za-z][\w.-]*\d): ",
        r"\[(?P<host7>[A-Za-z][\w.@:-]*)\] (?:out|err): ",
        r"[\w.-]+ +\| ",
        r"Step #\d+(?: - \x22[^\x22]{1,80}\x22)?: ",
        // What people and boxes put there.
        r"[>#|│║*-](?: |$)",
        r"`{1,3}",
        r"<(?:pre|samp|tt)\b[^>]{0,80}>",
    ];
    crate::ascii::compile(&format!("^(?:{})", alternatives.join("|")))
});

/// How many prefixes are removed from a line at most.
const MOST_PREFIXES: usize = 8;
/// How many bytes the prefixes of a line may take.
const LONGEST_PREFIXES: usize = 400;

/// Finds the prefixes of `text`.
pub(super) fn peel(text: &str) -> Origin {
    let mut origin = Origin::default();
    let bound = boundary(text, LONGEST_PREFIXES);
    for _ in 0..MOST_PREFIXES {
        let rest = &text[origin.end..bound];
        let indent = rest.len() - rest.trim_start().len();
        let Some(found) = PREFIX.captures(&rest[indent..]) else { break };
        let whole = found.get(0).map_or(0, |whole| whole.end());
        if whole == 0 {
            break;
        }
        let named = |names: &[&str]| names.iter().find_map(|name| found.name(name)).map(|name| name.as_str());
        let number = |names: &[&str]| named(names).and_then(|digits| digits.parse().ok());
        let ranks = ["rank", "rank2", "rank3", "rank4", "rank5", "rank6", "rank7", "rank8"];
        // PostgreSQL separates its level from the message by two blanks; the two belong together.
        let behind = &rest[indent + whole..];
        if rest[indent..indent + whole].ends_with(':') && behind.starts_with("  ") && !behind.starts_with("   ") {
            break;
        }
        // An error code, such as `ORA-04030: `, is not a machine, and neither is a device.
        if named(&["host5"]).is_some_and(|name| is_code(name) || is_device(name)) {
            break;
        }
        origin.rank = origin.rank.or(number(&ranks));
        origin.pid = origin.pid.or(number(&["pid", "pid2"]));
        let host = named(&["host", "host2", "host3", "host4", "host5", "host6", "host7"]).map(str::to_owned);
        origin.host = origin.host.or(host);
        origin.end += indent + whole;
    }
    // A line without a prefix keeps its indentation.
    if origin.end > 0 {
        let rest = &text[origin.end..];
        origin.end += rest.len() - rest.trim_start().len();
    }
    origin
}

/// Whether a name is an error code: capitals and a number.
fn is_code(name: &str) -> bool {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_uppercase()).trim_start_matches(['-', '_']);
    digits.len() < name.len() && digits.len() >= 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a name is that of a device: its kind and its number.
fn is_device(name: &str) -> bool {
    const KINDS: [&str; 10] = ["gpu", "cuda", "hip", "device", "npu", "xpu", "tpu", "hpu", "card", "vulkan"];
    let kind = name.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(['-', '_', '#']);
    kind.len() < name.len() && KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known))
}

/// The last character boundary in `text` at or before `at`.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_loggers_and_launchers_go_and_tell_who_wrote() {
        let own = "torch.OutOfMemoryError: CUDA";
        for (prefix, rank, pid, host) in [
            ("", None, None, None),
            ("[rank3]: ", Some(3), None, None),
            ("[rank3]:[rank3]: ", Some(3), None, None),
            ("[default7]:", Some(7), None, None),
            ("12: ", Some(12), None, None),
            ("[1,5]<stderr>:", Some(5), None, None),
            ("(WorkerDict pid=321) ", None, Some(321), None),
            ("(MegatronPolicyWorker[rank=9] pid=321, ip=10.0.0.7) ", Some(9), Some(321), Some("10.0.0.7")),
            ("(Worker_TP3 pid=88) ERROR 11-18 18:07:28 [engine.py:366] ", Some(3), Some(88), None),
            ("2024-04-27 10:13:05 | ERROR | stderr | ", None, None, None),
            ("[2024-05-01 10:00:00,123] [ERROR] [utils.py:30:see] ", None, None, None),
            ("E0325 20:57:27.620000 2606 site-packages/torch/api.py:869] ", None, None, None),
            ("vllm-1  | ", None, None, None),
            ("Aug 06 23:51:09 node7 kernel: ", None, None, Some("node7")),
            ("[ 7063.247407] ", None, None, None),
            ("[Sun Mar 30 08:24:00 2025] ", None, None, None),
            ("worker-1: [rank11]: ", Some(11), None, Some("worker-1")),
            ("> ", None, None, None),
            ("│ ", None, None, None),
        ] {
            let text = format!("{prefix}{own}");
            let origin = peel(&text);
            assert_eq!(&text[origin.end..], own, "{prefix}");
            assert_eq!((origin.rank, origin.pid, origin.host.as_deref()), (rank, pid, host), "{prefix}");
        }
    }

    #[test]
    fn what_is_no_prefix_stays() {
        for text in [
            "RuntimeError: CUDA out of memory",
            "    return f(x)",
            "Killed",
            "error: it",
            "a: b",
            "é".repeat(300).as_str(),
        ] {
            assert_eq!(peel(text).end, 0, "{text}");
        }
    }
}
