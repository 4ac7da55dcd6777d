//! [`Counted`]: the counters and progress bars of a training in one line.

use super::ascii::regex;

/// Where a step stands according to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// `Starting step 2`.
    Begun,
    /// `step 2: loss 3.1`.
    Done,
    /// A line that has the number alone: most programs print it first.
    Bare,
    /// A bar shows how many steps are complete.
    Bar,
}

/// A counter of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepCount {
    pub(super) number: u64,
    pub(super) stand: Stand,
    pub(super) epoch: Option<u64>,
    /// Whether epochs are counted from 0, as Lightning does.
    pub(super) from_0: bool,
    pub(super) named: bool,
}

/// What a line counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Its last counter of steps.
    pub(super) mark: Option<StepCount>,
    pub(super) epoch: Option<u64>,
}

impl Counted {
    /// Reads a line.
    pub(super) fn of(text: &str) -> Self {
        if !text.bytes().any(|byte| byte.is_ascii_digit()) {
            return Self::default();
        }
        Self { mark: mark(text), epoch: epoch(text) }
    }
}

/// The last counter of a training in `text`.
fn mark(text: &str) -> Option<StepCount> {
    if text.len() > 4096 {
        return None;
    }
    let epoch = epoch(text);
    let from_0 = text.contains("v_num=");
    match bar(text) {
        Bar::OfSteps { number, stand, named } => {
            let named = named || epoch.is_some();
            return Some(StepCount { number, stand, epoch, from_0, named });
        }
        Bar::Other => return None,
        Bar::None => {}
    }
    let (number, stand) = counter(text)?;
    Some(StepCount { number, stand, epoch, from_0, named: true })
}

/// The whole number of the epoch that `text` states.
fn epoch(text: &str) -> Option<u64> {
    let found =
        regex!(r"(?i)\bepochs?(?:\((?:train|val)\))?[\x22']?[\s:=#]*\[?\s*(\d{1,6})\b").captures_iter(text).last()?;
    // `epoch: 0.01` is a part of the first one.
    let fraction = text[found.get(0)?.end()..]
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let epoch: u64 = found[1].parse().ok()?;
    Some(if fraction { epoch + 1 } else { epoch })
}

/// A progress bar in a line.
enum Bar {
    OfSteps {
        number: u64,
        stand: Stand,
        named: bool,
    },
    /// Of something else: files, examples, requests.
    Other,
    None,
}

/// The last progress bar of `text`, such as `Training:   3%|2   | 30/1000 [00:11<06:01, 2.70it/s]`.
fn bar(text: &str) -> Bar {
    let bars = regex!(
        r"\b(\d{1,9})/(\d{1,9}) +(?:\[(?:[\d?=>.#-]| +\d)|[\u{2501}\u{2578}\u{257a}#=|])|\[ *(\d{1,9})/(\d{1,9})\]"
    );
    let Some(found) = bars.captures_iter(text).last() else { return Bar::None };
    let whole = found.get(0).map_or(0..0, |whole| whole.range());
    let count = |at: usize| found.get(at).or(found.get(at + 2))?.as_str().parse::<u64>().ok();
    // `2025/03/01 [` is a date.
    let (Some(number), Some(_)) = (count(1), count(2).filter(|all| count(1) <= Some(*all))) else { return Bar::None };
    if text[..whole.start].ends_with(['/', '-', ':']) {
        return Bar::None;
    }
    // What the bar says of itself: the words before it, behind an earlier bar of the same line.
    let before = text[..whole.start].rsplit(['\r', ']']).next().unwrap_or_default();
    let before = if found.get(3).is_some() { &text[..whole.start] } else { before };
    if regex!(r"(?i)\bepochs?\s*$").is_match(before) {
        // `Epoch [1/10]` counts epochs.
        return Bar::None;
    }
    // The rate shows what is counted.
    let rate = regex!(r"[\d?. ]([A-Za-z]+)/s\]|s/([A-Za-z]+)\]|, *[\d?.]+[kKMGT]?([A-Za-z]+)/s[,\]]");
    let unit = rate.captures(&text[whole.end..]).and_then(|rate| rate.iter().skip(1).flatten().next());
    let counts_steps = unit.is_none_or(|unit| {
        matches!(
            unit.as_str().to_ascii_lowercase().as_str(),
            "it" | "step" | "steps" | "batch" | "batches" | "iter" | "update" | "updates" | "epoch"
        )
    });
    if !counts_steps || is_other(before) {
        return Bar::Other;
    }
    let words = before.chars().filter(|c| c.is_ascii_alphabetic()).count();
    let named = regex!(
        r"(?i)train|step|iter|epoch|\bfit|tun(?:e|ing)|optimi[sz]|\bupdates?\b|\bsft\b|\bdpo\b|\bppo\b|\bgrpo\b"
    )
    .is_match(before);
    // A bar of its own words counts something else, unless a logger's prefix precedes it.
    let prefixed = regex!(r"(?i)^\W*(?:\[?rank ?\d|\(|\[|\d{4}-|info\b|rank)").is_match(before);
    if words > 0 && !named && !prefixed {
        return Bar::Other;
    }
    // A build prints `[2/7]`, and a date may come before a `|`.
    let bracketed = found.get(3).is_some();
    if !named && ((bracketed && !is_result(text)) || text[whole.clone()].ends_with('|')) {
        return Bar::None;
    }
    // `Step [2/600], Loss: 2.1` is a counter in brackets.
    let stand = match found.get(3) {
        None => Stand::Bar,
        Some(_) if is_result(text) => Stand::Done,
        Some(_) => Stand::Bare,
    };
    Bar::OfSteps { number, stand, named }
}

