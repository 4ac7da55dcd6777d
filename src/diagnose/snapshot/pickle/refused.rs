//! Opcodes that occur in no snapshot.

use crate::snapshot::error::InvalidSnapshot;

/// The error for an opcode that is not executed.
pub(super) fn refused(opcode: u8) -> InvalidSnapshot {
    let name = match opcode {
        0x93 => "STACK_GLOBAL",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        b'b' => "BUILD",
        b'i' => "INST",
        b'o' => "OBJ",
        b'P' | b'Q' => "PERSID",
        0x82..=0x84 => "EXT",
        0x97 | 0x98 => "NEXT_BUFFER",
        0x8f..=0x91 => "a set",
        b'B' | b'C' | 0x8e | 0x96 | b'T' | b'U' => "bytes",
        b'0' | b'1' | b'2' => "POP or DUP",
        0x8b => "LONG4",
        b'I' | b'L' | b'F' | b'S' | b'V' | b'p' | b'g' | b'd' | b'l' => "an opcode of protocol 0",
        _ => return InvalidSnapshot::Opcode(opcode),
    };
    InvalidSnapshot::Refused(name.to_owned())
}
