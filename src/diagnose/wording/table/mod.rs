//! Wordings as data: one row per wording, one file per family.
//!
//! A row states what its pattern means, who prints it and its source, and gives an example. The page of the
//! manual and the tests are made from the rows, so that a new wording is one row. Named groups of a pattern are the
//! numbers and names of the event: `tried`, `capacity`, `free`, `pool` (what is free in an allocator that owns the whole
//! device), `allocated`, `used`, `allowed`, `most` (of one allocation), each with the suffix `_k`, `_m` or `_g` if the
//! text leaves out the unit, and `pid`, `device`, `job`, `victim`.

mod clouds;
mod databases;
mod devices;
mod generic;
mod graphics;
mod hosts;
mod inference;
mod kills;
mod languages;
mod native;
mod schedulers;
mod training;
mod virtual_machines;

use std::sync::LazyLock;

use regex::bytes::Captures;

use super::super::candidates::Candidates;
use super::super::findings::Numbers;
use super::super::prefix::boundary;
use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::joined::{joined, sentence_above};
use super::position::{Position, position};
use super::{amounts, recovered, side, size};

/// The meaning of a row's wording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Means {
    /// The memory of a device ran out.
    Device,
    /// A program found that the device does not hold what it needs.
    Full,
    /// A pool or a share of the device that was given to the process is full.
    Capped,
    /// The host, or a runtime's own limit, refused an allocation.
    Host,
    /// One request on the host is larger than any could be.
    Huge,
    /// An allocation was refused, on the device or the host: the surrounding words decide.
    Refused,
    /// A control group, container, job or service reached its limit.
    Limit,
    /// The machine ran out of memory, and something was killed for it.
    Machine,
    /// Shared memory is full.
    Shared,
    /// SIGKILL without a sender.
    Killed,
    /// The program made room on a nearly full device, or left work out for it, and goes on.
    Pressure,
    /// Something other than memory ended the processes.
    Ended(&'static str),
    /// The wording looks like an event and is not one, for this reason.
    Nothing(&'static str),
}

/// One wording.
#[derive(Debug)]
pub(super) struct Wording {
    pub(super) means: Means,
    /// The software that prints it.
    pub(super) software: &'static str,
    /// What happened, in one sentence.
    pub(super) meaning: &'static str,
    pattern: &'static str,
    pub(super) example: &'static str,
    /// Where the wording is defined or described: an address or a name.
    pub(super) source: &'static str,
    /// Whether the wording only counts at the beginning of a message, because its words are ordinary ones.
    begins: bool,
}

/// A row that counts at any position, unless it is talk.
const fn row(
    means: Means,
    software: &'static str,
    meaning: &'static str,
    pattern: &'static str,
    example: &'static str,
    source: &'static str,
) -> Wording {
    Wording { means, software, meaning, pattern, example, source, begins: false }
}

impl Wording {
    /// Makes the row count only at the beginning of a message.
    const fn begins(mut self) -> Self {
        self.begins = true;
        self
    }
}

/// A family: its title in the manual, and its rows.
pub(super) type Family = (&'static str, &'static [Wording]);

/// Every family. The first row that matches a line decides.
pub(super) fn families() -> [Family; 13] {
    [
        ("Training frameworks", training::ROWS),
        ("Inference", inference::ROWS),
        ("Graphics, video and other device interfaces", graphics::ROWS),
        ("Devices: drivers and libraries", devices::ROWS),
        ("Clouds and containers", clouds::ROWS),
        ("Batch systems and workflow managers", schedulers::ROWS),
        ("Java, JavaScript and .NET", virtual_machines::ROWS),
        ("Operating systems and their services", hosts::ROWS),
        ("Other language runtimes", languages::ROWS),
        ("Databases, caches and brokers", databases::ROWS),
        ("Compilers, C libraries and tools", native::ROWS),
        ("Kills without a sender", kills::ROWS),
        ("Any other program", generic::ROWS),
    ]
}

/// The number of families that name their software; the others come after every other reader.
const NAMED: usize = 11;

/// A wording that diagnosis recognises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownWording {
    /// The family of the wording.
    pub family: &'static str,
    /// The software that prints it; empty if many programs do.
    pub software: &'static str,
    /// What happened, or why it is not an event.
    pub meaning: &'static str,
    /// What ran out: `device`, `host`, `device or host`, `limit`, `machine`, `shared memory`, `killed`,
    /// `nearly full device`, `nothing`.
    pub side: &'static str,
    /// An example line.
    pub example: &'static str,
    /// Where the wording is defined or described; empty if it belongs to no single program.
    pub source: &'static str,
}

