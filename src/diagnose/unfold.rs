//! The lines that were originally written, restored from one line of a log: JSON of collectors taken apart, escaped
//! line ends and HTML undone.
//!
//! Docker, Kubernetes, Loki, Cloud Logging, CloudWatch, Fluent Bit, structlog and others wrap each line of a program
//! into an object. Its message strings are the lines; its other fields show who wrote them.

use serde_json::Value;

use super::ascii::regex;

/// The lines in one line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Unfolded {
    pub(super) texts: Vec<String>,
    /// The machine, pod or container that the object names.
    pub(super) host: Option<String>,
    pub(super) rank: Option<u64>,
}

/// Fields of a row of a data set for training.
const LABELS: [&str; 5] = ["label", "labels", "annotation", "ground_truth", "target_text"];

/// Fields that hold what a program wrote.
const MESSAGES: [&str; 25] = [
    "log",
    "message",
    "msg",
    "@message",
    "event",
    "text",
    "textpayload",
    "exception",
    "error",
    "err",
    "stack",
    "stacktrace",
    "stack_trace",
    "traceback",
    "exc_info",
    "stderr",
    "stdout",
    "body",
    "line",
    "raw",
    "values",
    "detail",
    "logevent",
    "evalue",
    "statusreason",
];
/// Fields that name the machine, pod or container.
const HOSTS: [&str; 9] =
    ["pod", "pod_name", "podname", "hostname", "host", "container_name", "container_id", "logstream", "instance"];
/// Fields of data sets and conversations: events in them happened to nobody.
const TALK: [&str; 9] =
    ["prompt", "completion", "role", "instruction", "question", "answer", "query", "chosen", "messages"];
/// How deep objects are searched.
const DEPTH: usize = 6;
/// How many lines of an object are kept.
const LINES: usize = 256;

/// The lines that `text`, a line without its prefixes, was made from; `None` if it is a plain line.
pub(super) fn unfold(text: &str) -> Option<Unfolded> {
    let trimmed = text.trim();
    let begins = trimmed.starts_with('{');
    let object =
        if begins { serde_json::from_str(trimmed).ok() } else { members(trimmed).filter(|value| !talk(value)) };
    if begins || object.is_some() {
        let mut unfolded = Unfolded::default();
        match object {
            Some(value) if talk(&value) => return None,
            Some(value) => collect(&value, false, DEPTH, &mut unfolded),
            None => unfolded.texts.extend(cut(trimmed).into_iter().flat_map(|text| split(&text))),
        }
        unfolded.texts.truncate(LINES);
        return (!unfolded.texts.is_empty()).then_some(unfolded);
    }
    if let Some(texts) = member(trimmed).or_else(|| exported(trimmed)).or_else(|| fields(trimmed)) {
        return Some(Unfolded { texts, ..Unfolded::default() });
    }
    if !escaped(trimmed) {
        return None;
    }
    let texts = split(&unescaped(trimmed));
    (texts.len() > 1).then(|| Unfolded { texts, ..Unfolded::default() })
}

/// The message of a logger that writes fields (`time=.. level=.. msg=".."`), unless further fields say more about it.
fn fields(text: &str) -> Option<Vec<String>> {
    let found = regex!(
        r#"^(?:(?:time|ts|t|timestamp|at|level|lvl|severity|logger|caller|component|module|thread|pid|service|app|stream)=(?:"[^"]*"|[^\s"]+) +)+(?:msg|message|log)=("(?:[^"\\]|\\.)*")(?: +[\w.-]+=(?:"[^"]{0,40}"|[^\s"]+))*$"#
    )
    .captures(text)
    .filter(|_| !text.contains(" err=") && !text.contains(" error="))?;
    Some(split(&serde_json::from_str::<String>(&found[1]).ok()?)).filter(|texts| !texts.is_empty())
}

/// Fields of a manager's answer that give the reason for an end.
const REASONS: [&str; 4] = ["reason", "stoppedreason", "statusreason", "terminationreason"];

