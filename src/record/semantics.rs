//! [`Semantics`]: the meaning of a run's figures, and the digest that two runs share if they mean the same.

use std::num::NonZeroU32;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounded;
use super::rows::Rows;
use plimsoll_capture::compare::Comparison;
use plimsoll_capture::gpu::PlaceKind;
use plimsoll_capture::kernel::KernelIdentity;
use plimsoll_capture::timing::Protocol;
use plimsoll_capture::{Argument, Digest, Dtype};
use plimsoll_memory::bytes::ByteSize;

/// The subject of a run, independent of how its memory was managed and where it ran.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a record has one")]
pub enum Semantics {
    /// A kernel on the entries of a capture.
    Capture(CaptureSemantics),
    /// A test in a process of its own.
    Test(TestSemantics),
    /// A command and the processes below it.
    Command(CommandSemantics),
}

impl<'de> Deserialize<'de> for Semantics {
    /// As `serde` would derive it, but with less memory: a derived implementation keeps every entry as a tree of values
    /// until it has seen `kind`, which is the first field of every written record.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Clone, Copy, Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Kind {
            Capture,
            Test,
            Command,
        }

        fn read<'de, D: Deserializer<'de>>(kind: Kind, rest: D) -> Result<Semantics, D::Error> {
            Ok(match kind {
                Kind::Capture => Semantics::Capture(CaptureSemantics::deserialize(rest)?),
                Kind::Test => Semantics::Test(TestSemantics::deserialize(rest)?),
                Kind::Command => Semantics::Command(CommandSemantics::deserialize(rest)?),
            })
        }

        fn field<T: DeserializeOwned, E: serde::de::Error>(value: serde_json::Value) -> Result<T, E> {
            T::deserialize(value).map_err(E::custom)
        }

        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Semantics;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("the semantics of a capture, a test or a command")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Semantics, A::Error> {
                let mut others = serde_json::Map::new();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "kind" && others.is_empty() {
                        return read(map.next_value()?, MapAccessDeserializer::new(map));
                    }
                    others.insert(key, map.next_value()?);
                }
                let kind = others.remove("kind").ok_or_else(|| A::Error::missing_field("kind"))?;
                read(field(kind)?, serde_json::Value::Object(others)).map_err(A::Error::custom)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

/// A test in a process of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestSemantics {
    /// The package that the test belongs to; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The test binary or module that holds the test; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// The name of the test as printed by its runner: `reader::tests::opens_in_constant_memory`.
    pub name: String,
}

/// A command and the processes below it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSemantics {
    /// The label that identifies runs of the command: given, or the program's file name.
    pub label: String,
    /// The program and its arguments.
    #[serde(deserialize_with = "bounded::list")]
    pub command: Vec<String>,
}

/// A kernel on the entries of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureSemantics {
    /// The operator that was captured, such as `torch.nn.functional.embedding`.
    pub operator: String,
    /// The entries, in the order of the capture.
    pub entries: Rows<EntrySemantics>,
    /// The kernel that was launched.
    pub kernel: KernelIdentity,
    /// The device of the launches; absent for the CPU.
    #[serde(default, skip_serializing_if = "PlaceKind::is_cpu")]
    pub device: PlaceKind,
    /// Whether timed launches were replays of a CUDA graph of one launch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub graph: bool,
    /// The rule by which outputs were compared; absent for a run that only profiled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The kernel whose outputs were expected; absent if those were the captured outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<KernelIdentity>,
    /// The arguments that the kernel is meant to change in place; all others had to stay unchanged.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub mutates: Vec<String>,
    /// How launches were timed; absent for a run that only validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Protocol>,
    /// How timed launches were audited; absent without an audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<AuditSemantics>,
    /// How the timings of the entries were combined into one figure; absent for a run that only validated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// The other kernel, timed in turns with this one; absent if the kernel was timed alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<VersusSemantics>,
}

/// How timed launches were audited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditSemantics {
    /// Arguments that were declared constant, with the captured values in every launch.
    #[serde(default, deserialize_with = "bounded::list", skip_serializing_if = "Vec::is_empty")]
    pub constant: Vec<String>,
    /// Whether the kernel ran without the rights of its user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// A kernel that was timed in turns with another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersusSemantics {
    /// The kernel.
    pub kernel: KernelIdentity,
    /// How often the two were measured side by side on each entry, each time with the whole protocol.
    pub pairs: NonZeroU32,
}

