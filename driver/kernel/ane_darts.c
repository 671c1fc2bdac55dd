// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The three DARTs of the engine's node, whose page tables and interrupt are apple-dart's.
 *
 * A transfer that finds nothing mapped waits in its DART, which holds the fault, and no register of the engine may be
 * touched until it does so no more. Mapping a page there and invalidating the stream has the transfer tried again: the
 * request goes on to its end, with what it wrote there lost, and the engine needs no reset.
 */
#include <linux/gfp.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>

#include "ane_platform.h"

/* An offset in a DART's range: the register of a window, from the window's base. */
#define DART(name)	(ANE_DART_##name - ANE_DART0)

/* What apple-dart gives an invalidation. */
#define PATIENCE_US	100

static void drop_darts(void *data)
{
	struct ane_platform *p = data;

	while (p->dart_count)
		iounmap(p->darts[--p->dart_count].regs);
}

int ane_darts_init(struct ane_platform *p)
{
	struct of_phandle_args args;
	int i, ret;

	ret = devm_add_action_or_reset(p->dev, drop_darts, p);
	for (i = 0; i < DARTS && !ret; i++) {
		ret = of_parse_phandle_with_args(p->dev->of_node, "iommus", "#iommu-cells", i, &args);
		if (ret)
			break;
		p->darts[i].irq = of_irq_get(args.np, 0);
		p->darts[i].regs = of_iomap(args.np, 0);
		of_node_put(args.np);
		if (!p->darts[i].regs)
			return -ENOMEM;
		p->dart_count++;
		if (p->darts[i].irq <= 0)
			ret = p->darts[i].irq ?: -ENODEV;
	}
	return ret;
}

static u32 get(struct ane_device *ane, int dart, u32 offset)
{
	ane->accesses++;
	return readl(platform_of(ane)->darts[dart].regs + offset);
}

static void put(struct ane_device *ane, int dart, u32 offset, u32 value)
{
	ane->accesses++;
	writel(value, platform_of(ane)->darts[dart].regs + offset);
}

int ane_darts_fault(struct ane_device *ane)
{
	int i;

	for (i = 0; i < platform_of(ane)->dart_count; i++)
		if (get(ane, i, DART(ERROR_STATUS)) & ANE_DART_ERROR_STATUS_FAULT_MASK)
			return i;
	return -1;
}

void ane_darts_quiet(struct ane_platform *p, bool quiet)
{
	int i;

	for (i = 0; i < p->dart_count; i++) {
		if (quiet)
			disable_irq(p->darts[i].irq);
		else
			enable_irq(p->darts[i].irq);
	}
}

int ane_darts_clear(struct ane_device *ane)
{
	int i;

	for (i = 0; i < platform_of(ane)->dart_count; i++) {
		u32 status = get(ane, i, DART(ERROR_STATUS));

		/* What is written back goes; apple-dart does the same if it comes first. */
		if (status & ANE_DART_ERROR_STATUS_FAULT_MASK)
			put(ane, i, DART(ERROR_STATUS), status);
	}
	return ane_darts_fault(ane) < 0 ? 0 : -EBUSY;
}

/* The transfers that wait are tried again. */
static int invalidate(struct ane_device *ane)
{
	u32 command;
	int i, ret;

	for (i = 0; i < platform_of(ane)->dart_count; i++) {
		put(ane, i, DART(STREAM_SELECT), BIT(ANE_STREAM));
		put(ane, i, DART(STREAM_COMMAND), ANE_DART_STREAM_COMMAND_INVALIDATE_MASK);
		ret = readl_poll_timeout(platform_of(ane)->darts[i].regs + DART(STREAM_COMMAND), command,
					 !(command & ANE_DART_STREAM_COMMAND_BUSY_MASK), 1, PATIENCE_US);
		if (ret)
			return ret;
	}
	return 0;
}

static void tell(struct ane_device *ane, struct ane_file *file, struct ane_request *request, int dart, u32 status,
		 u64 address)
{
	/* The engine's status word is out of reach; the request was at work. */
	struct ane_fault fault = { .window = dart };

	dev_warn_ratelimited(ane->drm.dev, "engine faults at %#llx, DART %d, status %#x\n", address, dart, status);
	ane_fault_explain(&fault.info, status, address);
	ane_fault_keep(ane, file, request, &fault);
}

/* A place that the space gives to nobody, and a page there. */
static int map_scratch(struct ane_platform *p, struct ane_space *space, u32 address)
{
	struct drm_mm_node *node = &p->scratch[p->scratch_count].address;
	struct page *page;
	int ret = 0;

	page = alloc_pages(GFP_KERNEL | __GFP_ZERO, ANE_BLOCK_ORDER);
	if (!page)
		return -ENOMEM;
	*node = (struct drm_mm_node){ .start = address, .size = ANE_PAGE };
	mutex_lock(&space->lock);
	/* The page at zero is in no space; base addresses that name nothing lead there. */
	if (address >= ANE_FIRST_ADDRESS)
		ret = drm_mm_reserve_node(&space->addresses, node);
	if (!ret) {
		ret = iommu_map(space->domain, address, page_to_phys(page), ANE_PAGE, IOMMU_READ | IOMMU_WRITE,
				GFP_KERNEL);
		if (ret && drm_mm_node_allocated(node))
			drm_mm_remove_node(node);
	}
	mutex_unlock(&space->lock);
	if (ret) {
		__free_pages(page, ANE_BLOCK_ORDER);
		return ret;
	}
	p->scratch[p->scratch_count++].page = page;
	return 0;
}

int ane_contain(struct ane_device *ane, struct ane_file *file, struct ane_request *request, int dart)
{
	struct ane_platform *p = platform_of(ane);
	u32 status = get(ane, dart, DART(ERROR_STATUS));
	u64 address = get(ane, dart, DART(ERROR_ADDRESS_LOW)) | (u64)get(ane, dart, DART(ERROR_ADDRESS_HIGH)) << 32;
	int ret;

	/* What follows comes of the first. */
	if (!p->scratch_count)
		tell(ane, file, request, dart, status, address);
	if (p->scratch_count == SCRATCH_MAX || address >= ANE_END_ADDRESS)
		return -EFAULT;
	ret = map_scratch(p, file->space, address & ~(u64)(ANE_PAGE - 1));
	if (!ret)
		ret = invalidate(ane);
	if (ret)
		return -EFAULT;
	/* One that does not clear itself has ended its request, and holds the fault until it is written back. */
	if (get(ane, dart, DART(ERROR_STATUS)) == status && get(ane, dart, DART(ERROR_ADDRESS_LOW)) == (u32)address)
		put(ane, dart, DART(ERROR_STATUS), status);
	return 0;
}

void ane_contain_end(struct ane_device *ane, struct ane_space *space, bool is_over)
{
	struct ane_platform *p = platform_of(ane);

	mutex_lock(&space->lock);
	while (p->scratch_count) {
		p->scratch_count--;
		iommu_unmap(space->domain, p->scratch[p->scratch_count].address.start, ANE_PAGE);
		if (drm_mm_node_allocated(&p->scratch[p->scratch_count].address))
			drm_mm_remove_node(&p->scratch[p->scratch_count].address);
		if (is_over)
			__free_pages(p->scratch[p->scratch_count].page, ANE_BLOCK_ORDER);
	}
	mutex_unlock(&space->lock);
}
