//! `kernel new`: writes a kernel to begin with.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use plimsoll::capture::Capture;

use super::{Failed, output, quoted};
use crate::scaffold::{KernelName, Language, Scaffold, Signature};

/// The action on kernels.
#[derive(Subcommand)]
pub enum KernelCommand {
    /// Write a kernel's source: a finished one for embedding, a skeleton with the captured arguments for others
    New(New),
}

#[derive(Args)]
#[command(
    after_help = "For torch.nn.functional.embedding the kernel is complete. For any other operator it compiles, unpacks the arguments of the capture's first entry, and fails every entry with the message that it is not written yet."
)]
pub struct New {
    /// The name of the kernel, of its folder and of its file
    pub name: KernelName,

    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", env = "PLIMSOLL_LANG")]
    pub lang: Language,

    /// The capture of the calls to compute; only `embedding` needs none
    #[arg(long, value_name = "CAPTURE", env = "PLIMSOLL_CAPTURE")]
    pub capture: Option<PathBuf>,

    /// The folder that is made for it [default: one of its name here]
    #[arg(long, value_name = "FOLDER", env = "PLIMSOLL_FOLDER")]
    pub folder: Option<PathBuf>,
}

/// Writes the files and says how to build and check them.
pub fn run(command: &KernelCommand) -> Result<u8, Failed> {
    let KernelCommand::New(new) = command;
    let signature = match &new.capture {
        Some(capture) => Signature::of(&Capture::open(capture)?)?,
        None if new.name.to_string() == "embedding" => Signature::embedding(),
        None => {
            let message = format!(
                "the arguments of {} are not known: name a capture of its calls with --capture (only `embedding` needs none)",
                new.name
            );
            return Err(message.into());
        }
    };
    let scaffold = Scaffold::new(&new.name, new.lang, &signature);
    let folder = new.folder.clone().unwrap_or_else(|| PathBuf::from(new.name.to_string()));
    write(&folder, &scaffold)?;
    output::text(&next_steps(new, &folder, &scaffold))?;
    Ok(0)
}

/// Makes the folder with all files, or nothing.
fn write(folder: &Path, scaffold: &Scaffold) -> Result<(), Failed> {
    let cannot = |error: std::io::Error| format!("cannot make {}: {error}", folder.display());
    if folder.symlink_metadata().is_ok() {
        return Err(
            format!("{} exists already and was not changed: name another with --folder", folder.display()).into()
        );
    }
    let above = folder.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = tempfile::Builder::new().prefix(".plimsoll-kernel-").tempdir_in(above).map_err(cannot)?;
    let made = beside.path().join("kernel");
    fs::create_dir(&made).map_err(cannot)?;
    for (name, text) in &scaffold.files {
        fs::write(made.join(name), text).map_err(cannot)?;
    }
    Ok(fs::rename(&made, folder).map_err(cannot)?)
}

fn next_steps(new: &New, folder: &Path, scaffold: &Scaffold) -> String {
    let word = |path: &Path| quoted(&path.display().to_string());
    let files: Vec<String> = scaffold.files.iter().map(|(name, _)| word(&folder.join(name))).collect();
    let mut text = format!("wrote {}\n", files.join(", "));
    if let Some(build) = &scaffold.build {
        text += &format!("build it:  (cd {} && {build})\n", word(folder));
    }
    let capture = new.capture.as_deref().map_or("CAPTURE".to_owned(), word);
    let kernel = quoted(&scaffold.kernel_in(folder));
    text += &format!("check it:  plimsoll check {capture} --kernel {kernel}\n");
    if !scaffold.finished {
        text += &format!("It compiles, and fails every entry until {} is written.\n", files[0]);
    }
    text
}
