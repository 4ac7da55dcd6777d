//! Operators of PyTorch: `torch:` kernels in this process, and behind the `plimsoll` command.

mod command;
mod device;
mod operators;
mod support;
