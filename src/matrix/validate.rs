//! Validation of a plan; messages say what to do.

use std::collections::BTreeSet;

use super::plan::{Expect, MOST_REPEATS, Plan, unknown};

/// The maximum number of configurations.
const MOST_CONFIGURATIONS: usize = 1000;

/// The maximum length of a name.
const LONGEST_NAME: usize = 200;

/// What is wrong with the plan, if anything.
pub(super) fn validate(plan: &Plan) -> Result<(), String> {
    if plan.configurations.is_empty() {
        return Err("there is no configuration: add `[[configuration]]` with a `name`".to_owned());
    }
    if plan.configurations.len() > MOST_CONFIGURATIONS {
        return Err(format!("there are more than {MOST_CONFIGURATIONS} configurations"));
    }
    if !(1..=MOST_REPEATS).contains(&plan.repeats) {
        return Err(format!("`repeats` is {}: it is a number from 1 to {MOST_REPEATS}", plan.repeats));
    }
    environment(plan.environment.keys(), "the matrix")?;
    let mut names = BTreeSet::new();
    for configuration in &plan.configurations {
        let name = &configuration.name;
        if name.trim().is_empty() || name.chars().count() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err(format!(
                "`{}` is not a name: write one line of 1 to {LONGEST_NAME} characters",
                name.escape_debug()
            ));
        }
        if !names.insert(&**name) {
            return Err(format!("two configurations have the name `{name}`: each needs its own"));
        }
        environment(configuration.environment.keys(), &format!("configuration `{name}`"))?;
        let has_values = configuration.given().is_some();
        let has_source =
            configuration.command.is_some() || configuration.log.is_some() || !configuration.flags.is_empty();
        match plan.command(configuration) {
            None if has_values && has_source => {
                return Err(format!(
                    "configuration `{name}` has values and something to run or read: keep one of them"
                ));
            }
            None if has_values => {}
            None if plan.log(configuration, 1).is_none() => {
                return Err(format!(
                    "configuration `{name}` has neither a command nor a log: add `command = [\"program\", \"argument\"]`, \
                     here or above all configurations, `log = \"FILE\"`, or values: `allocated = \"0.5GB\"`"
                ));
            }
            None if !configuration.flags.is_empty() || !configuration.environment.is_empty() => {
                return Err(format!(
                    "configuration `{name}` has flags or an environment, and no command to give them to"
                ));
            }
            Some(command) if command.first().is_none_or(String::is_empty) => {
                return Err(format!("the command of configuration `{name}` names no program"));
            }
            Some(command) if command.iter().any(|word| word.contains('\0')) => {
                return Err(format!("the command of configuration `{name}` holds a NUL, which no argument can"));
            }
            _ => {}
        }
    }
    if let Some(name) = plan.baseline.as_ref().filter(|name| !names.contains(&***name)) {
        return Err(format!("the baseline is `{name}`, but there is no such configuration{}", unknown(name, names)));
    }
    let baseline = plan.baseline();
    if baseline.expect.is_some_and(|expect| expect != Expect::Any) {
        return Err(format!("`{}` is the baseline, which nothing is expected of: remove its `expect`", baseline.name));
    }
    let expecting = plan.configurations.iter().find(|known| known.expect.is_some_and(|expect| expect != Expect::Any));
    if let Some(configuration) = expecting.filter(|_| plan.gate.is_empty()) {
        return Err(format!(
            "configuration `{}` has an `expect`, but there is no gate: add `gate = {{ allocated = \"10% | \
             1 GiB\", reserved = \"10% | 1 GiB\", time = \"2%\" }}`",
            configuration.name
        ));
    }
    Ok(())
}

fn environment<'a>(names: impl Iterator<Item = &'a String>, of: &str) -> Result<(), String> {
    let wrong = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    match names.into_iter().find(wrong) {
        Some(name) => {
            Err(format!("`{}` in the environment of {of} is not the name of a variable", name.escape_debug()))
        }
        None => Ok(()),
    }
}
