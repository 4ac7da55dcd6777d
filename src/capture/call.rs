//! [`Call`]: what was called, as the keys of an entry say it.

use super::argument::Argument;
use super::content::Content;
use super::convert::Converter;
use super::error::{CaptureErrorKind, ConvertError, EntryError};
use super::object::{ItemValue, value};
use super::pickle::NodeId;

/// The signature of the captured function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// The names of the parameters, in order.
    pub params: Vec<String>,
    /// The default values of parameters.
    pub defaults: Vec<(String, Argument)>,
}

/// The values of an entry's keys.
#[derive(Debug)]
pub(super) struct Call {
    pub function_name: String,
    pub args: Vec<Argument>,
    pub kwargs: Vec<(String, Argument)>,
    pub output: Argument,
    pub signature: Option<Signature>,
}

impl Call {
    /// The call that `content` describes.
    pub fn read(content: &Content) -> Result<Self, CaptureErrorKind> {
        Fields { content, convert: Converter::new(&content.document, &content.objects) }.read()
    }
}

/// A reader of an entry's keys.
struct Fields<'d> {
    content: &'d Content,
    convert: Converter<'d>,
}

/// The pairs of a dict, by name.
type Pairs<'d> = Vec<(String, NodeId)>;

impl<'d> Fields<'d> {
    fn value(&self, id: NodeId) -> ItemValue<'d> {
        value(&self.content.document, &self.content.objects, id)
    }

    fn read(mut self) -> Result<Call, CaptureErrorKind> {
        let root = self.content.document.root();
        let ItemValue::Dict(pairs) = self.value(root) else {
            return Err(EntryError::NotADict { found: self.convert.argument(root)?.kind() }.into());
        };
        let entry = self.names(&pairs, "entry", "the key")?;
        let find = |key: &'static str| entry.iter().find(|(name, _)| name == key).map(|&(_, id)| id);
        let require = |key| find(key).ok_or(EntryError::MissingKey { key });

        let name = require("function_name")?;
        let function_name = match self.value(name) {
            ItemValue::Str(_) => match self.content.document.as_name(name) {
                Some(name) => name.into_owned(),
                None => return Err(EntryError::LongName { key: "function_name" }.into()),
            },
            _ => return Err(self.wrong("function_name", "str", name)),
        };
        let args = match self.convert.argument(require("args")?)? {
            Argument::List(args) | Argument::Tuple(args) => args,
            other => {
                return Err(EntryError::WrongKind { key: "args", expected: "list", found: other.kind() }.into());
            }
        };
        let kwargs = self.arguments(require("kwargs")?, "kwargs", "the keyword argument")?;
        let output = self.convert.argument(require("output")?)?;
        let signature = match find("signature").map(|id| (id, self.value(id))) {
            None | Some((_, ItemValue::None)) => None,
            Some((id, _)) => Some(self.signature(id)?),
        };
        Ok(Call { function_name, args, kwargs, output, signature })
    }

    fn signature(&mut self, id: NodeId) -> Result<Signature, CaptureErrorKind> {
        let ItemValue::Dict(pairs) = self.value(id) else { return Err(self.wrong("signature", "dict", id)) };
        let fields = self.names(&pairs, "signature", "the key")?;
        let find = |key: &str| fields.iter().find(|(name, _)| name == key).map(|&(_, id)| id);
        let list = find("params").ok_or(EntryError::MissingKey { key: "signature.params" })?;
        let (ItemValue::List(items) | ItemValue::Tuple(items)) = self.value(list) else {
            return Err(self.wrong("signature.params", "list", list));
        };
        let mut params: Vec<String> = Vec::with_capacity(items.len());
        let mut seen = std::collections::HashSet::new();
        for &item in items {
            let name = self.name(item, "signature.params")?;
            if !seen.insert(name.clone()) {
                return Err(EntryError::Duplicate { what: "the parameter", name }.into());
            }
            params.push(name);
        }
        let defaults = match find("defaults").map(|id| (id, self.value(id))) {
            None | Some((_, ItemValue::None)) => Vec::new(),
            Some((id, _)) => self.arguments(id, "signature.defaults", "the default of")?,
        };
        Ok(Signature { params, defaults })
    }

    /// The arguments of the dict `id`, by name.
    fn arguments(
        &mut self,
        id: NodeId,
        key: &'static str,
        what: &'static str,
    ) -> Result<Vec<(String, Argument)>, CaptureErrorKind> {
        let ItemValue::Dict(pairs) = self.value(id) else { return Err(self.wrong(key, "dict", id)) };
        let named = self.names(&pairs, key, what)?;
        named.into_iter().map(|(name, id)| Ok((name, self.convert.argument(id)?))).collect()
    }

    /// The pairs of a dict whose keys are texts, each once.
    fn names(
        &self,
        pairs: &[(NodeId, NodeId)],
        key: &'static str,
        what: &'static str,
    ) -> Result<Pairs<'d>, CaptureErrorKind> {
        let mut seen = std::collections::HashSet::with_capacity(pairs.len());
        let mut named = Vec::with_capacity(pairs.len());
        for &(name, value) in pairs {
            let name = self.name(name, key)?;
            if !seen.insert(name.clone()) {
                return Err(EntryError::Duplicate { what, name }.into());
            }
            named.push((name, value));
        }
        Ok(named)
    }

    fn name(&self, id: NodeId, key: &'static str) -> Result<String, CaptureErrorKind> {
        match self.content.document.as_name(id) {
            Some(name) => Ok(name.into_owned()),
            None => {
                Err(EntryError::WrongKind { key, expected: "dict or list of names", found: "something else" }.into())
            }
        }
    }

    fn wrong(&mut self, key: &'static str, expected: &'static str, id: NodeId) -> CaptureErrorKind {
        match self.convert.argument(id) {
            Ok(found) => EntryError::WrongKind { key, expected, found: found.kind() }.into(),
            Err(error @ ConvertError::TooMany) | Err(error) => error.into(),
        }
    }
}
