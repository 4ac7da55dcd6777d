//! Reports in other languages, phrase by phrase in English: what reads a report knows one language.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::regex;
use crate::ascii::{Pattern, compile};

/// A language.
struct Tongue {
    /// What shows that a text about memory is in it.
    known: Pattern,
    /// Any of its phrases, each a group.
    phrases: LazyLock<Regex>,
    /// The English of each.
    english: &'static [(&'static str, &'static str)],
}

static TONGUES: [Tongue; 5] = [
    Tongue {
        known: Pattern::new(r"(?i)\b(?:\w*speicher\w*|der prozess|nach dem neustart)\b"),
        phrases: LazyLock::new(|| any_of(GERMAN, r"\b")),
        english: GERMAN,
    },
    Tongue {
        known: Pattern::new(r"(?i)\b(?:m\x{e9}moire|la ram|de ram)\b"),
        phrases: LazyLock::new(|| any_of(FRENCH, r"\b")),
        english: FRENCH,
    },
    Tongue {
        known: Pattern::new("(?i)памят[ьи]"),
        phrases: LazyLock::new(|| any_of(RUSSIAN, r"\b")),
        english: RUSSIAN,
    },
    Tongue {
        known: Pattern::new("内存|显存|記憶體|顯存"),
        phrases: LazyLock::new(|| any_of(CHINESE, "")),
        english: CHINESE,
    },
    Tongue { known: Pattern::new("メモリ"), phrases: LazyLock::new(|| any_of(JAPANESE, "")), english: JAPANESE },
];

const GERMAN: &[(&str, &str)] = &[
    ("speicherl(?:eck|ecks|eak)", "memory leak"),
    ("(?:grafik|video|gpu-)speichers?", "vram"),
    ("(?:arbeits|haupt)?speicher(?:s|verbrauch|bedarf|auslastung|nutzung)?", "memory"),
    ("steigt|stieg|wächst|wuchs|klettert|gestiegen|gewachsen", "grows"),
    (r"läuft (?:\w+ ){0,4}voll", "memory grows without limit"),
    ("der prozess", "the process"),
    ("nächsten (?:morgen|tag)", "next day"),
    ("von", "from"),
    ("auf|bis", "to"),
    ("nach", "after"),
    ("später", "later"),
    ("stunden?", "hours"),
    ("tag(?:e|en)?", "days"),
    ("wochen?", "weeks"),
    ("minuten?", "minutes"),
    ("über nacht", "overnight"),
    ("ein(?:e|em|er|en)?", "one"),
    ("zwei", "two"),
    ("drei", "three"),
    ("vier", "four"),
    ("fünf", "five"),
    ("sechs", "six"),
    ("zehn", "ten"),
    ("neustart", "restart"),
    ("direkt", "right"),
    ("pro", "per"),
    ("jede[mnrs]?", "each"),
    (r"(?:nie|nicht)(?: \w+){0,2} (?:freigegeben|zurückgegeben)", "never freed"),
    ("kann|könnte|sollte|darf", "may"),
    ("behoben", "fixed"),
];

const FRENCH: &[(&str, &str)] = &[
    ("fuites? (?:de )?mémoire", "memory leak"),
    ("mémoire (?:vidéo|gpu)", "vram"),
    ("mémoire(?: vive)?", "memory"),
    ("augmente|grimpe|monte|croît|gonfle", "grows"),
    ("sans (?:arrêt|cesse|fin)", "continuously"),
    ("pass(?:e|ant|é|ée) de", "grows from"),
    ("au démarrage", "after start"),
    ("après|au bout (?:de|d')", "after"),
    ("plus tard", "later"),
    ("à", "to"),
    ("heures?", "hours"),
    ("jours?", "days"),
    ("semaines?", "weeks"),
    ("une?", "one"),
    ("deux", "two"),
    ("trois", "three"),
    ("quatre", "four"),
    ("cinq", "five"),
    ("six", "six"),
    ("huit", "eight"),
    ("dix", "ten"),
    ("chaque", "each"),
    ("par", "per"),
    ("redémarrage", "restart"),
    ("(?:n'est |jamais |pas ){1,2}(?:libérée?|rendue?)", "never freed"),
    ("peut|pourrait|devrait", "may"),
    ("corrigée?", "fixed"),
    ("go", "GB"),
    ("mo", "MB"),
];