/// One entry of the capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntrySemantics {
    /// The file name without its folder.
    pub name: String,
    /// The size of the file.
    pub bytes: ByteSize,
    /// `blake3:` and the hexadecimal digest of the entry.
    pub digest: String,
    /// The bytes that the digest covers. Digests of different bytes cannot be compared.
    pub covers: Digest,
    /// Every tensor among the arguments and in the output, in binding order.
    #[schemars(with = "Vec<TensorSemantics>")]
    pub tensors: Tensors,
}

/// The tensors of an entry, shared by its copies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tensors(Arc<Vec<TensorSemantics>>);

impl Deref for Tensors {
    type Target = Vec<TensorSemantics>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Tensors {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl From<Vec<TensorSemantics>> for Tensors {
    fn from(mut tensors: Vec<TensorSemantics>) -> Self {
        tensors.shrink_to_fit();
        Self(Arc::new(tensors))
    }
}

impl Serialize for Tensors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Tensors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

/// One tensor of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct TensorSemantics {
    /// The tensor's place: the parameter's name or `output`, and the path below it (`weight`, `output[1]`).
    pub path: String,
    /// The type of its elements.
    pub dtype: Dtype,
    /// The size of each dimension.
    pub shape: Vec<u64>,
    /// The step of each dimension, in elements.
    pub strides: Vec<u64>,
}

impl TensorSemantics {
    /// The tensors in `value`, which is named `root`.
    pub fn of(root: &str, value: &Argument) -> Vec<Self> {
        let mut tensors = Vec::new();
        value.for_each_leaf(&mut root.to_owned(), &mut |path, leaf| {
            if let Argument::Tensor(tensor) = leaf {
                let layout = &tensor.layout;
                tensors.push(Self {
                    path: path.to_owned(),
                    dtype: layout.dtype,
                    shape: layout.shape.clone(),
                    strides: layout.strides.clone(),
                });
            }
        });
        tensors
    }
}

/// How the timings of the entries are combined into the figures of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// Statistics over the entries' mean time per launch, as in KernelForge.
    EntryMeans,
    /// Statistics over the entries' median time per launch.
    EntryMedians,
}

impl Aggregation {
    /// The aggregation for entries timed by `protocol`: means if it keeps only a mean, otherwise medians.
    pub const fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::KernelForge { .. } => Self::EntryMeans,
            Protocol::Samples { .. } | Protocol::Cold { .. } | Protocol::Until { .. } => Self::EntryMedians,
        }
    }
}

/// The digest of the semantics of a run on a capture whose entries come one by one: the canonical form of all entries
/// at once would take too much memory.
#[derive(Clone, Debug)]
pub(crate) struct SemanticsDigest {
    /// The part of the canonical form before the entries.
    front: String,
    hasher: blake3::Hasher,
    /// The part of the canonical form after the entries.
    rest: String,
    entries: usize,
}

impl SemanticsDigest {
    /// The digest of semantics without entries.
    pub fn of(others: CaptureSemantics) -> Self {
        let others = canonical(&Semantics::Capture(others));
        let at = others.find(NO_ENTRIES).expect("a capture has entries") + NO_ENTRIES.len() - 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&others.as_bytes()[..at]);
        Self { front: others[..at].to_owned(), hasher, rest: others[at..].to_owned(), entries: 0 }
    }

    /// Adds the next entry.
    pub fn add(&mut self, entry: &EntrySemantics) {
        self.hasher.update(if self.entries == 0 { b"" } else { b"," });
        self.hasher.update(canonical(entry).as_bytes());
        self.entries += 1;
    }

    /// The digest of all.
    pub fn finish(mut self) -> String {
        self.hasher.update(self.rest.as_bytes());
        format!("blake3:{}", self.hasher.finalize().to_hex())
    }
}

/// An empty entry list in the canonical form of a capture's semantics. Within a text its quotes would be escaped.
const NO_ENTRIES: &str = "\"entries\":[]";

fn canonical(value: &impl Serialize) -> String {
    // Only a key that is not text or a number that is not finite could fail: tolerances are finite.
    serde_json_canonicalizer::to_string(value).expect("semantics have a canonical form")
}

impl Semantics {
    /// `blake3:` and the hexadecimal BLAKE3 digest of the canonical JSON (RFC 8785) of these semantics.
    ///
    /// RFC 8785 writes every number as an IEEE double, so sizes beyond 2^53 are rounded in the digest. The digests of
    /// the entries, which are texts, distinguish such sizes.
    pub fn digest(&self) -> String {
        match self {
            Self::Capture(capture) => capture.digest(&mut None),
            others => format!("blake3:{}", blake3::hash(canonical(others).as_bytes()).to_hex()),
        }
    }

