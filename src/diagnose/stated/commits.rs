//! Readings of commits, branches or builds, a row each: from one of them on, all need more.

use super::column::{head, is_named};
use super::numbers::{Number, commits, numbers};
use super::regex;
use super::rows::{Column, Columns, Series};

/// The fewest rows of a table.
const ROWS: usize = 3;

impl Columns<'_> {
    /// Readings by commit of which, from one commit on, each has at least `more` times as much as each one before.
    pub(super) fn by_commit(&self, more: f64) -> Option<Series> {
        let labelled = self.columns.iter().find_map(|column| {
            let labels = column.cells.iter().map(|(at, _)| label(self.lines[*at])).collect::<Option<Vec<_>>>()?;
            let order = is_named(&column.name).then(|| in_order(&labels))??;
            let changes = |at: usize| labels[order[at - 1]] != labels[order[at]];
            let values: Vec<f64> = order.iter().map(|at| column.values[*at]).collect();
            let step = step(&values, more).filter(|at| changes(*at))?;
            Some(column.series(order[step - 1], order[step], order.len()))
        });
        labelled.or_else(|| {
            tables(self.lines).into_iter().find_map(|(name, cells)| {
                let column = Column::timed(name, cells);
                let step = step(&column.values, more)?;
                Some(column.series(step - 1, step, column.values.len()))
            })
        })
    }
}

/// The place from which on each value is at least `more` times each one before it.
fn step(values: &[f64], more: f64) -> Option<usize> {
    let mut least = values.to_vec();
    for at in (1..values.len()).rev() {
        least[at - 1] = least[at - 1].min(least[at]);
    }
    let mut most = 0.0_f64;
    let from = (1..values.len()).find(|at| {
        most = most.max(values[at - 1]);
        least[*at] >= more * most
    });
    from.filter(|_| values[0] > 0.0)
}

/// What a row of JSON or of keys calls the version that it is of.
fn label(row: &str) -> Option<&str> {
    let found = commits().captures(row)?;
    found.name("name").map(|label| label.as_str().trim_matches('"'))
}

/// The rows in the order of their labels, which are those of several versions: by their numbers, or as they stand, a
/// baseline first. `None` if a label without a number comes back after another one.
fn in_order(labels: &[&str]) -> Option<Vec<usize>> {
    let number = |label: &&str| -> Option<Vec<u32>> {
        let number = regex!(r"(?:^|[\s:@v-])(\d+(?:\.\d+)+)$").captures(label)?;
        number[1].split('.').map(|part| part.parse().ok()).collect()
    };
    if let Some(numbers) = labels.iter().map(number).collect::<Option<Vec<_>>>() {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by_key(|at| &numbers[*at]);
        return Some(order).filter(|order| numbers[order[0]] != numbers[order[order.len() - 1]]);
    }
    let parts: Vec<Vec<usize>> = (0..labels.len())
        .collect::<Vec<_>>()
        .chunk_by(|a, b| labels[*a] == labels[*b])
        .map(<[usize]>::to_vec)
        .collect();
    let names: Vec<&str> = parts.iter().map(|part| labels[part[0]]).collect();
    if parts.len() < 2 || (1..names.len()).any(|at| names[..at].contains(&names[at])) {
        return None;
    }
    let is_base = |name: &str| regex!(r"(?i)^(?:main|master|trunk|base(?:line)?|stable|old|before)$").is_match(name);
    let (base, others): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| is_base(labels[part[0]]));
    Some(base.into_iter().chain(others).flatten().collect())
}

