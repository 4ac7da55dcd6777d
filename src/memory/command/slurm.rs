//! [`SlurmStep`]: the step of a Slurm job that a control group belongs to.

use std::fmt;

/// A Slurm job, or a step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct SlurmStep {
    /// The number of the job.
    pub job: String,
    /// The step: a number, `batch`, `interactive` or `extern`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub step: Option<String>,
}

impl SlurmStep {
    /// Parses the name of a control group: `/slurm/uid_1000/job_7/step_0/task_1` in version 1, with or without the
    /// node's name after `slurm`, or `/system.slice/slurmstepd.scope/job_7/step_batch/user` in version 2.
    pub(super) fn of_group(name: &str) -> Option<Self> {
        let mut parts = name.split('/').skip_while(|part| !part.starts_with("slurm"));
        let job = parts.find_map(|part| part.strip_prefix("job_"))?;
        let step = parts.find_map(|part| part.strip_prefix("step_"));
        let is_number = !job.is_empty() && job.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| Self { job: job.to_owned(), step: step.map(str::to_owned) })
    }
}

impl fmt::Display for SlurmStep {
    /// Formats `Slurm step 7.batch`, as Slurm does, or `Slurm job 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.step {
            Some(step) => write!(f, "Slurm step {}.{step}", self.job),
            None => write!(f, "Slurm job {}", self.job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_in_the_name_of_its_group() {
        let shown = |name: &str| SlurmStep::of_group(name).map(|step| step.to_string());
        let step = Some("Slurm step 4242.0".to_owned());
        assert_eq!(shown("/slurm/uid_1000/job_4242/step_0/task_1"), step);
        assert_eq!(shown("/slurm_node07/uid_0/job_4242/step_0"), step);
        assert_eq!(shown("/system.slice/slurmstepd.scope/job_4242/step_0/user/task_0/plimsoll-7-3-0-run-0"), step);
        assert_eq!(shown("/slurm/uid_0/job_9/step_batch"), Some("Slurm step 9.batch".to_owned()));
        assert_eq!(shown("/slurm/uid_0/job_9"), Some("Slurm job 9".to_owned()));
        for other in ["/", "/user.slice/job_7/step_0", "/slurm/uid_0", "/slurm/job_x", "/slurm/job_", "/job_7/slurm"] {
            assert_eq!(shown(other), None, "{other}");
        }
    }
}
