//! Whether a device is there, known without touching a driver: a listing of tests must not start one.
use std::path::Path;

use crate::harness::case::DeviceKind;

/// All that is known of the machine, read once by the program that lists tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Built with the feature `cuda`.
    pub cuda_feature: bool,
    /// Built with the feature `metal`.
    pub metal_feature: bool,
    /// A node of an NVIDIA device is there, or the system has no such nodes.
    pub cuda_node: bool,
    /// Built for macOS.
    pub macos: bool,
    /// The variable `CUDA_VISIBLE_DEVICES`.
    pub cuda_visible_devices: Option<String>,
}

impl Environment {
    /// Reads it from this process and this machine.
    pub fn read() -> Self {
        // Docker and WSL number the nodes they pass on as they like; 16 is the most that one host has.
        let nodes = (0..16).map(|index| format!("/dev/nvidia{index}"));
        let mut nodes = nodes.chain(["/dev/dxg".to_owned(), "/dev/nvhost-gpu".to_owned()]);
        Self {
            cuda_feature: cfg!(feature = "cuda"),
            metal_feature: cfg!(feature = "metal"),
            cuda_node: cfg!(windows) || nodes.any(|node| Path::new(&node).exists()),
            macos: cfg!(target_os = "macos"),
            cuda_visible_devices: std::env::var("CUDA_VISIBLE_DEVICES").ok(),
        }
    }
}

/// Why `device` cannot run here; nothing if it is there.
pub fn absent(device: DeviceKind, environment: &Environment) -> Option<String> {
    let reason = match device {
        DeviceKind::Cpu => return None,
        DeviceKind::Cuda if !environment.cuda_feature => "built without the feature `cuda`",
        DeviceKind::Cuda if !environment.cuda_node => "no CUDA device: no /dev/nvidia0",
        DeviceKind::Cuda if hides_all(environment) => "CUDA_VISIBLE_DEVICES hides every device",
        DeviceKind::Metal if !environment.metal_feature => "built without the feature `metal`",
        DeviceKind::Metal if !environment.macos => "no Metal device: not macOS",
        DeviceKind::Cuda | DeviceKind::Metal => return None,
    };
    Some(reason.to_owned())
}

/// CUDA shows the devices before the first entry that names none.
fn hides_all(environment: &Environment) -> bool {
    let first = environment.cuda_visible_devices.as_deref().and_then(|list| list.split(',').next());
    first.is_some_and(|first| {
        let first = first.trim();
        first.is_empty() || first.starts_with('-') || first == "NoDevFiles"
    })
}
