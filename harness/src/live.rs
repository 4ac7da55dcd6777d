//! The live view of `run --live`: the lowest rows of the terminal, which the command's own output does not reach.
//!
//! The rows above become the terminal's scrolling region, as with apt's progress bar: the command's output scrolls
//! there, and the view is drawn below in one write at a time. Nothing happens if standard error is not a terminal.
//! However the run ends, the region is the whole terminal again and the rows are blank.

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll::ceiling::Ceilings;
use plimsoll::meter::Viewer;
use plimsoll::report::terminal::{LiveView, Palette};
use rustix::termios::tcgetwinsize;

/// The time between two drawings: fast enough for the eye, and negligible beside the meter's own samples.
const EVERY: Duration = Duration::from_millis(250);
/// The view has at most this many rows.
const ROWS: u16 = 12;
/// A terminal with fewer rows has no room beside the command's output, one with fewer columns none for a figure.
const LEAST_TERMINAL: (u16, u16) = (16, 40);

/// A view that is drawn until dropped.
pub struct Live {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Live {
    /// Begins to draw what `viewer` sees; `None` if standard error is not a terminal, or is too small.
    pub fn start(viewer: Viewer, ceilings: Ceilings) -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        size().filter(|&(rows, _)| rows >= LEAST_TERMINAL.0)?;
        let (stop, stopped) = channel::<()>();
        let thread = std::thread::Builder::new().name("live-view".to_owned()).spawn(move || {
            let mut region = Region::default();
            let mut view = LiveView::default();
            loop {
                if let (Some((rows, columns)), Some(glance)) = (size(), viewer.glance(usize::from(ROWS))) {
                    // The terminal may become smaller or larger while the command runs.
                    if rows >= LEAST_TERMINAL.0 && columns >= LEAST_TERMINAL.1 {
                        let room = (usize::from(columns), usize::from(ROWS));
                        let lines = view.lines(&glance, &ceilings, &Palette::colour(), room);
                        region.draw(rows, &lines);
                    }
                }
                if !matches!(stopped.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
            }
            region.leave();
        });
        Some(Self { stop: Some(stop), thread: Some(thread.ok()?) })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// The rows and columns of the terminal.
fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(std::io::stderr()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// The rows reserved for the view.
#[derive(Default)]
struct Region {
    /// The rows of the terminal when the region was set.
    rows: Option<u16>,
}

impl Region {
    /// Draws `lines` at the bottom of a terminal of `rows`, in one write, so that no output of the command comes
    /// between.
    fn draw(&mut self, rows: u16, lines: &[String]) {
        let mut text = String::new();
        if self.rows != Some(rows) {
            if self.rows.is_none() {
                // Text in these rows scrolls up.
                let _ = write!(text, "{}\x1b[{ROWS}A", "\n".repeat(usize::from(ROWS)));
            }
            // Setting the region moves the cursor.
            let _ = write!(text, "\x1b7\x1b[1;{}r\x1b8", rows - ROWS);
            self.rows = Some(rows);
        }
        text.push_str("\x1b7");
        for row in 0..ROWS {
            let line = lines.get(usize::from(row)).map_or("", String::as_str);
            let _ = write!(text, "\x1b[{};1H{line}\x1b[0m\x1b[K", rows - ROWS + 1 + row);
        }
        text.push_str("\x1b8");
        put(&text);
    }

    /// Restores the terminal.
    fn leave(&mut self) {
        let Some(rows) = self.rows.take() else { return };
        put(&format!("\x1b7\x1b[r\x1b[{};1H\x1b[J\x1b8", rows - ROWS + 1));
    }
}

fn put(text: &str) {
    // A failure cannot be reported anywhere.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