const RUSSIAN: &[(&str, &str)] = &[
    ("утечк[аиу] памяти", "memory leak"),
    ("видеопамят[ьи]", "vram"),
    ("(?:съедает|ест|жрёт|жрет) память", "memory leaks"),
    ("памят[ьи]", "memory"),
    ("раст[ёе]т|вырос(?:ла|ло)?|увеличивается", "grows"),
    ("с", "from"),
    ("до", "to"),
    ("через|после", "after"),
    ("час(?:а|ов)?", "hours"),
    ("день|дня|дней|сут(?:ки|ок)", "days"),
    ("кажд(?:ый|ая|ое|ого)", "each"),
    ("перезапуск(?:а)? помогает", "a restart helps"),
    ("не освобождается", "never freed"),
    ("может", "may"),
    ("гб", "GB"),
    ("мб", "MB"),
];

const JAPANESE: &[(&str, &str)] = &[
    ("メモリー?リーク", "memory leak"),
    ("メモリー?", "memory"),
    ("(?:が)?(?:増え|増加し)続け(?:ます|る)?", "keeps growing"),
    ("解放され(?:ない|ません|ず)", "never freed"),
    ("時間後", "hours later"),
    ("日後", "days later"),
    ("分後", "minutes later"),
    ("再起動", "restart"),
    ("修正", "fixed"),
];

const CHINESE: &[(&str, &str)] = &[
    ("(?:内存|記憶體)(?:泄[漏露]|洩漏)", "memory leak"),
    ("显存|顯存", "vram"),
    ("内存|記憶體", "memory"),
    ("(?:上涨|上升|增长|增加|涨|升)到", "grows to"),
    ("(?:持续|不断|一直|缓慢)地?(?:增长|增加|上涨|上升)|越来越[大高多]", "keeps growing"),
    ("从", "from"),
    ("(?:从不|没有|不|没)(?:释放|回落|下降|回收)", "never freed"),
    ("个?小时[后後]", "hours later"),
    ("天[后後]", "days later"),
    ("分钟[后後]", "minutes later"),
    ("重启|重啟", "restart"),
    ("每[次个轮]", "each"),
    ("升级", "upgrade"),
    ("可能", "may"),
    ("已?修复", "fixed"),
];

fn any_of(phrases: &[(&str, &str)], border: &str) -> Regex {
    let groups: Vec<String> = phrases.iter().map(|(phrase, _)| format!("({phrase})")).collect();
    compile(&format!("(?i){border}(?:{}){border}", groups.join("|")))
}

/// The language of a text, unless that is English.
#[derive(Clone, Copy)]
pub(super) struct Language(Option<&'static Tongue>);

impl Language {
    pub(super) fn of(text: &str) -> Self {
        Self(TONGUES.iter().find(|tongue| tongue.known.is_match(text)))
    }

    /// A line of the text with phrases in English, and a point in decimal numbers.
    pub(super) fn in_english(self, line: &str) -> Cow<'_, str> {
        let Some(tongue) = self.0 else { return Cow::Borrowed(line) };
        let (mut out, mut from) = (String::with_capacity(line.len()), 0);
        for found in tongue.phrases.captures_iter(line) {
            let whole = found.get(0).expect("the match");
            let which = found.iter().skip(1).position(|group| group.is_some()).expect("one of them");
            push(&mut out, &line[from..whole.start()]);
            push(&mut out, tongue.english[which].1);
            from = whole.end();
        }
        push(&mut out, &line[from..]);
        Cow::Owned(regex!(r"\b(\d+),(\d{1,2} ?[kKmMgGtT]i?[bB])\b").replace_all(&out, "$1.$2").into_owned())
    }
}

/// Adds a part of a line, with a space where words would meet.
fn push(out: &mut String, part: &str) {
    let meets = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    if meets(out.chars().next_back()) && meets(part.chars().next()) {
        out.push(' ');
    }
    out.push_str(part);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_of_a_report_are_put_in_english() {
        let text = "Nach zwei Tagen belegt der Arbeitsspeicher 1,3 GB\nund wächst pro Stunde";
        let language = Language::of(text);
        let lines: Vec<_> = text.lines().map(|line| language.in_english(line)).collect();
        assert_eq!(lines, ["after two days belegt der memory 1.3 GB", "und grows per hours"]);
        let text = "内存从 9.6g 涨到 12.1g，一直不释放";
        assert_eq!(Language::of(text).in_english(text), "memory from 9.6g grows to 12.1g，一直 never freed");
        assert_eq!(Language::of("memory, nach wie vor").in_english("1,3 GB"), "1,3 GB");
    }
}
