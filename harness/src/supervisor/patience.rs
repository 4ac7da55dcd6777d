//! [`Patience`]: how long an answer of a worker is waited for.

use std::time::{Duration, Instant};

use super::building::Building;
use super::clock::Scheduled;
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

/// The most times its limit that an answer may take on a machine whose processors are busy.
const MOST_LIMITS: u32 = 10;

/// The wait for an answer.
pub struct Patience {
    answer: Limit,
    /// The limit of each launch on the way to the answer.
    launch: Option<Limit>,
    work: Work,
    queue: Queue,
}

struct Limit {
    length: Duration,
    until: Instant,
}

impl Limit {
    fn begin(length: Duration) -> Self {
        Self { length, until: Instant::now() + length }
    }
}

/// The time in which a worker's first thread, which launches, waits for a processor: no kernel is to blame for it.
struct Queue {
    first: Scheduled,
    before: Duration,
    granted: Duration,
}

impl Queue {
    fn begin(worker: u32) -> Self {
        let first = Scheduled::of(format!("/proc/{worker}/task/{worker}/schedstat"));
        let before = first.times().1;
        Self { first, before, granted: Duration::ZERO }
    }

    /// How much longer the answer may take because its worker has waited, within `limit`.
    fn more(&mut self, limit: Duration) -> Option<Duration> {
        let waited = self.first.times().1.saturating_sub(self.before);
        self.grant(waited, limit)
    }

    fn grant(&mut self, waited: Duration, limit: Duration) -> Option<Duration> {
        let whole = waited.min(limit.saturating_mul(MOST_LIMITS - 1));
        let more = whole.checked_sub(self.granted).filter(|more| !more.is_zero())?;
        self.granted = whole;
        Some(more)
    }
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
        let answer = Limit { length: limit, until: Instant::now() + pause };
        Self { answer, launch: None, work, queue: Queue::begin(worker) }
    }

    /// Waits for each launch on the way to the answer no longer than `limit`.
    pub fn each_launch(self, limit: Option<Duration>) -> Self {
        Self { launch: limit.map(Limit::begin), ..self }
    }

    /// The worker goes on to its next launch.
    pub fn launches(&mut self) {
        if let Some(launch) = &mut self.launch {
            *launch = Limit::begin(launch.length);
        }
    }

    /// The time that is left; looks at the worker when it is over.
    ///
    /// # Errors
    /// No time is left.
    pub fn left(&mut self) -> Result<Duration, Spent> {
        let first = match &mut self.launch {
            Some(launch) if launch.until < self.answer.until => launch,
            _ => &mut self.answer,
        };
        let left = first.until.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            return Ok(left);
        }
        let limit = first.length;
        let more = match &mut self.work {
            Work::Nothing => self.queue.more(limit).ok_or(Spent::TimedOut(limit))?,
            Work::Building(building) => {
                let builds = building.goes_on().then_some(limit);
                builds.or_else(|| self.queue.more(limit)).ok_or(Spent::TimedOut(limit))?
            }
            Work::Loading(loading) => loading.look().map(|()| loading.pause()).map_err(Spent::NotLoaded)?,
        };
        // A built kernel is launched afterwards, which may take as long as any launch.
        first.until = Instant::now() + more;
        Ok(more)
    }

    /// The worker says that it waits for another process, which builds.
    ///
    /// # Errors
    /// No time is left.
    pub fn waits(&mut self) -> Result<(), Spent> {
        match &mut self.work {
            Work::Building(building) if building.in_time() => {
                self.answer = Limit::begin(self.answer.length);
                self.launches();
            }
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
    fn a_worker_is_given_the_time_in_which_it_waits_for_a_processor() {
        let (mut queue, limit) = (Queue::begin(0), Duration::from_secs(60));
        assert_eq!(queue.more(limit), None, "a system that does not report it");
        assert_eq!(queue.grant(Duration::from_secs(40), limit), Some(Duration::from_secs(40)));
        assert_eq!(queue.grant(Duration::from_secs(40), limit), None, "it slept, or computed");
        assert_eq!(queue.grant(Duration::from_secs(50), limit), Some(Duration::from_secs(10)));
        assert_eq!(queue.grant(Duration::from_secs(9000), limit), Some(Duration::from_secs(540 - 50)));
        assert_eq!(queue.grant(Duration::from_secs(9900), limit), None);
    }

    #[test]
    fn each_launch_on_the_way_to_an_answer_has_its_own_limit() {
        let hour = Duration::from_secs(3600);
        let begin = |answer, launch| Patience::begin(0, answer, Beyond::Nothing).each_launch(Some(launch));
        assert!(matches!(begin(hour, Duration::ZERO).left(), Err(Spent::TimedOut(Duration::ZERO))));
        let mut answer = begin(Duration::ZERO, hour);
        answer.launches();
        assert!(matches!(answer.left(), Err(Spent::TimedOut(Duration::ZERO))));
        let mut launch = begin(2 * hour, hour);
        launch.launch.as_mut().unwrap().until = Instant::now();
        assert!(matches!(launch.left(), Err(Spent::TimedOut(limit)) if limit == hour));
        launch.launches();
        assert!(launch.left().unwrap() <= hour);
    }

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
        let mut building = Patience::begin(own, hour, Beyond::Building(hour)).each_launch(Some(hour));
        assert!(building.waits().is_ok() && building.left().unwrap() > Duration::ZERO);
    }
}
