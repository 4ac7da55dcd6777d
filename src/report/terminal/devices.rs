//! The GPUs of a machine on the terminal.

use plimsoll_capture::gpu::{DeviceFacts, Devices};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::clean;
use plimsoll_memory::text::{Align, Cell, fitted};

/// Writes one row per GPU.
pub fn devices(found: &Devices, screen: &Screen) -> String {
    let columns = [
        ("device", Align::Left, 0),
        ("model", Align::Left, 0),
        ("memory", Align::Right, 1),
        ("L2", Align::Right, 3),
        ("capability", Align::Right, 4),
        ("CUDA", Align::Right, 2),
    ];
    let or_dash = |value: Option<String>| Cell::plain(value.unwrap_or_else(|| "-".to_owned()));
    let row = |device: &DeviceFacts| {
        let shared = if device.unified { " of the system" } else { "" };
        vec![
            Cell::plain(format!("cuda:{}", device.index)),
            Cell::plain(clean(&device.name)),
            Cell::plain(format!("{}{shared}", device.memory)),
            or_dash(device.l2_cache.map(|bytes| bytes.to_string())),
            or_dash(device.compute_capability.clone()),
            or_dash(device.cuda.clone()),
        ]
    };
    fitted(columns, &found.devices.iter().map(row).collect::<Vec<_>>(), screen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::assert_snapshot;
    use crate::report::terminal::Palette;
    use plimsoll_memory::bytes::ByteSize;

    #[test]
    fn devices_are_listed() {
        let discrete = DeviceFacts {
            name: "NVIDIA H200".to_owned(),
            memory: ByteSize::mib(143_771),
            compute_capability: Some("9.0".to_owned()),
            l2_cache: Some(ByteSize::mib(60)),
            cuda: Some("12.8".to_owned()),
            ..DeviceFacts::default()
        };
        let unified = DeviceFacts {
            index: 1,
            name: "NVIDIA GB10".to_owned(),
            memory: ByteSize::gib(120),
            unified: true,
            ..DeviceFacts::default()
        };
        let found = Devices { schema: String::new(), devices: vec![discrete, unified] };
        assert_snapshot("terminal_devices", &devices(&found, &Screen::new(100, Palette::plain())));
    }
}