/// Whether the words of a bar or the words before a counter say that no training step is counted.
fn is_other(words: &str) -> bool {
    regex!(
        r"(?ix)\b(?:re|pre|de|up|down|un)?(?:load|fetch|map\b|mapping|filter|tokeniz|tokenis|process|generat|prepar|shard|checkpoint|materiali|import|sav(?:e|ing)|quanti[sz]
            |convert|cach|pack|group|colla|build|index|read|extract|comput|warm-?\ ?up|compil|captur|profil|sampl|rollout|predict|infer|eval|valid|test|scor|embed|render|encod|decod|merg|sort|shuffl
            |renam|resolv|add|pars|split|writ|copy|transfer|calibrat|denois|diffus|dataset|creating\ |files?\b|examples?\b|request|prompt|download|upload|requir|collect|install|search|scann|perplex|perturb|benchmark)"
    )
    .is_match(words)
}

/// The last counter of `text`, such as `step 12` or `global_step=12`, and where its step stands.
fn counter(text: &str) -> Option<(u64, Stand)> {
    let counters = regex!(
        r"(?i)(?:\bglobal[ _])?\b(?:step|iter|iteration|num_updates|update)\b[\x22']?(?:\s*[:=#]\s*|\s+)\[?\s*(\d{1,9})\b|\biters[:=]\s*(\d{1,9})\b|\bit[:=\[]\s*(\d{1,9})\b|\b(?:mini-?)?batch[:=#]?\s*\[?(\d{1,9})\s*/|(?i:\bglobal_?step)[\x22']?\s*[:=\s]\s*(\d{1,9})\b"
    );
    let found = counters.captures_iter(text).last()?;
    let whole = found.get(0)?;
    let number: u64 = found.iter().skip(1).flatten().find_map(|number| number.as_str().parse().ok())?;
    let (before, after) = (&text[..whole.start()], &text[whole.end()..]);
    // A step of something else, a part of a step, or a decimal number.
    let other = regex!(
        r"(?i)\b(?:accum\w*|micro|time|denois\w*|diffusion|sampl\w*|inference|eval\w*|valid\w*|test|decod\w*|generat\w*|warm-?up|inner|beam|solver|ddim|rollout|max|total|num|every|per|save|logging|last|resum\w*|from)[ _-]*(?:global[ _])?$"
    );
    // The version of a program: `(2 Aug 2023 - Update 2)`.
    let version = regex!(r"\d{4} - $").is_match(before);
    let decimal = after.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    // `step 1/8 of accumulation`
    let part = regex!(r"(?i)^[/\d\s]*(?:of\s+)?(?:the\s+)?(?:gradient\s+)?(?:accum|micro)");
    // `Iter 1: Val loss 2.3` is an evaluation, which comes before the first step, too.
    let evaluates = regex!(r"(?i)^[\s:|,-]*(?:val|valid|validation|eval|evaluation|test)[ _-]").is_match(after)
        && !regex!(r"(?i)\btrain").is_match(after);
    if decimal || version || evaluates || other.is_match(before) || part.is_match(after) {
        return None;
    }
    let begins_before = regex!(
        r"(?i)\b(?:start(?:s|ed|ing)?|begin(?:s|ning)?|began|enter(?:s|ed|ing)?|before|running|run|now)\W+(?:(?:of|on|in|the|train(?:ing)?|optimi[sz]er|global|new)\W+)*$"
    );
    let begins_after =
        regex!(r"(?i)^[\s:=\])|./,\d-]*(?:\b(?:start|begin|began|enter)|\.\.\.|\u{2026})|(?:\.\.\.|\u{2026})\s*$");
    if begins_before.is_match(before) || begins_after.is_match(after) {
        return Some((number, Stand::Begun));
    }
    let result = is_result(after) || is_result(before);
    Some((number, if result { Stand::Done } else { Stand::Bare }))
}

/// Whether `text` has a result of a step: a loss, a time, or a word for its end.
fn is_result(text: &str) -> bool {
    regex!(
        r"(?i)\b(?:\w*loss\w*|lr|learning[ _-]?rate|took|elapsed|time|dt|ms|sec(?:onds)?|it/s|s/it|tok(?:ens)?/s\w*|samples/s\w*|tokens(?: ?[:=] ?|\s+)\d[\d.,]*|done|finish(?:ed)?|complete[d]?|ok|end(?:ed)?|after|grad[ _-]?norm|ppl|perplexity|acc(?:uracy)?|reward|throughput|mfu|consumed|score|metric\w*)\b|[\d.]+ ?m?s\b"
    )
    .is_match(text)
}
