//! Imported figures in the history.

use rusqlite::params;

use super::{History, HistoryError, key};
use crate::gate::Subject;
use crate::gate::history::Commit;
use crate::gate::history::import::{At, ImportedFigure};
use crate::record::Figure;

impl History {
    /// Adds figures of another tool to `branch`, all or none, replacing earlier imports. Figures whose file names no
    /// commit belong to `commit`. Returns how many were added.
    ///
    /// # Errors
    /// [`HistoryError::UnknownCommit`] if the time of a commit is unknown; [`HistoryError::Sqlite`].
    pub fn import(
        &mut self,
        figures: &[ImportedFigure],
        branch: &str,
        commit: &dyn Fn() -> Result<Commit, HistoryError>,
    ) -> Result<usize, HistoryError> {
        let path = self.path.clone();
        let failed = |error| HistoryError::Sqlite { what: "add to", path: path.clone(), error };
        let transaction = self.connection.transaction().map_err(failed)?;
        // Git is asked once per commit, as the figures of a commit are consecutive.
        let mut last: Option<(Option<&At>, Commit)> = None;
        for imported in figures {
            let at = imported.commit.as_ref();
            if last.as_ref().is_none_or(|(known, _)| *known != at) {
                last = Some((at, at.map_or_else(commit, |at| at.resolve(branch))?));
            }
            let (_, commit) = last.as_ref().expect("it was just found");
            let measured = serde_json::to_string(&imported.figure).expect("a figure has a JSON form");
            let words = "INSERT OR REPLACE INTO imported
                (commit_id, branch, committed, title, subject, figure, measured) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            let subject = key(&imported.subject);
            let values =
                params![commit.id, branch, commit.committed, commit.title, subject, imported.figure.name, measured];
            transaction.execute(words, values).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(figures.len())
    }

    /// The imported figures of `subject` on `branch` for its latest `commits` commits, oldest first.
    ///
    /// # Errors
    /// [`HistoryError`] if one is damaged.
    pub fn imported(
        &self,
        subject: &Subject,
        branch: &str,
        commits: usize,
    ) -> Result<Vec<(Commit, Vec<Figure>)>, HistoryError> {
        let failed = self.failed("read");
        let words = "SELECT commit_id, committed, title, measured FROM imported
             WHERE branch = ?1 AND subject = ?2 AND commit_id IN (
                 SELECT commit_id FROM imported WHERE branch = ?1 AND subject = ?2
                 GROUP BY commit_id ORDER BY max(committed) DESC, max(id) DESC LIMIT ?3)
             ORDER BY committed, id";
        let mut statement = self.connection.prepare(words).map_err(&failed)?;
        let row = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(Commit, String)> {
            let (id, committed, title) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((Commit { id, branch: branch.to_owned(), committed, title }, row.get(3)?))
        };
        let most = i64::try_from(commits).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![branch, key(subject), most], row).map_err(&failed)?;
        let mut found: Vec<(Commit, Vec<Figure>)> = Vec::new();
        for row in rows {
            let (commit, measured) = row.map_err(&failed)?;
            let figure: Figure = serde_json::from_str(&measured).map_err(|error| HistoryError::Damaged {
                path: self.path.clone(),
                label: subject.to_string(),
                commit: commit.id.clone(),
                message: error.to_string(),
            })?;
            match found.last_mut().filter(|(last, _)| last.id == commit.id) {
                Some((_, figures)) => figures.push(figure),
                None => found.push((commit, vec![figure])),
            }
        }
        Ok(found)
    }
}
