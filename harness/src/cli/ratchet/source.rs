//! Finds literals in attributes of Rust source with a parser and changes only their bytes.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use plimsoll::ByteSize;
use plimsoll::gate::Lowering;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Item, ItemFn, Lit, MetaNameValue, Token};

/// A larger file is not written by hand.
const MAX_FILE: u64 = 16 << 20;

/// The sources to search.
pub struct Search {
    files: Vec<(PathBuf, String)>,
    tests: Vec<Test>,
}

/// A function with the attribute.
struct Test {
    /// The index of its file.
    file: usize,
    /// The inline modules around the function, and its name.
    path: Vec<String>,
    arguments: Vec<Argument>,
}

/// One argument of the attribute.
struct Argument {
    name: String,
    line: usize,
    /// The literal and its place; absent if the value is an expression.
    literal: Option<(Range<usize>, ByteSize)>,
}

/// A literal to change.
#[derive(Clone, Debug)]
pub struct Edit {
    file: usize,
    line: usize,
    range: Range<usize>,
    to: ByteSize,
}

/// Why sources cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Search {
    /// Reads every `.rs` file of `roots`, files or folders, except in hidden folders and `target`. Files that do not
    /// parse are skipped: no test in them ran.
    pub fn new(roots: &[PathBuf]) -> Result<Self, SearchError> {
        let mut search = Self { files: Vec::new(), tests: Vec::new() };
        for root in roots {
            search.read(root, 0)?;
        }
        Ok(search)
    }

    fn read(&mut self, path: &Path, depth: usize) -> Result<(), SearchError> {
        let failed = |source| SearchError::Read { path: path.to_owned(), source };
        let metadata = fs::metadata(path).map_err(failed)?;
        if metadata.is_dir() {
            let entries: Result<Vec<_>, _> = fs::read_dir(path).map_err(failed)?.collect();
            let mut entries = entries.map_err(failed)?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let kind = entry.file_type().map_err(failed)?;
                let folder = kind.is_dir() && name != "target" && !name.starts_with('.') && depth < 64;
                if folder || kind.is_file() && name.ends_with(".rs") {
                    self.read(&entry.path(), depth + 1)?;
                }
            }
            return Ok(());
        }
        if metadata.len() > MAX_FILE {
            return Ok(());
        }
        let text = match fs::read_to_string(path) {
            // Not UTF-8, so not Rust.
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return Ok(()),
            read => read.map_err(failed)?,
        };
        if text.contains("test(") {
            let tests = tests_of(&text, self.files.len());
            if !tests.is_empty() && !self.files.iter().any(|(known, _)| known == path) {
                self.tests.extend(tests);
                self.files.push((path.to_owned(), text));
            }
        }
        Ok(())
    }

    /// The literal that states the limit of `lowering`, or why none can be changed.
    pub fn find(&self, lowering: &Lowering) -> Result<Edit, String> {
        let path: Vec<&str> = lowering.subject.split("::").collect();
        let ends_so = |test: &&Test| path.ends_with(&test.path.iter().map(String::as_str).collect::<Vec<_>>());
        let named: Vec<(&Test, &Argument)> = self
            .tests
            .iter()
            .filter(ends_so)
            .flat_map(|test| test.arguments.iter().map(move |argument| (test, argument)))
            .filter(|(_, argument)| argument.name == lowering.metric.name())
            .collect();
        let stated: Vec<Edit> = named
            .iter()
            .filter_map(|(test, argument)| {
                let (range, limit) = argument.literal.clone()?;
                let edit = Edit { file: test.file, line: argument.line, range, to: lowering.to };
                (limit == lowering.from).then_some(edit)
            })
            .collect();
        match (&stated[..], &named[..]) {
            ([edit], _) => Ok(edit.clone()),
            ([], []) => Err("the sources have no such test: name the right ones with --source".to_owned()),
            ([], [(test, argument), ..]) => {
                let at = format!("{}:{}", self.files[test.file].0.display(), argument.line);
                Err(match argument.literal {
                    Some((_, limit)) => format!("{at} now says {limit}: record the test again"),
                    None => format!("{at} has an expression instead of a literal"),
                })
            }
            (several, _) => {
                let places: Vec<String> = several.iter().map(|edit| self.place(edit)).collect();
                Err(format!("several tests have this name ({}): name one source with --source", places.join(", ")))
            }
        }
    }

    /// `FILE:LINE`.
    pub fn place(&self, edit: &Edit) -> String {
        format!("{}:{}", self.files[edit.file].0.display(), edit.line)
    }

    /// The changed contents of the files that `edits` concern.
    pub fn edited(&self, edits: &[Edit]) -> Vec<(&Path, String)> {
        let mut changed = Vec::new();
        for (index, (file, text)) in self.files.iter().enumerate() {
            let mut own: Vec<&Edit> = edits.iter().filter(|edit| edit.file == index).collect();
            if own.is_empty() {
                continue;
            }
            // From the end, so that earlier positions stay valid.
            own.sort_by_key(|edit| std::cmp::Reverse(edit.range.start));
            let mut text = text.clone();
            for edit in own {
                text.replace_range(edit.range.clone(), &format!("\"{}\"", edit.to.exact()));
            }
            changed.push((&**file, text));
        }
        changed
    }
}

