// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests: staging, push, polling, faults, and the way back from a wedge.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iommu.h>
#include <linux/iopoll.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pm_runtime.h>

#include "contract.h"

/* Task manager and the queue that is used, number 4. */
#define MANAGER			0x20000
#define MANAGER_ENABLE		0x0c
#define MANAGER_EVENTS(line)	(0x14 + 0x14 * (line))
#define MANAGER_STATUS		0x54
#define MANAGER_ACKNOWLEDGE	0x6c
#define QUEUE(n)		(0x21000 + 0x148 * (n))
#define QUEUE_PRIORITY		0x10
#define QUEUE_BAR		0x20
#define QUEUE_ID		0xa0
#define QUEUE_SIZE		0x130
#define QUEUE_ADDRESS		0x134
#define PUSH			0x405
#define EVENTS_MAX		64
#define IDLE			1

#define DART_COMMAND		0x20
#define DART_INVALIDATE		BIT(20)
#define DART_BUSY		BIT(2)
#define DART_SELECT		0x34
#define DART_ERROR		0x40
#define DART_ADDRESS		0x50
#define DART_ADDRESS_HIGH	0x54
#define DART_FAULT		BIT(31)

#define PATIENCE_US		1000000

static u32 get(struct contract *c, u32 offset)
{
	c->accesses++;
	return readl(c->engine + offset);
}

static void put(struct contract *c, u32 offset, u32 value)
{
	c->accesses++;
	writel(value, c->engine + offset);
}

void contract_enable(struct contract *c)
{
	static const u32 priorities[] = { 1, 2, 3, 4, 5, 6, 0x1e, 0x1f };
	int i;

	put(c, MANAGER + MANAGER_ENABLE, get(c, MANAGER + MANAGER_ENABLE) | BIT(12));
	for (i = 0; i < ARRAY_SIZE(priorities); i++)
		put(c, QUEUE(i) + QUEUE_PRIORITY, priorities[i]);
	put(c, MANAGER + 0x68, 0x4000000);
	put(c, MANAGER + 0x70, 6);
}

static int stage(struct contract *c, const struct contract_job *job)
{
	u32 queue = QUEUE(4), size = (job->first_bytes / 4 - 1) << 16;
	int i;

	put(c, queue, 1);
	for (i = 0; i < BARS; i++)
		put(c, queue + QUEUE_BAR + 4 * i, job->bars[i]);
	put(c, queue + QUEUE_SIZE, size);
	put(c, queue + QUEUE_ADDRESS, job->first);
	put(c, queue + QUEUE_ID, NETWORK_ID << 8 | 1);
	/* The manager's registers get what the queue's hold. */
	put(c, MANAGER, get(c, queue + QUEUE_ADDRESS));
	put(c, MANAGER + 4, get(c, queue + QUEUE_SIZE) | job->tasks);
	if (get(c, MANAGER) != job->first || get(c, MANAGER + 4) != (size | job->tasks))
		return -EIO;
	return 0;
}

/* Reads a line to its end; 1 if an event said @word. */
static int events(struct contract *c, int line, u32 word)
{
	u32 at = MANAGER + MANAGER_EVENTS(line), left = get(c, at), words[4];
	int i, done = 0;

	if (left > EVENTS_MAX)
		return -EIO;
	for (; left; left--) {
		for (i = 0; i < 4; i++)
			words[i] = get(c, at + 4 + 4 * i);
		done |= words[0] == word;
	}
	put(c, MANAGER + MANAGER_ACKNOWLEDGE, get(c, MANAGER + MANAGER_ACKNOWLEDGE) | 2);
	return done;
}

static void invalidate(struct contract *c)
{
	u32 word;
	int i;

	for (i = 0; i < c->dart_count; i++) {
		writel(1, c->darts[i].regs + DART_SELECT);
		writel(DART_INVALIDATE, c->darts[i].regs + DART_COMMAND);
		if (readl_poll_timeout(c->darts[i].regs + DART_COMMAND, word, !(word & DART_BUSY), 1, 100))
			dev_err(c->dev, "DART %d stays busy\n", i);
	}
}

/* Puts a page where the engine found none, so that it goes on. */
static int contain(struct contract *c, struct contract_dart *dart)
{
	u64 iova = (u64)readl(dart->regs + DART_ADDRESS_HIGH) << 32 | readl(dart->regs + DART_ADDRESS);
	struct page *page;
	int ret;

	iova &= ~(u64)(PAGE_BYTES - 1);
	/* A page that is there already says that the fault stayed. */
	if (iova < APERTURE_START || iova >= APERTURE_END || iommu_iova_to_phys(c->domain, iova) ||
	    c->scratch_count == SCRATCH_MAX)
		return -EIO;
	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	ret = iommu_map(c->domain, iova, page_to_phys(page), PAGE_BYTES, IOMMU_READ | IOMMU_WRITE, GFP_KERNEL);
	if (ret) {
		__free_page(page);
		return ret;
	}
	c->scratch_iova[c->scratch_count] = iova;
	c->scratch[c->scratch_count++] = page;
	invalidate(c);
	return 0;
}

