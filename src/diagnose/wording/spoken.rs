//! What people say when memory ran out: `the finetune died tonight with a cuda oom`, `der Kernel hat Postgres beendet`.
//!
//! Such words stand in documents as well, so a line counts only if those around it are worded like a report, and only if
//! no program's message was found in the text.

use super::super::classify::MENTION;
use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::{recovered, regex, side};

/// The odds below which ordinary words are a report, as a logarithm in hundredths.
const REPORTS: i32 = -60;

/// What `lines` say by themselves: the line that is worded most like a report, if it is enough like one. Lines with the
/// numbers `dismissed` are known to report nothing.
pub(in super::super) fn recognise(lines: &Lines, dismissed: &[u64]) -> Option<Sighting> {
    let left = (0..lines.len()).filter(|at| !dismissed.contains(&lines[*at].number));
    let all = left.filter_map(|at| Some((cause(lines, at)?, at, MENTION.odds(lines, at))));
    // Where some of the lines report nothing, the others do so seldom; and so do lines of programs, whose failures have
    // wordings of their own.
    let limit = |at: usize| match dismissed.is_empty() && is_sentence(lines[at].message()) {
        true => REPORTS,
        false => 3 * REPORTS,
    };
    let (cause, at, _) = all.filter(|(_, at, odds)| *odds < limit(*at)).min_by_key(|(.., odds)| *odds)?;
    let mut sighting = Sighting::new(cause, &lines[at]);
    sighting.weak = true;
    sighting.meaning =
        Some("Somebody reports this in ordinary words: the text has no message of a program that is known.");
    Some(sighting)
}

/// Whether a person may have written `text`: it has words enough.
fn is_sentence(text: &str) -> bool {
    const WORDS: usize = 8;
    let letters = |word: &&str| word.trim_matches(|c: char| c.is_ascii_punctuation()).chars().all(char::is_alphabetic);
    let ideographs = text.chars().filter(|c| *c >= '\u{2e80}').count();
    text.split_whitespace().filter(letters).count() >= WORDS || ideographs >= WORDS
}

/// What ran out, if line `at` speaks of that at all.
pub(super) fn cause(lines: &Lines, at: usize) -> Option<Cause> {
    let text = lines[at].message();
    // An earlier run, and what the program does instead.
    let earlier = regex!(r"(?i)\b(?:this|the (?:new|current)) (?:one|run|job) is (?:still )?(?:fine|ok|good)\b");
    if recovered::in_words(text) || earlier.is_match(text) {
        return None;
    }
    let shared = regex!(r"(?i)/dev/shm|\bshared memory\b|\bshm\b|</torch_");
    let full = regex!(
        r"(?i)\b(?:no space left|full|fills?|filled|exhausted|too small|ran out|100 ?%|(?:\d+M) of \d+M)(?:\b|\W)"
    );
    if shared.is_match(text) && full.is_match(text) {
        return Some(Cause::SharedMemory);
    }
    // The limit of a container, a job or a function.
    if limit().is_match(text) || named().is_match(text) && ended().is_match(text) {
        return Some(Cause::Limit);
    }
    if machine().is_match(text) {
        return Some(Cause::Machine);
    }
    if refused().is_match(text) || elsewhere().is_match(text) {
        return Some(if side::is_device(lines, at) || of_a_card(text) { Cause::Library } else { Cause::HostAlloc });
    }
    let killed = regex!(
        r"(?i)\b(?:exit(?:ed)?|code|status|rc|returned|retcode|failed)\b[^.;]{0,20}\b137\b|\bsig ?kill(?:ed)?\b|\bsignal 9\b|\bsignal: killed|\bprints? \W?killed\b|\bkill -9\b"
    );
    killed.is_match(text).then_some(Cause::Killed)
}

fn limit() -> &'static regex::Regex {
    regex!(concat!(
        r"(?i)oom-?killed\b|\bmemcg\b|\bcgroup (?:out of memory|oom)|\bOUT_OF_MEMORY\b|\bkilled for memory\b",
        r"|\b(?:exceed\w*|over|above|beyond|hit|reached|crossed|blew through|used all of) (?:its|the|their|his|it)\b (?:\S+ ){0,3}(?:memory|ram|limit|ceiling|\d+ ?[kmg]i?b?)\b",
        r"|\b(?:exceed\w*|estour\w*|super[óo]|superou|alcanz[óo]|ha superato|dépass\w*|überschr\w*|przekroczy\w*) [^.;]{0,30}(?:memor\w*|mémoire|memória|speicher\w*|pamięci|ram|l[ií]mite)\b",
        r"|\bspeicher(?:grenze|limit)|\blimit pamięci\b|лимит\w* (?:по )?памят\w*|превы\w* [^.;]{0,20}памят\w*|\bbellek (?:limit|sınır)",
        r"|内存(?:限制|上限)|メモリの?(?:上限|制限)|메모리 (?:제한|한도)|geheugenlimiet|te weinig geheugen",
    ))
}

