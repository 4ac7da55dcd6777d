//! [`phase`]: names what a measured test or block does from here on.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::alloc::uncounted;

/// A measurement that is told of phases.
pub trait Sink: Send + Sync {
    /// The phase under way ends here, and `name` begins.
    fn phase(&self, name: &str);
}

/// The measurements of the whole process, oldest first.
static PROCESS: Mutex<Vec<Arc<dyn Sink>>> = Mutex::new(Vec::new());

thread_local! {
    /// The measurements that this thread began, oldest first.
    static THREAD: RefCell<Vec<Arc<dyn Sink>>> = const { RefCell::new(Vec::new()) };
}

/// Begins a phase of every measurement under way: of the blocks that this thread is in, and of the isolated test that
/// this process runs. Where nothing is measured it does nothing, so that code may name its phases for good.
///
/// A block hears only the thread that began it: another test that runs meanwhile names phases of its own.
///
/// ```
/// plimsoll::phase("load");
/// let rows: Vec<u64> = (0..1000).collect();
/// plimsoll::phase("sum");
/// assert_eq!(rows.iter().sum::<u64>(), 499_500);
/// ```
pub fn phase(name: &str) {
    // What a measurement allocates for itself is none of what it measures.
    uncounted(|| {
        // The lists are copied, for a sink may take its time, and may itself be ended by another thread meanwhile.
        let thread = THREAD.with_borrow(Clone::clone);
        let process = process().clone();
        thread.iter().chain(&process).for_each(|sink| sink.phase(name));
    });
}

/// A sink that is told of phases for as long as this lives.
#[must_use = "the sink is told of phases only as long as this lives"]
pub struct Installed {
    sink: Arc<dyn Sink>,
    of_thread: bool,
    /// It is to be dropped on the thread where it was made.
    not_send: PhantomData<*const ()>,
}

/// Tells `sink` of the phases that any thread of this process names.
pub fn install(sink: Arc<dyn Sink>) -> Installed {
    process().push(Arc::clone(&sink));
    Installed { sink, of_thread: false, not_send: PhantomData }
}

/// Tells `sink` of the phases that this thread names.
pub fn install_on_thread(sink: Arc<dyn Sink>) -> Installed {
    THREAD.with_borrow_mut(|sinks| sinks.push(Arc::clone(&sink)));
    Installed { sink, of_thread: true, not_send: PhantomData }
}

impl Drop for Installed {
    fn drop(&mut self) {
        let remove = |sinks: &mut Vec<Arc<dyn Sink>>| sinks.retain(|sink| !Arc::ptr_eq(sink, &self.sink));
        if self.of_thread {
            // Where the thread is ending, its list is gone already.
            let _ = THREAD.try_with(|sinks| remove(&mut sinks.borrow_mut()));
        } else {
            remove(&mut process());
        }
    }
}

/// A list of sinks is whole after any panic.
fn process() -> MutexGuard<'static, Vec<Arc<dyn Sink>>> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Sink for Heard {
        fn phase(&self, name: &str) {
            self.0.lock().unwrap().push(name.to_owned());
        }
    }

    impl Heard {
        fn names(&self) -> Vec<String> {
            // Other tests of this process name phases as well.
            self.0.lock().unwrap().iter().filter(|name| name.starts_with("phase test")).cloned().collect()
        }
    }

    #[test]
    fn every_measurement_under_way_hears_of_a_phase() {
        let [process, outer, inner] = [(); 3].map(|()| Arc::new(Heard::default()));
        phase("phase test: before");
        let _process = install(process.clone());
        let installed = install_on_thread(outer.clone());
        phase("phase test: outer");
        {
            let _inner = install_on_thread(inner.clone());
            phase("phase test: inner");
        }
        std::thread::spawn(|| phase("phase test: elsewhere")).join().unwrap();
        drop(installed);
        phase("phase test: after");
        assert_eq!(inner.names(), ["phase test: inner"]);
        assert_eq!(outer.names(), ["phase test: outer", "phase test: inner"]);
        let all = ["outer", "inner", "elsewhere", "after"].map(|name| format!("phase test: {name}"));
        assert_eq!(process.names(), all);
    }
}
