//! [`Patience`]: how long an answer of a worker is waited for.

use std::time::{Duration, Instant};

use super::building::Building;
use super::loading::{Allowed, Loading, Stuck};

/// What an answer may take longer for than other answers.
#[derive(Clone, Copy, Debug)]
pub enum Beyond {
    /// Nothing.
    Nothing,
    /// The kernel may be built, for this long.
    Building(Duration),
    /// The kernel is loaded.
    Loading(Allowed),
}

/// Why an answer is waited for no longer.
#[derive(Debug)]
pub enum Spent {
    /// The answer did not come in this time.
    TimedOut(Duration),
    /// The worker did not get on with loading its kernel.
    NotLoaded(Stuck),
}

/// The wait for an answer.
pub struct Patience {
    limit: Duration,
    until: Instant,
    work: Work,
}

enum Work {
    Nothing,
    Building(Building),
    Loading(Loading),
}

impl Patience {
    /// Begins to wait for the worker `pid`.
    pub fn begin(worker: u32, limit: Duration, beyond: Beyond) -> Self {
        let work = match beyond {
            Beyond::Nothing => Work::Nothing,
            Beyond::Building(longest) => Work::Building(Building::begin(worker, longest)),
            Beyond::Loading(allowed) => Work::Loading(Loading::begin(worker, allowed)),
        };
        let pause = if let Work::Loading(loading) = &work { loading.pause() } else { limit };
        Self { limit, until: Instant::now() + pause, work }
    }

    /// The time that is left; looks at the worker when it is over.
    ///
    /// # Errors
    /// No time is left.
    pub fn left(&mut self) -> Result<Duration, Spent> {
        let left = self.until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Ok(left);
        }
        let more = match &mut self.work {
            Work::Nothing => return Err(Spent::TimedOut(self.limit)),
            Work::Building(building) => building.goes_on().then_some(self.limit).ok_or(Spent::TimedOut(self.limit))?,
            Work::Loading(loading) => loading.look().map(|()| loading.pause()).map_err(Spent::NotLoaded)?,
        };
        // A built kernel is launched afterwards, which may take as long as any launch.
        self.until = Instant::now() + more;
        Ok(more)
    }

    /// The worker says that it waits for another process, which builds.
    ///
    /// # Errors
    /// No time is left.
    pub fn waits(&mut self) -> Result<(), Spent> {
        match &mut self.work {
            Work::Building(building) if building.in_time() => self.until = Instant::now() + self.limit,
            Work::Loading(loading) => loading.waits().map_err(Spent::NotLoaded)?,
            // A worker that only says so is not waited for.
            Work::Nothing | Work::Building(_) => drop(self.left()?),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_only_says_that_it_waits_is_waited_for_no_longer_than_others() {
        let (own, hour) = (std::process::id(), Duration::from_secs(3600));
        let mut launch = Patience::begin(own, Duration::ZERO, Beyond::Nothing);
        assert!(matches!(launch.waits(), Err(Spent::TimedOut(Duration::ZERO))));
        let mut built = Patience::begin(own, Duration::ZERO, Beyond::Building(Duration::ZERO));
        assert!(matches!(built.waits(), Err(Spent::TimedOut(_))));
        let allowed = Allowed { idle: hour, computing: hour, total: Duration::ZERO };
        let mut loaded = Patience::begin(own, hour, Beyond::Loading(allowed));
        assert!(matches!(loaded.waits(), Err(Spent::NotLoaded(Stuck::Long(_)))));
        let mut building = Patience::begin(own, hour, Beyond::Building(hour));
        assert!(building.waits().is_ok() && building.left().unwrap() > Duration::ZERO);
    }
}
