//! Explanations of the words and signs on a page: folded at its end, each with a link to the manual.

use std::fmt::Write;

use super::Body;

/// The manual's address on the web; empty if the package has no homepage.
const MANUAL: &str = env!("CARGO_PKG_HOMEPAGE");

/// A link beside signs that opens the explanation.
pub(super) const SIGNS: &str =
    "<small><a href=\"#meaning\">~ sampled · ≥ at least · no sign: the kernel's own counter</a></small>";

/// A group of words that are explained together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    /// Figures and their signs, for every page of records.
    Figures,
    /// Ceilings and their verdicts.
    Ceilings,
    /// Changes with a confidence interval.
    Interval,
    /// What makes two records comparable.
    Semantics,
    /// Steps of a history.
    Steps,
}

impl Topic {
    /// The words with their meanings, the page of the manual that explains them, its title, and the section.
    const fn entries(self) -> (&'static [(&'static str, &'static str)], &'static str, &'static str, &'static str) {
        match self {
            Self::Figures => (
                &[
                    ("no sign", "Exact: a counter that misses nothing, such as the kernel's high-water mark."),
                    ("~", "Sampled: the largest of the samples. The true peak may be higher between two of them."),
                    ("≥", "A lower bound: the true value is at least this, because something is known to be missed."),
                    ("n/a", "Not measured; the reason is next to it or under the pointer."),
                    ("RSS", "Resident memory: pages in RAM, a shared page counted in every process that maps it."),
                    ("anon", "Anonymous memory: heap, stacks and private copies, which the program itself allocated."),
                    ("PSS", "Resident memory with each shared page divided among its processes."),
                    ("peak", "The largest value at one instant of a phase, of all processes together."),
                ],
                "measuring",
                "exact-sampled-bound",
                "How memory is measured",
            ),
            Self::Ceilings => (
                &[
                    (
                        "ceiling",
                        "A limit that a figure must not exceed; a floor is a limit that it must not fall below.",
                    ),
                    (
                        "not measurable",
                        "The limit lies between what was read and what may have been there, or nothing could be read: \
                         neither a pass nor a failure, exit code 3.",
                    ),
                ],
                "verdicts",
                "run-check-validate-profile",
                "Verdicts",
            ),
            Self::Interval => (
                &[
                    (
                        "change",
                        "The Hodges-Lehmann shift: the median of all differences between two runs, one of each side.",
                    ),
                    (
                        "interval",
                        "Where the true change lies at the stated confidence. An interval with zero in it proves none.",
                    ),
                    (
                        "inconclusive",
                        "The interval holds both no change and more than the limit: more runs are needed.",
                    ),
                ],
                "measuring",
                "when-has-a-figure-changed",
                "When has a figure changed",
            ),
            Self::Semantics => (
                &[
                    (
                        "semantics",
                        "What was measured: command or entries, kernel, comparison, timing. If it differs, so does the meaning of figures.",
                    ),
                    ("policy", "How memory was managed: caps, repeats, ceilings. Figures stay comparable."),
                ],
                "measuring",
                "semantics-and-policy",
                "Semantics and policy",
            ),
            Self::Steps => (
                &[
                    ("step", "A commit at which the level of a figure changed, and did not come back."),
                    ("chance", "How often noise alone causes such a step anywhere in a history."),
                ],
                "gate",
                "how-steps-are-found",
                "How steps are found",
            ),
        }
    }
}

/// Writes the folded explanation of `topics`.
pub(super) fn meaning(out: &mut Body, topics: &[Topic]) {
    out.push_str(&explained(topics, MANUAL));
}

fn explained(topics: &[Topic], manual: &str) -> String {
    let mut text =
        "<details class=\"meaning\"><summary>What does this mean?</summary>\n<dl id=\"meaning\">\n".to_owned();
    for (words, page, part, title) in topics.iter().map(|topic| topic.entries()) {
        for (word, meaning) in words {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "<dt>{word}</dt><dd>{meaning}</dd>");
        }
        let _ = match manual {
            "" => writeln!(text, "<dd class=\"hint\">In the manual: {title} (docs/{page}.md)</dd>"),
            base => writeln!(
                text,
                "<dd class=\"hint\">In the manual: <a href=\"{}/{page}.html#{part}\">{title}</a></dd>",
                base.trim_end_matches('/')
            ),
        };
    }
    text.push_str("</dl></details>\n");
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const ALL: [Topic; 5] = [Topic::Figures, Topic::Ceilings, Topic::Interval, Topic::Semantics, Topic::Steps];

    #[test]
    fn every_topic_has_its_heading_in_the_manual() {
        for topic in ALL {
            let (_, page, part, _) = topic.entries();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{page}.md"));
            let text = std::fs::read_to_string(&path).unwrap();
            let slug = |heading: &str| -> String {
                let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
                let words: String =
                    heading.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect();
                words.replace(' ', "-")
            };
            let has = text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line) == part);
            assert!(has, "{} has no heading #{part}", path.display());
        }
    }

    #[test]
    fn a_manual_on_the_web_is_linked_and_another_is_named() {
        let named = explained(&[Topic::Steps], "");
        assert!(named.contains("docs/gate.md") && !named.contains("href"), "{named}");
        let linked = explained(&[Topic::Steps], "https://example.org/book/");
        assert!(linked.contains("href=\"https://example.org/book/gate.html#how-steps-are-found\""), "{linked}");
    }
}
