//! The wordings of memory events, one file per family.
//!
//! Each recogniser takes the lines of a window and the index of a line that contains an anchor, and returns what the
//! line reports. A wording counts at the beginning of a message: at the start of a line (after prefixes), or after an
//! exception's class. With numbers it counts elsewhere too; code, documentation and quoted talk never count.

mod allocator;
mod amounts;
mod beside;
mod catalogue;
mod conversation;
mod ending;
mod genre;
mod guard;
mod host;
mod joined;
mod kernel;
mod killed;
mod library;
mod manager;
mod manual;
mod mention;
mod page;
mod position;
mod recovered;
mod shared_memory;
mod shown;
mod side;
mod size;
mod source;
mod speech;
mod spoken;
mod table;

pub(super) use position::{Position, position};
pub(super) use spoken::{denies, failed_otherwise, recognise as spoken};
pub use table::{KnownWording, known_wordings};

use super::ascii::{Pattern, regex};
use super::classify::DOCUMENT;
#[cfg(test)]
use super::classify::Passages;
use super::sighting::{Cause, Sighting};
use super::window::Lines;

/// The odds above which what reads like an event is in a document, as a logarithm in hundredths.
const DOCUMENTS: i32 = 15;

/// Whether `by` dismisses the line of `text` that holds `what`.
#[cfg(test)]
fn dismisses(by: fn(&Lines, usize) -> Option<&'static str>, text: &str, what: &str) -> bool {
    let (lines, at) = Lines::hot_at(text, what);
    by(&lines, at).is_some()
}

/// Why line `at` is no event: by its form, or by the text around it.
pub(super) fn dismissed(lines: &Lines, at: usize) -> Option<&'static str> {
    guard::dismissed(lines, at).or_else(|| genre::dismissed(lines, at))
}

/// What line `at` of `lines` reports, in order of the text. Lines of a `known` shape reported events often enough that
/// their form is not judged again.
pub(super) fn recognise(lines: &Lines, at: usize, known: bool, found: &mut Vec<Sighting>) {
    let before = found.len();
    if let Some(reason) = (!known).then(|| guard::dismissed(lines, at)).flatten() {
        found.push(Sighting::new(Cause::Dismissed(reason), &lines[at]));
        return;
    }
    matched(lines, at, found);
    // The lines around, of the few lines that are left.
    let event = found[before..].iter().any(|sighting| sighting.cause.is_event());
    let document = || {
        (!lines[at].is_logged() && DOCUMENT.odds(lines, at) > DOCUMENTS)
            .then_some("worded like a document, not like a report")
    };
    let around = || genre::dismissed(lines, at).or_else(document);
    if let Some(reason) = (event && !known).then(around).flatten() {
        found.truncate(before);
        found.push(Sighting::new(Cause::Dismissed(reason), &lines[at]));
        return;
    }
    for sighting in found[before..].iter_mut().filter(|sighting| sighting.cause.is_event()) {
        beside::fill(sighting, lines, at);
    }
    for sighting in &mut found[before..] {
        let reason = match sighting.cause {
            Cause::Killed => ending::near(lines, at),
            Cause::Device | Cause::Library | Cause::HostAlloc => {
                recovered::around(lines, at).then_some(recovered::REASON)
            }
            _ => None,
        };
        if let Some(reason) = reason {
            *sighting = Sighting::new(Cause::Dismissed(reason), &lines[at]);
        }
    }
}

/// What the families find in line `at`, whatever is around it.
fn matched(lines: &Lines, at: usize, found: &mut Vec<Sighting>) {
    let before = found.len();
    allocator::recognise(lines, at, found);
    if found.len() == before {
        library::recognise(lines, at, found);
    }
    // A line has one subject: a line that names the sender of a kill is more specific than a bare kill.
    for family in [
        kernel::recognise,
        manager::recognise,
        shared_memory::recognise,
        host::recognise,
        table::specific,
        killed::recognise,
        table::general,
    ] {
        if found.len() == before {
            family(lines, at, found);
        }
    }
}

/// Whether a family finds an event in line `at`, whatever the guards say of it.
#[cfg(test)]
pub(super) fn matches(lines: &Lines, at: usize) -> bool {
    let mut found = Vec::new();
    if lines[at].hot {
        matched(lines, at, &mut found);
    }
    found.iter().any(|sighting| sighting.cause.is_event())
}

/// Lines around which ordinary words may report one.
#[cfg(test)]
pub(super) fn mentions(passages: &Passages) -> impl Iterator<Item = usize> {
    spoken::candidates(passages)
}
