//! Why a function cannot be had, in words that say what to do about it.
//!
//! VFIO answers with a number, and the same number has many reasons. The files of the function in sysfs tell most
//! of them apart.

use super::super::BusError;
use super::address::Bdf;
use vfio_ioctls::VfioError;

/// The error of VFIO, and the likely cause.
pub(super) fn explain(bdf: Bdf, why: &VfioError) -> BusError {
    let folder = bdf.folder();
    let cause = if !folder.exists() {
        format!("there is no function {bdf} (lspci -D, or ls /sys/bus/pci/devices, shows what there is)")
    } else if !folder.join("iommu_group").exists() {
        "the machine has no IOMMU, which VFIO cannot do without: QEMU's is -device intel-iommu,intremap=on, and the \
         kernel has to use it (intel_iommu=on)"
            .to_owned()
    } else {
        match folder.join("driver").read_link().ok().and_then(|link| Some(link.file_name()?.to_owned())) {
            Some(driver) if driver == "vfio-pci" => owned(why),
            Some(driver) => {
                format!("the function belongs to {}, not to vfio-pci: ane vm setup {bdf}", driver.display())
            }
            None => format!("the function belongs to no driver: ane vm setup {bdf}"),
        }
    };
    BusError::Transport { action: "taking the function over", why: format!("{why}: {cause}") }
}

/// The function belongs to vfio-pci, and still cannot be had.
fn owned(why: &VfioError) -> String {
    match why {
        VfioError::OpenGroup(..) | VfioError::OpenContainer(_) => {
            "who may use /dev/vfio says its owner: root, unless it was given to somebody".to_owned()
        }
        VfioError::ContainerSetIOMMU(_) => {
            "the IOMMU does not keep interrupts apart: QEMU's does with intremap=on".to_owned()
        }
        VfioError::GroupViable => {
            "other functions of the same IOMMU group belong to other drivers: give it a root port of its own"
                .to_owned()
        }
        _ => "is another process using it?".to_owned(),
    }
}
