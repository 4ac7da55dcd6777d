//! Readings one after another in a sentence: `fri 09:00 1.1G, sat 10:20 2.4G, today 4.9G`, `1.1 GB -> 2.0 -> 2.9`.

use super::across::Across;
use super::amount::amounts;
use super::numbers::Number;
use super::regex;
use super::sentence::LONGEST_SENTENCE;
use crate::telemetry::is_of_work;

/// The most bytes between two readings.
const BETWEEN: usize = 48;
/// The fewest readings that are a course.
const READINGS: usize = 4;

/// The most readings of a line of prose of which each but the first stands behind the time when it was taken, or an arrow.
pub(super) fn course(line: &str) -> Option<Across<'_>> {
    // What judges readings reads their line for each of them.
    let all = if line.len() <= LONGEST_SENTENCE { readings(line) } else { Vec::new() };
    let courses = all.chunk_by(|last, next| {
        let between = &line[last.end..next.start];
        between.len() <= BETWEEN && (is_arrow(between) || is_when(between))
    });
    let longest = courses.rev().max_by_key(|course| course.len()).filter(|course| course.len() >= READINGS)?;
    let mut words = line[longest[0].start..longest[longest.len() - 1].end].split(|c: char| !c.is_alphanumeric());
    if words.any(is_of_work) {
        return None;
    }
    let number = |reading: &Reading<'_>| Number {
        start: reading.start,
        written: &line[reading.start..reading.end],
        value: Some(reading.bytes),
        sized: true,
    };
    let values = longest.iter().map(|reading| reading.bytes).collect();
    let numbers = longest.iter().map(number).collect();
    Some(Across { name: String::new(), numbers, values })
}

struct Reading<'a> {
    start: usize,
    end: usize,
    bytes: f64,
    line: &'a str,
}

/// The amounts of a line in order, and the numbers before and behind their arrows, which have the same unit.
fn readings(line: &str) -> Vec<Reading<'_>> {
    let mut found: Vec<Reading<'_>> = Vec::new();
    for amount in amounts(line) {
        let known = found.last().map_or(0, |last| last.end);
        if amount.start < known {
            continue;
        }
        let reading = Reading { start: amount.start, end: amount.end, bytes: amount.bytes, line };
        found.extend(reading.before(known));
        found.push(reading);
        while let Some(next) = found.last().and_then(Reading::next) {
            found.push(next);
        }
    }
    found
}

impl<'a> Reading<'a> {
    /// The numbers from `known` on before the arrow that precedes, which have no unit of their own.
    fn before(&self, known: usize) -> Vec<Reading<'a>> {
        let chain = regex!(r"(?:^|[ (])((?:\d+(?:\.\d+)? ?(?:->|→|⇒) ?)+)$").captures(&self.line[known..self.start]);
        let Some((chain, unit)) = chain.and_then(|found| found.get(1)).zip(self.unit()) else { return Vec::new() };
        let number = |number: regex::Match<'_>| {
            let from = known + chain.start();
            let (start, end) = (from + number.start(), from + number.end());
            Some(Reading { start, end, bytes: number.as_str().parse::<f64>().ok()? * unit, line: self.line })
        };
        regex!(r"\d+(?:\.\d+)?").find_iter(chain.as_str()).filter_map(number).collect()
    }

    /// The number behind the arrow that follows, or in words like those about this one, if it has no unit of its own.
    fn next(&self) -> Option<Reading<'a>> {
        let rest = &self.line[self.end..];
        let next = regex!(
            r"^(?: ?(?:->|→|⇒) ?| after [^,;.]{1,24}[,;] )(\d+(?:\.\d+)?)(?: ?(?:->|→|⇒)|[,;)]|\.?\s*$|\. | (?:after|at|for|with|by)\b)"
        )
        .captures(rest)?
        .get(1)?;
        let unit = self.unit()?;
        let (start, end) = (self.end + next.start(), self.end + next.end());
        Some(Reading { start, end, bytes: next.as_str().parse::<f64>().ok()? * unit, line: self.line })
    }

    /// The bytes of a unit.
    fn unit(&self) -> Option<f64> {
        let own = &self.line[self.start..];
        let own = &own[..own.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','))?];
        Some(self.bytes / own.replace(',', "").parse::<f64>().ok().filter(|number| *number > 0.0)?)
    }
}

