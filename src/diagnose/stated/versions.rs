//! Readings of two versions: the rows name them, or the commands and headings above them do.

use std::collections::HashMap;

use super::axis::is_timed;
use super::column::is_named;
use super::numbers::Number;
use super::regex;
use super::rows::{Column, Columns, Series};

impl Columns<'_> {
    /// Readings of several versions, of which the newest has at least `more` times as much as the oldest.
    pub(super) fn by_version(&self, more: f64) -> Option<Series> {
        let version = |at: usize, number: &Number<'_>| -> Option<Vec<u32>> {
            if is_timed(&self.lines[at][..number.start]) {
                return None;
            }
            let first = regex!(r"^[\s|*\x60\x22\[-]*(?:(?:\w+ )?v?(\d+(?:\.\d+)+)|(?:release|version|build|r) ?(\d+))\b|^\s*\|(?:[^|]*\|){1,2}[^|\d]*\bv?(\d+\.\d+\.\d+)\s*\|")
                .captures(self.lines[at])?;
            let version = (1..=3).find_map(|at| first.get(at)).filter(|version| version.end() <= number.start)?;
            // A time in seconds.
            let parts = parts(version.as_str())?;
            let seconds = parts.len() == 2 && version.as_str().rsplit('.').next().is_some_and(|part| part.len() > 2);
            let amount = regex!(r"^ ?[KMG]i?B\b").is_match(&self.lines[at][version.end()..]);
            (!seconds && !amount).then_some(parts)
        };
        let grown = |column: &Column<'_>, versions: Vec<Vec<u32>>| {
            let mut order: Vec<usize> = (0..versions.len()).collect();
            order.sort_by_key(|index| &versions[*index]);
            let (oldest, newest) = (*order.first()?, *order.last()?);
            let other = versions[oldest] != versions[newest] && column.values[oldest] > 0.0;
            // Each version may have been measured several times.
            let (values, versions) = (&column.values, &versions);
            let of = |version: usize| {
                (0..versions.len()).filter(move |at| versions[*at] == versions[version]).map(|at| values[at])
            };
            let most = of(oldest).fold(0.0, f64::max);
            let found = other
                && of(newest).all(|value| value >= more * most)
                && (self.is_near_memory(column.cells[0].0) || is_named(&column.name));
            found.then(|| column.series(oldest, newest, column.values.len()))
        };
        let of_rows = |column: &Column<'_>| {
            let cells = column.cells.iter();
            let versions = cells.map(|(at, number)| version(*at, number)).collect::<Option<_>>();
            let versions = versions.or_else(|| self.versions_of_a_program(column));
            let versions = versions.or_else(|| self.versions_in_a_name(column))?;
            grown(column, versions).filter(|_| !self.is_headed_by_times(column))
        };
        let of_blocks = |column: &Column<'_>| grown(column, self.versions_above(column)?);
        let found = self.columns.iter().find_map(of_rows).or_else(|| self.columns.iter().find_map(of_blocks));
        found.or_else(|| {
            self.columns.iter().flat_map(|column| self.by_name(column)).find_map(|column| of_blocks(&column))
        })
    }

    /// The versions behind the name of one program with which all rows begin: `gcc 13.2`, `gcc 14 trunk`.
    fn versions_of_a_program(&self, column: &Column<'_>) -> Option<Vec<Vec<u32>>> {
        let named = regex!(r"^[\s|*-]*(?P<name>[A-Za-z][\w+-]*) v?(?P<version>\d+(?:\.\d+)*)\b");
        let is_amount = |text: &str| regex!(r"^ ?(?:[KMG]i?)?B\b").is_match(text);
        let row = |at: usize, number: &Number<'_>| {
            let found = named.captures(self.lines[at])?;
            let end = found.name("version")?.end();
            (end <= number.start && !is_amount(&self.lines[at][end..])).then_some(found)
        };
        let rows = column.cells.iter().map(|(at, number)| row(*at, number)).collect::<Option<Vec<_>>>()?;
        let name = &rows[0]["name"];
        let counted = regex!(
            r"(?i)^(?:step|epoch|iter\w*|batch|size|len\w*|layer|block|part|phase|run|round|try|test|case|gpu|rank|worker|node|thread|day|hour|t|scale|factor|ratio)s?$"
        );
        let of_one = rows.iter().all(|row| &row["name"] == name)
            && rows.iter().any(|row| row["version"].contains('.'))
            && !counted.is_match(name)
            && !is_named(name)
            && !column.cells.iter().any(|(at, _)| is_timed(self.lines[*at]));
        if of_one { rows.iter().map(|row| parts(&row["version"])).collect() } else { None }
    }

    /// The versions in a name that is the same in all rows besides: `cfd-24.03-wing4M`, `cfd-24.09-wing4M`.
    fn versions_in_a_name(&self, column: &Column<'_>) -> Option<Vec<Vec<u32>>> {
        let named = regex!(
            r"(?:^|\s)(?P<before>[A-Za-z][A-Za-z_]*[-_@:]v?)(?P<version>\d+(?:\.\d+)+)(?P<after>[-_]\S*)?(?:\s|$)"
        );
        let row = |(at, number): &(usize, Number<'_>)| {
            named.captures(self.lines[*at]).filter(|found| found.get(0).is_some_and(|name| name.end() <= number.start))
        };
        let rows = column.cells.iter().map(row).collect::<Option<Vec<_>>>()?;
        let name = |row: &::regex::Captures<'_>| {
            (row["before"].to_owned(), row.name("after").map(|after| after.as_str().to_owned()))
        };
        let first = name(&rows[0]);
        let of_one = rows.iter().all(|row| name(row) == first) && column.cells.len() >= 2;
        if of_one { rows.iter().map(|row| parts(&row["version"])).collect() } else { None }
    }

    /// The readings of each thing that the rows of a column are of, if several were measured more than once.
    fn by_name<'c>(&self, column: &Column<'c>) -> Vec<Column<'c>> {
        let mut things: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, (at, _)) in column.cells.iter().enumerate() {
            let first = self.lines[*at].split_whitespace().next();
            let Some(name) = first.filter(|name| name.contains(char::is_alphabetic)) else { return Vec::new() };
            things.entry(name).or_default().push(place);
        }
        if things.len() < 2 || things.values().any(|places| places.len() < 2) {
            return Vec::new();
        }
        let mut things: Vec<Vec<usize>> = things.into_values().collect();
        things.sort_unstable();
        things.iter().map(|places| column.part(places)).collect()
    }

    /// The versions of the blocks in which the rows of a column stand, one each: a command or a heading above names it.
    fn versions_above(&self, column: &Column<'_>) -> Option<Vec<Vec<u32>>> {
        const FAR: usize = 40;
        const MOST_BLOCKS: usize = 12;
        let other = regex!(r"(?i)cache|total (?:memory )?alloc");
        if !column.alike || !(2..=MOST_BLOCKS).contains(&column.cells.len()) || other.is_match(&column.name) {
            return None;
        }
        let version = |line: &&str| {
            let line = line.trim();
            let prompt = regex!(r"^(?:\([\w.-]+\) )?(?:\S+@\S+ ?)?[$#%>] |^[$#>=*`-]+");
            let text = &line[prompt.find(line).map_or(0, |prompt| prompt.end())..];
            // Generations of a heap, and a file of a program, are no versions.
            if regex!(r"(?i)\b(?:old|new|young)[ _-]?(?:gen|space)|\bmain\.\w").is_match(text) {
                return None;
            }
            let heads =
                text.len() < line.len() || text.trim_end().ends_with(':') || text.split_whitespace().count() <= 3;
            let found = heads.then(|| {
                regex!(r"(?i)(?:\bv|[\s@:=_/-]|^)(\d+\.\d+(?:\.\d+)*)(?:-?(?:rc|alpha|beta)[.\d]*)?(?:\.[a-z]\w*)*(?:[\s:,)/]|$)|\b(old|base(?:line)?|main|master|before (?:the )?(?:up(?:grad|dat)\w+|change|patch|release|commit|pr))\b|\b(new|head|patched|pr|after (?:the )?(?:up(?:grad|dat)\w+|change|patch|release|commit))\b")
                    .captures(text)
            })??;
            match (found.get(1), found.get(2)) {
                (Some(version), _) => parts(version.as_str()),
                (_, older) => Some(vec![u32::from(older.is_none())]),
            }
        };
        let first = column.cells[0].0;
        // A command that runs once for each of two versions.
        let turns = regex!(r"\bfor \w+ in v?(\d+(?:\.\d+)+) v?(\d+(?:\.\d+)+) ?(?:;|$)");
        if let Some(both) =
            self.lines[first.saturating_sub(FAR)..first].iter().rev().find_map(|line| turns.captures(line))
        {
            return if column.cells.len() == 2 { Some(vec![parts(&both[1])?, parts(&both[2])?]) } else { None };
        }
        // Readings of one line have nothing between them.
        let above = |from: usize, at: usize| {
            self.lines.get(from.max(at.saturating_sub(FAR))..at)?.iter().rev().find_map(version)
        };
        let from = std::iter::once(0).chain(column.cells.iter().map(|(at, _)| at + 1));
        let versions: Vec<Vec<u32>> =
            from.zip(&column.cells).map(|(from, (at, _))| above(from, *at)).collect::<Option<_>>()?;
        // Or two versions, each measured several times.
        let others = versions.iter().filter(|version| **version != versions[0]).collect::<Vec<_>>();
        others.windows(2).all(|two| two[0] == two[1]).then_some(versions)
    }

    /// Readings of commits that are called good and bad, of which each bad one has at least `more` times as much.
    pub(super) fn by_side(&self, more: f64) -> Option<Series> {
        let side = |at: usize| {
            let line = self.lines[at];
            let is_bad = regex!(r"(?i)\bbad\b").is_match(line);
            (is_bad != regex!(r"(?i)\bgood\b").is_match(line)).then_some(is_bad)
        };
        self.columns.iter().find_map(|column| {
            let sides: Vec<bool> = column.cells.iter().map(|(at, _)| side(*at)).collect::<Option<_>>()?;
            let by_value = |a: &usize, b: &usize| column.values[*a].total_cmp(&column.values[*b]);
            let most = (0..sides.len()).filter(|at| !sides[*at]).max_by(by_value)?;
            let least = (0..sides.len()).filter(|at| sides[*at]).min_by(by_value)?;
            let grown = column.sized && column.values[least] >= more * column.values[most];
            grown.then(|| column.series(most, least, sides.len()))
        })
    }
}