/// Several members of an object whose braces were cut off: `"severity": "ERROR", "textPayload": ".."`.
fn members(text: &str) -> Option<Value> {
    let several = regex!(r#"^"[@\w.-]+"\s*:\s*\S.*,\s*"[@\w.-]+"\s*:"#).is_match(text);
    several.then(|| serde_json::from_str(&format!("{{{}}}", text.trim_end_matches(','))).ok())?
}

/// The message in a member of an object that was printed over several lines: `"textPayload": "..",`. A reason keeps its
/// field name, because the wordings of managers begin with it.
fn member(text: &str) -> Option<Vec<String>> {
    let (_, [key, value]) = regex!(r#"^"([@\w.-]+)"\s*:\s*("(?:[^"\\]|\\.)*")\s*,?$"#).captures(text)?.extract();
    let value: String = serde_json::from_str(value).ok()?;
    let key = key.to_ascii_lowercase();
    // A single word is not a message, unless it is an error class.
    if !value.trim().contains(' ') {
        let class = regex!(r"(?i)^[\w.]+(?:exception|error)$").is_match(value.trim());
        return (class && ["type", "class", "exception", "error"].contains(&key.as_str())).then(|| vec![value]);
    }
    if REASONS.contains(&key.as_str()) {
        return Some(split(&format!("reason: {value}")));
    }
    MESSAGES.contains(&key.as_str()).then(|| split(&value)).filter(|texts| !texts.is_empty())
}

/// The fields of a row in an exported log; one of them is a time. A row without a time is data.
fn exported(text: &str) -> Option<Vec<String>> {
    if !text.starts_with('"') || !text.contains("\",\"") || !text.ends_with('"') {
        return None;
    }
    let fields: Vec<String> = text[1..text.len() - 1].split("\",\"").map(|field| field.replace("\"\"", "\"")).collect();
    let time = regex!(r"\d{1,2}:\d\d:\d\d");
    let is_time = |field: &&String| field.len() < 48 && time.is_match(field);
    fields
        .iter()
        .any(|field| is_time(&field))
        .then(|| fields.iter().filter(|field| !is_time(field)).flat_map(|field| split(field)).collect())
}

fn talk(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        // A collector has an object of labels, a row of a data set one label.
        let labelled = |key: &&str| object.get(*key).is_some_and(|label| label.is_string() || label.is_number());
        TALK.iter().any(|key| object.contains_key(*key)) || LABELS.iter().any(labelled)
    })
}

fn collect(value: &Value, message: bool, depth: usize, unfolded: &mut Unfolded) {
    if depth == 0 || unfolded.texts.len() > LINES {
        return;
    }
    match value {
        Value::String(text) if message => {
            // A logger's object inside a collector's.
            match unfold(text) {
                Some(inner) if text.trim_start().starts_with('{') => {
                    unfolded.texts.extend(inner.texts);
                    unfolded.host = unfolded.host.take().or(inner.host);
                    unfolded.rank = unfolded.rank.or(inner.rank);
                }
                _ => unfolded.texts.extend(split(text)),
            }
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, message, depth - 1, unfolded)),
        Value::Object(object) => {
            for (key, value) in object {
                let key = key.to_ascii_lowercase();
                let key = key.rsplit('.').next().unwrap_or(&key);
                if key == "rank" || key == "local_rank" {
                    unfolded.rank = unfolded.rank.or(value.as_u64());
                } else if HOSTS.contains(&key) {
                    unfolded.host = unfolded.host.take().or_else(|| value.as_str().map(str::to_owned));
                } else {
                    collect(value, MESSAGES.contains(&key), depth - 1, unfolded);
                }
            }
        }
        _ => {}
    }
}

fn split(text: &str) -> Vec<String> {
    let lines = text.split(['\n', '\r']).map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.map(str::to_owned).collect()
}

