//! No two files of a package depend on each other, directly or indirectly: a reader of one can stop at its
//! dependencies.
//!
//! Files are read as text: an edge is a path that starts with `crate`, `super` or `self`, followed through re-exports
//! to the file with the item. Files that only re-export their folder (`lib.rs`, `mod.rs` without a function) are left
//! out, as are tests, and what a file takes from the modules that it declares.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders with the sources of each package.
const PACKAGES: [&str; 8] = [
    "src",
    "src/capture",
    "src/diagnose",
    "src/memory",
    "src/remote",
    "src/statistics",
    "harness/src",
    "harness/torch/src",
];

type Module = Vec<String>;

/// The files of a package by their modules.
struct Sources {
    files: BTreeMap<Module, PathBuf>,
    texts: BTreeMap<Module, String>,
}

impl Sources {
    fn read(root: &Path) -> Self {
        let mut sources = Self { files: BTreeMap::new(), texts: BTreeMap::new() };
        sources.add(root, root);
        sources
    }

    fn add(&mut self, root: &Path, folder: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                // A folder with a manifest is a package of its own.
                if !path.join("Cargo.toml").exists() && stem != "tests" {
                    self.add(root, &path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") && stem != "tests" {
                let mut module: Module =
                    folder.strip_prefix(root).unwrap().iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                if !matches!(&*stem, "mod" | "lib") {
                    module.push(stem);
                }
                self.texts.insert(module.clone(), plain(&fs::read_to_string(&path).unwrap()));
                self.files.insert(module, path);
            }
        }
    }

    /// Whether a file only re-exports its folder.
    fn is_face(&self, module: &Module) -> bool {
        let name = self.files[module].file_name().unwrap().to_str().unwrap();
        matches!(name, "mod.rs" | "lib.rs") && !mentions(&self.texts[module], "fn")
    }

    /// The module that holds what `path` names within `from`; `None` if that is not in this package.
    fn holder(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut at = from.clone();
        for (index, part) in path.iter().enumerate() {
            match &**part {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    at.pop()?;
                }
                name => {
                    at.push(name.to_owned());
                    if self.files.contains_key(&at) {
                        continue;
                    }
                    at.pop();
                    let text = self.texts.get(&at)?;
                    for (import, alias) in imports(text) {
                        let last = import.last()?;
                        let named = alias.as_ref().unwrap_or(last) == name;
                        if depth > 0 && (named || last == "*") {
                            let mut whole = import.clone();
                            if last == "*" {
                                whole.pop();
                                whole.push(name.to_owned());
                            }
                            whole.extend_from_slice(&path[index + 1..]);
                            if let Some(found) = self.holder(&at, &whole, depth - 1) {
                                return Some(found);
                            }
                        }
                    }
                    return mentions(text, name).then_some(at);
                }
            }
        }
        Some(at)
    }

    /// Which file uses which.
    fn edges(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let mut edges: BTreeMap<&Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, text) in self.texts.iter().filter(|(module, _)| !self.is_face(module)) {
            let used = edges.entry(module).or_default();
            for path in paths(text) {
                if let Some(holder) = self.holder(module, &path, 4) {
                    let declared = holder.starts_with(module);
                    if !declared && !self.is_face(&holder) {
                        used.insert(holder);
                    }
                }
            }
        }
        edges
    }
}

/// A source without comments on lines of their own and without tests.
fn plain(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        if line.trim() == "#[cfg(test)]" {
            let next = lines.next().unwrap_or_default();
            if next.trim_start().starts_with("mod ") && next.ends_with('{') {
                break;
            }
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether `text` has `name` as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word))
}

/// The paths that a text begins with, each with what it is renamed to: a tree as `use` has it, or one path.
fn tree(text: &str, before: &[String], found: &mut Vec<(Vec<String>, Option<String>)>) -> usize {
    let mut path = before.to_vec();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let rest = &text[at..];
        if rest.starts_with('{') {
            at += 1;
            loop {
                at += text[at..].len() - text[at..].trim_start().len();
                match text[at..].chars().next() {
                    None => return at,
                    Some('}') => return at + 1,
                    Some(',') => at += 1,
                    Some(_) => at += tree(&text[at..], &path, found).max(1),
                }
            }
        }
        let length = if rest.starts_with('*') { 1 } else { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) };
        if length == 0 {
            return at;
        }
        path.push(rest[..length].to_owned());
        at += length;
        if !text[at..].starts_with("::") {
            break;
        }
        at += 2;
    }
    let alias = text[at..].strip_prefix(" as ").map(|after| {
        let length = after.find(|c| !is_word(c)).unwrap_or(after.len());
        at += " as ".len() + length;
        after[..length].to_owned()
    });
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    found.push((path, alias));
    at
}

