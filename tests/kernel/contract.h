/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A driver written from the contract (docs/kernel-drivers.md): does to the engine what Linux's driver does, in the
 * same order, and takes programs from a file in the place of a userspace.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include <linux/completion.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>

#define DARTS		3
#define SETS		5
#define BARS		32
#define PAGE_BYTES	0x4000u
#define SCRATCH_MAX	16
#define NETWORK_ID	0x40u

/* The range of device addresses that buffers get, and that a fault is contained in. */
#define APERTURE_START	0x4000u
#define APERTURE_END	0xe0000000u

struct contract_dart {
	void __iomem *regs;
	int irq;
};

struct contract {
	struct device *dev;
	void __iomem *engine;
	struct iommu_domain *domain;
	struct contract_dart darts[DARTS];
	int dart_count;
	struct device *sets[SETS];
	struct device_link *links[SETS];
	struct miscdevice misc;
	struct mutex lock;
	/* Pages put where the engine found none, in the request that runs. */
	struct page *scratch[SCRATCH_MAX];
	u32 scratch_iova[SCRATCH_MAX];
	int scratch_count;
	bool wedged;
	/* What is told in sysfs: pages contained, cycles of the power, accesses to registers of the last request. */
	unsigned int contained, cycles, accesses;
};

struct contract_job {
	u32 bars[BARS];
	u32 first, first_bytes, tasks;
};

int contract_submit(struct contract *c, const struct contract_job *job);
void contract_enable(struct contract *c);
int contract_recover(struct contract *c);
extern const struct file_operations contract_fops;

#endif
