//! [`Trial`]: whether a kernel gives what it has kept, and not what its arguments hold. The algorithm knows neither where
//! memory lies nor how a kernel is launched.
//!
//! "Here" are the addresses that were timed, "elsewhere" others, which the kernel has never seen. The arguments are given
//! other contents here, and the kernel is launched; then it is launched on the same contents elsewhere. An honest kernel
//! gives the same. If it does not, launches on what was captured, elsewhere and here, tell what is stale from what differs
//! by itself. Whoever is found out so in each of several rounds is accused. The Python worker does the same
//! (`plimsoll_stale.py`), by the same rules.

use super::alteration::Alteration;
use super::error::CallError;
use super::evidence::{Evidence, Piece};
use super::rules::ROUNDS;
use crate::protocol::CallMessage;

/// How many times in a row a kernel that stopped following its arguments has to give the same.
const AGAIN: usize = 8;

/// Takes a piece of two outputs.
pub type Compare<'a> = dyn FnMut(&Piece, &[u8], &[u8]) + 'a;

/// The four launches of a round, in the order in which they are made.
pub trait Trial {
    /// What is launched on.
    fn call(&self) -> &CallMessage;

    /// Launches on altered contents here.
    fn altered_here(&mut self, alteration: &Alteration) -> Result<(), CallError>;

    /// Launches on the same contents elsewhere. Hands over what that gave: here, and elsewhere.
    fn altered_elsewhere(&mut self, alteration: &Alteration, compare: &mut Compare<'_>) -> Result<(), CallError>;

    /// Launches on captured contents elsewhere. Hands over what altered ones gave here, and captured ones elsewhere.
    fn captured_elsewhere(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError>;

    /// Launches on captured contents here. Hands over what that gave: here, and elsewhere.
    fn captured_here(&mut self, compare: &mut Compare<'_>) -> Result<(), CallError>;
}

/// The error of a kernel that gives what it has kept. A kernel that fails on other contents is not accused.
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

/// Nothing if the kernel fails: it was not made for other contents.
pub fn unless_refused<T>(found: Result<Option<T>, CallError>) -> Result<Option<T>, CallError> {
    match found {
        Err(CallError::Kernel(_)) => Ok(None),
        other => other,
    }
}

/// Digests of what a kernel gave before it was timed, on altered and on captured contents: a number of four bytes for each
/// part of its outputs.
pub struct Followed {
    pub altered: Vec<u8>,
    pub captured: Vec<u8>,
}

impl Followed {
    /// The error of a kernel that followed its arguments before it was timed, and no longer does, wherever they lie.
    /// `again` launches on altered and on captured contents, and gives the digests.
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