/// The message of an object that was cut off: collectors split long lines.
fn cut(text: &str) -> Option<String> {
    let begins = regex!(r#"^\{\s*"(?:log|message|msg|textPayload)"\s*:\s*"((?:[^"\\]|\\.)*)"#).captures(text)?;
    Some(unescaped(&begins[1]))
}

/// Whether line ends in `text` are written as `\n`. A Windows path may contain these two characters too.
fn escaped(text: &str) -> bool {
    text.contains("\\n") && !regex!(r"\b[A-Za-z]:\\|\\\\[A-Za-z]").is_match(&text.replace("\\\\n", "\\n"))
}

fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    // A log of a log escapes twice.
    for _ in 0..2 {
        if text.contains('\\') {
            text = text.replace("\\r\\n", "\n").replace("\\n", "\n").replace("\\t", "    ").replace("\\\"", "\"");
        }
        text = text
            .replace("\\\n", "\n")
            .replace("\\u003c", "<")
            .replace("\\u003e", ">")
            .replace("\\u0026", "&")
            .replace("\\u0027", "'");
    }
    text
}

/// `text` with the entities of HTML undone.
pub(super) fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (entity, plain) in [
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#x27;", "'"),
        ("&apos;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&#x2F;", "/"),
        ("&#47;", "/"),
        ("&amp;", "&"),
    ] {
        if text.contains(entity) {
            text = text.replace(entity, plain);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        unfold(text).map(|unfolded| unfolded.texts).unwrap_or_default()
    }

    #[test]
    fn the_objects_of_collectors_are_the_lines_in_them() {
        for (object, expected) in [
            (r#"{"log":"Killed\n","stream":"stderr","time":"2024-07-02T03:10:01Z"}"#, vec!["Killed"]),
            (r#"{"jsonPayload":{"message":"a\n b\n"},"severity":"ERROR"}"#, vec!["a", " b"]),
            (r#"{"stream":{"job":"x"},"values":[["1712","one"],["1713","two"]]}"#, vec!["1712", "one", "1713", "two"]),
            (r#"{"log":"{\"msg\":\"inner\"}\n"}"#, vec!["inner"]),
            (r#"{"log":"cut off in the mid"#, vec!["cut off in the mid"]),
            (r#"time="2024-07-02" level=error msg="a \"b\"\nKilled" pid=7"#, vec!["a \"b\"", "Killed"]),
            (r#"err="first\n\tat second""#, vec!["err=\"first", "    at second\""]),
        ] {
            assert_eq!(texts(object), expected, "{object}");
        }
        let unfolded = unfold(r#"{"kubernetes":{"pod_name":"p-1"},"log":"x","rank":3}"#).unwrap();
        assert_eq!((unfolded.host.as_deref(), unfolded.rank), (Some("p-1"), Some(3)));
    }

    #[test]
    fn members_of_printed_objects_and_rows_of_exported_logs_are_lines() {
        for (text, expected) in [
            (r#""textPayload": "Memory limit of 1 GiB exceeded","#, vec!["Memory limit of 1 GiB exceeded"]),
            (r#""reason" : "Killed for its memory""#, vec!["reason: Killed for its memory"]),
            (r#""message": "one\n two","#, vec!["one", " two"]),
            (r#""type" : "circuit_breaking_exception","#, vec!["circuit_breaking_exception"]),
            (r#""severity": "ERROR", "textPayload": "one\n two","#, vec!["one", " two"]),
            (r#""Nov 8, 2023 @ 17:20:11.401","node-1","said ""no"" twice""#, vec!["node-1", "said \"no\" twice"]),
        ] {
            assert_eq!(texts(text), expected, "{text}");
        }
    }

    #[test]
    fn plain_lines_paths_and_data_sets_stay() {
        for text in [
            "Killed",
            r"C:\new\names",
            r#"{"prompt":"why CUDA out of memory","completion":"because"}"#,
            r#"{"a":1}"#,
            r#""reason": "OOMKilled","#,
            r#""question": "why CUDA out of memory","#,
            r#""prompt": "why CUDA out of memory", "message": "because""#,
            r#""message": "cut off", "textPayload": "one"#,
            r#""1","why CUDA out of memory","because""#,
        ] {
            assert_eq!(unfold(text), None, "{text}");
        }
        assert_eq!(plain("&quot;a&quot; &lt;b&gt; &amp;c"), "\"a\" <b> &c");
    }
}
