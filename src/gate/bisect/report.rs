//! [`Bisection`]: a search and its result.

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
    /// The good commit.
    pub good: Named,
    /// The bad commit.
    pub bad: Named,
    /// The confidence that the search names the right commit, if one commit made most of the change: 0.99 for 99 in
    /// 100.
    pub confidence: f64,
    /// The figure that the search uses; absent until both ends are measured, or if no figure separates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figure: Option<Bisected>,
    /// The commits that were tried, in order.
    pub tried: Vec<TriedCommit>,
    /// The result; absent while the search goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<SearchEnd>,
    /// The report on the found commit against the one before it, or on BAD against GOOD if none was found.
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
    /// The shortest name of the commit that identifies it, with its title.
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
    /// The result of trying it.
    pub found: Tried,
    /// The number of its runs.
    pub runs: u64,
    /// The level of the figure: GOOD's median plus the shift from GOOD's runs. Absent for a skipped commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The result of trying a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tried {
    /// The commit is closer to GOOD.
    Good,
    /// The commit is closer to BAD.
    Bad,
    /// The commit could not be built or run, or its side could not be decided.
    Skipped,
}

/// The result of a search.
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
        /// The commit before it, with which it is compared.
        before: Named,
        /// The share of the whole change that it made: 1 for all of it.
        share: f64,
    },
    /// One of these commits changed the figure; the others were skipped.
    Suspects {
        /// The commits, the latest first.
        commits: Vec<Named>,
    },
    /// The ends do not differ, or that could not be decided.
    NoDifference {
        /// Why.
        why: String,
    },
    /// GOOD is on a different branch from BAD, and their common ancestor is bad as well: the figure changed on GOOD's
    /// branch.
    BaseIsBad {
        /// The common ancestor.
        #[serde(flatten)]
        base: Named,
    },
}

impl Bisection {
    /// Creates a search between two commits that has not started yet.
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

    /// The commits with this result.
    pub fn of(&self, found: Tried) -> impl Iterator<Item = &Named> {
        self.tried.iter().filter(move |tried| tried.found == found).map(|tried| &tried.named)
    }

    /// The exit code of the command: 0 if one commit was found, otherwise 3.
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