fn named() -> &'static regex::Regex {
    regex!(r"(?i)\bmemory[- ]limit\b|\blimit (?:of|on) memory\b")
}

fn ended() -> &'static regex::Regex {
    regex!(
        r"(?i)\b(?:exceed\w*|reach\w*|hit|over|above|beyond|kill\w*|restart\w*|crash\w*|terminat\w*|stop\w*|abort\w*|die[ds]?|violat\w*)\b"
    )
}

/// The machine, or what watches over it.
fn machine() -> &'static regex::Regex {
    regex!(concat!(
        r"(?i)\boom[- ]?(?:killer|reaper)\b|\bearlyoom\b|\bsystemd-oomd\b|\bnohang\b|\bjetsam\b|\bper-process-limit\b|\blmkd?\b|\boom[- ]?kill(?:s|ed|ing)?\b|\bout of memory: kill|\bforce[- ]quit\b|\bmemory issue\b",
        r"|\b(?:kernel|linux|operating system|os|the box|the machine)\b[^.;]{0,20} (?:kill(?:s|ed)?|shot|chose|picked|took|reaped|terminated|matou|mató)\b",
        r"|\b(?:killed|terminated|shot|stopped|ended) by (?:the )?(?:kernel|linux|operating system|os|system)\b",
        r"|\bkernel\w* [^.;]{0,30}(?:beendet|getötet|abgeschossen|gekillt)|\bnoyau [^.;]{0,30}tu(?:é|e)\b|\bjądro (?:ubi|zabi)\w*|\bядро [^.;]{0,20}уби\w*|оом-киллер\w*|\bkernel (?:ha ucciso|matou|mató)\b",
    ))
}

fn refused() -> &'static regex::Regex {
    regex!(concat!(
        r"(?i)\boom(?:s|ed|'d|ing)?\b|\bout[- ]of[- ](?:\w+ )?(?:memory|mem|ram|vram|heap|swap)\b|\boutofmemory(?:error|exception)?\b|\bmemoryerror\b|\bbad[_ ]alloc(?:ation)?\b|\b\w+_alloc(?:ation)?_fail\w*\b|\b(?:e|so)nomem\b|\bjava heap space\b|\bgc overhead limit\b|\bdata too large, data for\b|\bpaging file is too small\b|\bwith available resources\b",
        r"|\b(?:not|isn't|wasn't|never) (?:have )?(?:\w+ )?enough (?:\w+ )?(?:memory|ram|vram)\b|\b(?:insufficient|too little|low) (?:\w+ )?(?:memory|ram|vram)\b|\bran (?:\w+ )?(?:out|dry)\b[^.;]{0,30}\b(?:memory|ram|vram)\b",
        r"|\b(?:no|free) (?:memory|ram|vram|heap) (?:\w+ )?(?:left|gone|to give|any more)\b|\b(?:memory|ram|vram|heap|swap|card)(?: \w+){0,2} (?:full|exhaust\w*|ran out|used up|gone|insufficient|overflow\w*|ceiling)\b|\bexhaust\w* (?:\w+ ){0,3}(?:memory|ram|heap|vram)\b|\bresource_?exhausted\b(?:\S* ){1,12}?(?:memory|hbm|allocat\w*|oom|tpu|gpu|\w*bytes)\b",
        r"|\b(?:cannot|can't|could not|couldn't|failed to|unable to|tried to) (?:re)?alloc\w* (?:\S+ ){0,3}(?:memory|ram|bytes|[kmgt]i?b|vector|array|tensor|buffers?|textures?|heap|pages?)\b|\b(?:mem|memory|heap|buffer) (?:re)?alloc(?:ations?)? (?:\w+ )?fail\w*|\bmalloc fail\w*|\b(?:more memory than|memory exceeded)\b",
    ))
}