fn is_arrow(between: &str) -> bool {
    regex!(r"^\s?(?:->|→|⇒)\s?$").is_match(between)
}

/// Whether what stands before a reading says when it was taken, or after how much of the same work.
fn is_when(between: &str) -> bool {
    super::axis::named_times().is_match(between)
        || regex!(
            r"(?i)\b\d{1,2}[:h]\d\d\b|\b\d{1,2} ?(?:h|am|pm|uhr)\b|\b(?:today|now|yesterday|tonight|morning|noon|evening|midnight|later|heute|jetzt|gestern|abends?|morgens?|aujourd|maintenant|hier|soir|matin|hoy|ahora|ayer|hoje|agora|ontem|oggi|adesso|ieri)\b|\b(?:day|night|week|hour|month|epoch|step|it|iter\w*|cycle|round|pass|run|loop|tag|stunde|woche|jour|heure|semaine|d\x{ed}a|hora|semana|giorno|ora)s? ?\d|\d ?(?:min|hours?|h|days?|d|weeks?|epochs?|steps?|cycles?|rounds?|stunden?|tagen?|wochen?|jours?|heures?|d\x{ed}as?|horas?|dias?|giorni|ore)\b|第 ?\d|\d ?(?:回|회|次|輪|轮|天|日|時|时|시|일)|(?:сегодня|сейчас|вчера|теперь|понедельник|вторник|сред[ау]|четверг|пятниц|суббот|воскрес|\b(?:пн|вт|ср|чт|пт|сб|вс)\b|час|дн[яе]|сут|недел)|\bafter\b|\bnach\b|\bapr\x{e8}s\b|после|через|今天|现在|昨天|今日|昨日|現在|오늘|지금|어제|[월화수목금토일]요일"
        )
        .is_match(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings_of(line: &str) -> Option<Vec<u64>> {
        course(line).map(|course| course.values.iter().map(|bytes| (bytes / 1048576.0) as u64).collect())
    }

    #[test]
    fn readings_of_a_sentence_have_times_or_arrows() {
        for (line, expected) in [
            ("rss thu 14:00 612M, fri 09:00 1.1G, sat 10:20 2.4G, today 4.9G", vec![612, 1126, 2457, 5017]),
            ("RES:周一 1.3G,周二 2.2G,周三 3.0G,周四 3.9G", vec![1331, 2252, 3072, 3993]),
            ("GPU 0 goes 1.1 GB → 2.0 → 2.9 → 3.8.", vec![1126, 2048, 2969, 3891]),
            ("about 900 MB stay behind: 10.2 → 11.1 → 12.0 → 12.9 GB with model A", vec![10444, 11366, 12288, 13209]),
            ("it0 3.1 GB, it10 5.0 GB, it20 6.9 GB, it30 8.9 GB", vec![3174, 5120, 7065, 9113]),
            ("6.6 GB after 1k batches, 8.1 after 2k, 9.7 after 3k, 11.2 after 4k", vec![6758, 8294, 9932, 11468]),
            ("21:14 → 1104M. 23:50 → 1782M. 06:32 → 3560M. 08:05 → 3961M.", vec![1104, 1782, 3560, 3961]),
            ("1회: 1.21GB / 5회: 1.48GB / 10회: 1.83GB / 15회: 2.17GB", vec![1239, 1515, 1873, 2222]),
        ] {
            assert_eq!(readings_of(line), Some(expected), "{line}");
        }
        for line in [
            "batch 1: 2 GB, batch 2: 4 GB, batch 4: 8 GB, batch 8: 16 GB",
            "small 2 GB, medium 4 GB, large 8 GB, huge 16 GB",
            "10 users 2 GB, day 2 20 users 4 GB, day 3 40 users 8 GB, day 4 80 users 16 GB",
            "fri 1 GB, sat 2 GB, sun 3 GB",
        ] {
            assert_eq!(readings_of(line), None, "{line}");
        }
        assert_eq!(readings_of(&format!("memory {} 2 GB", "1 → ".repeat(LONGEST_SENTENCE))), None);
    }
}
