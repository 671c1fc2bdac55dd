/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The engine as a platform device: its registers, its DARTs, its power. */
#ifndef ANE_PLATFORM_H
#define ANE_PLATFORM_H

#include <linux/device.h>
#include <linux/iommu.h>
#include <linux/wait.h>

#include "ane.h"

#define DARTS		3
#define SETS		5
/* Pages put where a request found none, so that it ends. */
#define SCRATCH_MAX	16
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
	/* The line of the engine's events; none if it is the DARTs' as well, which is off while a request runs. */
	int irq;
	bool has_irq;
	wait_queue_head_t told;
	/* The line was up, and is off until somebody has read the events. */
	bool is_told;
	struct {
		struct page *page;
		struct drm_mm_node address;
	} scratch[SCRATCH_MAX];
	int scratch_count;
	/* The space of the request that they are of. */
	struct ane_space *scratch_space;
	/* The engine's clock, of which an event has the low half, and when by the kernel's. */
	u64 ticks, ticks_at;
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
/* The DART that holds a fault, or -1. */
int ane_darts_fault(struct ane_device *ane);
/* While a request runs, faults are left where it sees them. */
void ane_darts_quiet(struct ane_platform *p, bool quiet);
/* Frees the DARTs of what they hold. */
int ane_darts_clear(struct ane_device *ane);
/*
 * Tells a fault, and gives the request a page of its own where it found none, so that it goes on to its end. Fails if the
 * fault is of another sort or there are too many: the power has to be cycled.
 */
int ane_contain(struct ane_device *ane, struct ane_file *file, struct ane_request *request, int dart);
/* Takes these pages away; an engine that is not known to be done with them keeps them for good. */
void ane_contain_end(struct ane_device *ane, struct ane_space *space, bool is_over);

#endif
