//! The command line of QEMU for a machine that has the device.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ane_uapi::wire::config::CONFIG_SIZE;
use ane_uapi::wire::{QUEUES, VIRTIO_ID};
use serde_json::json;

use super::qemu::{Arch, Carrier};

/// Places of each queue: more than a driver uses, and what the device has at most.
const QUEUE_SIZE: u32 = 256;

/// The port that the function sits behind, so that it can be unplugged.
pub(super) const PORT: &str = "ane-port";

/// The first function. One that takes its place counts on.
pub(super) const DEVICE: &str = "ane";

pub(super) const SOCKET: &str = "ane-socket";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    /// The processor itself where this user may use it for a machine of this kind, and it is made for that: a KVM
    /// that does without (seen inside of other machines) does not take a kernel through its first second.
    pub fn best(arch: Arch) -> Self {
        let is_native =
            matches!((arch, std::env::consts::ARCH), (Arch::X86_64, "x86_64") | (Arch::Aarch64, "aarch64"));
        let can = || std::fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok();
        let is_made_for_it = || {
            let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
            arch == Arch::Aarch64 || about.split_whitespace().any(|flag| flag == "vmx" || flag == "svm")
        };
        if is_native && can() && is_made_for_it() { Self::Kvm } else { Self::Tcg }
    }
}

#[derive(Clone, Debug)]
pub struct Kernel {
    pub image: PathBuf,
    /// Its first root.
    pub initrd: Option<PathBuf>,
    pub append: String,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub arch: Arch,
    pub accelerator: Accelerator,
    pub carrier: Carrier,
    pub memory_mib: u32,
    pub cpus: u32,
    /// Gives the machine an IOMMU, which VFIO in its guest wants.
    pub has_iommu: bool,
    pub socket: PathBuf,
    pub monitor: PathBuf,
    /// The kernel to boot; a disk comes in `extra`.
    pub kernel: Option<Kernel>,
    /// Arguments that are passed on.
    pub extra: Vec<OsString>,
}

impl Machine {
    pub fn arguments(&self) -> Vec<OsString> {
        let mut all = Vec::new();
        let mut add = |option: &str, value: OsString| all.extend([option.into(), value]);
        let (kind, cpu) = match (self.arch, self.accelerator) {
            // With an IOMMU that keeps interrupts apart KVM must leave their controller to QEMU.
            (Arch::X86_64, Accelerator::Kvm) => ("q35,kernel-irqchip=split", "host"),
            (Arch::X86_64, Accelerator::Tcg) => ("q35", "max"),
            // Its messages are interrupts with a line's number, which a device-tree node can name.
            (Arch::Aarch64, Accelerator::Tcg) if self.carrier == Carrier::Platform => {
                ("virt,gic-version=2", "max")
            }
            (Arch::Aarch64, Accelerator::Kvm) => ("virt,gic-version=3", "host"),
            (Arch::Aarch64, Accelerator::Tcg) => ("virt,gic-version=3", "max"),
        };
        let kind = match self.arch {
            Arch::Aarch64 if self.has_iommu => format!("{kind},iommu=smmuv3"),
            _ => kind.to_owned(),
        };
        add("-machine", format!("{kind},memory-backend=ram").into());
        let accelerator = match self.accelerator {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        };
        add("-accel", accelerator.into());
        add("-cpu", cpu.into());
        add("-smp", self.cpus.to_string().into());
        add("-m", format!("{}M", self.memory_mib).into());
        // The device maps the guest's memory: it has to be a file, and shared.
        add("-object", format!("memory-backend-memfd,id=ram,size={}M,share=on", self.memory_mib).into());
        all.extend(["-nodefaults", "-display", "none", "-serial", "mon:stdio"].map(OsString::from));
        let mut add = |option: &str, value: OsString| all.extend([option.into(), value]);
        add("-qmp", option_path("unix:", &self.monitor, ",server=on,wait=off"));
        if self.has_iommu && self.arch == Arch::X86_64 {
            add("-device", "intel-iommu,intremap=on".into());
        }
        if self.carrier == Carrier::Platform {
            // Beside the memory of a machine this is all: no port, since nothing takes a platform device's place.
            let socket = json!({"path": self.socket.to_string_lossy(), "type": "unix"});
            let device = json!({"driver": driver(self.carrier), "id": DEVICE, "socket": socket});
            add("-device", device.to_string().into());
        } else {
            add("-device", format!("pcie-root-port,id={PORT},chassis=1,slot=1").into());
            add("-chardev", option_path(&format!("socket,id={SOCKET},path="), &self.socket, ""));
            add("-device", self.device(DEVICE, SOCKET).into());
        }
        if let Some(kernel) = &self.kernel {
            add("-kernel", kernel.image.clone().into());
            if let Some(initrd) = &kernel.initrd {
                add("-initrd", initrd.clone().into());
            }
            add("-append", kernel.append.clone().into());
        }
        all.extend(self.extra.iter().cloned());
        all
    }

