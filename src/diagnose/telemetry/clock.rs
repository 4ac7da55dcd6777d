//! [`Clock`]: when a line was written.

use super::scan::cut;

/// The time of a line: of a day, if the line says which.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clock {
    /// Counts on from day to day, and leaves days out between months.
    day: Option<u32>,
    /// Seconds of the day.
    second: u32,
}

const DAY: u32 = 24 * 3600;

impl Clock {
    fn of_seconds(seconds: u64) -> Option<Self> {
        let second = (seconds % u64::from(DAY)) as u32;
        Some(Self { day: Some(u32::try_from(seconds / u64::from(DAY)).ok()?), second })
    }

    /// Whether `self` is earlier on the same day, or on an earlier one if both have a day.
    fn is_before(self, other: Self) -> bool {
        (self.day, self.second) < (other.day, other.second) && self.day.is_some() == other.day.is_some()
    }

    /// How many seconds lie between `self` and a later time. Of times without a day, the later one is less than a day later.
    pub(crate) fn until(self, later: Self) -> u64 {
        let days = match (self.day, later.day) {
            (Some(day), Some(other)) => other.saturating_sub(day),
            _ => u32::from(later.second < self.second),
        };
        (u64::from(days) * u64::from(DAY) + u64::from(later.second)).saturating_sub(u64::from(self.second))
    }
}

/// Whether the times of several lines go back from each to the next.
pub(crate) fn newest_first(times: impl Iterator<Item = Option<Clock>>) -> bool {
    const LINES: usize = 4;
    let times: Option<Vec<Clock>> = times.collect();
    times.is_some_and(|times| times.len() >= LINES && times.windows(2).all(|two| two[1].is_before(two[0])))
}

/// The time of a line: at its beginning, `2025-01-14 02:00:01`, `[14:05]`, or in seconds since an epoch.
pub(crate) fn clock(text: &str) -> Option<Clock> {
    const NEAR: usize = 40;
    let head = cut(text, NEAR).as_bytes();
    let pair = |at: usize, most: u32| {
        let digits = head.get(at..at + 2).filter(|pair| pair.iter().all(u8::is_ascii_digit))?;
        let number = digits.iter().fold(0, |number, digit| 10 * number + u32::from(digit - b'0'));
        (number < most).then_some(number)
    };
    let colons = head.iter().enumerate().filter(|(_, byte)| **byte == b':').map(|(at, _)| at);
    let mut times = colons.filter(|at| *at >= 2).filter_map(|at| {
        let alone = at == 2 || !head[at - 3].is_ascii_alphanumeric() || head[at - 3] == b'T';
        let second = if head.get(at + 3) == Some(&b':') { pair(at + 4, 60) } else { Some(0) };
        alone.then(|| Some(3600 * pair(at - 2, 24)? + 60 * pair(at + 1, 60)? + second?)).flatten()
    });
    // `2025-01-14`: as if each month had 31 days.
    let dash = |at: &usize| matches!(head[*at], b'-' | b'/') && head.get(at + 3) == Some(&head[*at]);
    let mut days = (4..head.len()).filter(dash).filter_map(|at| {
        let year = 100 * pair(at - 4, 100)? + pair(at - 2, 100)?;
        Some(31 * (12 * year + pair(at + 1, 13)?) + pair(at + 4, 32)?)
    });
    let (day, second) = (days.next(), times.next());
    if day.is_none() && second.is_none() {
        return hours(head).or_else(|| epoch(text));
    }
    Some(Clock { day, second: second.unwrap_or(0) })
}

/// The time of a line that begins with hours since a start: `06h`, `T+12 h`.
fn hours(head: &[u8]) -> Option<Clock> {
    let text = std::str::from_utf8(head).ok()?.trim_start_matches(['T', 't', '+', ' ', '[', '|']);
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text[digits..].trim_start();
    let unit = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let hours = text[..digits].parse::<u64>().ok().filter(|_| matches!(&rest[..unit], "h" | "hr" | "hrs" | "hours"))?;
    Clock::of_seconds(hours.checked_mul(3600)?)
}

