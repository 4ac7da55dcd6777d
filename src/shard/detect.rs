//! [`detect`]: the number of this process and the count of all, from the variables of its launcher.

use std::num::NonZeroU32;

use super::error::LauncherError;
use super::launchers::{LAUNCHERS, Launcher, Numbers, SLURM_STEP, SLURM_STEP_TASKS};

/// The place of this process within a launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The launcher, as `Slurm step`.
    pub launcher: &'static str,
    /// The number of the process, from 0.
    pub rank: u32,
    /// How many processes there are.
    pub ranks: u32,
    /// The number of the process among those of its node, from 0, according to the innermost launcher that sets one.
    pub local_rank: Option<u32>,
    /// How many processes the node has.
    pub node_ranks: Option<u32>,
    /// The number of the node, from 0.
    pub node: Option<u32>,
    /// The variables that the numbers come from, with their values.
    pub variables: Vec<(&'static str, String)>,
    /// Other launchers whose variables are set: those outside this one, and those with one process.
    pub unused: Vec<Unused>,
}

/// A launcher that did not decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The launcher.
    pub launcher: &'static str,
    /// The number of its process, from 0.
    pub rank: u32,
    /// How many processes the launcher has; absent if unknown.
    pub ranks: Option<u32>,
}

/// The largest number of a step that `srun` starts. Above it are Slurm's own, as the shell that `salloc` opens on a node.
const LAST_STEP: u32 = 0xffff_fff0;

/// Finds the place of this process. Of several launchers, the innermost with more than one process decides.
///
/// `variable` returns the value of an environment variable; `given` is a count from the user, for launchers without
/// one.
///
/// # Errors
/// [`LauncherError`] if no launcher is found, or its numbers are missing, make no sense or contradict each other.
pub fn detect(variable: impl Fn(&str) -> Option<String>, given: Option<NonZeroU32>) -> Result<Found, LauncherError> {
    let environment = Environment { variable: &variable };
    let mut rows = Vec::new();
    for launcher in &LAUNCHERS {
        if let Some(row) = environment.row(launcher)? {
            rows.push(row);
        }
    }
    agree(&rows)?;
    let decides = rows.iter().enumerate().find_map(|(at, row)| match row.ranks {
        Some(ranks) => (ranks > 1).then_some(Ok(at)),
        // An outer launcher that gives this process the same number knows the count.
        None if rows[at + 1..].iter().any(|outer| outer.ranks.is_some_and(|n| n > 1) && outer.rank == row.rank) => None,
        None if given.is_some() => Some(Ok(at)),
        None => Some(Err(LauncherError::NoCount {
            launcher: row.launcher.name,
            variable: row.launcher.index(),
            index: row.index,
        })),
    });
    let at = match decides {
        Some(found) => found?,
        None if rows.is_empty() || environment.is_outside_step() => {
            return Err(LauncherError::NoLauncher { hint: environment.hint() });
        }
        None => 0,
    };
    let row = &rows[at];
    let ranks = match (row.ranks, given.map(NonZeroU32::get)) {
        (Some(found), Some(given)) if found != given => {
            return Err(LauncherError::Contradiction {
                one: format!("the {found} processes of {}", row.launcher.name),
                other: format!("the {given} requested shards"),
            });
        }
        (found, given) => found.or(given).unwrap_or(1),
    };
    if row.rank >= ranks {
        return Err(environment.senseless(
            row.launcher,
            row.launcher.index(),
            format!("below the {ranks} requested shards"),
        ));
    }
    let unused = rows.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, row)| row);
    let unused = unused.map(|row| Unused { launcher: row.launcher.name, rank: row.rank, ranks: row.ranks }).collect();
    let [local_rank, node_ranks, node] = environment.on_node(&rows)?;
    let variables = row.variables.clone();
    Ok(Found { launcher: row.launcher.name, rank: row.rank, ranks, local_rank, node_ranks, node, variables, unused })
}

/// A launcher whose variables are set.
struct Row<'a> {
    launcher: &'a Launcher,
    rank: u32,
    /// Absent if the launcher does not set it.
    ranks: Option<u32>,
    /// The index as written in its variable.
    index: u64,
    variables: Vec<(&'static str, String)>,
}