static void give_back(struct contract *c)
{
	while (c->scratch_count) {
		c->scratch_count--;
		iommu_unmap(c->domain, c->scratch_iova[c->scratch_count], PAGE_BYTES);
		__free_page(c->scratch[c->scratch_count]);
	}
}

static struct contract_dart *faulted(struct contract *c)
{
	int i;

	for (i = 0; i < c->dart_count; i++)
		if (readl(c->darts[i].regs + DART_ERROR) & DART_FAULT)
			return &c->darts[i];
	return NULL;
}

static int poll(struct contract *c, const struct contract_job *job)
{
	u32 word = 0x05000000 | NETWORK_ID << 16 | (job->tasks - 1);
	ktime_t end = ktime_add_us(ktime_get(), PATIENCE_US);
	bool done[2] = {};

	for (;;) {
		/* No register of the engine is touched while a DART holds a fault: that hangs the machine. */
		struct contract_dart *dart = faulted(c);
		int line, ret;

		if (dart) {
			ret = contain(c, dart);
			if (ret)
				return ret;
			end = ktime_add_us(ktime_get(), PATIENCE_US);
			continue;
		}
		for (line = 0; line < 2; line++) {
			ret = events(c, line, word);
			if (ret < 0)
				return ret;
			done[line] |= ret;
		}
		if ((get(c, MANAGER + MANAGER_STATUS) & IDLE) && done[0] && done[1])
			return 0;
		if (ktime_after(ktime_get(), end))
			return -ETIMEDOUT;
		udelay(1);
	}
}

static int retire(struct contract *c)
{
	u32 id = get(c, QUEUE(4) + QUEUE_ID);

	if ((id >> 8 & 0xff) != NETWORK_ID)
		return -EIO;
	put(c, QUEUE(4) + QUEUE_ID, id & ~1u);
	put(c, QUEUE(4), 0);
	return 0;
}

static void allow_interrupts(struct contract *c, bool allow)
{
	int i;

	for (i = 0; i < c->dart_count; i++) {
		if (allow)
			enable_irq(c->darts[i].irq);
		else
			disable_irq(c->darts[i].irq);
	}
}

/* Base and sets off and on again: whatever ran is gone, and the DARTs keep their tables. */
int contract_recover(struct contract *c)
{
	u32 status;
	int i, ret, failed = 0;

	c->cycles++;
	for (i = SETS - 1; i >= 0; i--) {
		/*
		 * Only a device that somebody else uses as well is forced to resume. The link from this driver's device counts
		 * as two users until that device has been suspended for the first time, and as one from then on.
		 */
		pm_runtime_get_noresume(c->sets[i]);
		ret = pm_runtime_force_suspend(c->sets[i]);
		if (ret)
			dev_err(c->dev, "set %d does not go off: %d\n", i + 1, ret);
	}
	for (i = 0; i < SETS; i++) {
		ret = pm_runtime_force_resume(c->sets[i]);
		pm_runtime_put_noidle(c->sets[i]);
		if (ret && !failed)
			failed = ret;
	}
	if (failed)
		return failed;
	contract_enable(c);
	ret = readl_poll_timeout(c->engine + MANAGER + MANAGER_STATUS, status, status & IDLE, 1000, PATIENCE_US);
	c->wedged = ret;
	return ret;
}

/* One request from its staging to its end. The caller holds the lock, and the power is on. */
int contract_submit(struct contract *c, const struct contract_job *job)
{
	int ret, line, contained;

	if (c->wedged)
		return -ECANCELED;
	c->accesses = 0;
	ret = stage(c, job);
	allow_interrupts(c, false);
	for (line = 0; line < 2 && !ret; line++)
		ret = min(events(c, line, 0), 0);
	if (!ret) {
		put(c, MANAGER + 8, PUSH);
		ret = poll(c, job);
	}
	if (!ret)
		ret = retire(c);
	contained = c->scratch_count;
	give_back(c);
	/* If a fault is left, apple-dart's handler clears it now: the line is a level. */
	allow_interrupts(c, true);
	if (ret) {
		dev_err(c->dev, "request ends with %d, power is cycled\n", ret);
		c->wedged = true;
		if (contract_recover(c))
			dev_err(c->dev, "engine does not come back\n");
		return ret;
	}
	c->contained += contained;
	return contained ? -EIO : 0;
}
