//! [`Follower`]: a log that grows, is cut short, or is replaced.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::analysis::Analysis;
use super::error::DiagnoseError;
use super::findings::Form;
use super::input::Input;

/// Reads what is added to a file.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    name: String,
    file: File,
    /// How far the file has been read, in bytes.
    position: u64,
    /// Whether text was added after the analysis last settled.
    unsettled: bool,
}

/// What happened to the file since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file did not change.
    None,
    /// The file grew.
    Grown,
    /// The file became shorter, and is read from its start again.
    Truncated,
    /// Another file now has this name, and is read from its start.
    Replaced,
}

impl Follower {
    /// Opens the log at `path`; the first look reads what is there.
    ///
    /// # Errors
    /// [`DiagnoseError`] if it cannot be opened or is not text.
    pub fn open(path: &Path, analysis: &mut Analysis) -> Result<Self, DiagnoseError> {
        let name = path.display().to_string();
        let failed = |source| DiagnoseError::Io { name: name.clone(), source };
        let file = File::open(path).map_err(failed)?;
        if Input::recognise(&file).map_err(failed)?.form() == Form::Snapshot {
            return Err(DiagnoseError::Snapshot { name });
        }
        analysis.begin(&name);
        Ok(Self { path: path.to_owned(), name, file, position: 0, unsettled: false })
    }

    /// Reads what was added since the last look. If nothing was added, unfinished messages count as complete.
    ///
    /// # Errors
    /// [`DiagnoseError`] if the file can no longer be read.
    pub fn look(&mut self, analysis: &mut Analysis) -> Result<Change, DiagnoseError> {
        self.try_look(analysis).map_err(|source| DiagnoseError::Io { name: self.name.clone(), source })
    }

    fn try_look(&mut self, analysis: &mut Analysis) -> io::Result<Change> {
        let before = self.position;
        if self.file.metadata()?.len() < self.position {
            self.restart(analysis);
            self.read(analysis)?;
            return Ok(Change::Truncated);
        }
        self.read(analysis)?;
        if self.position > before {
            return Ok(Change::Grown);
        }
        if let Some(other) = self.replacement()? {
            self.file = other;
            self.restart(analysis);
            self.read(analysis)?;
            return Ok(Change::Replaced);
        }
        if self.unsettled {
            analysis.settle();
            self.unsettled = false;
        }
        Ok(Change::None)
    }

    fn restart(&mut self, analysis: &mut Analysis) {
        analysis.end();
        analysis.begin(&self.name);
        self.position = 0;
    }

    fn read(&mut self, analysis: &mut Analysis) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.position))?;
        let mut piece = vec![0; 64 << 10];
        loop {
            match self.file.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(length) => {
                    analysis.push(&piece[..length]);
                    self.position += length as u64;
                    self.unsettled = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The file that has the name now, if it is a different one. During a rotation there may be none for a moment.
    fn replacement(&self) -> io::Result<Option<File>> {
        let other = match File::open(&self.path) {
            Ok(other) => other,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let (mine, theirs) = (self.file.metadata()?, other.metadata()?);
        Ok(((mine.dev(), mine.ino()) != (theirs.dev(), theirs.ino())).then_some(other))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    const OOM: &str = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 10.00 GiB total capacity; \
        9.10 GiB already allocated; 0.20 GiB free; 9.40 GiB reserved in total by PyTorch)\n";

    #[test]
    fn a_log_is_read_while_it_grows_is_cut_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.log");
        fs::write(&path, "step 1\n").unwrap();
        let mut analysis = Analysis::default();
        let mut follower = Follower::open(&path, &mut analysis).unwrap();
        let mut look = |analysis: &mut Analysis, change| assert_eq!(follower.look(analysis).unwrap(), change);
        look(&mut analysis, Change::Grown);
        look(&mut analysis, Change::None);
        assert_eq!(analysis.findings(None).events.len(), 0);

        // A message in two pieces is one event.
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&OOM.as_bytes()[..80]).unwrap();
        look(&mut analysis, Change::Grown);
        file.write_all(&OOM.as_bytes()[80..]).unwrap();
        look(&mut analysis, Change::Grown);
        look(&mut analysis, Change::None);
        assert_eq!(analysis.findings(None).events.len(), 1);

        fs::write(&path, "Killed\n").unwrap();
        look(&mut analysis, Change::Truncated);
        fs::rename(&path, folder.path().join("train.log.1")).unwrap();
        look(&mut analysis, Change::None);
        fs::write(&path, OOM.replace("GPU 0", "GPU 1")).unwrap();
        look(&mut analysis, Change::Replaced);
        look(&mut analysis, Change::None);
        let devices: Vec<_> = analysis.findings(None).events.iter().map(|event| event.device).collect();
        assert_eq!(devices, [Some(0), Some(1)]);
    }
}
