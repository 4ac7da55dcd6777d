//! `init`: writes a `plimsoll.toml` with comments.

use clap::Args;
use plimsoll::gate::Allowance;
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use plimsoll::config::{Config, FILE_NAME, Preset, SECTIONS, settings};
use plimsoll::defaults::SAMPLE_INTERVAL;
use plimsoll::gate::Proposal;
use plimsoll::meter::Metric;

use super::args::{ConfigFlags, HEADROOM, duration};
use super::calibrate::Calibrate;
use super::{Failed, calibrate, ceilings_toml, output};
use crate::replace::replace;

#[derive(Args)]
#[command(after_help = "Exit codes: 0 written; 2 bad usage, or there is such a file; 3 a run failed.")]
pub struct Init {
    /// How often the command is run, to propose ceilings
    #[arg(long, value_name = "N", env = "PLIMSOLL_RUNS", default_value = "10")]
    pub runs: NonZeroU32,

    /// Room above the worst reading: the larger of the two parts
    #[arg(long, value_name = "ALLOWANCE", env = "PLIMSOLL_HEADROOM", default_value = HEADROOM)]
    pub headroom: Allowance,

    /// The name of the command in the file [default: the program's file name]
    #[arg(long, value_name = "NAME", env = "PLIMSOLL_LABEL")]
    pub label: Option<String>,

    /// Kill a run that takes longer
    #[arg(long, value_name = "TIME", env = "PLIMSOLL_RUN_TIMEOUT", value_parser = duration)]
    pub timeout: Option<Duration>,

    /// Replace an existing file
    #[arg(long, env = "PLIMSOLL_FORCE")]
    pub force: bool,

    /// The command that is calibrated; without one the file has no ceilings
    #[arg(trailing_var_arg = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// Writes the file into the working directory; 3 if a run of the command fails.
pub fn run(arguments: &Init) -> Result<u8, Failed> {
    let file = Path::new(FILE_NAME);
    if file.exists() && !arguments.force {
        return Err(format!("there is a {FILE_NAME} already and was not changed; --force replaces it").into());
    }
    let mut measured = None;
    if !arguments.command.is_empty() {
        let asked = Calibrate {
            runs: arguments.runs,
            headroom: arguments.headroom,
            metrics: Vec::new(),
            label: arguments.label.clone(),
            write: None,
            timeout: arguments.timeout,
            sample_interval: SAMPLE_INTERVAL,
            config: ConfigFlags::default(),
            json: false,
            command: arguments.command.clone(),
        };
        match calibrate::measure(&asked)? {
            // `run` would not judge a ceiling for which it has no flag.
            Ok((label, proposal)) => {
                let judged: Vec<Metric> = Metric::ALL.into_iter().filter(|metric| metric.facts().flag).collect();
                measured = Some((label, proposal.only(&judged)));
            }
            Err(code) => return Ok(code),
        }
    }
    let text = text(measured.as_ref());
    // Check that the written file can be read.
    Config::parse(file, &text)?;
    replace(file, text.as_bytes()).map_err(|error| format!("cannot write {FILE_NAME}: {error}"))?;
    output::note(&format_args!("wrote {FILE_NAME}; `plimsoll config show` lists what it sets"));
    Ok(0)
}

/// The file: measured ceilings, then every setting with its default, commented out.
fn text(measured: Option<&(String, Proposal)>) -> String {
    let mut text = String::from(
        "# Settings of plimsoll for this project. A setting is taken from the first place that has it: the flag, its\n\
         # environment variable, the overrides of the profile and of the file, the profile, the file, its default.\n\
         # `plimsoll config show` shows which; `plimsoll schema config` prints a JSON Schema for editors.\n",
    );
    for (section, about) in SECTIONS {
        text += &format!("\n# {about}.\n");
        match (section, measured) {
            ("ceilings", Some((label, proposal))) => {
                text += &ceilings_toml::fresh(label, proposal);
                continue;
            }
            _ => text += &format!("[{section}]\n"),
        }
        for setting in settings().filter(|setting| setting.section == section) {
            let value = setting.default.map_or_else(String::new, |default| match default {
                Preset::Count(_) | Preset::Confidence(_) | Preset::Switch(_) => default.to_string(),
                Preset::Bytes(_) | Preset::Time(_) | Preset::Text(_) => format!("\"{default}\""),
            });
            text += &format!("# {} = {value}", setting.name);
            text.truncate(text.trim_end().len());
            text += &format!("  # {}\n", setting.about);
        }
        if section == "gate" {
            text += "# limits = { peak_rss = \"5% | 64 MiB\", \"*.peak_rss\" = \"10%\" }\n";
        }
    }
    text + "\n# With --profile ci:\n# [profile.ci.run]\n# repeat = 5\n\
            \n# For labels that match a pattern:\n# [[overrides]]\n# label = \"^train-\"\n# run = { timeout = \"2h\" }\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_commented_out_is_a_setting() {
        let text = text(None);
        let on: String = text
            .lines()
            .map(|line| {
                line.strip_prefix("# ").filter(|line| line.contains(" = ") || line.starts_with('[')).unwrap_or(line)
            })
            .filter(|line| !line.contains(" =  #"))
            .map(|line| format!("{line}\n"))
            .collect();
        Config::parse(Path::new(FILE_NAME), &text).unwrap();
        let all = Config::parse(Path::new(FILE_NAME), &on).unwrap_or_else(|error| panic!("{error}\n{on}"));
        let resolved = all.resolve(Some("ci"), Some("train-x")).unwrap();
        assert_eq!(resolved.get("run.repeat").unwrap().value.text(), "5");
        assert_eq!(resolved.get("run.timeout").unwrap().value.text(), "2h");
        for setting in settings().filter(|setting| setting.default.is_some()) {
            assert!(resolved.get(&setting.key()).is_some(), "{} is not in it", setting.key());
        }
    }
}
