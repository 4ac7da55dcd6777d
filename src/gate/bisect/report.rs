//! [`Bisection`]: a search and what it found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::growth::Growth;
use super::side::Bisected;
use crate::gate::GateReport;
use plimsoll_memory::schema::Document;

/// A search for the commit that changed a figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bisection {
    /// `plimsoll.bisect/1`.
    #[schemars(extend("const" = "plimsoll.bisect/1"))]
    pub schema: String,
    /// The commit that was good.
    pub good: Named,
    /// The commit that was bad.
    pub bad: Named,
    /// How sure the search is to name the right commit, if one commit made most of the change: 0.99 for 99 in 100.
    pub confidence: f64,
    /// The figure that was gone by; absent until both ends have been measured, or if none tells them apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Bisected>,
    /// The commits that were tried, in this order.
    pub tried: Vec<TriedCommit>,
    /// What it came to; absent while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<SearchEnd>,
    /// The commit that was found against the one before it, or BAD against GOOD if none was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<GateReport>,
    /// Where memory grew between the two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growths: Vec<Growth>,
}

/// A commit and the first line of its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// The commit.
    pub commit: String,
    /// The first line of its message.
    pub title: String,
}

impl Named {
    /// The commit in as many characters as tell it apart, with its title.
    pub fn short(&self) -> String {
        let id = self.commit.get(..10).unwrap_or(&self.commit);
        format!("{id} {}", self.title).trim_end().to_owned()
    }
}

/// A commit that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedCommit {
    /// The commit.
    #[serde(flatten)]
    pub named: Named,
    /// What was found of it.
    pub found: Tried,
    /// How often it was run.
    pub runs: u64,
    /// The level of the figure: GOOD's median and the shift from GOOD's runs to its own. Absent of a commit that was
    /// skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What was found of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tried {
    /// The commit is nearer to GOOD.
    Good,
    /// The commit is nearer to BAD.
    Bad,
    /// The commit could not be built or run, or it was not decided which of the two it is like.
    Skipped,
}

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum SearchEnd {
    /// One commit changed the figure.
    Found {
        /// The commit.
        #[serde(flatten)]
        commit: Named,
        /// Whether it has several parents, none of which has the change.
        merge: bool,
        /// The commit before it, which it is compared with.
        before: Named,
        /// How much of the whole change it made: 1 for all of it.
        share: f64,
    },
    /// One of these commits did; the others were skipped.
    Suspects {
        /// The commits, the latest first.
        commits: Vec<Named>,
    },
    /// The ends do not differ, or that cannot be decided.
    NoDifference {
        /// Why.
        why: String,
    },
    /// GOOD is on another branch than BAD, and the commit that both come from is bad as well: it was on the branch of
    /// GOOD that the figure changed.
    BaseIsBad {
        /// The commit that both come from.
        #[serde(flatten)]
        base: Named,
    },
}

impl Bisection {
    /// A search between two commits that has not begun.
    pub fn new(good: Named, bad: Named, confidence: f64) -> Self {
        Self {
            schema: Self::NAME.to_owned(),
            good,
            bad,
            confidence,
            figure: None,
            tried: Vec::new(),
            end: None,
            report: None,
            growths: Vec::new(),
        }
    }

    /// The commits of which this was found.
    pub fn of(&self, found: Tried) -> impl Iterator<Item = &Named> {
        self.tried.iter().filter(move |tried| tried.found == found).map(|tried| &tried.named)
    }

    /// The exit code of the command: 0 if one commit was found, else 3.
    pub fn exit_code(&self) -> u8 {
        match self.end {
            Some(SearchEnd::Found { .. }) => 0,
            _ => 3,
        }
    }
}

impl Document for Bisection {
    const NAME: &'static str = "plimsoll.bisect/1";
    const TITLE: &'static str = "A search for the commit that changed a figure";
}