/// The wordings of the table, by family.
///
/// ```
/// let java = plimsoll_diagnose::known_wordings().into_iter().filter(|wording| wording.software == "jvm");
/// assert!(java.count() > 3);
/// ```
pub fn known_wordings() -> Vec<KnownWording> {
    let of = |family: &'static str, row: &'static Wording| {
        let (side, meaning) = match row.means {
            Means::Device | Means::Full | Means::Capped => ("device", row.meaning),
            Means::Host | Means::Huge => ("host", row.meaning),
            Means::Refused => ("device or host", row.meaning),
            Means::Limit => ("limit", row.meaning),
            Means::Machine => ("machine", row.meaning),
            Means::Shared => ("shared memory", row.meaning),
            Means::Killed => ("killed", row.meaning),
            Means::Pressure => ("nearly full device", row.meaning),
            Means::Ended(reason) | Means::Nothing(reason) => ("nothing", reason),
        };
        KnownWording { family, software: row.software, meaning, side, example: row.example, source: row.source }
    };
    families().into_iter().flat_map(|(family, rows)| rows.iter().map(move |row| of(family, row))).collect()
}

/// Rows whose patterns are searched together: one pass over a line finds those that may match.
struct Rows {
    candidates: Candidates<'static>,
    rows: Vec<&'static Wording>,
}

impl Rows {
    fn of(families: &[Family]) -> Self {
        let rows: Vec<&Wording> = families.iter().flat_map(|(_, rows)| rows.iter()).collect();
        Self { candidates: Candidates::of(rows.iter().map(|row| row.pattern), false), rows }
    }
}

static SPECIFIC: LazyLock<Rows> = LazyLock::new(|| Rows::of(&families()[..NAMED]));
static GENERAL: LazyLock<Rows> = LazyLock::new(|| Rows::of(&families()[NAMED..]));

/// Reads line `at` by the rows that name their software.
pub(super) fn specific(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    found.extend(message(&SPECIFIC, lines, at));
}

/// Reads line `at` by the rows for any program.
pub(super) fn general(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    found.extend(message(&GENERAL, lines, at));
}

/// The message in line `at`, joined with the lines before and after it if it was wrapped.
fn message(rows: &Rows, lines: &Lines, at: usize) -> Option<Sighting> {
    let own = lines[at].message();
    let sighting = of(rows, lines, at, own, None);
    // Ordinary words at the start of a line may be the end of a sentence.
    if sighting.as_ref().is_some_and(|sighting| sighting.weak)
        && let Some(above) = sentence_above(lines, at)
    {
        let whole = of(rows, lines, at, &format!("{above} {own}"), Some(above.len()));
        return whole.or_else(|| Some(Sighting::new(Cause::Dismissed("words of a sentence"), &lines[at])));
    }
    let told = |sighting: &Sighting| sighting.numbers.tried.is_some() || matches!(sighting.cause, Cause::Dismissed(_));
    if sighting.as_ref().is_some_and(told) {
        return sighting;
    }
    for glue in [" ", ""] {
        let text = joined(lines, at, glue, |text| text.len() > own.len() + 400);
        if text.len() > own.trim().len() {
            let across = of(rows, lines, at, &text, Some(own.trim().len()));
            let better = |across: &Sighting| {
                !matches!(across.cause, Cause::Dismissed(_)) && (sighting.is_none() || told(across))
            };
            if across.as_ref().is_some_and(better) {
                return across;
            }
        }
    }
    sighting
}

