//! [`Ahead`]: which file of a mirror to fetch next, before it is requested.
//!
//! A kernel that reads whole entries reads them one after the other. While it works, the next entries are fetched: as
//! soon as the last request for one file is sent the next file follows, so that as many requests as allowed are under
//! way at any time, also at the end of a file.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::client::PIECE;

/// The most bytes of files that are fetched but not read yet: all requests of the default, twice. One file may be
/// larger.
const WINDOW: u64 = 32 * PIECE;

/// The files in reading order, and how far reading and fetching have got.
#[derive(Debug, Default)]
pub(crate) struct Ahead(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The files in reading order.
    order: Vec<usize>,
    /// The position of each file in that order.
    places: HashMap<usize, usize>,
    /// The position of the file that was read last.
    reading: usize,
    /// The position of the file to fetch next.
    next: usize,
    /// Whether requests for a file still have to be sent.
    is_sending: bool,
}

impl Ahead {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Files are read in this order from now on.
    pub fn reads(&self, order: Vec<usize>) {
        let places = order.iter().enumerate().map(|(place, &file)| (file, place)).collect();
        let mut state = self.state();
        let is_sending = state.is_sending;
        *state = State { order, places, reading: 0, next: 0, is_sending };
    }

    /// A reader reads all of `file`, of which everything `is_here` or not.
    pub fn read(&self, file: usize, is_here: bool) {
        let mut state = self.state();
        let Some(&place) = state.places.get(&file) else { return };
        if place < state.reading {
            // Entries share objects, and an output is compared with the previous one.
            if is_here {
                return;
            }
            state.next = 0;
        }
        state.reading = place;
        state.next = state.next.max(place + 1);
    }

    /// The file to fetch now, until [`Ahead::sent`]: `size` returns the bytes of a file, and `fits` whether the files
    /// from the current one to this one may all be held. `None` if there is none or requests for a file are still being
    /// sent.
    pub fn next(&self, size: impl Fn(usize) -> u64, fits: impl FnOnce(&[usize]) -> bool) -> Option<usize> {
        let mut state = self.state();
        let unread = state.order.get(state.reading + 1..state.next + 1).filter(|unread| !unread.is_empty())?;
        let bytes: u64 = unread.iter().map(|&file| size(file)).sum();
        if state.is_sending || (bytes > WINDOW && unread.len() > 1) || !fits(unread) {
            return None;
        }
        let file = state.order[state.next];
        state.next += 1;
        state.is_sending = true;
        Some(file)
    }

    /// Every request for the file of [`Ahead::next`] was sent, or the file is given up.
    pub fn sent(&self) {
        self.state().is_sending = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files that are fetched one after the other, each requested at once, if each has this many bytes.
    fn fetched(ahead: &Ahead, size: u64) -> Vec<usize> {
        std::iter::from_fn(|| ahead.next(|_| size, |_| true).inspect(|_| ahead.sent())).collect()
    }

    #[test]
    fn files_follow_in_their_order_as_far_as_the_window_goes() {
        let ahead = Ahead::default();
        assert_eq!(fetched(&ahead, 1), [0usize; 0], "nothing is known of the order");
        ahead.reads(vec![7, 3, 9, 4, 5]);
        ahead.read(7, false);
        assert_eq!(fetched(&ahead, WINDOW / 2), [3, 9]);
        ahead.read(3, true);
        assert_eq!(fetched(&ahead, WINDOW / 2), [4]);
        ahead.read(8, false);
        assert_eq!(fetched(&ahead, WINDOW / 2), [0usize; 0], "a file that is not one of them changes nothing");
        ahead.read(9, true);
        ahead.read(3, true);
        assert_eq!(fetched(&ahead, WINDOW), [0usize; 0], "an entry is compared with the one before it");
        ahead.read(4, true);
        assert_eq!(fetched(&ahead, 2 * WINDOW), [5], "one file may be larger than the window");
        assert_eq!(fetched(&ahead, 1), [0usize; 0]);
    }

    #[test]
    fn reading_that_begins_again_is_followed() {
        let ahead = Ahead::default();
        ahead.reads(vec![0, 1, 2, 3]);
        for file in 0..4 {
            ahead.read(file, false);
        }
        assert_eq!(fetched(&ahead, 1), [0usize; 0]);
        ahead.read(0, false);
        assert_eq!(fetched(&ahead, 1), [1, 2, 3]);
    }

    #[test]
    fn one_file_is_asked_for_at_a_time_and_only_what_fits() {
        let ahead = Ahead::default();
        ahead.reads(vec![0, 1, 2]);
        ahead.read(0, false);
        assert_eq!(ahead.next(|_| 1, |unread| unread.len() > 1), None);
        assert_eq!(ahead.next(|_| 1, |_| true), Some(1));
        assert_eq!(ahead.next(|_| 1, |_| true), None);
        ahead.sent();
        assert_eq!(ahead.next(|_| 1, |unread| unread == [1, 2]), Some(2));
    }
}
