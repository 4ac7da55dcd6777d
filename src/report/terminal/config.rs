//! A configuration on the terminal.

use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{Align, Cell, fitted};
use plimsoll_memory::text::{clean, labelled};

/// Writes the table of `rows` (setting, value, origin) below the file and its profiles, of which `profile` was chosen.
pub fn config(
    file: Option<&str>,
    profile: Option<&str>,
    profiles: &[&str],
    rows: &[[String; 3]],
    screen: &Screen,
) -> String {
    let palette = &screen.palette;
    let file = file.unwrap_or("none: there is no plimsoll.toml here or above");
    let mut text = labelled("file", palette.heading, file, 12, screen);
    if !profiles.is_empty() {
        let chosen = profile.map_or_else(|| "none".to_owned(), str::to_owned);
        text.push_str(&labelled(
            "profile",
            palette.heading,
            &format!("{chosen} of {}", profiles.join(", ")),
            12,
            screen,
        ));
    }
    text.push('\n');
    let columns = [("setting", Align::Left, 0), ("value", Align::Left, 0), ("from", Align::Left, 0)];
    let row = |[setting, value, from]: &[String; 3]| {
        let style = if from == "default" { palette.dim } else { palette.good };
        vec![Cell::plain(clean(setting)), Cell::plain(clean(value)), Cell::new(clean(from), style)]
    };
    let rows: Vec<Vec<Cell>> = rows.iter().map(row).collect();
    text.push_str(&fitted(columns, &rows, screen));
    text
}