    /// The semantics of a run on a capture, if it was one.
    pub fn capture(&self) -> Option<&CaptureSemantics> {
        match self {
            Self::Capture(semantics) => Some(semantics),
            Self::Test(_) | Self::Command(_) => None,
        }
    }

    /// The subject of the run, in a word or two: the operator, the test, the label of the command.
    pub fn subject(&self) -> &str {
        match self {
            Self::Capture(capture) => &capture.operator,
            Self::Test(test) => &test.name,
            Self::Command(command) => &command.label,
        }
    }
}

impl CaptureSemantics {
    /// A copy without the entries.
    pub(crate) fn without_entries(&self) -> Self {
        Self {
            entries: Rows::default(),
            operator: self.operator.clone(),
            kernel: self.kernel.clone(),
            device: self.device,
            graph: self.graph,
            comparison: self.comparison,
            reference: self.reference.clone(),
            mutates: self.mutates.clone(),
            timing: self.timing,
            audit: self.audit.clone(),
            aggregation: self.aggregation,
            versus: self.versus.clone(),
        }
    }

    /// The digest of these semantics, as [`Semantics::digest`]. `before` is that of a run on the same entries, if one
    /// was computed, and is this one afterwards: the entries take nearly all the time.
    pub(crate) fn digest(&self, before: &mut Option<SemanticsDigest>) -> String {
        let mut digest = SemanticsDigest::of(self.without_entries());
        match before.take().filter(|before| (&before.front, before.entries) == (&digest.front, self.entries.len())) {
            Some(before) => digest = SemanticsDigest { rest: digest.rest, ..before },
            None => self.entries.iter().for_each(|entry| digest.add(&entry)),
        }
        before.insert(digest).clone().finish()
    }

    /// The bytes of all entries.
    pub fn bytes(&self) -> ByteSize {
        self.entries.iter().map(|entry| entry.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn the_digest_is_that_of_the_canonical_form_of_the_whole() {
        for record in [sample::record(), sample::versus(), sample::test(), sample::command()] {
            let whole = serde_json_canonicalizer::to_string(&record.semantics).unwrap();
            assert_eq!(record.semantics.digest(), sample::digest_of(&whole));
        }
        let mut none = sample::record();
        sample::capture(&mut none).entries.clear();
        let whole = serde_json_canonicalizer::to_string(&none.semantics).unwrap();
        assert_eq!(none.semantics.digest(), sample::digest_of(&whole));
    }

    #[test]
    fn a_digest_that_begins_with_another_is_that_of_its_own_semantics() {
        let Semantics::Capture(mut semantics) = sample::record().semantics else { panic!("of a capture") };
        let (whole, mut before) = (|of: &CaptureSemantics| Semantics::Capture(of.clone()).digest(), None);
        assert_eq!(semantics.digest(&mut before), whole(&semantics));
        semantics.kernel.name.push('x');
        assert_eq!(semantics.digest(&mut before), whole(&semantics), "what comes after the entries");
        semantics.comparison = None;
        assert_eq!(semantics.digest(&mut before), whole(&semantics), "what comes before the entries");
        semantics.entries.push(semantics.entries[0].clone());
        assert_eq!(semantics.digest(&mut before), whole(&semantics), "another entry");
    }

    #[test]
    fn semantics_are_read_wherever_their_kind_stands() {
        for record in [sample::record(), sample::test(), sample::command()] {
            let written = serde_json::to_value(&record.semantics).unwrap();
            let fields = written.as_object().unwrap().iter().filter(|(key, _)| *key != "kind");
            let fields: Vec<String> = fields.map(|(key, value)| format!("{key:?}:{value}")).collect();
            let text = format!("{{{},\"kind\":{}}}", fields.join(","), written["kind"]);
            assert_eq!(serde_json::from_str::<Semantics>(&text).unwrap(), record.semantics);
            assert_eq!(serde_json::from_value::<Semantics>(written).unwrap(), record.semantics);
        }
        for wrong in ["{}", "{\"kind\": \"other\"}", "{\"name\": \"x\"}", "[]", "{\"kind\": 3}"] {
            assert!(serde_json::from_str::<Semantics>(wrong).is_err(), "{wrong}");
        }
    }
}
