//! The DART: the engine's IOMMU.

pub mod aperture;
