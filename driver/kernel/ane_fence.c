// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Open files, and the fences of their requests: waiting for them, and taking requests back.
 *
 * Numbers count up in the file and are never used again. The last ANE_FENCE_HISTORY requests that have ended keep their
 * result; of one that ended before these only its having ended is known.
 */
#include <drm/drm_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ane.h"

struct ane_file *ane_file_create(struct ane_space *space)
{
	struct ane_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);

	if (!file)
		return NULL;
	file->space = space;
	INIT_LIST_HEAD(&file->jobs);
	INIT_LIST_HEAD(&file->ended);
	hash_init(file->fences);
	init_waitqueue_head(&file->told);
	return file;
}

static bool is_idle(struct ane_device *ane, struct ane_file *file)
{
	bool is_idle;

	spin_lock(&ane->queue_lock);
	is_idle = list_empty(&file->jobs);
	spin_unlock(&ane->queue_lock);
	return is_idle;
}

void ane_file_close(struct ane_device *ane, struct ane_file *file)
{
	struct ane_fence *fence, *next;

	ane_queue_cancel(ane, file);
	wait_event(file->told, is_idle(ane, file));
	/* Whoever ended the last of them is out of the lock, and with it out of the file, once it is taken again. */
	spin_lock(&ane->queue_lock);
	spin_unlock(&ane->queue_lock);
	list_for_each_entry_safe(fence, next, &file->ended, age)
		kfree(fence);
	kfree(file);
}

struct waited {
	struct ane_device *ane;
	struct ane_file *file;
	const struct drm_ane_fence *fences;
	u32 count;
};

static u32 count_ended(const struct waited *waited)
{
	u32 i, ended = 0;

	spin_lock(&waited->ane->queue_lock);
	for (i = 0; i < waited->count; i++)
		ended += ane_fence_has_ended(ane_fence_find(waited->file, waited->fences[i].fence));
	spin_unlock(&waited->ane->queue_lock);
	return ended;
}

static bool all_are_known(const struct waited *waited)
{
	bool are_known = true;
	u32 i;

	spin_lock(&waited->ane->queue_lock);
	for (i = 0; i < waited->count; i++)
		are_known &= waited->fences[i].fence && waited->fences[i].fence <= waited->file->last_fence;
	spin_unlock(&waited->ane->queue_lock);
	return are_known;
}

static u32 tell(const struct waited *waited, struct drm_ane_fence *fences)
{
	u32 i, ended = 0;

	spin_lock(&waited->ane->queue_lock);
	for (i = 0; i < waited->count; i++) {
		const struct ane_fence *fence = ane_fence_find(waited->file, fences[i].fence);
		struct drm_ane_fence told = { .fence = fences[i].fence, .state = ANE_FENCE_STATE_FORGOTTEN };

		if (fence) {
			told.state = fence->state;
			told.result = fence->result;
			told.fault = fence->fault;
			told.timestamp = fence->timestamp;
		}
		ended += ane_fence_has_ended(fence);
		fences[i] = told;
	}
	spin_unlock(&waited->ane->queue_lock);
	return ended;
}

static long sleep_until(const struct waited *waited, u32 wanted, s64 until)
{
	s64 now = ktime_get_ns();

	if (until == ANE_TIME_NEVER)
		return wait_event_interruptible(waited->file->told, count_ended(waited) >= wanted);
	if (until <= now)
		return 0;
	return wait_event_interruptible_hrtimeout(waited->file->told, count_ended(waited) >= wanted, until - now);
}

int ane_wait(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_wait *wait = data;
	void __user *at = u64_to_user_ptr(wait->fences);
	struct waited waited = { .ane = to_ane(drm), .file = file->driver_priv, .count = wait->count };
	struct drm_ane_fence *fences;
	u32 wanted = wait->flags & ANE_WAIT_ANY ? 1 : wait->count, ended;
	int ret;

	if (!wait->count || wait->flags & ~ANE_WAIT_ANY)
		return -EINVAL;
	if (wait->count > ANE_WAIT_MAX)
		return -E2BIG;
	if (wait->fence_size != sizeof(*fences))
		return -EINVAL;
	fences = memdup_array_user(at, wait->count, sizeof(*fences));
	if (IS_ERR(fences))
		return PTR_ERR(fences);
	waited.fences = fences;
	ret = -ENODATA;
	if (!all_are_known(&waited))
		goto out;
	ret = -EINTR;
	if (sleep_until(&waited, wanted, wait->timeout_ns) == -ERESTARTSYS)
		goto out;
	ended = tell(&waited, fences);
	ret = -EFAULT;
	if (copy_to_user(at, fences, wait->count * sizeof(*fences)))
		goto out;
	wait->completed = ended;
	ret = ended < wanted ? -ETIMEDOUT : 0;
out:
	kfree(fences);
	return ret;
}

int ane_cancel(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_cancel *cancel = data;

	if (cancel->flags & ~ANE_CANCEL_RUNNING)
		return -EINVAL;
	return ane_queue_take_back(to_ane(drm), file->driver_priv, cancel);
}