    /// The function, by the name `id`, behind the socket `chardev`.
    fn device(&self, id: &str, chardev: &str) -> String {
        let properties = properties(self.carrier, chardev);
        let properties: Vec<_> = properties.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{},id={id},bus={PORT},{}", driver(self.carrier), properties.join(","))
    }
}

/// QEMU's name for what carries the device.
pub(super) const fn driver(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Generic => "vhost-user-test-device-pci",
        Carrier::Block => "vhost-user-blk-pci",
        Carrier::Platform => "vfio-user-pci",
    }
}

/// Its properties, beside its name and place.
pub(super) fn properties(carrier: Carrier, chardev: &str) -> Vec<(&'static str, String)> {
    let socket = ("chardev", chardev.to_owned());
    match carrier {
        Carrier::Generic => vec![
            socket,
            ("virtio-id", VIRTIO_ID.to_string()),
            ("num_vqs", QUEUES.to_string()),
            ("vq_size", QUEUE_SIZE.to_string()),
            ("config_size", CONFIG_SIZE.to_string()),
        ],
        Carrier::Block => vec![
            socket,
            ("num-queues", QUEUES.to_string()),
            ("queue-size", QUEUE_SIZE.to_string()),
            ("disable-legacy", "on".to_owned()),
        ],
        // Its one property is no text.
        Carrier::Platform => Vec::new(),
    }
}

/// A path in an option, where a comma would end it.
fn option_path(before: &str, path: &Path, behind: &str) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut bytes = before.as_bytes().to_vec();
    for &byte in path.as_os_str().as_bytes() {
        bytes.push(byte);
        if byte == b',' {
            bytes.push(byte);
        }
    }
    bytes.extend(behind.as_bytes());
    OsString::from_vec(bytes)
}

/// A command as a shell takes it, an option and its value on each line.
pub fn shell(program: &Path, arguments: &[OsString]) -> String {
    let mut text = quoted(program.as_os_str());
    for argument in arguments {
        let is_option = argument.as_encoded_bytes().starts_with(b"-");
        text += if is_option { " \\\n  " } else { " " };
        text += &quoted(argument);
    }
    text
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            arch: Arch::X86_64,
            accelerator: Accelerator::Tcg,
            carrier: Carrier::Generic,
            memory_mib: 512,
            cpus: 2,
            has_iommu: true,
            socket: "/run/a,b/ane.sock".into(),
            monitor: "/run/monitor.sock".into(),
            kernel: None,
            extra: vec!["-snapshot".into()],
        }
    }

    fn text(machine: &Machine) -> String {
        shell(Path::new("qemu-system-x86_64"), &machine.arguments())
    }

    #[test]
    fn machine_has_shared_memory_an_iommu_and_a_port_before_the_device() {
        let text = text(&machine());
        for part in [
            "-machine q35,memory-backend=ram",
            "memory-backend-memfd,id=ram,size=512M,share=on",
            "-device intel-iommu,intremap=on",
            "path=/run/a,,b/ane.sock",
            "vhost-user-test-device-pci,id=ane,bus=ane-port,chardev=ane-socket,virtio-id=21,num_vqs=2,vq_size=256,config_size=56",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.find("intel-iommu") < text.find("pcie-root-port"), "the IOMMU comes first");
        assert!(text.ends_with("-snapshot"));
    }

    #[test]
    fn older_qemu_gets_the_block_device() {
        let text = text(&Machine { carrier: Carrier::Block, ..machine() });
        assert!(
            text.contains("vhost-user-blk-pci,id=ane,bus=ane-port,chardev=ane-socket,num-queues=2"),
            "{text}"
        );
        assert!(text.contains("disable-legacy=on"), "{text}");
    }

    #[test]
    fn platform_device_is_alone_behind_its_socket() {
        let text =
            text(&Machine { arch: Arch::Aarch64, carrier: Carrier::Platform, has_iommu: false, ..machine() });
        let device =
            r#"'{"driver":"vfio-user-pci","id":"ane","socket":{"path":"/run/a,b/ane.sock","type":"unix"}}'"#;
        assert!(text.contains(device) && text.contains("virt,gic-version=2,memory-backend=ram"), "{text}");
        assert!(!text.contains("pcie-root-port") && !text.contains("chardev"), "{text}");
    }

    #[test]
    fn kvm_leaves_the_interrupt_controller_to_qemu() {
        let text = text(&Machine { accelerator: Accelerator::Kvm, ..machine() });
        assert!(text.contains("q35,kernel-irqchip=split") && text.contains("-cpu host"), "{text}");
    }

    #[test]
    fn words_that_a_shell_would_take_apart_are_quoted() {
        let words = ["-append", "console=ttyS0 quiet", "it's"].map(OsString::from);
        assert_eq!(shell(Path::new("q"), &words), "q \\\n  -append 'console=ttyS0 quiet' 'it'\\''s'");
    }
}
