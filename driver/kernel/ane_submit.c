// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests: what is written for one, and what is done about one that does not end.
 *
 * All use queue 4 and network id 0x40, as today's clients expect, and the queue's first set. The set's base addresses
 * keep what was written, so only those that change are written again.
 */
#include <linux/bug.h>

#include "ane.h"
#include "ane_accel.h"

#define QUEUE(n)	((n) * ANE_TQ_STRIDE)
#define OURS		QUEUE(ANE_LEGACY_QUEUE)
#define PRIORITY	5

void ane_write(struct ane_batch *batch, u32 offset, u32 value)
{
	if (WARN_ON_ONCE(batch->count == ANE_BATCH))
		return;
	batch->at[batch->count++] = (struct ane_access){ .offset = offset, .value = value, .is_write = true };
}

unsigned int ane_read(struct ane_batch *batch, u32 offset)
{
	if (WARN_ON_ONCE(batch->count == ANE_BATCH))
		return 0;
	batch->at[batch->count] = (struct ane_access){ .offset = offset };
	return batch->count++;
}

void ane_enable(struct ane_batch *batch, u32 lines)
{
	static const u32 priorities[] = { 1, 2, 3, 4, 5, 6, 0x1e, 0x1f };
	int i;

	ane_write(batch, ANE_TM_QUEUE_ENABLE, ANE_TM_QUEUE_ENABLE_ENABLE_MASK);
	for (i = 0; i < ARRAY_SIZE(priorities); i++)
		ane_write(batch, ANE_TQ_PRTY + QUEUE(i), priorities[i]);
	ane_write(batch, ANE_TM_INTERRUPT_ENABLE, ANE_TM_INTERRUPT_ENABLE_EVENTS_MASK);
	ane_write(batch, ANE_TM_LINE_ENABLE, lines);
	ane_write(batch, ANE_TQ_STATUS + OURS, 1);
}

static void stage(struct ane_device *ane, struct ane_batch *batch, const struct ane_request *request)
{
	u32 size = (request->first_bytes / 4 - 1) << ANE_TM_REQUEST_INFO_LAST_WORD_SHIFT;
	int i;

	for (i = 0; i < ANE_BARS; i++)
		if (!ane->has_bars || ane->bars[i] != request->bars[i])
			ane_write(batch, ANE_TQ_BAR1(i) + OURS, request->bars[i]);
	ane_write(batch, ANE_TQ_REQ_SIZE1 + OURS, size);
	ane_write(batch, ANE_TQ_REQ_ADDR1 + OURS, request->first);
	ane_write(batch, ANE_TQ_REQ_NID1 + OURS, ANE_FIFO_NID << ANE_TQ_REQ_NID1_NID_SHIFT | 1);
	ane_write(batch, ANE_TM_REQUEST_ADDRESS, request->first);
	ane_write(batch, ANE_TM_REQUEST_INFO, size | request->tasks);
	ane_write(batch, ANE_TM_PUSH, ANE_LEGACY_QUEUE << ANE_TM_PUSH_QUEUE_SHIFT | PRIORITY);
}

static int run(struct ane_device *ane, struct ane_space *space, const struct ane_request *request)
{
	struct ane_batch *batch = &ane->batch;
	int ret = 0;

	if (ane->attached != space || space->is_stale)
		ret = ane->bus->attach(ane, space);
	if (ret)
		return ret;
	ane->attached = space;
	space->is_stale = false;
	batch->count = 0;
	ret = ane->bus->prepare(ane, batch);
	if (ret)
		return ret;
	stage(ane, batch, request);
	/* A batch that breaks off leaves registers that nobody knows. */
	ane->has_bars = false;
	ret = ane->bus->access(ane, batch);
	if (ret)
		return ret;
	memcpy(ane->bars, request->bars, sizeof(ane->bars));
	ane->has_bars = true;
	return ane->bus->wait(ane, request);
}

/* Whatever runs is gone afterwards. */
int ane_recover(struct ane_device *ane)
{
	int ret;

	ane->recoveries++;
	ane->attached = NULL;
	ane->has_bars = false;
	ret = ane->bus->recover(ane);
	WRITE_ONCE(ane->is_lost, ret != 0);
	if (ret)
		dev_err(ane->drm.dev, "engine does not come back (%d); its memory is kept\n", ret);
	return ret;
}

/* What a client is told: it knows few names. */
static int told(int ret)
{
	switch (ret) {
	case 0:
	case -EINTR:
	case -ENODEV:
	case -ENOMEM:
	case -ECANCELED:
	case -ETIMEDOUT:
		return ret;
	case -ETIME:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

int ane_submit(struct ane_device *ane, struct ane_space *space, const struct ane_request *request)
{
	int ret;

	if (mutex_lock_interruptible(&ane->lock))
		return -ERESTARTSYS;
	ret = -ECANCELED;
	if (ane->is_lost)
		goto out;
	ret = ane->bus->power_on(ane);
	if (ret)
		goto out;
	ane->submissions++;
	ret = run(ane, space, request);
	if (ret)
		ane->failed++;
	if (ret && ret != -EIO && ret != -ETIME) {
		if (ret != -EINTR)
			dev_warn_ratelimited(ane->drm.dev, "request does not end (%d), engine is reset\n", ret);
		ane_recover(ane);
	}
	ane->bus->power_off(ane);
out:
	mutex_unlock(&ane->lock);
	return told(ret);
}
