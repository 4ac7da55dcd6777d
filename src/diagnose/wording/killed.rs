//! SIGKILL without a sender: shells, Python, torchelastic, DeepSpeed, containers, MPI. None of them knows who sent it.

use super::super::sighting::{Cause, Sighting};
use super::super::window::Lines;
use super::position::{Position, position};
use super::regex;

/// "Killed" in the languages of glibc, as shells and compilers print it.
macro_rules! translated {
    () => {
        r"已杀死|已砍掉|強制終了|죽었음|Getötet|Processus\ arrêté|Terminado\ \(killed\)|Ucciso|Morto|Убито|Unicestwiony|Dödad|Geëlimineerd|Dræbt|Tapettu"
    };
}

pub(super) fn recognise(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let line = &lines[at];
    let text = line.text.as_str();
    if let Some(reason) = decoy(text) {
        found.push(Sighting::new(Cause::Dismissed(reason), line));
        return;
    }
    let loader = regex!(r"DataLoader worker \(pid\(?s?\)? ?(\d+)\) is killed by signal: Killed");
    if let Some(matched) = loader.captures(text) {
        let start = matched.get(0).map_or(0, |whole| whole.start());
        let mut sighting = Sighting::new(Cause::LoaderKilled, line).backend("torch");
        sighting.pid = matched[1].parse().ok();
        match position(line.text.as_str(), start) {
            Position::Talk(reason) | Position::Said(reason) => {
                found.push(Sighting::new(Cause::Dismissed(reason), line));
            }
            _ => found.push(sighting),
        }
        return;
    }
    // A report that prints each item on its own line.
    let listed = line.message().trim() == "137"
        && lines
            .before(at)
            .next()
            .is_some_and(|line| regex!(r"(?i)exit (?:status|code):?\s*$").is_match(line.message()));
    let told = || told(text).or(listed.then_some((0, None)));
    if let Some((start, pid)) = shell(line.message()).map(|pid| (0, pid)).or_else(told) {
        if let Position::Talk(reason) | Position::Said(reason) = position(text, start) {
            found.push(Sighting::new(Cause::Dismissed(reason), line));
            return;
        }
        let mut sighting = Sighting::new(Cause::Killed, line);
        sighting.pid = pid.or(sighting.pid);
        elastic(lines, at, &mut sighting);
        found.push(sighting);
    }
}

/// Why a line about killing is not a death by SIGKILL of unknown origin.
fn decoy(text: &str) -> Option<&'static str> {
    if text.contains("Killing subprocess") {
        return Some("a launcher ends the remaining processes");
    }
    if text.contains("by SIGKILL by OOM killer due to high memory usage") {
        return Some("Ray's text for any unexpected death: it lists possible causes");
    }
    if regex!(r"(?i)sending (?:signal )?(?:SIGKILL|signal 9)|closing signal SIG|via signal SIGKILL|forcefully exiting via|will be killed|forcibly kill|send(?:s|ing)? SIGKILL|kill -(?:9|KILL)|Unable to shutdown process").is_match(text) {
        return Some("a launcher or a person ends the remaining processes");
    }
    None
}

