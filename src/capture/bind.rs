//! The layout of a captured call's arguments by position.

use super::argument::Argument;
use super::entry::Entry;
use super::error::{CaptureError, EntryError};

/// The order in which the arguments of a capture's calls are laid out.
///
/// The order is that of the first signature with parameters. Without one, it is `arg0`, `arg1` ... for the positional
/// arguments of the first entry, then the names of all entries' keyword arguments in the order of their first use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterOrder {
    params: Vec<String>,
    /// The defaults of the signature that gave the order, except tensors, which belong to that entry's storages.
    defaults: Vec<(String, Argument)>,
    source: OrderSource,
}

/// The source of a [`ParameterOrder`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderSource {
    /// A captured signature.
    Signature,
    /// The arguments that the entries were called with.
    #[default]
    Arguments,
}

impl ParameterOrder {
    /// Finds the order for the calls `entries`.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut builder = OrderBuilder::default();
        entries.into_iter().for_each(|entry| builder.add(entry));
        builder.finish()
    }

    /// The names of the parameters.
    pub fn params(&self) -> &[String] {
        &self.params
    }

    /// The source of the order.
    pub fn source(&self) -> OrderSource {
        self.source
    }
}

/// A search for the order of a capture, one entry at a time.
#[derive(Debug, Default)]
pub(super) struct OrderBuilder {
    order: ParameterOrder,
    started: bool,
}

impl OrderBuilder {
    pub(super) fn add(&mut self, entry: &Entry) {
        let order = &mut self.order;
        if order.source == OrderSource::Signature {
            return;
        }
        if let Some(signature) = entry.signature().filter(|s| !s.params.is_empty()) {
            let plain = signature.defaults.iter().filter(|(_, value)| !holds_tensor(value));
            order.params = signature.params.clone();
            order.defaults = plain.cloned().collect();
            order.source = OrderSource::Signature;
            return;
        }
        if !std::mem::replace(&mut self.started, true) {
            order.params = (0..entry.args().len()).map(|i| format!("arg{i}")).collect();
        }
        for (name, _) in entry.kwargs() {
            if !order.params.contains(name) {
                order.params.push(name.clone());
            }
        }
    }

    pub(super) fn finish(self) -> ParameterOrder {
        self.order
    }
}

fn holds_tensor(value: &Argument) -> bool {
    let mut found = false;
    value.for_each_leaf(&mut String::new(), &mut |_, leaf| found |= matches!(leaf, Argument::Tensor(_)));
    found
}

/// The arguments of one call, by position.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The name of each argument; `argN` for arguments beyond the order.
    pub params: Vec<String>,
    /// The arguments.
    pub args: Vec<Argument>,
    /// The names of keyword arguments that are not in the order, which the kernel does not get.
    pub leftover: Vec<String>,
}

impl Entry {
    /// The arguments laid out by position, in `order`.
    ///
    /// # Errors
    /// [`EntryError::BoundTwice`] and [`EntryError::Gap`].
    pub fn bind(&self, order: &ParameterOrder) -> Result<Bound, CaptureError> {
        bind(self, order).map_err(|kind| self.error(kind))
    }

    /// The arguments for a kernel that takes them by name: a parameter without a value leaves no gap.
    ///
    /// # Errors
    /// [`EntryError::BoundTwice`].
    pub fn bind_by_name(&self, order: &ParameterOrder) -> Result<Bound, CaptureError> {
        bind_by_name(self, order).map_err(|kind| self.error(kind))
    }
}

/// Binds the call of `entry`: positional arguments first, then for each further parameter its keyword argument, else
/// its default; the first parameter with neither ends the call.
fn bind(entry: &Entry, order: &ParameterOrder) -> Result<Bound, EntryError> {
    let (bound, gap) = lay_out(entry, order)?;
    gap.map_or(Ok(bound), Err)
}

/// Binds the call for a kernel that takes its arguments by name: parameters that were not given are left out, and
/// keyword arguments that are not in the order come last.
///
/// Without a signature, a positional argument has no name but `argN`. The order would give it the name of another
/// entry's keyword, which says nothing about the position of that parameter.
fn bind_by_name(entry: &Entry, order: &ParameterOrder) -> Result<Bound, EntryError> {
    let unsigned = ParameterOrder::of([entry]);
    let order = if order.source == OrderSource::Signature { order } else { &unsigned };
    let (mut bound, _) = lay_out(entry, order)?;
    for name in std::mem::take(&mut bound.leftover) {
        let (_, value) = entry.kwargs().iter().find(|(known, _)| *known == name).expect("it is one of them");
        bound.args.push(value.clone());
        bound.params.push(name);
    }
    Ok(bound)
}

/// The arguments in their order, and the first gap among them: arguments after it are not at their position.
fn lay_out(entry: &Entry, order: &ParameterOrder) -> Result<(Bound, Option<EntryError>), EntryError> {
    let find = |pairs: &'_ [(String, Argument)], name: &str| {
        pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let kwarg = |name: &str| find(entry.kwargs(), name);
    let default = |name: &str| match entry.signature() {
        Some(signature) => find(&signature.defaults, name),
        None => find(&order.defaults, name),
    };

    let mut args = entry.args().to_vec();
    let (filled, rest) = order.params.split_at(args.len().min(order.params.len()));
    if let Some(twice) = filled.iter().find(|name| entry.kwargs().iter().any(|(known, _)| known == *name)) {
        return Err(EntryError::BoundTwice { param: twice.clone() });
    }
    let mut params: Vec<String> = filled.to_vec();
    params.extend((filled.len()..args.len()).map(|i| format!("arg{i}")));
    let (mut missing, mut gap) = (None, None);
    for name in rest {
        // Defaults after a gap are as absent as the gap, because they were not given either.
        match kwarg(name).or_else(|| if missing.is_none() { default(name) } else { None }) {
            Some(value) => {
                if let Some(missing) = &missing {
                    gap.get_or_insert_with(|| EntryError::Gap { missing: String::clone(missing), later: name.clone() });
                }
                params.push(name.clone());
                args.push(value);
            }
            None => {
                missing.get_or_insert_with(|| name.clone());
            }
        }
    }
    let leftover = entry.kwargs().iter().map(|(name, _)| name).filter(|name| !order.params.contains(name));
    Ok((Bound { params, args, leftover: leftover.cloned().collect() }, gap))
}
