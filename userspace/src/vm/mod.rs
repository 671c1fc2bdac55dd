//! Virtual machines that have the device: what `ane vm` does.
//!
//! The device is a process of its own (`vhost-device-ane`); QEMU connects to its socket and shows the guest a PCI
//! function. So a machine is two processes that have to start in order and agree on a few things, none of which
//! QEMU checks: the guest's memory has to be shared with the device, the function has to sit where it can be
//! unplugged, and VFIO in the guest wants an IOMMU that keeps interrupts apart.
//!
//! * [`qemu`]: which QEMU there is, and what carries the device in it;
//! * [`machine`]: its command line;
//! * [`initrd`]: a guest's root with files added; * [`run`]: both processes, from start to end;
//! * [`qmp`]: a running machine's monitor; [`hotplug`]: a device that died unplugged, and another plugged;
//! * [`setup`]: the other side, in the guest: the function given to VFIO, huge pages.

pub mod hotplug;
pub mod initrd;
pub mod machine;
pub mod qemu;
pub mod qmp;
pub mod run;
pub mod setup;
