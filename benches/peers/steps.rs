//! The steps of series, one series a line, for `benches/peers/history.py`: the seconds that they took, then the places.

use std::io::{self, BufRead, Write};
use std::time::Instant;

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let series: Vec<f64> = line.split_whitespace().filter_map(|value| value.parse().ok()).collect();
        let began = Instant::now();
        let found = plimsoll_statistics::steps(&series);
        let seconds = began.elapsed().as_secs_f64();
        let places: Vec<String> = found.iter().map(|step| step.at.to_string()).collect();
        writeln!(out, "{seconds:.6} {}", places.join(" "))?;
    }
    Ok(())
}