/// What a text imports.
fn imports(text: &str) -> Vec<(Vec<String>, Option<String>)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("use ") {
        if !text[..at].ends_with(is_word) {
            tree(&text[at + "use ".len()..], &[], &mut found);
        }
    }
    found
}

/// The paths of a text that lead through its package.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in text.match_indices(root) {
            if !text[..at].ends_with(|c| is_word(c) || c == ':' || c == '$') {
                tree(&text[at..], &[], &mut found);
            }
        }
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// What can be reached from `from`.
fn reached(edges: &BTreeMap<&Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<Module> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        for used in edges.get(module).into_iter().flatten() {
            if seen.insert(used.clone()) {
                left.push(used);
            }
        }
    }
    seen
}

/// The edges that close a circle.
fn circles(sources: &Sources) -> Vec<String> {
    let edges = sources.edges();
    let mut found = Vec::new();
    for (module, used) in &edges {
        for used in used.iter().filter(|used| reached(&edges, used).contains(*module)) {
            found.push(format!("{} uses {}", module.join("/"), used.join("/")));
        }
    }
    found
}

#[test]
fn files_use_one_another_in_no_circle() {
    let mut found = Vec::new();
    for package in PACKAGES {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
        let sources = Sources::read(&root);
        // A parser that reads nothing would find no cycle either.
        let edges: usize = sources.edges().values().map(BTreeSet::len).sum();
        assert!(edges * 2 > sources.files.len(), "{package}: {edges} edges");
        found.extend(circles(&sources).into_iter().map(|circle| format!("{package}: {circle}")));
    }
    assert!(found.is_empty(), "move what both use to a file below them:\n{}", found.join("\n"));
}

/// A package of these files in a folder of its own.
fn package(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

#[test]
fn a_circle_is_found_through_a_face_and_what_is_none_is_not() {
    let found = |files: &[(&str, &str)]| circles(&Sources::read(package(files).path()));
    let face = ("a/mod.rs", "mod b;\npub use b::{self, B as Other};\npub struct OfTheFace;");
    let through = [
        ("lib.rs", "pub mod a; mod c;"),
        face,
        ("a/b.rs", "use crate::{Unknown, c::{C, D}};\npub struct B(C);"),
        ("c.rs", "pub struct C;\nimpl C { fn of(_: super::a::Other) {} }"),
    ];
    assert_eq!(found(&through), ["a/b uses c", "c uses a/b"]);
    for harmless in [
        "pub struct C;\n/// As [`super::a::Other`].\nfn c() {}",
        "pub struct C;\n#[cfg(test)]\nmod tests {\n    use super::super::a::Other;\n}",
        "pub struct C(super::a::OfTheFace);",
    ] {
        let [lib, face, b, _] = through;
        assert_eq!(found(&[lib, face, b, ("c.rs", harmless)]), [""; 0], "{harmless}");
    }
    // A face with a function is a file as any other.
    let [lib, (name, _), b, c] = through;
    let logic = (name, "mod b;\npub use b::{self, B as Other};\npub struct Own;\nfn of(_: crate::c::C) {}");
    let uses = "pub struct C;\nimpl C { fn of(_: super::a::Own) {} }";
    assert_eq!(found(&[lib, logic, b, ("c.rs", uses)]), ["a uses c", "c uses a"]);
    assert_eq!(found(&[lib, logic, b, c]), ["a/b uses c", "c uses a/b"]);
    // A file may use the modules that it declares, and those may use the file.
    let parent = [
        ("lib.rs", "mod p;"),
        ("p.rs", "mod q;\nuse self::q::Q;\npub struct P;"),
        ("p/q.rs", "use super::P;\npub struct Q(P);"),
    ];
    assert_eq!(found(&parent), [""; 0]);
}