/// The numbers of a version.
fn parts(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_rows_or_above_their_blocks() {
        let found = |text: &str| {
            let lines: Vec<&str> = text.lines().collect();
            Columns::of(&lines).by_version(1.1).map(|found| (found.first, found.last))
        };
        let pair = |first: &str, last: &str| Some((first.to_owned(), last.to_owned()));
        let rows = "peak memory\n2.1.2 3371.6 MB\n2.2.0 5163.1 MB";
        assert_eq!(found(rows), pair("3371.6 MB", "5163.1 MB"));
        let commands = |old: &str, new: &str, less: u32| {
            format!(
                "$ time -v ./tile-{old} in.pbf\n User time (seconds): 410.22\n Maximum resident set size (kbytes): 3145880\n\
                 $ time -v ./tile-{new} in.pbf\n User time (seconds): 402.90\n Maximum resident set size (kbytes): {less}"
            )
        };
        assert_eq!(found(&commands("1.9.0", "2.0.0", 8912404)), pair("3145880", "8912404"));
        let runs = "[1.18.4 #1] Maximum resident set size (kbytes): 1184320\n[1.18.4 #2] Maximum resident set size (kbytes): 1182912\n\
                    [1.19.0 #1] Maximum resident set size (kbytes): 2307844\n[1.19.0 #2] Maximum resident set size (kbytes): 2309120";
        assert_eq!(found(runs), pair("1184320", "2309120"));
        let compilers = "cc1plus peak\n  gcc 12.3    1.92 GB\n  gcc 13.2    1.95 GB\n  gcc 14 trunk    4.38 GB";
        assert_eq!(found(compilers), pair("1.92 GB", "4.38 GB"));
        // Each thing is compared with itself, below the prompts and the files of two versions.
        let things = |prompts: [&str; 2], more: f64| {
            let of = |by: f64| {
                format!(
                    "Benchmark     Time    It  max_bytes_used\nBM_Build/100  9.1 ms  18  {:.1}M\nBM_Build/900  41.0 ms  18  {:.1}M\n",
                    24.0 * by,
                    240.0 * by
                )
            };
            format!("{}\n{}\n{}\n{}", prompts[0], of(1.0), prompts[1], of(more))
        };
        for prompts in [
            ["$ ./bench    # release/5.4", "$ ./bench    # release/5.5-rc1"],
            ["(venv) $ pip install lib==0.9.4 && ./bench", "(venv) $ pip install lib==0.10.0 && ./bench"],
            ["$ print -f run.lib-23.08.zst | tail", "$ print -f run.lib-24.02.zst | tail"],
        ] {
            assert_eq!(found(&things(prompts, 1.5)), pair("24.0M", "36.0M"), "{prompts:?}");
            assert_eq!(found(&things(prompts, 1.0)), None, "{prompts:?}");
        }
        let empty = "| Method | Job | Gen2 | Allocated |\n| Save | lib 4.1.0 | - | 1.02 MB |\n| Save | lib 5.0.0 | 46.8 | 3.11 MB |";
        assert_eq!(found(empty), pair("1.02 MB", "3.11 MB"));
        // The newer one comes first, it has no more, or both are the same.
        assert_eq!(found(&commands("2.0.0", "1.9.0", 2001234)), pair("2001234", "3145880"));
        assert_eq!(found(&commands("1.9.0", "2.0.0", 3200000)), None);
        assert_eq!(found(&commands("2.0.0", "2.0.0", 8912404)), None);
        let headings = "before the upgrade:\n  heap in use 120 MB\nafter the upgrade:\n  heap in use 310 MB";
        assert_eq!(found(headings), pair("120 MB", "310 MB"));
        assert_eq!(found(&headings.replace("heap in use", "memory cache")), None);
        // Several readings of one line.
        assert_eq!(
            found("before: 00h 812 MB, 02h 818 MB, 04h 811 MB\nafter:  00h 430 MB, 02h 433 MB, 04h 428 MB"),
            None
        );
        // Before and after a step of the work, and the generations of a heap.
        assert_eq!(found(&headings.replace("the upgrade", "the load")), None);
        assert_eq!(found("# old gen\n heap 120 MB\n# new gen\n heap 310 MB"), None);
        assert_eq!(found("# old\n heap 120 MB\n# new\n heap 310 MB"), pair("120 MB", "310 MB"));
    }
}