/// The first row that matches `text` at a position that counts for it. With a border, the match must cover it.
fn of(rows: &Rows, lines: &Lines, at: usize, text: &str, border: Option<usize>) -> Option<Sighting> {
    let line = &lines[at];
    let mut dismissed = None;
    for (index, pattern) in rows.candidates.in_text(text.as_bytes()) {
        let row = rows.rows[index];
        let Some(matched) = pattern.captures(text.as_bytes()) else { continue };
        let (start, end) = matched.get(0).map_or((0, 0), |whole| (whole.start(), whole.end()));
        if border.is_some_and(|border| start >= border || end <= border) {
            continue;
        }
        let start = boundary(text, start);
        let cause = match row.means {
            Means::Nothing(reason) => return Some(Sighting::new(Cause::Dismissed(reason), line)),
            Means::Ended(reason) => return Some(Sighting::new(Cause::OtherEnd(reason), line)),
            means => cause(means, row.software, lines, at, &matched),
        };
        match position(text, start) {
            Position::Talk(reason) => {
                dismissed.get_or_insert(reason);
                continue;
            }
            Position::Said(reason) if matched.name("tried").is_none() => {
                dismissed.get_or_insert(reason);
                continue;
            }
            Position::Prose if row.begins && !side::named(text, start) => continue,
            _ if refused(row.means) && recovered::in_words(&text[start..]) => {
                return Some(Sighting::new(Cause::Dismissed(recovered::REASON), line));
            }
            _ => {}
        }
        let mut sighting = Sighting::new(cause, line);
        fill(&mut sighting, &matched);
        sighting.huge |= row.means == Means::Huge;
        // Search the sentence: the amount may precede the words that the row matches.
        let from = boundary(text, start.saturating_sub(160));
        amounts::fill(&mut sighting.numbers, &sighting.cause, &text[from..]);
        sighting.backend = side::backend(row.software, &sighting.cause, text);
        sighting.software = Some(row.software).filter(|name| !name.is_empty());
        sighting.meaning = Some(row.meaning).filter(|meaning| !meaning.is_empty());
        sighting.weak = row.begins;
        sighting.capped = row.means == Means::Capped;
        return Some(sighting);
    }
    dismissed.map(|reason| Sighting::new(Cause::Dismissed(reason), line))
}

/// Whether a row reports a refused allocation, which a program may survive.
fn refused(means: Means) -> bool {
    matches!(means, Means::Device | Means::Full | Means::Capped | Means::Host | Means::Huge | Means::Refused)
}

fn cause(means: Means, software: &str, lines: &Lines, at: usize, matched: &Captures<'_>) -> Cause {
    let device = || {
        let numbered = ["capacity", "free", "pool", "allocated", "allowed"];
        let numbers = numbered.iter().any(|name| matched.name(name).is_some()) || matches!(software, "mlx" | "mps");
        if numbers { Cause::Device } else { Cause::Library }
    };
    match means {
        Means::Device if side::pins(lines, at) => Cause::HostAlloc,
        Means::Device => device(),
        Means::Full => Cause::Device,
        Means::Capped => Cause::Library,
        Means::Refused if side::is_device(lines, at) => device(),
        Means::Limit => Cause::Limit,
        Means::Machine => Cause::Machine,
        Means::Shared => Cause::SharedMemory,
        Means::Killed => Cause::Killed,
        Means::Pressure => Cause::Pressure,
        Means::Ended(reason) => Cause::OtherEnd(reason),
        Means::Nothing(reason) => Cause::Dismissed(reason),
        Means::Host | Means::Huge | Means::Refused => Cause::HostAlloc,
    }
}

/// Takes the named groups of a match. A suffix of the name distinguishes several positions in one pattern (`_b` to
/// `_d`), or gives what the text leaves out (`_k`, `_m`: the unit; `_x`: hexadecimal).
fn fill(sighting: &mut Sighting, matched: &Captures<'_>) {
    let group = |name: &str| matched.name(name).map(|group| String::from_utf8_lossy(group.as_bytes()).into_owned());
    let text = |name: &str| ["", "_b", "_c", "_d"].iter().find_map(|place| group(&format!("{name}{place}")));
    let amount = |name: &str| {
        let own = text(name).and_then(|text| size::bytes(&text));
        let unit = |unit: &str| size::bytes(&format!("{}{unit}", group(&format!("{name}_{unit}"))?));
        own.or_else(|| unit("k")).or_else(|| unit("m")).or_else(|| size::hexadecimal(&text(&format!("{name}_x"))?))
    };
    sighting.numbers = Numbers {
        tried: amount("tried"),
        capacity: amount("capacity"),
        free: amount("free"),
        allocated: amount("allocated"),
        this_process: amount("used"),
        allowed: amount("allowed").or(amount("most")),
        ..Numbers::default()
    };
    if let Some(pool) = amount("pool") {
        amounts::free_in_a_pool(&mut sighting.numbers, Some(pool));
    }
    let beyond = sighting.numbers.tried.is_none() && text("tried").is_some_and(|text| size::beyond(&text));
    let above = amount("most").zip(sighting.numbers.tried).is_some_and(|(most, tried)| tried > most);
    sighting.huge = beyond || above;
    let number = |name: &str| text(name).and_then(|text| text.parse().ok());
    sighting.pid = number("pid").or(sighting.pid);
    sighting.device = number("device");
    sighting.job = text("job");
    sighting.victim = text("victim");
}

