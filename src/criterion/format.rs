//! Formats bytes and processor time in criterion's reports.

use super::library::Throughput;
use super::library::measurement::ValueFormatter;

use plimsoll_memory::bytes::{GIB, KIB, MIB, TIB};

/// The value reported to criterion for an iteration with a peak of zero, in bytes: criterion drops a benchmark that
/// measured 0.
pub(super) const NOTHING: f64 = 1e-9;

/// Bytes in binary units; throughput as input per memory.
pub(super) struct ByteFormatter;

/// The amount of a [`Throughput`], whose variants differ between versions of criterion.
pub enum Amount {
    /// Bytes in binary units.
    Bytes(u64),
    /// Bytes in decimal units.
    DecimalBytes(u64),
    /// Bits.
    #[allow(dead_code, reason = "older versions of criterion have none")]
    Bits(u64),
    /// Elements.
    Elements(u64),
}

/// Scales every value and returns the unit.
fn scale(values: &mut [f64], factor: f64, unit: &'static str) -> &'static str {
    values.iter_mut().for_each(|value| *value *= factor);
    unit
}

/// The first entry of `steps` whose factor brings `value` below its limit, or the last one.
fn step(value: f64, steps: &[(f64, f64, &'static str)]) -> (f64, &'static str) {
    let (_, factor, unit) = steps.iter().find(|(limit, ..)| value < *limit).unwrap_or(&steps[steps.len() - 1]);
    (*factor, unit)
}

/// Counts with thousands prefixes.
fn thousands(per: f64, units: [&'static str; 4]) -> (f64, &'static str) {
    let steps = [(1e3, 1.0, units[0]), (1e6, 1e-3, units[1]), (1e9, 1e-6, units[2]), (f64::MAX, 1e-9, units[3])];
    step(per, &steps)
}

impl ValueFormatter for ByteFormatter {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let per = |unit: u64| 1.0 / unit as f64;
        let (factor, unit) = step(
            typical,
            &[
                (KIB as f64, 1.0, "B"),
                (MIB as f64, per(KIB), "KiB"),
                (GIB as f64, per(MIB), "MiB"),
                (TIB as f64, per(GIB), "GiB"),
                (f64::MAX, per(TIB), "TiB"),
            ],
        );
        scale(values, factor, unit)
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        // The throughput of zero bytes would be infinite.
        values.iter_mut().for_each(|value| *value = if *value > 2.0 * NOTHING { 1.0 / *value } else { f64::INFINITY });
        match Amount::from(throughput) {
            Amount::Bytes(bytes) | Amount::DecimalBytes(bytes) => scale(values, bytes as f64, "B/B"),
            Amount::Bits(bits) => scale(values, bits as f64, "b/B"),
            Amount::Elements(elements) => {
                let per_mib = elements as f64 * MIB as f64;
                let units = ["elem/MiB", "Kelem/MiB", "Melem/MiB", "Gelem/MiB"];
                let (factor, unit) = thousands(per_mib / typical, units);
                scale(values, per_mib * factor, unit)
            }
        }
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "B"
    }
}

/// Nanoseconds of processor time, formatted like criterion's wall time.
pub(super) struct CpuTimeFormatter;

impl ValueFormatter for CpuTimeFormatter {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        let (factor, unit) = step(
            typical,
            &[(1.0, 1e3, "ps"), (1e3, 1.0, "ns"), (1e6, 1e-3, "µs"), (1e9, 1e-6, "ms"), (f64::MAX, 1e-9, "s")],
        );
        scale(values, factor, unit)
    }

    fn scale_throughputs(&self, typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        values.iter_mut().for_each(|value| *value = 1e9 / *value);
        let per_second = |amount: u64| amount as f64 * 1e9 / typical;
        match Amount::from(throughput) {
            Amount::Bytes(bytes) => {
                let unit = ByteFormatter.scale_values(per_second(bytes), values);
                let unit = match unit {
                    "B" => "B/s",
                    "KiB" => "KiB/s",
                    "MiB" => "MiB/s",
                    "GiB" => "GiB/s",
                    _ => "TiB/s",
                };
                scale(values, bytes as f64, unit)
            }
            Amount::DecimalBytes(bytes) => {
                let (factor, unit) = thousands(per_second(bytes), ["B/s", "kB/s", "MB/s", "GB/s"]);
                scale(values, bytes as f64 * factor, unit)
            }
            Amount::Bits(bits) => {
                let (factor, unit) = thousands(per_second(bits), ["b/s", "kb/s", "Mb/s", "Gb/s"]);
                scale(values, bits as f64 * factor, unit)
            }
            Amount::Elements(elements) => {
                let units = ["elem/s", "Kelem/s", "Melem/s", "Gelem/s"];
                let (factor, unit) = thousands(per_second(elements), units);
                scale(values, elements as f64 * factor, unit)
            }
        }
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_binary_units() {
        for (bytes, text) in [
            (0.0, "0.0000 B"),
            (1000.0, "1000.0 B"),
            (1536.0, "1.5000 KiB"),
            (5.0 * MIB as f64, "5.0000 MiB"),
            (1.5 * GIB as f64, "1.5000 GiB"),
            (2.0 * TIB as f64, "2.0000 TiB"),
        ] {
            assert_eq!(ByteFormatter.format_value(bytes).trim(), text);
        }
        // A graph has one unit, chosen by its typical value.
        let mut values = [MIB as f64, 512.0 * KIB as f64];
        assert_eq!((ByteFormatter.scale_values(4.0 * MIB as f64, &mut values), values), ("MiB", [1.0, 0.5]));
    }

    #[test]
    fn throughput_is_input_per_memory() {
        let of = |throughput, bytes: f64| ByteFormatter.format_throughput(&throughput, bytes).trim().to_owned();
        let mib = MIB as f64;
        assert_eq!(of(Throughput::Elements(1000), mib), "1.0000 Kelem/MiB");
        assert_eq!(of(Throughput::Elements(10), 4.0 * mib), "2.5000 elem/MiB");
        assert_eq!(of(Throughput::Bytes(3 * MIB), 2.0 * mib), "1.5000 B/B");
        assert_eq!(of(Throughput::Bytes(16), NOTHING), "inf B/B");
    }

    #[test]
    fn processor_time_is_formatted_as_time() {
        let value = |ns| CpuTimeFormatter.format_value(ns).trim().to_owned();
        assert_eq!([value(0.5), value(1500.0), value(2.5e9)], ["500.00 ps", "1.5000 µs", "2.5000 s"]);
        let of = |throughput| CpuTimeFormatter.format_throughput(&throughput, 1e6).trim().to_owned();
        assert_eq!(of(Throughput::Bytes(MIB)), "1000.0 MiB/s");
        assert_eq!(of(Throughput::BytesDecimal(1_000_000)), "1.0000 GB/s");
        assert_eq!(of(Throughput::Elements(5)), "5.0000 Kelem/s");
    }

    #[test]
    fn machines_get_bytes_and_nanoseconds() {
        let mut values = [1.5, 2048.0];
        assert_eq!((ByteFormatter.scale_for_machines(&mut values), values), ("B", [1.5, 2048.0]));
        assert_eq!((CpuTimeFormatter.scale_for_machines(&mut values), values), ("ns", [1.5, 2048.0]));
    }
}