/// The words of other languages than English.
fn elsewhere() -> &'static regex::Regex {
    regex!(concat!(
        r"(?i)speicher\w*[^.;]{0,40}(?:voll|reicht|fehlt|aus(?:gegangen)?\b|knapp|zu (?:klein|wenig))|(?:kein|zu wenig|nicht gen(?:ü|ue)gend|nicht genug) (?:freier |freien )?(?:\w*speicher|ram)\b|speicher\w* ausgegangen",
        r"|mémoire (?:\w+ )?(?:\([^)]*\) )?(?:était )?(?:insuffisante|saturée|pleine|épuisée)|(?:manque|plus|à court|assez) (?:de|d'un octet de|un octet de) (?:mémoire|ram)\b|\bfaute de mémoire",
        r"|mem[oó]ria (?:\w+ ){0,2}(?:insuficiente|insufficiente|agotada|esgotada|esaurita|llena|cheia|piena)|\bsin (?:memoria|ram)\b|\bsem (?:memória|ram)\b|falta de mem[oó]ria|(?:esaurit\w*|finit\w*|acab\w*|agot\w*|estour\w*|esgot\w*) (?:\w+ ){0,2}(?:memoria|memória|ram)\b",
        r"|(?:brak\w*|zabrak\w*|za mało|skończył\w* się) (?:\w+ ){0,2}(?:pamięci|pamięć|ram)|(?:не хвата|нехват|кончил|закончил|недостаточн|исчерп)\w* (?:\w+ ){0,2}(?:видео)?(?:памят|оператив)\w*|(?:видео)?памят\w* (?:за)?кончил\w*",
        r"|(?:bellek|ram)\w* (?:\w+ )?(?:yetersiz|doldu|yetmedi|bitti|tükendi)|yetersiz bellek|geheugen (?:\w+ )?(?:vol|op)\b|onvoldoende geheugen",
        r"|(?:内存|显存|記憶體)[^。]{0,6}(?:不足|不够|溢出|爆|耗尽|满)|没有足够的(?:内存|显存)|爆(?:显存|内存)|(?:メモリ|VRAM)[^。]{0,6}(?:不足|足り|使い果た|満杯)|메모리[^.]{0,6}(?:부족|가득)",
    ))
}

/// Whether a card is named by its model, or its memory in the words of another language.
fn of_a_card(text: &str) -> bool {
    regex!(concat!(
        r"(?i)\b(?:[ahvlbt]\d{1,3}s?|a6000|rtx ?\w*|gtx ?\d+\w*|[34]0[5-9]0\w*|mi\d{3}x?|tesla|quadro|(?:graphics|video|the) card|v\d+e-\d+|gpu mem)\b",
        r"|grafikkarte|grafikspeicher|carte graphique|tarjeta gráfica|memoria de vídeo|placa de vídeo|karcie|видеокарт|видеопамят|显存|显卡|グラボ|VRAM",
    ))
    .is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_out_is_known_by_the_words_of_people() {
        let of = |text: &str| cause(&Lines::hot(text), 0);
        for (text, expected) in [
            ("the finetune died tonight with a cuda oom", Some(Cause::Library)),
            ("R refused: cannot allocate vector of size 11.6 Gb", Some(Cause::HostAlloc)),
            ("the pod went over its 8G and was killed at 16:05", Some(Cause::Limit)),
            ("tué par slurm, dépassement de mémoire à 14h08", Some(Cause::Limit)),
            ("MySQL isn't running: the kernel killed it last night", Some(Cause::Machine)),
            ("jądro ubiło clamd", Some(Cause::Machine)),
            ("Chromium fills up /dev/shm on the map page", Some(Cause::SharedMemory)),
            ("the plan keeps ending in \"signal: killed\"", Some(Cause::Killed)),
            ("昨晚那个实验就爆显存了", Some(Cause::Library)),
            ("Недостаточно памяти для выполнения операции", Some(Cause::HostAlloc)),
            ("could not allocate 512 MiB of memory, falling back to 4 KiB pages", None),
            ("failed to allocate seat 12B: flight is full", None),
            ("worker exited with code 1 (memory limit 2Gi, used 96Mi)", None),
            ("Running io.pebble.memory.OutOfMemoryHandlerTest", None),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn what_people_report_counts_and_what_they_explain_does_not() {
        let reports = |text: &str| recognise(&Lines::hot(text), &[]).is_some();
        assert!(reports(
            "The nightly import died at 02:10 again, the kernel killed postgres, the VM has 8 GB. Restarted it.\n"
        ));
        assert!(!reports(
            "What does it mean if the kernel kills a process? You should usually raise the memory limit.\n"
        ));
    }
}
