/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The engine as a platform device: its registers, its DARTs, its power. */
#ifndef ANE_PLATFORM_H
#define ANE_PLATFORM_H

#include <linux/device.h>
#include <linux/iommu.h>

#include "ane.h"

#define DARTS		3
#define SETS		5
/* Where the range "engine" begins in the container. */
#define ENGINE_BASE	0x1c04000

struct ane_platform {
	struct device *dev;
	void __iomem *engine;
	struct iommu_group *group;
	/* Of the file whose request ran last. */
	struct iommu_domain *attached;
	/* The DARTs' own registers, which apple-dart has as well: only looked at, before the engine is touched. */
	struct {
		void __iomem *regs;
		int irq;
	} darts[DARTS];
	int dart_count;
	struct device *sets[SETS];
	struct device_link *links[SETS];
};

static inline struct ane_platform *platform_of(struct ane_device *ane)
{
	return ane->bus_data;
}

int ane_power_init(struct ane_platform *p);
/* Takes the power of the sets and gives it back: whatever ran is gone. The DARTs keep their tables. */
int ane_power_cycle(struct ane_platform *p);
int ane_darts_init(struct ane_platform *p);
/* True if a DART holds a fault. */
bool ane_darts_fault(struct ane_device *ane);
/* While a request is polled for, faults are left where the poll sees them. */
void ane_darts_quiet(struct ane_platform *p, bool quiet);
/* Waits until apple-dart has cleared what the DARTs hold. */
int ane_darts_clear(struct ane_device *ane);

#endif
