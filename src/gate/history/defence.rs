//! Opens a database that may come from a stranger, so that nothing in it is executed and everything is bounded.

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result};

use plimsoll_memory::bytes::ByteSize;

/// The largest compressed record, and the longest text in a row.
pub const MAX_PACKED: ByteSize = ByteSize::mib(16);

/// The largest record, as JSON, that is read from a history, which keeps no timelines.
pub const MAX_TEXT: ByteSize = ByteSize::mib(64);

/// The largest zstd window (a power of 2, in bytes), which bounds the memory for decompression. Records are compressed
/// with at most 2 MiB.
pub const WINDOW_LOG: u32 = 23;

/// The maximum number of SQLite instructions per connection: about a thousand times as many as a history of 100,000
/// records takes. Pages of a damaged file may form endless chains.
const INSTRUCTIONS: u64 = 500_000_000;

/// The number of instructions between two counts.
const PERIOD: i32 = 100_000;

/// A schema with more objects belongs to another program.
const OBJECTS: i64 = 16;

/// Sets limits on a fresh connection: triggers and views never run, the schema is not trusted, and the work and the
/// size of a row are bounded.
pub fn guard(connection: &Connection) -> Result<()> {
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    let length = i32::try_from(MAX_PACKED.bytes() + (1 << 20)).expect("it is a few MiB");
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, length)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    let mut left = INSTRUCTIONS / PERIOD.unsigned_abs() as u64;
    connection.progress_handler(
        PERIOD,
        Some(move || {
            left = left.saturating_sub(1);
            left == 0
        }),
    )
}

/// The objects of a schema: type, name, and the statement that created each.
fn objects(connection: &Connection) -> Result<Vec<(String, String, String)>> {
    let mut statement =
        connection.prepare("SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name LIMIT ?1")?;
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, words(&row.get::<_, String>(2)?)));
    statement.query_map([OBJECTS], row)?.collect()
}

/// Whether the schema is exactly the one that `tables` creates.
pub fn is_schema(connection: &Connection, tables: &str) -> Result<bool> {
    let own = Connection::open_in_memory()?;
    own.execute_batch(tables)?;
    Ok(objects(connection)? == objects(&own)?)
}

/// A statement without comments, and with single spaces between words.
fn words(sql: &str) -> String {
    let code = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}
