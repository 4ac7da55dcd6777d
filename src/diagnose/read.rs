//! Reads inputs into an [`Analysis`]: text in pieces; records through a function of the caller.

use std::io::{self, Read};

use super::analysis::Analysis;
use super::error::DiagnoseError;
use super::findings::Form;
use super::input::Input;
use plimsoll_memory::bytes::ByteSize;

/// How many bytes are read at once.
const PIECE: usize = 256 << 10;

impl Analysis {
    /// Reads an input to its end. A snapshot is not read: it is returned to the caller. A Plimsoll record is passed to
    /// `record`, which adds its failures to the analysis and returns the number of bytes read.
    ///
    /// # Errors
    /// [`DiagnoseError`] if the input cannot be read; text before the error stays in the findings, with the error.
    pub fn read_with<'a>(
        &mut self,
        name: &str,
        reader: impl Read + 'a,
        record: impl FnOnce(&mut Self, Box<dyn Read + 'a>) -> Result<u64, DiagnoseError>,
    ) -> Result<Option<Box<dyn Read + 'a>>, DiagnoseError> {
        self.begin(name);
        let result = Input::recognise(reader)
            .map_err(|source| DiagnoseError::Io { name: name.to_owned(), source })
            .and_then(|input| self.take(name, input, record));
        match result {
            Ok(rest) => {
                self.end();
                Ok(rest)
            }
            Err(error) => {
                self.fail(error.to_string());
                Err(error)
            }
        }
    }

    fn take<'a>(
        &mut self,
        name: &str,
        input: Input<'a>,
        record: impl FnOnce(&mut Self, Box<dyn Read + 'a>) -> Result<u64, DiagnoseError>,
    ) -> Result<Option<Box<dyn Read + 'a>>, DiagnoseError> {
        let failed = |source| DiagnoseError::Io { name: name.to_owned(), source };
        self.is(input.form());
        match input {
            Input::Snapshot(reader) => return Ok(Some(reader)),
            Input::Record(reader) => {
                let bytes = record(self, reader)?;
                if let Some(report) = self.report() {
                    report.bytes = ByteSize::new(bytes);
                }
            }
            Input::Text(mut reader) => {
                let mut piece = vec![0; PIECE];
                let mut read = 0;
                loop {
                    match reader.read(&mut piece) {
                        Ok(0) => break,
                        Ok(length) => {
                            self.push(&piece[..length]);
                            read += length as u64;
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(source)
                            if matches!(source.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof) =>
                        {
                            return Err(DiagnoseError::Compressed { name: name.to_owned(), bytes: read, source });
                        }
                        Err(source) => return Err(failed(source)),
                    }
                }
            }
        }
        Ok(None)
    }

    /// Records the kind of the input.
    fn is(&mut self, form: Form) {
        if let Some(report) = self.report() {
            report.form = form;
        }
    }
}
