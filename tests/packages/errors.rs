//! The page of errors lists every message of every error type, read from the sources.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use syn::{Attribute, Expr, ExprLit, Item, Lit, Meta};

/// The parts of the page with their source folders; a file belongs to the first part whose folder contains it.
const PARTS: [(&str, &[&str]); 8] = [
    ("Captures, kernels and stores", &["src/capture"]),
    ("Logs, snapshots and estimates", &["src/diagnose"]),
    ("Amounts, ceilings and the meter", &["src/memory"]),
    ("Baselines, gates and histories", &["src/gate"]),
    ("Configuration", &["src/config"]),
    ("Configurations side by side", &["src/matrix"]),
    ("Records and runs", &["src"]),
    ("The command and its workers", &["harness/src", "harness/torch/src"]),
];

/// The longest line of the page.
const WIDTH: usize = 118;

/// An error type: its subject, and its messages with their causes.
struct Errors {
    file: PathBuf,
    about: Vec<String>,
    messages: Vec<(String, Vec<String>)>,
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// The paragraphs of an item's documentation, except sections on errors and the like.
fn documentation(attributes: &[Attribute]) -> Vec<String> {
    let line = |attribute: &Attribute| match &attribute.meta {
        Meta::NameValue(named) if named.path.is_ident("doc") => match &named.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    };
    let lines: Vec<_> = attributes.iter().filter_map(line).take_while(|line| !line.starts_with('#')).collect();
    let paragraphs = lines.split(String::is_empty).filter(|lines| !lines.is_empty());
    paragraphs.map(|lines| lines.join(" ")).collect()
}

/// The message of `#[error("..")]`; absent for a variant that passes on another error, or has its text from elsewhere.
fn message(attributes: &[Attribute]) -> Option<String> {
    let list = attributes.iter().find(|attribute| attribute.path().is_ident("error"))?.meta.require_list().ok()?;
    let literal = list.tokens.clone().into_iter().next()?;
    let text = syn::parse_str::<syn::LitStr>(&literal.to_string()).ok()?.value();
    // A variant that passes on another error or text has no words besides its placeholders.
    let own: usize = text.split('}').map(|part| part.split('{').next().unwrap_or(part).trim().len()).sum();
    (own > 3).then(|| placeholders(&text))
}

/// A message with its placeholders as a reader knows them: `{name}` for named ones, `..` for others.
fn placeholders(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        shown.push_str(before);
        let (inside, behind) = after.split_once('}').unwrap();
        let name = inside.split(':').next().unwrap();
        if name.is_empty() || name.bytes().all(|byte| byte.is_ascii_digit()) {
            shown.push_str("..");
        } else {
            write!(shown, "{{{}}}", name.to_lowercase()).unwrap();
        }
        rest = behind;
    }
    shown + rest
}

/// Adds the error types among the `items` of `file`.
fn errors(file: &Path, items: &[Item], found: &mut Vec<Errors>) {
    let mut add = |about: &[Attribute], messages: Vec<_>| {
        if !messages.is_empty() {
            found.push(Errors { file: file.to_owned(), about: documentation(about), messages });
        }
    };
    for item in items {
        match item {
            Item::Enum(item) => {
                let one = |variant: &syn::Variant| Some((message(&variant.attrs)?, documentation(&variant.attrs)));
                add(&item.attrs, item.variants.iter().filter_map(one).collect());
            }
            Item::Struct(item) => {
                add(&item.attrs, message(&item.attrs).into_iter().map(|message| (message, Vec::new())).collect());
            }
            _ => {}
        }
    }
}

/// Appends `text` to the page in lines of at most `WIDTH`, the first after `lead`, the others below it.
fn wrapped(page: &mut String, lead: &str, text: &str) {
    let mut line = lead.to_owned();
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(page, "{}", line.trim_end()).unwrap();
            line = " ".repeat(lead.len());
        } else if at > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    writeln!(page, "{line}").unwrap();
}

/// Text without markup; links to types become their names.
fn prose(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`").replace('<', "\\<")
}

/// A message as code; one that has backquotes is fenced by two.
fn code(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if message.contains('`') { format!("`` {message} ``") } else { format!("`{message}`") }
}

/// The error types of each part.
static PARSED: LazyLock<Vec<(&'static str, Vec<Errors>)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut taken = BTreeSet::new();
    let mut part = |folders: &[&str]| {
        let mut found = Vec::new();
        for file in folders.iter().flat_map(|folder| sources(&root.join(folder))) {
            if taken.insert(file.clone()) {
                let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap())
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
                errors(&file, &parsed.items, &mut found);
            }
        }
        found
    };
    PARTS.iter().map(|(title, folders)| (*title, part(folders))).collect()
});

fn page() -> String {
    let mut text = "# Errors\n\n\
        <!-- Generated from the sources: PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll --test packages errors -->\n\n\
        Every message of every error type, with its cause. What to do follows the last colon or semicolon of a message,\n\
        or above the messages of its group. `{name}` and `..` stand for what a message fills in. Search this page for a few\n\
        words of your message.\n\n\
        An error ends a command with exit code 2, unless it is the result of one entry or of one configuration\n\
        ([verdicts](verdicts.md)). A flag, command or value that does not exist is answered by the command line itself, with the\n\
        name that was probably meant.\n"
        .to_owned();
    for (title, types) in PARSED.iter() {
        writeln!(text, "\n## {title}").unwrap();
        for Errors { about, messages, .. } in types {
            let (first, rest) = about.split_first().expect("an error type is documented");
            text.push('\n');
            wrapped(&mut text, "", &format!("**{}**", prose(first.trim_end_matches('.'))));
            for paragraph in rest {
                text.push('\n');
                wrapped(&mut text, "", &prose(paragraph));
            }
            text.push('\n');
            for (message, cause) in messages {
                wrapped(&mut text, "- ", &code(message));
                if let Some(cause) = cause.first() {
                    text.truncate(text.trim_end().len());
                    text.push_str("\\\n");
                    wrapped(&mut text, "  ", &prose(cause));
                }
            }
        }
    }
    text
}

#[test]
fn the_page_of_errors_is_up_to_date() {
    let text = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == text, "{} is out of date: PLIMSOLL_UPDATE_DOCS=1 writes it", path.display());
}

#[test]
fn every_message_or_its_type_says_what_to_do() {
    let (mut seen, mut silent) = (0, Vec::new());
    for Errors { file, about, messages } in PARSED.iter().flat_map(|(_, types)| types) {
        seen += messages.len();
        let advised = about.iter().any(|paragraph| paragraph.starts_with("What to do:"));
        let bare = messages
            .iter()
            .filter(|(message, _)| !advised && !message.contains([':', ';', '?']) && !message.contains("{hint}"));
        silent.extend(bare.map(|(message, _)| format!("{}: {message}", file.display())));
    }
    assert!(seen > 250, "only {seen} messages were found");
    let what = "say in the message, or in a paragraph `What to do:` of the type, what to do";
    assert!(silent.is_empty(), "{what}:\n{}", silent.join("\n"));
}

#[test]
fn placeholders_are_shown_by_name() {
    assert_eq!(placeholders("{}: `{key}` is {found:?}, {0}"), "..: `{key}` is {found}, ..");
}
