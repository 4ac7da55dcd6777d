//! [`Trial`]: whether a kernel returns kept results instead of using its arguments. The algorithm does not depend on
//! where memory is or how a kernel is launched.
//!
//! "Here" are the timed addresses, "elsewhere" others, which the kernel has never seen. The arguments get other
//! contents here, and the kernel is launched; then the kernel is launched on the same contents elsewhere. An honest
//! kernel returns the same. If the results differ, launches on captured contents, elsewhere and here, distinguish stale
//! elements from random differences. A kernel that is caught in each of several rounds is accused. The Python worker
//! does the same (`plimsoll_stale.py`), by the same rules.

use super::alteration::Alteration;
use super::error::CallError;
use super::evidence::{Evidence, Piece};
use super::rules::ROUNDS;
use crate::protocol::CallMessage;

/// How many times in a row a kernel that stopped following its arguments has to return the same.
const AGAIN: usize = 8;

/// Takes a piece of two outputs.
pub type Compare<'a> = dyn FnMut(&Piece, &[u8], &[u8]) + 'a;

/// The four launches of a round, in the order in which they are made.
pub trait Trial {
    /// The contents of the launch.
    fn call(&self) -> &CallMessage;

    /// Launches on altered contents here.
    fn altered_here(&mut self, alteration: &Alteration) -> Result<(), CallError>;

    /// Launches on the same contents elsewhere. Hands over the results of both: here, and elsewhere.
    fn altered_elsewhere(&mut self, alteration: &Alteration, compare: &mut Compare<'_>) -> Result<(), CallError>;

    /// Launches on captured contents elsewhere. Hands over the results of altered contents here, and of captured
    /// contents elsewhere.
    fn captured_elsewhere(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError>;

    /// Launches on captured contents here. Hands over the results of both: here, and elsewhere.
    fn captured_here(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError>;
}

/// The error of a kernel that returns kept results. A kernel that fails on other contents is not accused.
pub fn kept(trial: &mut impl Trial) -> Result<Option<CallError>, CallError> {
    let mut found = None;
    for _ in 0..ROUNDS {
        found = unless_refused(round(trial))?;
        if found.is_none() {
            break;
        }
    }
    Ok(found)
}

fn round(trial: &mut impl Trial) -> Result<Option<CallError>, CallError> {
    let alteration = Alteration::of(trial.call())?;
    if alteration.is_empty() {
        return Ok(None);
    }
    let mut evidence = Evidence::default();
    trial.altered_here(&alteration)?;
    trial.altered_elsewhere(&alteration, &mut |piece, here, elsewhere| evidence.altered(piece, here, elsewhere))?;
    if evidence.is_none() {
        return Ok(None);
    }
    trial.captured_elsewhere(&mut |piece, altered, captured| evidence.captured(piece, altered, captured))?;
    trial.captured_here(&mut |piece, here, elsewhere| evidence.again(piece, here, elsewhere))?;
    Ok(evidence.kept().map(|kept| CallError::Kept { stale: kept.stale, following: kept.following }))
}

/// `None` if the kernel fails, as it was not made for other contents.
pub fn unless_refused<T>(found: Result<Option<T>, CallError>) -> Result<Option<T>, CallError> {
    match found {
        Err(CallError::Kernel(_)) => Ok(None),
        other => other,
    }
}

/// Digests of a kernel's results before it was timed, on altered and on captured contents: a number of four bytes for
/// each part of its outputs.
pub struct Followed {
    pub altered: Vec<u8>,
    pub captured: Vec<u8>,
}

impl Followed {
    /// The error of a kernel that followed its arguments before it was timed, and no longer does, wherever they are.
    /// `again` launches on altered and on captured contents, and returns the digests.
    pub fn stopped(
        &self,
        mut again: impl FnMut() -> Result<[Vec<u8>; 2], CallError>,
    ) -> Result<Option<CallError>, CallError> {
        for _ in 0..AGAIN {
            let [altered, captured] = again()?;
            let all = Piece { first: 0, size: size_of::<u32>(), range: 0..altered.len() };
            let mut evidence = Evidence::default();
            evidence.altered(&all, &altered, &self.altered);
            evidence.captured(&all, &altered, &self.captured);
            evidence.again(&all, &captured, &self.captured);
            if evidence.kept().is_none() {
                return Ok(None);
            }
        }
        Ok(Some(CallError::Stopped))
    }
}

#[cfg(test)]
mod tests;