/// The columns of memory in tables whose rows begin with the hash of a commit.
fn tables<'a>(lines: &[&'a str]) -> Vec<(String, Vec<(usize, Number<'a>)>)> {
    let is_head = |line: &str| regex!(r"(?i)^(?:\W|_)*(?:commit|sha|rev(?:ision)?|hash)\b").is_match(line);
    let is_row = |line: &str| {
        let first = line.trim_start_matches(['|', '*', ' ', '`']).split(|c: char| !c.is_ascii_alphanumeric()).next();
        first.is_some_and(|word| {
            (7..=40).contains(&word.len())
                && word.bytes().all(|c| c.is_ascii_hexdigit())
                && word.bytes().any(|c| c.is_ascii_digit())
        })
    };
    let of_memory =
        |name: &str| regex!(r"(?i)\b(?:[sd]?ram|v?ram|(?:peak_?)?(?:mem\w*|rss)|heap|peak)\b").is_match(name);
    let mut found: Vec<(String, Vec<(usize, Number<'a>)>)> = Vec::new();
    for top in (0..lines.len()).filter(|at| is_head(lines[*at])) {
        let from = found.len();
        let below = (top + 1..lines.len()).skip_while(|at| *at == top + 1 && !is_row(lines[*at]));
        for at in below.take_while(|at| is_row(lines[*at])) {
            for number in numbers(lines[at]).1.into_iter().filter(|number| number.value.is_some()) {
                let Some(name) = head(lines[at], &number, std::iter::once(lines[top])).filter(|name| of_memory(name))
                else {
                    continue;
                };
                match found[from..].iter_mut().find(|(known, _)| known == name) {
                    Some((_, cells)) => cells.push((at, number)),
                    None => found.push((name.to_owned(), vec![(at, number)])),
                }
            }
        }
    }
    found.retain(|(_, cells)| cells.len() >= ROWS && cells.windows(2).all(|two| two[0].0 != two[1].0));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(String, String)> {
        let lines: Vec<&str> = text.lines().collect();
        Columns::of(&lines).by_commit(1.1).map(|found| (found.first, found.last))
    }

    fn pair(first: &str, last: &str) -> Option<(String, String)> {
        Some((first.to_owned(), last.to_owned()))
    }

    #[test]
    fn from_one_commit_on_all_need_more() {
        let table = |ram: [u32; 4]| {
            let [a, b, c, d] = ram;
            format!(
                "commit   subject              FLASH       RAM\n8f01a2c  ble: retry          212340 B   {a} B\n\
                 55be990  docs: pinout        212340 B   {b} B\na3c77d4  sensors: add SHT4x  216904 B   {c} B\n\
                 0d9e1b8  net: bump zephyr    231220 B  {d} B\n"
            )
        };
        assert_eq!(found(&table([78112, 78112, 78368, 121984])), pair("78368 B", "121984 B"));
        assert_eq!(found(&table([78112, 99112, 99368, 99984])), pair("78112 B", "99112 B"));
        assert_eq!(found(&table([78112, 78112, 78368, 78984])), None);
        assert_eq!(found(&table([78112, 121984, 78368, 78984])), None);
    }

    #[test]
    fn rows_of_a_branch_are_compared_with_those_of_the_main_one() {
        let row = |branch: &str, peak: f64| {
            format!("{{\"bench\":\"sft\",\"branch\":\"{branch}\",\"bs\":8,\"peak_alloc_gib\":{peak:.2}}}\n")
        };
        let rows = |rows: &[(&str, f64)]| rows.iter().map(|(branch, peak)| row(branch, *peak)).collect::<String>();
        let main = [("main", 21.37), ("main", 21.38)];
        let (more, less) = ([("pr-18", 29.04), ("pr-18", 29.05)], [("pr-18", 21.4), ("pr-18", 21.3)]);
        assert_eq!(found(&rows(&[main, more].concat())), pair("21.38", "29.04"));
        assert_eq!(found(&rows(&[more, main].concat())), pair("21.38", "29.04"));
        assert_eq!(found(&rows(&[main, less].concat())), None);
        assert_eq!(found(&rows(&[main, more, main].concat())), None);
        assert_eq!(found(&rows(&main)), None);
        let images = |peaks: &[(&str, f64)]| rows(peaks).replace("branch", "image");
        let mixed = [("api:5.10.0", 29.0), ("api:5.9.1", 21.0), ("api:5.10.0", 29.1), ("api:5.9.0", 21.2)];
        assert_eq!(found(&images(&mixed)), pair("21.00", "29.00"));
    }
}
