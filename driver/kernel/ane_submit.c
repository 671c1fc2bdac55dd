// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests: what is written for one, and what is done about one that does not end.
 *
 * All use queue 4, as today's clients expect, and the queue's first set. The set's base addresses keep what was written, so
 * only those that change are written again.
 */
#include <linux/bug.h>
#include <linux/mm.h>

#include "ane.h"

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
	ane_write(batch, ANE_TQ_REQ_NID1 + OURS, request->network_id << ANE_TQ_REQ_NID1_NID_SHIFT | 1);
	ane_write(batch, ANE_TM_REQUEST_ADDRESS, request->first);
	ane_write(batch, ANE_TM_REQUEST_INFO, size | request->tasks);
	ane_write(batch, ANE_TM_PUSH, ANE_LEGACY_QUEUE << ANE_TM_PUSH_QUEUE_SHIFT | PRIORITY);
}

/* The first descriptor goes to the space's own page, where no client changes it under the engine's eyes. */
static void copy_first(struct ane_space *space, struct ane_request *request)
{
	u32 at, step;
	__le32 *identity = page_address(space->first);

	for (at = 0; at < request->first_bytes; at += step) {
		u64 from = request->copied_at + at;

		step = min_t(u64, request->first_bytes - at, PAGE_SIZE - offset_in_page(from));
		memcpy(page_address(space->first) + at,
		       page_address(request->copied->pages[from >> PAGE_SHIFT]) + offset_in_page(from), step);
	}
	*identity &= cpu_to_le32(~ANE_HEADER_IDENTITY_NID_MASK);
	*identity |= cpu_to_le32((u32)request->network_id << ANE_HEADER_IDENTITY_NID_SHIFT);
	request->first = space->first_address.start;
}

static void begin_work(struct ane_device *ane)
{
	spin_lock(&ane->queue_lock);
	ane->busy_since = ktime_get_ns();
	spin_unlock(&ane->queue_lock);
}

/* A request that ended before it was pushed was no work. */
static void end_work(struct ane_device *ane)
{
	spin_lock(&ane->queue_lock);
	if (ane->busy_since) {
		ane->busy_ns += ktime_get_ns() - ane->busy_since;
		ane->busy_since = 0;
		ane->jobs++;
	}
	spin_unlock(&ane->queue_lock);
}

static int run(struct ane_device *ane, struct ane_file *file, struct ane_request *request)
{
	struct ane_space *space = file->space;
	struct ane_batch *batch = &ane->batch;
	int ret = 0;

	if (request->copied)
		copy_first(space, request);

	/* Also one that fails may have got so far. */
	space->was_attached = true;
	if (ane->attached != space || space->is_stale)
		ret = ane->bus->attach(ane, space);
	if (ret)
		return ret;
	if (ane->attached != space || space->is_stale)
		ane_count(space, ANE_COUNTER_INVALIDATIONS, 1);
	ane->attached = space;
	space->is_stale = false;
	batch->count = 0;
	ret = ane->bus->prepare(ane, batch);
	if (ret)
		return ret;
	stage(ane, batch, request);
	begin_work(ane);
	/* A batch that breaks off leaves registers that nobody knows. */
	ane->has_bars = false;
	ret = ane->bus->access(ane, batch);
	if (ret)
		return ret;
	memcpy(ane->bars, request->bars, sizeof(ane->bars));
	ane->has_bars = true;
	return ane->bus->wait(ane, file, request);
}

static int power_on(struct ane_device *ane)
{
	return ane->bus->power_on ? ane->bus->power_on(ane) : 0;
}

static void power_off(struct ane_device *ane)
{
	if (ane->bus->power_off)
		ane->bus->power_off(ane);
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

int ane_reset(struct ane_device *ane)
{
	int ret;

	mutex_lock(&ane->lock);
	ret = power_on(ane);
	if (!ret) {
		ret = ane_recover(ane);
		power_off(ane);
	}
	mutex_unlock(&ane->lock);
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

static void set_current(struct ane_device *ane, struct ane_request *request)
{
	spin_lock(&ane->queue_lock);
	ane->current_request = request;
	spin_unlock(&ane->queue_lock);
}

int ane_submit_locked(struct ane_device *ane, struct ane_file *file, struct ane_request *request)
{
	int ret;

	if (ane->is_lost)
		return -ECANCELED;
	/* Its caller may have waited for the lock for long. */
	if (READ_ONCE(request->is_cancelled))
		return -ECANCELED;
	if (!ktime_before(ktime_get(), request->deadline))
		return -ETIMEDOUT;
	ret = power_on(ane);
	if (ret)
		return told(ret);
	ane->submissions++;
	set_current(ane, request);
	ret = run(ane, file, request);
	end_work(ane);
	set_current(ane, NULL);
	if (ret)
		ane->failed++;
	if (ret && ret != -EIO && ret != -ETIME) {
		if (ret != -EINTR && ret != -ECANCELED)
			dev_warn_ratelimited(ane->drm.dev, "request does not end (%d), engine is reset\n", ret);
		ane_recover(ane);
	}
	power_off(ane);
	return told(ret);
}

int ane_submit(struct ane_device *ane, struct ane_file *file, struct ane_request *request)
{
	int ret;

	if (mutex_lock_interruptible(&ane->lock))
		return -ERESTARTSYS;
	ret = ane_submit_locked(ane, file, request);
	mutex_unlock(&ane->lock);
	return ret;
}
