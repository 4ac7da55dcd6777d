//! What Plimsoll can measure on a machine, on the terminal.

use std::fmt::Write as _;

use crate::record::Machine;
use plimsoll_memory::meter::{CgroupVersion, Sight};
use plimsoll_memory::text::{LABEL, Screen, Tone, labelled};

/// Writes the machine, one line per kind of figure, and commands that would improve something.
pub fn doctor(machine: &Machine, screen: &Screen) -> String {
    let Machine { doctor, isolation } = machine;
    let palette = screen.palette;
    let mut text = String::new();
    let groups = match doctor.cgroup {
        Some(CgroupVersion::V1) => "control groups of version 1",
        Some(CgroupVersion::V2) => "control groups of version 2",
        None => "no control groups for memory",
    };
    let inside = doctor.inside.as_ref().map_or_else(String::new, |inside| format!(", inside {inside}"));
    let user = if doctor.root { "root" } else { "not root" };
    let machine = format!("{}, {}, {groups}, {user}{inside}", doctor.kernel, doctor.architecture);
    text += &labelled("machine", palette.dim, &machine, LABEL, screen);
    text.push('\n');
    let widest = doctor.figures.iter().map(|figure| figure.figure.chars().count()).max().unwrap_or(0);
    for figure in &doctor.figures {
        let (sign, tone) = match figure.sight {
            Sight::Exact => ("✓", Tone::Good),
            Sight::Sampled => ("~", Tone::Warn),
            Sight::Missing => ("✗", Tone::Bad),
        };
        let label = format!("{sign} {:7}  {}", figure.sight.word(), figure.figure);
        text += &labelled(&label, palette.tone(tone), &figure.how, widest + 13, screen);
    }
    text.push('\n');
    for (sign, tone, word, layers) in
        [("✓", Tone::Good, "held", &isolation.held), ("✗", Tone::Bad, "lacking", &isolation.lacking)]
    {
        if !layers.is_empty() {
            let names: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
            let label = format!("{sign} {word:7}  isolation");
            text += &labelled(&label, palette.tone(tone), &names.join(", "), widest + 13, screen);
        }
    }
    for command in doctor.commands() {
        let of = doctor.figures.iter().filter(|figure| figure.better.as_deref() == Some(command));
        let names: Vec<&str> = of.map(|figure| figure.figure.as_str()).collect();
        let _ = write!(text, "\n {}\n   {command}\n", format_args!("to improve {}:", names.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use plimsoll_memory::meter::{Doctor, FigureSight};

    use super::*;
    use crate::record::sample::assert_snapshot;
    use crate::record::{Isolation, Layer};
    use crate::report::terminal::Palette;

    #[test]
    fn what_a_machine_allows_is_listed_with_what_would_help() {
        let figure = |figure: &str, sight, how: &str, better: Option<&str>| FigureSight {
            figure: figure.to_owned(),
            sight,
            how: how.to_owned(),
            better: better.map(str::to_owned),
        };
        let doctor_of = Doctor {
            schema: String::new(),
            kernel: "Linux 6.12.95".to_owned(),
            architecture: "x86_64".to_owned(),
            root: false,
            cgroup: Some(CgroupVersion::V2),
            inside: Some("docker".to_owned()),
            figures: vec![
                figure("peak RSS of one process", Sight::Exact, "its own mark (VmHWM, ru_maxrss)", None),
                figure("number of processes", Sight::Sampled, "samples: a short one is missed", None),
                figure("swap of the command", Sight::Sampled, "sum of VmSwap over the tree", Some("docker run")),
                figure(
                    "peak of the group",
                    Sight::Missing,
                    &"no group can be made here ".repeat(5),
                    Some("docker run"),
                ),
            ],
        };
        let isolation = Isolation::of(vec![Layer::NoNewPrivs, Layer::Landlock, Layer::Seccomp]);
        let examined = Machine { doctor: doctor_of, isolation };
        assert_snapshot("terminal_doctor", &doctor(&examined, &Screen::new(100, Palette::plain())));
    }
}
