//! [`phase`]: names what a measured test or block does from now on.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::alloc::uncounted;

/// A measurement that is notified of phases.
pub trait Sink {
    /// Ends the current phase and begins `name`.
    fn phase(&self, name: &str);
}

/// A sink that any thread may notify.
type SharedSink = dyn Sink + Send + Sync;

/// The measurements of the whole process, oldest first.
static PROCESS: Mutex<Vec<Arc<SharedSink>>> = Mutex::new(Vec::new());

thread_local! {
    /// The measurements that this thread began, oldest first.
    static THREAD: RefCell<Vec<Rc<dyn Sink>>> = const { RefCell::new(Vec::new()) };
}

/// Begins a phase in every active measurement: of the blocks that this thread is in, and of the isolated test that this
/// process runs. Without a measurement it does nothing, so code can name its phases permanently.
///
/// A block notices only the thread that began it, because other tests that run at the same time name their own phases.
///
/// ```
/// plimsoll_memory::phase("load");
/// let rows: Vec<u64> = (0..1000).collect();
/// plimsoll_memory::phase("sum");
/// assert_eq!(rows.iter().sum::<u64>(), 499_500);
/// ```
pub fn phase(name: &str) {
    // Allocations of the measurement itself are not part of what it measures.
    uncounted(|| {
        // The lists are copied, because a sink may take long and another thread may end it meanwhile.
        let thread = THREAD.with_borrow(Clone::clone);
        let process = process().clone();
        thread.iter().for_each(|sink| sink.phase(name));
        process.iter().for_each(|sink| sink.phase(name));
    });
}

/// Keeps a sink notified of phases while it lives.
#[must_use = "the sink is notified of phases only while this lives"]
pub struct Installed(Registered);

enum Registered {
    Process(Arc<SharedSink>),
    Thread(Rc<dyn Sink>),
}

/// Notifies `sink` of phases that any thread of this process names.
pub fn install(sink: Arc<dyn Sink + Send + Sync>) -> Installed {
    process().push(Arc::clone(&sink));
    Installed(Registered::Process(sink))
}

/// Notifies `sink` of phases that this thread names.
pub fn install_on_thread(sink: Rc<dyn Sink>) -> Installed {
    THREAD.with_borrow_mut(|sinks| sinks.push(Rc::clone(&sink)));
    Installed(Registered::Thread(sink))
}

impl Drop for Installed {
    fn drop(&mut self) {
        match &self.0 {
            Registered::Process(ended) => process().retain(|sink| !Arc::ptr_eq(sink, ended)),
            Registered::Thread(ended) => {
                // While the thread ends, its list may already be gone.
                let _ = THREAD.try_with(|sinks| sinks.borrow_mut().retain(|sink| !Rc::ptr_eq(sink, ended)));
            }
        }
    }
}

/// A panic cannot leave the list of sinks inconsistent.
fn process() -> MutexGuard<'static, Vec<Arc<SharedSink>>> {
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
        let process = Arc::new(Heard::default());
        let [outer, inner] = [(); 2].map(|()| Rc::new(Heard::default()));
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
