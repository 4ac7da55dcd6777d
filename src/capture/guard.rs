//! The guard of mapped files: a fault in a map whose file shrank becomes a flag instead of the end of the process.
//!
//! Reading a mapped page beyond the end of its file raises SIGBUS. One handler, installed once per process, looks up
//! the faulting address in a fixed table of guarded ranges. If it is in one, the handler puts zero pages over the rest
//! of the range and sets the range's flag, which [`Guard::lost`] reads; any other fault is passed to the previous
//! handler. The table is read without locks, because a signal handler may not wait.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The most maps that can be guarded at once: half as many as Linux lets a process have. The table takes memory only as
/// it is used.
pub(super) const CAPACITY: usize = 32 << 10;

/// The `start` of a free slot, and that of a slot being filled: mmap returns neither as an address.
const FREE: usize = 0;
const CLAIMED: usize = 1;

struct Slot {
    start: AtomicUsize,
    /// The end of the range, or 0 while the slot guards nothing: the handler treats a slot as valid by its end.
    end: AtomicUsize,
    lost: AtomicBool,
}

static SLOTS: [Slot; CAPACITY] =
    [const { Slot { start: AtomicUsize::new(FREE), end: AtomicUsize::new(0), lost: AtomicBool::new(false) } };
        CAPACITY];

/// The slot at which the search for a free one starts: the slots before it are mostly taken.
static NEXT: AtomicUsize = AtomicUsize::new(0);

static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);

/// The guard of one range of addresses, for as long as it lives.
#[derive(Debug)]
pub(super) struct Guard {
    slot: usize,
}

impl Guard {
    /// Guards `range`, which must be mapped, page-aligned on both sides, and stay mapped until the guard is dropped.
    /// `Ok(None)` if the table is full.
    pub(super) fn new(range: Range<usize>) -> io::Result<Option<Self>> {
        install()?;
        let claim = |slot: &Slot| slot.start.compare_exchange(FREE, CLAIMED, SeqCst, SeqCst).is_ok();
        let first = NEXT.load(SeqCst);
        let mut slots = (0..CAPACITY).map(|step| (first + step) % CAPACITY);
        let Some(index) = slots.find(|&index| claim(&SLOTS[index])) else { return Ok(None) };
        NEXT.store(index + 1, SeqCst);
        let slot = &SLOTS[index];
        slot.lost.store(false, SeqCst);
        slot.start.store(range.start, SeqCst);
        slot.end.store(range.end, SeqCst);
        Ok(Some(Self { slot: index }))
    }

    /// Whether a read in the range was beyond the end of the file. Bytes read then are zeros.
    pub(super) fn lost(&self) -> bool {
        SLOTS[self.slot].lost.load(SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let slot = &SLOTS[self.slot];
        slot.end.store(0, SeqCst);
        slot.start.store(FREE, SeqCst);
        // The table stays as small as the largest number of maps at one time.
        NEXT.fetch_min(self.slot, SeqCst);
    }
}

/// The size of a page, in bytes.
pub(super) fn page_size() -> usize {
    match PAGE_SIZE.load(SeqCst) {
        0 => {
            let size = rustix::param::page_size();
            PAGE_SIZE.store(size, SeqCst);
            size
        }
        size => size,
    }
}

/// Installs the handler on the first call.
fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        page_size();
        let failed = || io::Error::last_os_error().raw_os_error().unwrap_or(0);
        let mut previous = MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: a null action only asks; `previous` is writable and of the type that the call fills.
        if unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) } != 0 {
            return Err(failed());
        }
        // The previous handler is stored before ours is installed, so that ours always finds it. SAFETY: the call above
        // succeeded and so has filled it.
        PREVIOUS.get_or_init(|| unsafe { previous.assume_init() });
        // SAFETY: all-zero is a valid sigaction: no flags, an empty mask, SIG_DFL.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = on_sigbus as *const () as usize;
        // SA_ONSTACK: a thread may fault with little stack left; threads without an alternative stack are unaffected.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: `action` is initialised, and its handler has the signature that SA_SIGINFO asks for and calls only
        // functions that may be called from a signal handler.
        if unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) } != 0 {
            return Err(failed());
        }
        Ok(())
    });
    installed.map_err(io::Error::from_raw_os_error)
}

/// The slot that guards `address`, with the end of its range.
fn slot_of(address: usize) -> Option<(&'static Slot, usize)> {
    SLOTS.iter().find_map(|slot| {
        let end = slot.end.load(SeqCst);
        let start = slot.start.load(SeqCst);
        // A slot that changed between the two loads belongs to another thread's map: the map faulting now is in use, so
        // its own slot does not change.
        let inside = start > CLAIMED && (start..end).contains(&address) && slot.end.load(SeqCst) == end;
        inside.then_some((slot, end))
    })
}

/// Handles SIGBUS. Only atomics, mmap and sigaction are used: all may be called here.
extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo_t, whose si_addr is set for SIGBUS.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    if code == libc::BUS_ADRERR
        && let Some((slot, end)) = slot_of(address)
    {
        // The flag is set before the pages are placed: another thread that reads the zeros must find it.
        slot.lost.store(true, SeqCst);
        if blank(address, end) {
            return;
        }
    }
    give_on(signal, info, context);
}

/// Puts zero pages over everything from the page of `address` to `end`: bytes after a lost page are as good as lost.
fn blank(address: usize, end: usize) -> bool {
    let start = address & !(PAGE_SIZE.load(SeqCst) - 1);
    // SAFETY: the location is thread-local and always valid.
    let errno = unsafe { *libc::__errno_location() };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: `start..end` is within a guarded range, which its owner keeps mapped, for reading only, while the guard
    // lives; replacing its pages by zero pages of the same protection changes values that the owner must already treat
    // as changeable, as those of any mapped file.
    let placed =
        unsafe { libc::mmap(start as *mut c_void, end - start, libc::PROT_READ, flags, -1, 0) != libc::MAP_FAILED };
    // SAFETY: as above. The interrupted code must find errno as it was.
    unsafe { *libc::__errno_location() = errno };
    placed
}

/// Passes a fault outside our maps to the previous handler.
fn give_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let previous = PREVIOUS.get();
    let handler = previous.map_or(libc::SIG_DFL, |p| p.sa_sigaction);
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: all-zero is a valid sigaction that means SIG_DFL; the fault is raised again on return, and ends
        // the process as it would have without this handler.
        unsafe {
            let default: libc::sigaction = MaybeUninit::zeroed().assume_init();
            libc::sigaction(signal, &default, std::ptr::null_mut());
        }
    } else if previous.is_some_and(|p| p.sa_flags & libc::SA_SIGINFO != 0) {
        // SAFETY: a handler registered with SA_SIGINFO has this signature, and the arguments are the kernel's own.
        unsafe {
            let call: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(handler);
            call(signal, info, context);
        }
    } else {
        // SAFETY: a handler registered without SA_SIGINFO has this signature.
        unsafe {
            let call: extern "C" fn(c_int) = std::mem::transmute(handler);
            call(signal);
        }
    }
}
