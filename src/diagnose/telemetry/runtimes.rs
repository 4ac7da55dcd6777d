//! Lines in which runtimes and systems print what they hold: garbage collectors, counters of .NET, free heaps, `free`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::figure::Figure;
use super::kind::is_of_a_gpu;
use super::marks::Words;
use super::sample::Metric;
use super::scan::{LEAST_BYTES, Number, behind, number, of_bytes, unit, whole};
use crate::ascii::regex;

/// What a line says: the metric, the amount, and what it is of.
type Reading = (Metric, Figure, Cow<'static, str>);

/// A reader of a kind of line.
type Parser = fn(&str) -> Option<Reading>;

/// The readers, each with a text that its lines have.
const PARSERS: [(&str, Parser); 19] = [
    ("'current': ", tensorflow),
    ("MEM ", mprof),
    ("Max Memory Used: ", lambda),
    ("Total: reserved=", native),
    ("_bytes{", exported),
    ("memory_rss{", exported),
    ("Pause Full", java),
    ("Full GC", java),
    (" MB goal", go),
    ("Mark-Compact", node),
    ("Mark-sweep", node),
    ("(MB)", dotnet),
    ("ree", of_a_java_runtime),
    ("MemAvailable:", meminfo),
    ("ree heap", free_heap),
    ("ree_heap", free_heap),
    ("reeHeap", free_heap),
    ("eap free", free_heap),
    ("% /dev/shm", df),
];

/// The reading of `text`, the message of a line.
pub(super) fn read(text: &str) -> Option<Reading> {
    static TEXTS: LazyLock<Words> = LazyLock::new(|| Words::list(&PARSERS.map(|(text, _)| text)));
    let found = TEXTS.set(text);
    let parsers = PARSERS.iter().enumerate().filter(|(place, _)| found >> place & 1 == 1);
    parsers.filter_map(|(_, (_, parse))| parse(text)).next().or_else(|| row_of_free(text))
}

/// The high-water mark of a function's environment, which serves one request after another: `Max Memory Used: 181 MB`.
fn lambda(text: &str) -> Option<Reading> {
    let used = number(behind(text, "Max Memory Used: ")?).filter(|used| used.rest.starts_with(" MB"))?;
    let is = text.contains("REPORT RequestId: ") && text.contains("Memory Size: ");
    Some((Metric::HostUsed, used.figure(1 << 20)?, "used by a function".into())).filter(|_| is)
}

/// What a JVM has from the system, by its native memory tracking: `Total: reserved=5120412KB, committed=812044KB`.
fn native(text: &str) -> Option<Reading> {
    let committed = number(behind(text, ", committed=")?)?;
    let size = letter(committed.rest.strip_suffix('B').unwrap_or(committed.rest).chars().next()?)?;
    Some((Metric::HostUsed, committed.figure(size)?, "committed by a JVM".into()))
        .filter(|_| text.starts_with("Total: "))
}

/// What TensorFlow's tensors hold on a device: `{'current': 1288490240, 'peak': 5402178560}`.
fn tensorflow(text: &str) -> Option<Reading> {
    let current = number(behind(text, "{'current': ")?).filter(|current| current.rest.starts_with(", 'peak': "))?;
    Some((Metric::Allocated, current.figure(1)?, "in use by TensorFlow".into()))
}

/// A reading of `mprof`, in MiB and at a time: `MEM 470.125000 1700010000.1234`.
fn mprof(text: &str) -> Option<Reading> {
    let used = number(text.strip_prefix("MEM ")?).filter(|used| used.decimals >= 4)?;
    let time = number(used.rest.strip_prefix(' ')?).filter(|time| time.decimals == 4 && time.value > 1e9)?;
    Some((Metric::HostUsed, used.figure(1 << 20)?, "RSS".into())).filter(|_| time.rest.trim().is_empty())
}

/// What a process or a container uses, with labels as Prometheus exports it: `container_memory_rss{pod="a"} 1.2e+08`.
fn exported(text: &str) -> Option<Reading> {
    let (name, rest) = text.split_once('{')?;
    let (_, value) = rest.rsplit_once('}')?;
    let used =
        ["memory_working_set_bytes", "memory_rss", "resident_memory_bytes"].iter().any(|end| name.ends_with(end));
    // A time may stand behind the value.
    let bytes: f64 = value.split_ascii_whitespace().next()?.parse().ok()?;
    // All its labels together identify a container.
    let series = text[..text.len() - value.len()].to_owned().into();
    let is = used && bytes >= LEAST_BYTES && !name.contains(' ');
    Some((Metric::HostUsed, Figure::rounded(bytes, 1, 1.0)?, series)).filter(|_| is)
}

/// What a full collection of a JVM left on the heap: `Pause Full (System.gc()) 1604M->1022M(6144M) 812.551ms`.
fn java(text: &str) -> Option<Reading> {
    let rest = ["Pause Full", "Full GC"].iter().find_map(|name| behind(text, name))?;
    // Older ones print the generations in brackets, and then the whole heap.
    let whole = rest.match_indices("] ").map(|(at, _)| &rest[at + 2..]).find(|rest| number(rest).is_some());
    let rest = whole.unwrap_or(rest);
    let (before, after) = rest.split_once("->")?;
    let left = number(after)?;
    let size = letter(left.rest.chars().next()?)?;
    let counted = before.trim_end_matches(['K', 'M', 'G']).ends_with(|c: char| c.is_ascii_digit());
    let whole = counted && left.rest[1..].starts_with('(');
    Some((Metric::HostUsed, left.figure(size)?, "after a full collection".into())).filter(|_| whole)
}

fn letter(letter: char) -> Option<u64> {
    match letter {
        'K' => Some(1 << 10),
        'M' => Some(1 << 20),
        'G' => Some(1 << 30),
        _ => None,
    }
}

/// What was live after a collection, by Go's `gctrace`: `gc 7 @3.1s 3%: .. ms clock, .. ms cpu, 126->132->64 MB, 130 MB goal`.
fn go(text: &str) -> Option<Reading> {
    let (before, _) = text.split_once(" MB goal").filter(|(before, _)| before.contains(" ms clock,"))?;
    let (_, live) = before.rsplit_once("->")?;
    let live = number(live).filter(|live| live.rest.starts_with(" MB,"))?;
    Some((Metric::HostUsed, live.figure(1 << 20)?, "live after a collection".into()))
}

/// What V8's old generation holds after a collection: `Mark-Compact 254.1 (280.2) -> 188.2 (268.2) MB, ..`.
fn node(text: &str) -> Option<Reading> {
    let rest = ["Mark-Compact", "Mark-sweep"].iter().find_map(|name| behind(text, name))?;
    let (before, after) = rest.split_once(" -> ")?;
    let left = number(after)?;
    let total = number(left.rest.strip_prefix(" (")?)?;
    let is = before.ends_with(')') && total.rest.starts_with(") MB");
    Some((Metric::HostUsed, left.figure(1 << 20)?, "after a full collection".into())).filter(|_| is)
}

/// A counter of `dotnet-counters`, in a row of its own or of comma-separated values; its MB are 10^6 bytes.
fn dotnet(text: &str) -> Option<Reading> {
    let of = [("GC Heap Size (MB)", "GC heap"), ("Working Set (MB)", "working set")];
    let (rest, label) = of.iter().find_map(|(name, label)| Some((behind(text, name)?, *label)))?;
    let rest = rest.trim_start_matches([',', ' ', '\t']);
    let amount = number(rest.strip_prefix("Metric,").unwrap_or(rest)).filter(|amount| amount.rest.trim().is_empty())?;
    Some((Metric::HostUsed, amount.figure(1_000_000)?, label.into()))
}

/// The three amounts of Java's `Runtime`: `total=2048MB free=1420MB max=2048MB`.
fn of_a_java_runtime(text: &str) -> Option<Reading> {
    let named = regex!(
        r"(?i)\b(?P<name>total|free|max)(?:[ _]?mem(?:ory)?)?\s?[=:]\s?(?P<amount>\d+(?:\.\d+)?)\s?(?P<unit>[KMG]i?B?|bytes|B)?\b"
    );
    let mut amounts: [Option<(Number<'_>, u64)>; 3] = [None; 3];
    for found in named.captures_iter(text) {
        let at = match found["name"].as_bytes()[0] | 0x20 {
            b't' => 0,
            b'f' => 1,
            _ => 2,
        };
        let amount = number(found.name("amount")?.as_str())?;
        let size = match found.name("unit").and_then(|unit| unit.as_str().chars().next()) {
            Some(first) => letter(first.to_ascii_uppercase()).unwrap_or(1),
            None if amount.value >= LEAST_BYTES => 1,
            None => return None,
        };
        if amounts[at].replace((amount, size)).is_some() {
            return None;
        }
    }
    let [Some((total, size)), Some((free, of_free)), Some((most, of_most))] = amounts else { return None };
    let used = total.value * size as f64 - free.value * of_free as f64;
    let fits = used >= 0.0 && most.value * of_most as f64 >= total.value * size as f64 && !is_of_a_gpu(text);
    let figure = Figure::rounded(used, 1, total.step() * size as f64 + free.step() * of_free as f64)?;
    Some((Metric::HostUsed, figure, "heap of Java".into())).filter(|_| fits)
}

/// Several figures of `/proc/meminfo` on one line: `MemTotal: 8050412 kB MemAvailable: 6200000 kB ..`.
fn meminfo(text: &str) -> Option<Reading> {
    let available = number(behind(text, "MemAvailable:")?).filter(|available| available.rest.starts_with(" kB"))?;
    text.contains("MemTotal:").then_some(())?;
    Some((Metric::HostFree, available.figure(1 << 10)?, "the machine".into()))
}

/// The row of `df` on shared memory: `tmpfs  32G  2.6G  30G  9% /dev/shm`, in KiB if no amount has a letter.
fn df(text: &str) -> Option<Reading> {
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let [.., total, used, free, _, "/dev/shm"] = fields[..] else { return None };
    let lettered = [total, used, free].iter().any(|field| field.ends_with(|c: char| c.is_ascii_alphabetic()));
    let amount = number(used)?;
    let size = match amount.rest {
        "" if lettered => 1,
        "" => 1 << 10,
        rest => letter(rest.trim_end_matches('i').chars().next()?)?,
    };
    Some((Metric::HostUsed, amount.figure(size)?, "/dev/shm".into()))
}

/// The free heap of a small device or of a program: `Free heap: 198212`, `esp_get_free_heap_size=198212`.
fn free_heap(text: &str) -> Option<Reading> {
    const LEAST_HEAP: u64 = 1_000;
    let lower = text.to_ascii_lowercase();
    let names = ["free heap", "free_heap", "freeheap", "heap free"];
    let rest = names.iter().find_map(|name| behind(&lower, name))?;
    let rest = rest.trim_start_matches([' ', '_']);
    let rest = rest.strip_prefix("size").or_else(|| rest.strip_prefix("memory")).unwrap_or(rest);
    let rest = rest.trim_start_matches([' ', '=', ':', '(', ')', '"', '\'']);
    let amount = number(rest)?;
    // The letters are small here.
    let size = match of_bytes(&text[text.len() - amount.rest.len()..]) {
        Some((size, _)) => size,
        None if amount.rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '%' | '/')) => return None,
        None if whole(rest)? < LEAST_HEAP || amount.decimals > 0 => return None,
        None => 1,
    };
    Some((Metric::HostFree, amount.figure(size)?, "heap".into()))
}

/// The first row of `free`, in any language: total, used, free, shared, cache and available, of which some make up others.
fn row_of_free(text: &str) -> Option<Reading> {
    const LONGEST_ROW: usize = 160;
    if text.len() > LONGEST_ROW {
        return None;
    }
    let mut words = text.split_ascii_whitespace();
    words.next().filter(|name| name.ends_with(':') && name.len() > 2)?;
    let mut amounts = [0.0; 6];
    let mut size = None;
    for amount in &mut amounts {
        let word = number(words.next()?)?;
        let own = match word.rest {
            "" => 1,
            letters => {
                unit(letters).map(|unit| unit.0).or_else(|| letter(letters.trim_end_matches('i').chars().next()?))?
            }
        };
        size.get_or_insert(own);
        *amount = word.value * own as f64;
    }
    let [total, used, free, shared, cache, available] = amounts;
    let about = |sum: f64| total > 0.0 && (sum - total).abs() <= 0.02 * total;
    let fits = words.next().is_none()
        && (about(used + available) || about(used + free + cache))
        && [used, free, shared, cache, available].iter().all(|part| *part <= total);
    // Without an option the amounts are KiB, with `-m` MiB, with `-g` GiB.
    let unit: u64 = match size? {
        1 if total >= 1e6 => 1 << 10,
        1 if total >= 200.0 => 1 << 20,
        1 => 1 << 30,
        _ => 1,
    };
    let figure = Figure::rounded((total - available).max(0.0), unit, size? as f64)?;
    Some((Metric::HostUsed, figure, "the machine".into())).filter(|_| fits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_runtimes_and_systems_are_read() {
        let (used, free) = (Metric::HostUsed, Metric::HostFree);
        for (text, metric, bytes) in [
            ("[gc] GC(211) Pause Full (System.gc()) 1604M->1022M(6144M) 812.551ms", used, 1022 << 20),
            (
                "3.1: [Full GC (Ergonomics) [PSYoungGen: 1024K->0K(2048K)] [ParOldGen: 900K->700K(4096K)] 1924K->700K(6144K), [Metaspace: 50K->50K(99K)], 0.2 secs]",
                used,
                700 << 10,
            ),
            (
                "REPORT RequestId: 0a11 Duration: 812.40 ms Billed Duration: 813 ms Memory Size: 1024 MB Max Memory Used: 181 MB",
                used,
                181 << 20,
            ),
            ("MEM 512.500000 1700010000.1234", used, 1025 << 19),
            ("Total: reserved=5120412KB, committed=812044KB", used, 812_044 << 10),
            ("container_memory_rss{pod=\"api-1\"} 2097152", used, 2 << 20),
            ("container_memory_working_set_bytes{pod=\"api-1\"} 1.048576e+06 1700000000000", used, 1 << 20),
            (
                "gc 210 @300.1s 3%: 0.041+27.9+0.006 ms clock, 0.33+0.42/45.1/0.1+0.05 ms cpu, 126->132->64 MB, 130 MB goal, 1 MB stacks, 8 P",
                used,
                64 << 20,
            ),
            ("[31:0x5c]   300000 ms: Mark-Compact 254.0 (280.0) -> 188.5 (268.0) MB, pooled: 0 MB", used, 377 << 19),
            ("[31:0x5c] 8 ms: Mark-sweep (reduce) 254.0 (280.0) -> 188.0 (268.0) MB, 83.58 / 0.00 ms", used, 188 << 20),
            ("11/05/2024 08:00:00,System.Runtime,GC Heap Size (MB),Metric,214.0000", used, 214_000_000),
            ("    GC Heap Size (MB)                        214", used, 214_000_000),
            ("after System.gc(): total=2048MB free=1420MB max=2048MB sessions=124", used, 628 << 20),
            ("Free memory: 1048576, total memory: 4194304, max memory: 8388608", used, 3 << 20),
            ("host=a MemTotal: 8050412 kB MemAvailable: 6200000 kB Slab: 500984 kB", free, 6_200_000 << 10),
            ("mqtt: published 1 msg, esp_get_free_heap_size=198212 min=196149", free, 198_212),
            ("Free heap: 41 KB", free, 41 << 10),
            ("tmpfs                 32G  2.5G   30G   9% /dev/shm", used, 5 << 29),
            ("shm  65536  1024  64512  2% /dev/shm", used, 1 << 20),
            ("Mem:          32074        6120       20100         212        5854       25954", used, 6120 << 20),
            ("Speicher:        32074        6120       20100         212        5854       25454", used, 6620 << 20),
            ("Mem:  31Gi  5.0Gi  20Gi  212Mi  6.0Gi  26Gi", used, 5 << 30),
        ] {
            let found = read(text).map(|(metric, figure, _)| (metric, figure.bytes.bytes()));
            assert_eq!(found, Some((metric, bytes)), "{text}");
        }
        for text in [
            "Pause Full (G1) 12ms",
            "Max Memory Used: 181 MB",
            "MEM 512.5 17",
            "Total: reserved=1KB",
            "container_memory_working_set_bytes{pod=\"api-1\"} > 1048576",
            "goal: 3->4->5 MB, 9 MB goal",
            "Mark-Compact -> done",
            "GC Heap Size (MB) is the size of the heap",
            "total=12 free=3 max=20",
            "free=1GiB total=4GiB",
            "cuda:0 free: 1GiB, total: 4GiB, max: 4GiB",
            "MemAvailable: 6200000 kB",
            "free heap below 10%: 12% left",
            "Free heap: 12 objects",
            "at 9% /dev/shm",
            "a b c 9% /dev/shm",
            "Mem: 1 2 3 4 5 6",
            "Swap:          2047           0        2047",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(
            name in "(Pause Full|gc 1 ms clock, | MB goal|Mark-Compact|GC Heap Size \\(MB\\)|free=|MemAvailable:|Free heap|Mem:|[0-9]{0,2}G 9% /dev/shm)",
            text in "[ -~]{0,60}",
        ) {
            let _ = (read(&format!("{name}{text}")), read(&format!("{text}{name}")));
        }
    }
}
