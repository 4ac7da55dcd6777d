//! [`Signature`]: the parameters of a captured operator.

use super::argument::Argument;

/// The parameters of a captured operator, as the profiling hook read them from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signature {
    /// The names of the parameters, in positional order.
    pub params: Vec<String>,
    /// The parameters that have a default, with it.
    pub defaults: Vec<(String, Argument)>,
}
