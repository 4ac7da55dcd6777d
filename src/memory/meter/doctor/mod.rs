//! [`Doctor`]: what a meter can read on this machine, figure by figure, and what would improve it.

mod advice;
mod probe;

use super::cgroup::CgroupVersion;
use super::system::SystemInfo;

/// The value of `schema` in the documents that this version writes.
const SCHEMA: &str = "plimsoll.doctor/1";

/// What a meter can read on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Doctor {
    /// The schema of the document: `plimsoll.doctor/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The operating system and its version, such as `Linux 6.12.95`.
    pub kernel: String,
    /// The processor's architecture, such as `x86_64`.
    pub architecture: String,
    /// Whether this user is root.
    pub root: bool,
    /// The cgroup version for memory; absent if there is none.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cgroup: Option<CgroupVersion>,
    /// What contains this process: `docker`, `podman`, `kubernetes`, `container`, `slurm`, `github-actions`; absent if
    /// none was detected.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub inside: Option<String>,
    /// Every kind of figure.
    pub figures: Vec<FigureSight>,
}

/// How well one kind of figure can be read here.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct FigureSight {
    /// The figure, such as `peak of the control group`.
    pub figure: String,
    /// How well it can be read.
    pub sight: Sight,
    /// Its source, or why it cannot be read.
    pub how: String,
    /// A command that would improve it; absent if none would, or none is needed.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub better: Option<String>,
}

/// How well a figure can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "schema", serde(rename_all = "snake_case"))]
pub enum Sight {
    /// From the kernel's own counter, which misses nothing.
    Exact,
    /// From samples: anything shorter than the interval is missed.
    Sampled,
    /// Not at all.
    Missing,
}

impl Sight {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Sampled => "sampled",
            Self::Missing => "missing",
        }
    }
}

impl Doctor {
    /// Examines this machine. It creates and removes control groups and may permanently move this process to another
    /// one, so it is meant for a program that ends soon.
    ///
    /// # Errors
    /// [`MeterError`](super::MeterError) if /proc cannot be read.
    pub fn examine() -> Result<Self, super::MeterError> {
        let SystemInfo { kernel, architecture, .. } = SystemInfo::read()?;
        let found = probe::Found::here();
        Ok(Self {
            schema: SCHEMA.to_owned(),
            kernel,
            architecture,
            root: found.root,
            cgroup: found.version,
            inside: found.inside.map(|inside| inside.word().to_owned()),
            figures: advice::figures(&found),
        })
    }

    /// The commands that would improve something, each once.
    pub fn commands(&self) -> Vec<&str> {
        let mut commands: Vec<&str> = Vec::new();
        for better in self.figures.iter().filter_map(|figure| figure.better.as_deref()) {
            if !commands.contains(&better) {
                commands.push(better);
            }
        }
        commands
    }
}

#[cfg(feature = "schema")]
impl crate::schema::Document for Doctor {
    const NAME: &'static str = SCHEMA;
    const TITLE: &'static str = "What this machine lets a meter see";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "schema")]
    #[test]
    fn this_machine_is_examined() {
        let doctor = Doctor::examine().unwrap();
        let of = |name: &str| doctor.figures.iter().find(|figure| figure.figure == name).unwrap();
        assert_eq!(of("peak RSS of one process").sight, Sight::Exact);
        assert!(doctor.figures.iter().all(|figure| !figure.how.is_empty()));
        let json = serde_json::to_string(&doctor).unwrap();
        assert_eq!(serde_json::from_str::<Doctor>(&json).unwrap(), doctor);
    }
}