#[cfg(test)]
mod tests {
    use super::super::super::anchors;
    use super::super::super::window::Lines;
    use super::*;

    #[test]
    fn the_scan_finds_every_example() {
        let happened = |row: &&Wording| !matches!(row.means, Means::Nothing(_) | Means::Ended(_));
        let rows = families().into_iter().flat_map(|(_, rows)| rows).filter(happened);
        let unseen: Vec<&str> =
            rows.map(|row| row.example).filter(|example| !anchors::any(&format!("{example}\n"))).collect();
        assert!(unseen.is_empty(), "{unseen:#?}");
    }

    /// The messages of glibc, Windows and programs for refused memory, in the languages of their users.
    #[test]
    fn refusals_are_read_in_the_languages_of_users() {
        for text in [
            "fork: Nicht gen\u{fc}gend Hauptspeicher verf\u{fc}gbar",
            "fork: Ne peut allouer de la m\u{e9}moire",
            "fork: Impossible d'allouer de la m\u{e9}moire",
            "fork: No se pudo asignar memoria",
            "fork: N\u{e3}o foi poss\u{ed}vel alocar mem\u{f3}ria",
            "fork: Impossibile allocare memoria",
            "fork: \u{41d}\u{435}\u{432}\u{43e}\u{437}\u{43c}\u{43e}\u{436}\u{43d}\u{43e} \u{432}\u{44b}\u{434}\u{435}\u{43b}\u{438}\u{442}\u{44c} \u{43f}\u{430}\u{43c}\u{44f}\u{442}\u{44c}",
            "fork: Nie mo\u{17c}na przydzieli\u{107} pami\u{119}ci",
            "fork: Nelze p\u{159}id\u{11b}lit pam\u{11b}\u{165}",
            "fork: Kan geen geheugen toewijzen",
            "fork: Kan inte allokera minne",
            "fork: Kan ikke tildele hukommelse",
            "fork: Muistin varaaminen ei onnistu",
            "fork: Nem foglalhat\u{f3} mem\u{f3}ria",
            "fork: Nu se poate aloca memorie",
            "fork: \u{7121}\u{6cd5}\u{914d}\u{7f6e}\u{8a18}\u{61b6}\u{9ad4}",
            "fork: \u{65e0}\u{6cd5}\u{5206}\u{914d}\u{5185}\u{5b58}",
            "fork: \u{30e1}\u{30e2}\u{30ea}\u{3092}\u{5272}\u{308a}\u{5f53}\u{3066}\u{3067}\u{304d}\u{307e}\u{305b}\u{3093}",
            "fork: \u{ba54}\u{baa8}\u{b9ac}\u{b97c} \u{d560}\u{b2f9}\u{d560} \u{c218} \u{c5c6}\u{c74c}",
        ] {
            let mut found = Vec::new();
            specific(&Lines::hot(text), 0, &mut found);
            let refused = found.first().is_some_and(|sighting| sighting.cause == Cause::HostAlloc);
            assert!(refused && anchors::any(text), "{text}: {found:?}");
        }
    }

    #[test]
    fn every_example_is_told_by_its_own_row() {
        let mut wrong = Vec::new();
        for (family, rows) in families() {
            for row in rows {
                let lines = Lines::hot(row.example);
                let mut found = Vec::new();
                specific(&lines, 0, &mut found);
                if found.is_empty() {
                    general(&lines, 0, &mut found);
                }
                let right = found.first().is_some_and(|sighting| match row.means {
                    Means::Nothing(reason) => sighting.cause == Cause::Dismissed(reason),
                    Means::Ended(reason) => sighting.cause == Cause::OtherEnd(reason),
                    Means::Refused => matches!(sighting.cause, Cause::HostAlloc | Cause::Library | Cause::Device),
                    _ => sighting.meaning == Some(row.meaning) && sighting.software.unwrap_or("") == row.software,
                });
                if !right {
                    wrong.push(format!("{family}: {} is {found:?}", row.example));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
