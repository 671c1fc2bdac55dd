//! The parts of a virtual machine's system that a device behind VFIO needs.
//!
//! Each check looks where the driver will look ([`ane_driver::bus::vfio`]), in the order in which it does: the kernel's
//! options, the IOMMU, the function and who has it, the right to use it, and memory. `Kconfig-notes.md` says why each is
//! needed.

use std::fs::{self, OpenOptions};
use std::path::Path;

use ane_driver::bus::vfio::{Bdf, Functions, Ids};

use super::Check;

/// Options that the route takes, and what `ane doctor` says of one that is off.
const OPTIONS: [&str; 8] = [
    "VFIO",
    "VFIO_GROUP",
    "VFIO_CONTAINER",
    "VFIO_IOMMU_TYPE1",
    "VFIO_PCI",
    "IRQ_REMAP",
    "HUGETLBFS",
    "PROC_PAGE_MONITOR",
];

/// Huge pages that the driver takes for itself.
const OWN_PAGES: u64 = 8;

/// The capability that shows physical addresses.
const CAP_SYS_ADMIN: u32 = 21;

/// Does this system run in a virtual machine? The processor says so, or firmware does.
pub fn is_virtual() -> bool {
    let says = |path: &str, word: &str| fs::read_to_string(path).is_ok_and(|text| text.contains(word));
    says("/proc/cpuinfo", " hypervisor") || says("/sys/class/dmi/id/sys_vendor", "QEMU")
}

/// Looks at what VFIO needs, where there is a function that it could be needed for.
pub fn checks() -> Vec<Check> {
    match Functions::default().of(Ids::OWN).unwrap_or_default().first() {
        // Many a machine is a virtual one, and has no such thing.
        None => vec![Check::absent(
            "function",
            "no PCI function is 1af4:1055",
            "to have one: `ane vm run`, on the host. Behind QEMU 10.1 or older it is 1af4:1042",
        )],
        Some(&bdf) => vec![options(), iommu(), function(bdf), permission(bdf), capability(), huge_pages()],
    }
}

/// The kernel's options, where it says which it was built with.
fn options() -> Check {
    const LAYER: &str = "kernel options";
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let places =
        [format!("/boot/config-{}", release.trim()), format!("/lib/modules/{}/config", release.trim())];
    let Some((place, text)) = places.iter().find_map(|place| Some((place, fs::read_to_string(place).ok()?)))
    else {
        return Check::absent(
            LAYER,
            "this kernel's are not in /boot",
            "see Kconfig-notes.md for what it takes",
        );
    };
    match missing(&text).as_slice() {
        [] => Check::fine(LAYER, format!("{place} has all of {}", OPTIONS.len())),
        off => Check::broken(LAYER, format!("{place} lacks {}", off.join(", ")), "see Kconfig-notes.md"),
    }
}

/// Options that are neither built in nor a module.
fn missing(config: &str) -> Vec<&'static str> {
    let is_on = |option: &str| {
        let line = format!("CONFIG_{option}=");
        config.lines().any(|set| set.strip_prefix(&*line).is_some_and(|value| value == "y" || value == "m"))
    };
    OPTIONS.into_iter().filter(|option| !is_on(option)).collect()
}

fn iommu() -> Check {
    const LAYER: &str = "IOMMU";
    let groups = fs::read_dir("/sys/kernel/iommu_groups").into_iter().flatten().count();
    if groups == 0 {
        let advice =
            "QEMU's is -device intel-iommu,intremap=on, before the device; some kernels want intel_iommu=on";
        return Check::absent(LAYER, "the kernel uses none", advice);
    }
    Check::fine(LAYER, format!("{groups} groups"))
}

fn function(bdf: Bdf) -> Check {
    const LAYER: &str = "function";
    match Functions::default().owner(bdf) {
        Some(driver) if driver == "vfio-pci" => Check::fine(LAYER, format!("{bdf} belongs to vfio-pci")),
        owner => {
            let owner = owner.unwrap_or_else(|| "no driver".to_owned());
            Check::broken(
                LAYER,
                format!("{bdf} belongs to {owner}"),
                "give it to VFIO: `ane vm setup`, as root",
            )
        }
    }
}

fn permission(bdf: Bdf) -> Check {
    const LAYER: &str = "VFIO group";
    let group = fs::read_link(bdf.folder().join("iommu_group")).ok();
    let Some(group) =
        group.as_deref().and_then(Path::file_name).map(|name| Path::new("/dev/vfio").join(name))
    else {
        return Check::absent(LAYER, format!("{bdf} is in none"), "the machine needs an IOMMU, see above");
    };
    match OpenOptions::new().read(true).write(true).open(&group) {
        Ok(_) => Check::fine(LAYER, format!("{} can be opened", group.display())),
        // Somebody has it, which is as it should be.
        Err(why) if why.kind() == std::io::ErrorKind::ResourceBusy => {
            Check::fine(LAYER, format!("{} is in use", group.display()))
        }
        Err(why) => Check::broken(
            LAYER,
            format!("{}: {why}", group.display()),
            "`ane vm setup` makes it; it belongs to root, who may give it away (chown)",
        ),
    }
}

fn capability() -> Check {
    const LAYER: &str = "physical addresses";
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if mask >> CAP_SYS_ADMIN & 1 == 1 {
        return Check::fine(LAYER, "/proc/self/pagemap tells them");
    }
    let advice = "only `aned` needs it: run it as root, and clients as anybody";
    Check::absent(LAYER, "this process lacks CAP_SYS_ADMIN", advice)
}

fn huge_pages() -> Check {
    const LAYER: &str = "huge pages";
    let number = |name: &str| {
        let path = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{name}");
        fs::read_to_string(path).ok().and_then(|text| text.trim().parse::<u64>().ok())
    };
    match number("nr_hugepages").zip(number("free_hugepages")) {
        None => Check::absent(LAYER, "this kernel has none of 2 MiB", "see Kconfig-notes.md"),
        Some((all, free)) if all <= OWN_PAGES => {
            let found = format!("{free} of {all} are free; the driver takes {OWN_PAGES} for itself");
            Check::broken(
                LAYER,
                found,
                "reserve some: `ane vm setup`, or hugepages=64 on the kernel's command line",
            )
        }
        Some((all, free)) => Check::fine(LAYER, format!("{free} of {all} of 2 MiB are free")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_that_is_built_in_or_a_module_is_there() {
        let config = "CONFIG_VFIO=m\nCONFIG_VFIO_GROUP=y\n# CONFIG_VFIO_PCI is not set\nCONFIG_HUGETLBFS=y\nCONFIG_IRQ_REMAP=n\n";
        assert_eq!(
            missing(config),
            ["VFIO_CONTAINER", "VFIO_IOMMU_TYPE1", "VFIO_PCI", "IRQ_REMAP", "PROC_PAGE_MONITOR"]
        );
    }
}