fn tests_of(text: &str, file: usize) -> Vec<Test> {
    // The parser counts from after a byte order mark and a line that names an interpreter.
    let code = text.strip_prefix('\u{feff}').unwrap_or(text);
    let code = match code.strip_prefix("#!").filter(|rest| !rest.trim_start().starts_with('[')) {
        Some(rest) => rest.find('\n').map_or("", |end| &rest[end..]),
        None => code,
    };
    let skipped = text.len() - code.len();
    let mut tests = Vec::new();
    if let Ok(parsed) = syn::parse_str::<syn::File>(code) {
        walk(&parsed.items, &mut Vec::new(), &mut |path, function| {
            let attributes = function.attrs.iter().filter(|attribute| is_ours(attribute));
            let mut arguments: Vec<Argument> = attributes.flat_map(arguments).collect();
            for argument in &mut arguments {
                argument.line += text[..skipped].matches('\n').count();
                argument.literal = argument.literal.take().and_then(|(range, limit)| {
                    let range = range.start + skipped..range.end + skipped;
                    // Only change text that is exactly what was read, whatever the parser counts.
                    let same = text.get(range.clone()).and_then(|literal| syn::parse_str::<syn::LitStr>(literal).ok());
                    same.filter(|literal| literal.value().parse() == Ok(limit)).map(|_| (range, limit))
                });
            }
            if !arguments.is_empty() {
                tests.push(Test { file, path, arguments });
            }
        });
    }
    tests
}

fn walk(items: &[Item], modules: &mut Vec<String>, found: &mut dyn FnMut(Vec<String>, &ItemFn)) {
    for item in items {
        match item {
            Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    modules.push(module.ident.to_string());
                    walk(items, modules, found);
                    modules.pop();
                }
            }
            Item::Fn(function) => {
                let mut path = modules.clone();
                path.push(function.sig.ident.to_string());
                found(path, function);
            }
            _ => {}
        }
    }
}

/// `#[plimsoll::test(..)]`, or any attribute named `test` with arguments.
fn is_ours(attribute: &Attribute) -> bool {
    let names: Vec<String> = attribute.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    matches!(names[..], [.., "plimsoll", "test"] | ["test"]) && attribute.meta.require_list().is_ok()
}

fn arguments(attribute: &Attribute) -> Vec<Argument> {
    let list = attribute.parse_args_with(Punctuated::<MetaNameValue, Token![,]>::parse_terminated);
    let argument = |pair: MetaNameValue| {
        let literal = match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => {
                text.value().parse().ok().map(|limit| (text.span().byte_range(), limit))
            }
            _ => None,
        };
        let name = pair.path.get_ident().map(ToString::to_string).unwrap_or_default();
        Argument { name, line: pair.path.span().start().line, literal }
    };
    list.into_iter().flatten().map(argument).collect()
}

