//! [`Preset`]: the description of a synthetic capture.

use std::path::Path;

use super::call::Call;
use super::error::SynthesizeError;
use super::plan::Plan;
use super::planned::PlannedEntry;
use crate::Dtype;
use crate::write::Options;
use plimsoll_memory::ByteSize;

/// A table of embeddings: `vocab` rows of `dim` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableShape {
    /// The number of rows.
    pub vocab: u64,
    /// The number of elements in a row.
    pub dim: u64,
}

/// How wide the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    /// Multiply every width by this fraction, cut to a whole number.
    Scale { numerator: u64, denominator: u64 },
    /// Take the largest widths with which all files together take at most this much.
    Total(ByteSize),
}

/// A description of a synthetic capture. Entries are in call order: each call looks up its indices in every table in
/// turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    tables: Vec<TableShape>,
    dtype: Dtype,
    first_seq: u64,
    seq_step: u64,
    entries: u64,
    seed: u64,
    width: Width,
}

/// The capture of KernelForge issue #76, project `gemma4-e2b-gb10`: twenty entries, ten calls of the token table
/// [262144, 1536] and the per-layer table [262144, 8960] in turn, bfloat16, 51.25 GiB. Call `i` looks up `128 + 16 i`
/// fresh indices in both; the tables repeat byte for byte.
pub fn gemma4_e2b_gb10() -> Preset {
    let table = |dim| TableShape { vocab: 262_144, dim };
    Preset {
        tables: vec![table(1536), table(8960)],
        dtype: Dtype::BF16,
        first_seq: 128,
        seq_step: 16,
        entries: 20,
        seed: 0,
        width: Width::Scale { numerator: 1, denominator: 1 },
    }
}

/// One table of `dtype`, looked up once with `seq` indices; [`Preset::entries`] asks for more calls, each with fresh
/// indices. Tables of `float4_e2m1fn_x2` count two numbers as one element, as torch does.
pub fn embedding(vocab: u64, dim: u64, seq: u64, dtype: Dtype) -> Preset {
    Preset {
        tables: vec![TableShape { vocab, dim }],
        dtype,
        first_seq: seq,
        seq_step: 0,
        entries: 1,
        seed: 0,
        width: Width::Scale { numerator: 1, denominator: 1 },
    }
}

impl Preset {
    /// Multiplies the width of every table by `numerator / denominator`, at most 1; the widths are cut to whole numbers.
    pub fn scale(self, numerator: u64, denominator: u64) -> Self {
        Self { width: Width::Scale { numerator, denominator }, ..self }
    }

    /// Chooses the largest scale, at most 1, at which all files together take no more than `total`.
    pub fn total(self, total: ByteSize) -> Self {
        Self { width: Width::Total(total), ..self }
    }

    /// Sets the number of entries: the sequence is cut or continued.
    pub fn entries(self, entries: u64) -> Self {
        Self { entries, ..self }
    }

    /// Sets the seed: another seed gives other tables and other indices.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Works out every file's name and size, without touching the disk.
    ///
    /// # Errors
    /// [`SynthesizeError`] if a dtype, count, scale or total gives no capture.
    pub fn plan(&self) -> Result<Plan, SynthesizeError> {
        let counts = self.tables.iter().flat_map(|t| [("vocab", t.vocab), ("dim", t.dim)]);
        for (what, count) in counts.chain([("seq", self.first_seq), ("entries", self.entries)]) {
            if count == 0 {
                return Err(SynthesizeError::Shape { what, why: "must be at least 1".to_owned() });
            }
        }
        if !self.dtype.is_float() {
            return Err(SynthesizeError::Dtype { dtype: self.dtype });
        }
        match self.width {
            Width::Scale { numerator, denominator } => Ok(Plan::new(self.planned(numerator, denominator)?)),
            Width::Total(total) => self.plan_within(total),
        }
    }

    /// Plans and writes the capture to `dir`; see [`Plan::write`].
    ///
    /// # Errors
    /// [`SynthesizeError`] as [`Preset::plan`] and [`Plan::write`].
    pub fn write(&self, dir: &Path) -> Result<Plan, SynthesizeError> {
        let plan = self.plan()?;
        plan.write(dir, &Options::default())?;
        Ok(plan)
    }

    /// The widest plan within `total`, found by bisection: sizes grow with the width.
    fn plan_within(&self, total: ByteSize) -> Result<Plan, SynthesizeError> {
        let widest = self.tables.iter().map(|t| t.dim).max().unwrap_or(1);
        let plan = |columns| Ok::<_, SynthesizeError>(Plan::new(self.planned(columns, widest)?));
        let mut fits = self.smallest_columns();
        let smallest = plan(fits)?;
        if smallest.total() > total {
            return Err(SynthesizeError::Total { entries: self.entries, total, smallest: smallest.total() });
        }
        let mut beyond = widest + 1;
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            // A plan too large for any file is too large for the total as well.
            if plan(middle).is_ok_and(|p| p.total() <= total) { fits = middle } else { beyond = middle }
        }
        plan(fits)
    }

    /// The width of the widest table at which the narrowest still has one column.
    fn smallest_columns(&self) -> u64 {
        let widths = || self.tables.iter().map(|t| t.dim);
        let (narrowest, widest) = (widths().min().unwrap_or(1), widths().max().unwrap_or(1));
        widest.div_ceil(narrowest)
    }

    fn planned(&self, numerator: u64, denominator: u64) -> Result<Vec<PlannedEntry>, SynthesizeError> {
        let scale_error = || {
            let narrowest = self.tables.iter().map(|t| t.dim).min().unwrap_or(1);
            SynthesizeError::Scale { numerator, denominator, smallest: format!("1/{narrowest}") }
        };
        if numerator > denominator || denominator == 0 {
            return Err(scale_error());
        }
        let scaled = |dim: u64| match u128::from(dim) * u128::from(numerator) / u128::from(denominator) {
            0 => Err(scale_error()),
            dim => Ok(dim as u64),
        };
        let dims = self.tables.iter().map(|t| scaled(t.dim)).collect::<Result<Vec<_>, _>>()?;
        (0..self.entries)
            .map(|n| {
                let (number, table) = (n / dims.len() as u64, n % dims.len() as u64);
                let seq = self.seq_step.checked_mul(number).and_then(|more| more.checked_add(self.first_seq));
                let seq =
                    seq.ok_or_else(|| SynthesizeError::Shape { what: "seq", why: "exceeds 64 bits".to_owned() })?;
                let (dim, vocab) = (dims[table as usize], self.tables[table as usize].vocab);
                let call = Call { seed: self.seed, table, number, dtype: self.dtype, vocab, dim, seq };
                PlannedEntry::new(format!("entry_{n:06}.pt"), call)
            })
            .collect()
    }
}