/// The time of a line that has seconds of Unix time, or thousandths, millionths or billionths of them, or that of V8, which
/// counts from its start: `[31:0x5581e40]  60211 ms: Mark-sweep`.
fn epoch(text: &str) -> Option<Clock> {
    // From 2001 to 2033.
    let unix = |digits: &str| {
        let seconds = matches!(digits.len(), 10 | 13 | 16 | 19).then(|| digits[..10].parse::<u64>().ok())??;
        (1_000_000_000..2_000_000_000).contains(&seconds).then_some(seconds)
    };
    let since_start = text.split_once(" ms: ").and_then(|(before, _)| before.rsplit(' ').next()?.parse::<u64>().ok());
    let mut numbers = text.split(|c: char| !c.is_ascii_alphanumeric());
    let seconds = since_start.map(|thousandths| thousandths / 1000).or_else(|| numbers.find_map(unix))?;
    Clock::of_seconds(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_stands_at_the_beginning_or_counts_from_an_epoch() {
        let day = |year: u32, month: u32, day: u32| Some(31 * (12 * year + month) + day);
        for (text, expected) in [
            ("2025/01/14 02:00:01.113, 0, 64 %, 5120 MiB", Some((day(2025, 1, 14), 7201))),
            ("2024-03-04T23:59:59Z rss", Some((day(2024, 3, 4), 86_399))),
            ("2025-08-01 Slab:  812044 kB", Some((day(2025, 8, 1), 0))),
            ("[14:05] VRAM used", Some((None, 50_700))),
            ("22:30  VRAM Total Used Memory (B): 2491416576", Some((None, 81_000))),
            ("MEM 98.205102 1733202000.2773", Some((Some(20_060), 18_000))),
            ("{\"level\":30,\"time\":1733202000124,\"rss\":171589632}", Some((Some(20_060), 18_000))),
            ("procstat,host=a memory_rss=28114944i 1733202000000000000", Some((Some(20_060), 18_000))),
            ("[31:0x5581e40]   361502 ms: Mark-sweep (reduce) 71.9", Some((Some(0), 361))),
            ("06h  nv_gpu_memory_used_bytes 5597298688", Some((Some(0), 21_600))),
            ("T+30 hours rss", Some((Some(1), 21_600))),
            ("24 hosts, 3 hot", None),
            ("rss=1733202000a cafe1733202000 17332020001", None),
            ("GPU 0: 12 of 16 GiB, eta 1:02", None),
            ("a:b 25:00 100:20 12-34-56", None),
        ] {
            assert_eq!(clock(text), expected.map(|(day, second)| Clock { day, second }), "{text}");
        }
    }

    #[test]
    fn the_newest_row_may_come_first() {
        let newest = |rows: &[&str]| newest_first(rows.iter().map(|row| clock(row)));
        assert!(newest(&["time=18:00 a", "time=17:00 a", "time=16:00 a", "time=15:00 a"]));
        assert!(newest(&["2025-01-02 00:10", "2025-01-02 00:00", "2025-01-01 23:50", "2025-01-01 23:40"]));
        // Past midnight, too few, or without a time.
        assert!(!newest(&["22:00", "23:00", "00:00", "01:00"]));
        assert!(!newest(&["18:00", "17:00", "16:00"]));
        assert!(!newest(&["18:00", "17:00", "16:00", "sum"]));
    }

    #[test]
    fn times_lie_apart_within_a_day_and_across_midnight() {
        let apart = |earlier: &str, later: &str| clock(earlier).unwrap().until(clock(later).unwrap());
        assert_eq!(apart("23:50 a", "00:10 a"), 1200);
        assert_eq!(apart("2025-01-01 10:00", "2025-01-02 10:00"), 86_400);
        assert_eq!(apart("10:00", "10:00:30"), 30);
        // The newer one comes first.
        assert_eq!(apart("2025-01-02 10:00", "2025-01-01 10:00"), 0);
    }
}