#[cfg(test)]
mod tests {
    use plimsoll::meter::Metric;

    use super::*;

    const SOURCE: &str = r##"//! Tests – with a dash of three bytes.
use plimsoll::ByteSize;

#[plimsoll::test(peak_rss = "256 MiB", /* ä */ swap_growth = "0 B", peak_anon = ByteSize::mib(8))]
fn reads() {}

mod tests {
    mod inner {
        #[ignore]
        #[plimsoll::test(
            peak_rss = r#"1 GiB"#, // as it was measured
            timeout = "60 s",
        )]
        fn writes() -> plimsoll::Result<()> {
            Ok(())
        }
    }
    #[plimsoll::test(peak_rss = "256 MiB")]
    fn reads() {}
    #[test]
    fn other() {}
}
"##;

    fn search(text: &str) -> Search {
        Search { tests: tests_of(text, 0), files: vec![(PathBuf::from("a.rs"), text.to_owned())] }
    }

    fn lowering(subject: &str, metric: Metric, from: u64) -> Lowering {
        Lowering {
            suite: None,
            subject: subject.to_owned(),
            is_test: true,
            metric,
            from: ByteSize::mib(from),
            to: ByteSize::mib(72),
            largest: ByteSize::mib(64),
            runs: 1,
            place: None,
            by_hand: None,
        }
    }

    #[test]
    fn a_literal_is_changed_and_nothing_else() {
        for head in ["", "\u{feff}", "#!/usr/bin/env rust-script\n", "#![allow(dead_code)]\n"] {
            let text = format!("{head}{SOURCE}");
            let search = search(&text);
            let edit = search.find(&lowering("crate_module::tests::inner::writes", Metric::PeakRss, 1024)).unwrap();
            let line = text[..text.find("r#\"1 GiB").unwrap()].matches('\n').count() + 1;
            assert_eq!(search.place(&edit), format!("a.rs:{line}"));
            let [(file, changed)] = &search.edited(&[edit])[..] else { panic!("one file is changed") };
            assert_eq!((*file, &**changed), (Path::new("a.rs"), &*text.replace("r#\"1 GiB\"#", "\"72 MiB\"")));
        }
    }

    #[test]
    fn several_in_one_file_are_changed_together() {
        let search = search(SOURCE);
        let writes = search.find(&lowering("tests::inner::writes", Metric::PeakRss, 1024)).unwrap();
        let reads = search.find(&lowering("reads", Metric::PeakRss, 256)).unwrap();
        let changed = &search.edited(&[writes, reads])[0].1;
        assert!(
            changed.contains("#[plimsoll::test(peak_rss = \"72 MiB\", /* ä */")
                && changed.contains("peak_rss = \"72 MiB\", // as")
        );
        assert_eq!(changed.matches("\"256 MiB\"").count(), 1, "{changed}");
    }

    #[test]
    fn what_is_not_certain_is_left_to_its_user() {
        let search = search(SOURCE);
        for (lowering, says) in [
            (lowering("tests::reads", Metric::PeakRss, 256), "several tests have this name (a.rs:4, a.rs:18)"),
            (lowering("reads", Metric::PeakRss, 128), "a.rs:4 now says 256.00 MiB"),
            (lowering("reads", Metric::PeakAnon, 8), "a.rs:4 has an expression instead of a literal"),
            (lowering("reads", Metric::PeakPss, 8), "the sources have no such test"),
            (lowering("elsewhere", Metric::PeakRss, 256), "the sources have no such test"),
        ] {
            let error = search.find(&lowering).unwrap_err();
            assert!(error.starts_with(says), "{error}");
        }
    }
}