/// A kill printed by a shell: `Killed`, `line 5: 123 Killed  python train.py`, `[1]+  Killed  python`, `zsh: killed
/// python`. The outer option says whether it is one; the inner option is the process id.
fn shell(message: &str) -> Option<Option<u64>> {
    let text = message.trim().trim_matches(['*', '_', '`', '"', '\'', '.', '!']).trim();
    if matches!(text, "Killed" | "Killed: 9" | "killed" | "Killed (core dumped)")
        || regex!(concat!("^(?:", translated!(), ")$")).is_match(text)
    {
        return Some(None);
    }
    // A progress bar does not end its line, so the shell's message follows on the same line.
    let bar = regex!(concat!(
        r"(?:(?:it/s|s/it|B/s|\b[a-z]{2,}/s|s/[a-z]{2,})[^\]]*\]|[it]/s|s/it|B/s|\b(?i:eta|elapsed|remaining):? *[\dhms: ]+|\[[=#> .-]{4,}\][^\n]{0,80}|\d\d:\d\d\]?|\d ?%|[\x{2501}\x{2578}\x{2588}-\x{258f}][|\]]?|[=#>.]{3}\]?)\s*(?:Killed|",
        translated!(),
        ")$"
    ));
    // The message overwrote the beginning of a status line: `Killed 86.85%  4.1 MiB/s  1.9 GiB / 2.2 GiB`.
    let over = regex!(concat!(
        r"^(?:Killed|",
        translated!(),
        r")(?:[\d:]*\])? +\d{1,3}(?:\.\d+)? ?%[^\n]{0,160}(?:[KMGT]?i?B/s|it/s|s/it|\bETA\b|\beta\b|\b\d+ / \d+\b)"
    ));
    if bar.is_match(text) || over.is_match(text) || compiler(text) {
        return Some(None);
    }
    let forms = regex!(concat!(
        r"(?x)^(?: (?:\S+\ ?:\ )?(?:(?:line|第|行|Zeile|ligne|línea|linha|riga|строка|줄)\s?\d+|\d+\ 行)(?:\ 行)?\ ?[:：]\s+(?:(\d+)\s*)?(?:Killed\b|",
        translated!(),
        r")
        | \S+:\ line\ \d+:\s+(\d+)\ Killed
        | \[\d+\]\s*[+-]?\s+(?:(\d+)\s+)?(?:Killed|killed|",
        translated!(),
        r")(?:\s|$)
        | (?:zsh|bash|sh|fish):\s(?:(\d+)\s)?(?:killed|Killed)\b
        | (?:\S+:\ )?line\ \d+:\s+(\d+)\s+Killed
        | \d+\ Killed\s+(?:python|sh|bash|\./|/)
        | Killed\ +\(?(?:python|sh\ |bash\ |\./|/)\S*
        | (?:python3?|torchrun|accelerate|deepspeed|make|srun|mpirun)\S*\ [^:]*:?\ Killed$ )"
    ));
    let matched = forms.captures(text)?;
    Some(matched.iter().skip(1).flatten().find_map(|pid| pid.as_str().parse().ok()))
}

/// A kill that a compiler's driver or make reports of a part, in the language of its user.
fn compiler(text: &str) -> bool {
    regex!(concat!(
        r"^\S+: [^\n]*(?:",
        translated!(),
        r")[^\n]*\b(?:cc1(?:plus|obj|objplus)?|lto1|f951|gnat1|collect2|as|ld)\b|^\S*make\S*: \*\*\* \[[^\]]+\] (?:",
        translated!(),
        r")$"
    ))
    .is_match(text)
}

/// A kill that a program reports of its child: its position, and the process id.
fn told(text: &str) -> Option<(usize, Option<u64>)> {
    let forms = regex!(
        r#"(?x) exit\ ?code\s*[:=]?\s*["']?(?:-9|137)\b | exitcode\s*[:=]?\s*(?:-9|137)\b | [Ee]xit\s?Code"?\s*[:=]\s*(?:-9|137)\b
        | returncode\s*[:=]\s*-9\b | return\ code\s*=?\s*(?:-9|137)\b
        | exit(?:ed)?\ (?:with\ )?(?:status|code)?:?\ ?(?:-9|137)\b | Exited\ \(137\) | [Ee]xit\ status:?\ (?:-9|137)\b | status\ (?:code\ )?(?:-9|137)\b
        | status=9/KILL | code=killed,\ status=9 | Error\ 137\b | exited\ with\ 137\b
        | died\ with\ <Signals\.SIGKILL:\ 9> | Signal\ 9\ \(SIGKILL\)\ received\ by\ PID\ \d+ | SIGKILL\(-9\) | signal:?\ 9,?\ \(?SIGKILL | \(signal\ 9\)
        | signal:\ killed | killed\ \(signal:?\ 9\) | \bcode:?\ 137\b | (?:terminated|killed|exited)\ (?:by|on|due\ to|with)\ (?:the\ )?signal:?\ (?:9|SIGKILL|KILL)\b | terminated\ by\ SIGKILL | killed\ by\ SIGKILL
        | KILLED\ BY\ SIGNAL:\ 9 | was\ sent\ SIGKILL!\ Perhaps\ out\ of\ memory | Killed\ signal\ terminated\ program | srun:\ error:\ \S+:\ tasks?\ \S+:\ Killed | received\ signal:?\ (?:9|SIGKILL)\b
        | \b137\b[^.\n]{0,60}\(Killed\) | interrupted\ by\ signal\ 9 | \*\*\*\ \[[^\]\n]+\]\ Killed | exit\ signal\ Killed\ \(9\) | (?i:\b(?:by|via|on|with)\ signal:?)\ \[?(?:9|SIGKILL)\b | signal=(?:KILL|SIGKILL)\b | process\ (?:was\ )?killed\ \(SIGKILL\)"#
    );
    let matched = forms.find(text)?;
    let pid = regex!(r"(?:\(pid:? ?|PID |pid[:=] ?|with PID )(\d+)").captures(text).and_then(|pid| pid[1].parse().ok());
    Some((matched.start(), pid))
}

/// torchelastic's block: the rank and the process id are on the surrounding lines.
fn elastic(lines: &Lines, at: usize, sighting: &mut Sighting) {
    let text = lines[at].text.as_str();
    let near = regex!(r"\brank\s*: (\d+) \(local_rank|\blocal_rank: (\d+) \(pid");
    let of = |text: &str| near.captures(text)?.iter().skip(1).flatten().find_map(|rank| rank.as_str().parse().ok());
    if let Some(rank) = of(text) {
        sighting.rank = Some(rank);
    } else if regex!(r"^\s*(?:exitcode|traceback)\s*:").is_match(lines[at].message()) {
        sighting.rank = lines[..at].iter().rev().take(5).find_map(|line| of(&line.text)).or(sighting.rank);
    }
}