/// Launchers of one level number the same processes.
fn agree(rows: &[Row<'_>]) -> Result<(), LauncherError> {
    let said = |row: &Row<'_>| match row.ranks {
        Some(ranks) => format!("process {} of {ranks} by {} ({})", row.rank, row.launcher.name, row.launcher.index()),
        None => format!("process {} by {} ({})", row.rank, row.launcher.name, row.launcher.index()),
    };
    for (at, row) in rows.iter().enumerate() {
        let same = rows[at + 1..].iter().filter(|other| other.launcher.level == row.launcher.level);
        for other in same.filter(|other| other.ranks != Some(1) && row.ranks != Some(1)) {
            let counts = row.ranks.zip(other.ranks).is_none_or(|(one, other)| one == other);
            if row.rank != other.rank || !counts {
                return Err(LauncherError::Contradiction { one: said(row), other: said(other) });
            }
        }
    }
    Ok(())
}

struct Environment<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Environment<'_> {
    fn text(&self, name: &str) -> Option<String> {
        // Grid Engine sets this for jobs outside arrays.
        (self.variable)(name).filter(|text| !text.is_empty() && text != "undefined")
    }

    fn senseless(&self, launcher: &Launcher, variable: &'static str, expected: impl Into<String>) -> LauncherError {
        let value = self.text(variable).unwrap_or_default();
        LauncherError::Senseless { launcher: launcher.name, variable, value, expected: expected.into() }
    }

    fn number(&self, launcher: &Launcher, variable: &'static str) -> Result<Option<u64>, LauncherError> {
        let Some(text) = self.text(variable) else { return Ok(None) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u32>() {
            Ok(number) if digits => Ok(Some(number.into())),
            _ => Err(self.senseless(launcher, variable, "a number from 0 to 4294967295")),
        }
    }

    /// The values of a launcher; `None` if it sets none, or has one process that it does not number.
    fn row<'l>(&self, launcher: &'l Launcher) -> Result<Option<Row<'l>>, LauncherError> {
        if launcher.name == SLURM_STEP && self.is_outside_step() {
            return Ok(None);
        }
        if launcher.marker.is_some_and(|(name, is_set)| self.text(name).is_some() != is_set) {
            return Ok(None);
        }
        let missing = |set, missing| LauncherError::Missing { launcher: launcher.name, set, missing };
        let (index, rank, ranks, names) = match launcher.numbers {
            Numbers::Counted { index: name, first, count } => {
                let (index, ranks) = (self.number(launcher, name)?, self.number(launcher, count)?);
                match (index, ranks) {
                    (None, None | Some(1)) => return Ok(None),
                    (None, Some(_)) => return Err(missing(count, name)),
                    (_, Some(0)) => return Err(self.senseless(launcher, count, "a count above 0")),
                    (Some(index), ranks) => {
                        (index, self.counted_from(launcher, index, first)?, ranks, vec![name, count])
                    }
                }
            }
            Numbers::Uncounted { index: name, first } => match self.number(launcher, name)? {
                None => return Ok(None),
                Some(index) => (index, self.counted_from(launcher, index, first)?, None, vec![name]),
            },
            Numbers::Span { id, min, max, step, count } => {
                // LSF gives jobs outside arrays the index 0 and no end.
                let Some(number) = self.number(launcher, id)?.filter(|number| min.is_some() || *number > 0) else {
                    return Ok(None);
                };
                let required = |name| self.number(launcher, name)?.ok_or_else(|| missing(id, name));
                let least = min.map_or(Ok(1), required)?;
                let most = required(max)?;
                // The step between the ids of an array with one id is 0.
                let step = match step {
                    Some(name) if most > least => self.number(launcher, name)?.unwrap_or(1),
                    _ => 1,
                };
                let ids = format!("one of the ids from {least} to {most} by {step}");
                if step == 0 || number < least || number > most || !(number - least).is_multiple_of(step) {
                    return Err(self.senseless(launcher, id, ids));
                }
                let ranks = (most - least) / step + 1;
                if let Some(name) = count
                    && required(name)? != ranks
                {
                    let expected = format!(
                        "the number of ids from {least} to {most} by {step}, which is {ranks}: ids must be evenly spaced"
                    );
                    return Err(self.senseless(launcher, name, expected));
                }
                let names = [Some(id), min, Some(max), count].into_iter().flatten().collect();
                (number, (number - least) / step, Some(ranks), names)
            }
        };
        if ranks.is_some_and(|ranks| rank >= ranks) {
            let expected = format!("an index of one of its {} processes", ranks.unwrap_or_default());
            return Err(self.senseless(launcher, launcher.index(), expected));
        }
        let variables = names.into_iter().filter_map(|name| Some((name, self.text(name)?))).collect();
        let ranks = ranks.map(|ranks| ranks as u32);
        Ok(Some(Row { launcher, rank: rank as u32, ranks, index, variables }))
    }

    fn counted_from(&self, launcher: &Launcher, index: u64, first: u64) -> Result<u64, LauncherError> {
        let expected = || format!("an index from {first}");
        index.checked_sub(first).ok_or_else(|| self.senseless(launcher, launcher.index(), expected()))
    }

    /// The number of the process on its node, how many the node has, and the number of the node, each from the
    /// innermost launcher that sets it.
    fn on_node(&self, rows: &[Row<'_>]) -> Result<[Option<u32>; 3], LauncherError> {
        let (mut local, mut on_node, mut node) = (None, None, None);
        for Row { launcher, .. } in rows {
            let number = |name: Option<&'static str>| match name {
                Some(name) => Ok::<_, LauncherError>(self.number(launcher, name)?.map(|number| number as u32)),
                None => Ok(None),
            };
            let of_node = number(launcher.node)?;
            if local.is_none() {
                local = number(launcher.local)?;
                on_node = match launcher.on_node {
                    Some(name) if launcher.name == SLURM_STEP => {
                        self.text(name).and_then(|text| tasks_of(&text, of_node.unwrap_or(0)))
                    }
                    name => number(name)?,
                };
                if let (Some(local), Some(on_node), Some(name)) = (local, on_node, launcher.local)
                    && local >= on_node
                {
                    return Err(self.senseless(launcher, name, format!("below the {on_node} processes of the node")));
                }
            }
            node = node.or(of_node);
        }
        Ok([local, on_node, node])
    }

    /// Whether this is the script that `sbatch` runs, or the shell of `salloc`, rather than a task of a step.
    fn is_outside_step(&self) -> bool {
        let has = |name| self.text(name).is_some();
        let step = self.text("SLURM_STEP_ID").or_else(|| self.text("SLURM_STEPID"));
        has("SLURM_JOB_ID") && step.is_none_or(|id| id.parse().is_ok_and(|id: u32| id > LAST_STEP))
            || has("SLURM_NTASKS") && !has("SLURM_PROCID")
            || self.has_step_of_submitter()
    }

    /// Whether the variables of a step are those of the one that `sbatch` was called in: a script inherits them, but
    /// Slurm sets the tasks of this node, which is one for a script.
    fn has_step_of_submitter(&self) -> bool {
        let node = self.text("SLURM_NODEID").and_then(|node| node.parse().ok()).unwrap_or(0);
        let of_step = self.text(SLURM_STEP_TASKS).and_then(|text| tasks_of(&text, node));
        self.text("SLURM_GTIDS").as_deref() == Some("0") && of_step.is_some_and(|tasks| tasks > 1)
    }

    fn hint(&self) -> String {
        let has = |name| self.text(name).is_some();
        let tasks = self.text("SLURM_NTASKS").unwrap_or_else(|| "1".to_owned());
        match () {
            () if self.is_outside_step() => format!(
                "Slurm gave this job {tasks} tasks, and this process is in none of its steps: start it with srun, or give --shard M/N"
            ),
            () if has("GITHUB_ACTIONS") => {
                "the matrix of GitHub Actions sets no variables: add `shard: [1, 2, 3, 4]` to the matrix and write --shard \
                 ${{ matrix.shard }}/${{ strategy.job-total }}"
                    .to_owned()
            }
            () if has("JENKINS_URL") => {
                "parallel stages of Jenkins set no variables: name the shard in each stage with --shard M/N".to_owned()
            }
            () => "none of the variables of Slurm, torchrun, MPI, Kubernetes, batch services or CI services is set; \
                   give --shard M/N"
                .to_owned(),
        }
    }
}

/// The tasks of node `node` in Slurm's notation `2(x3),1`.
fn tasks_of(text: &str, node: u32) -> Option<u32> {
    let mut before = 0u32;
    for part in text.split(',') {
        let (tasks, nodes) = match part.split_once("(x") {
            Some((tasks, nodes)) => (tasks, nodes.strip_suffix(')')?.parse().ok()?),
            None => (part, 1),
        };
        before = before.checked_add(nodes)?;
        if node < before {
            return tasks.parse().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests;
