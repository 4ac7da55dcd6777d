//! Failure messages as a test sees them.

use plimsoll::assert_memory;

use super::{panic_of, touch};

#[test]
fn the_first_line_says_what_is_broken_where_and_by_how_much() {
    let name = "embedding";
    let line = line!() + 2;
    let message = panic_of(|| {
        assert_memory!(
            peak_rss_growth <= "4 MiB",
            retained_anon <= "4 GiB",
            {
                plimsoll::phase("load");
                let data = touch(20);
                drop(touch(4));
                plimsoll::phase("close");
                drop(data);
            },
            "loading {name}"
        );
    });
    let lines: Vec<&str> = message.lines().collect();
    let begins = format!("the block at tests/assertions/messages.rs:{line}:9: peak_rss_growth is 2");
    assert!(lines[0].starts_with(&begins), "{message}");
    assert!(
        lines[0].contains("in phase `load` (exact), ") && lines[0].contains("above its ceiling of 4.00 MiB"),
        "{message}"
    );
    assert_eq!(lines[1], "loading embedding");
    for part in [
        "✗ peak_rss_growth",
        "✓ retained_anon",
        "exact in `load` (VmHWM",
        "load ",
        "  anonymous",
        "minor fault",
        "mappings that grew most",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_message_is_formatted_only_for_a_failure() {
    let mut formatted = 0;
    let mut message = || {
        formatted += 1;
        "said"
    };
    assert_memory!(peak_rss_growth <= "1 GiB", {}, "{}", message());
    let said = panic_of(|| assert_memory!(peak_rss_growth <= "0 B", { drop(touch(4)) }, "{}", message()));
    assert!(said.lines().nth(1) == Some("said") && formatted == 1, "{said}");
}
