// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Submitting requests, one at a time or in a chain: every word is checked before anything is queued.
 *
 * A request names its task stream by BAR 0. The first descriptor is copied from there to the space's own page when the
 * request's turn comes, with the network id in it that the queue is told.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <linux/capability.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ane.h"

/* Longest first descriptor: its length has nine bits, in words. */
#define COPIED_MAX	2048u

static int check(const struct drm_ane_request *words)
{
	if (words->reserved || words->reserved2[0] || words->reserved2[1] ||
	    words->flags & ~(ANE_REQUEST_NONBLOCK | ANE_REQUEST_RECYCLE) || words->priority > ANE_PRIORITY_LAST)
		return -EINVAL;
	if (words->priority < ANE_PRIORITY_APPLICATION && !capable(CAP_SYS_NICE))
		return -EPERM;
	/* There are no programs here, so none was ever given out. */
	if (words->program != ANE_HANDLE_NONE)
		return -ENOENT;
	if (!words->stream_size || !words->task_count || !words->first_size ||
	    words->network_id > ANE_NETWORK_ID_MAX || words->network_id == ANE_FIFO_NID ||
	    words->task_count > ANE_TASKS_MAX || words->first_size % 4 || words->first_size > COPIED_MAX)
		return -EINVAL;
	if (words->bar_count > ANE_BARS_MAX || words->in_fence_count > ANE_IN_FENCES_MAX)
		return -E2BIG;
	return words->bar_count && words->bar_size != sizeof(struct drm_ane_bar) ? -EINVAL : 0;
}

/* The mapping stays where it is until the job is freed. */
static int bind(struct drm_file *file, struct ane_job *job, const struct drm_ane_request *words, const struct drm_ane_bar *bar)
{
	struct ane_use *use = &job->uses[job->use_count];
	u64 address, bytes;
	int ret;

	if (bar->index >= ANE_BARS || bar->reserved)
		return -EINVAL;
	use->buffer = ane_buffer_get(file, bar->handle);
	if (!use->buffer)
		return -ENOENT;
	ret = ane_hold(use->buffer, bar->mapping, &use->mapping, &address);
	if (ret) {
		drm_gem_object_put(&use->buffer->gem);
		return ret;
	}
	job->use_count++;
	/* What is held does not change any more. */
	bytes = (u64)use->mapping->count << PAGE_SHIFT;
	if (bar->offset >= bytes)
		return -EINVAL;
	job->request.bars[bar->index] = address + bar->offset;
	if (bar->index)
		return 0;
	if (words->stream_size > bytes - bar->offset || words->first_size > words->stream_size)
		return -EINVAL;
	job->request.copied = use->buffer;
	job->request.copied_at = ((u64)use->mapping->first << PAGE_SHIFT) + bar->offset;
	return 0;
}

static int bind_all(struct drm_file *file, struct ane_job *job, const struct drm_ane_request *words)
{
	struct drm_ane_bar *bars;
	u32 i, seen = 0;
	int ret = 0;

	if (!words->bar_count)
		return -EINVAL;
	bars = memdup_array_user(u64_to_user_ptr(words->bars), words->bar_count, sizeof(*bars));
	if (IS_ERR(bars))
		return PTR_ERR(bars);
	for (i = 0; i < words->bar_count && !ret; i++) {
		if (bars[i].index < ANE_BARS && seen & BIT(bars[i].index))
			ret = -EINVAL;
		else
			ret = bind(file, job, words, &bars[i]);
		if (!ret)
			seen |= BIT(bars[i].index);
	}
	kfree(bars);
	return ret ?: job->request.copied ? 0 : -EINVAL;
}

static int read_fences(struct ane_file *own, struct ane_job *job, const struct drm_ane_request *words)
{
	u64 last;
	u32 i;

	if (copy_from_user(job->after, u64_to_user_ptr(words->in_fences), words->in_fence_count * sizeof(u64)))
		return -EFAULT;
	spin_lock(&own->space->ane->queue_lock);
	last = own->last_fence;
	spin_unlock(&own->space->ane->queue_lock);
	for (i = 0; i < words->in_fence_count; i++)
		if (!job->after[i] || job->after[i] > last)
			return -ENODATA;
	job->after_count = words->in_fence_count;
	return 0;
}

/* A job that is checked and bound, and not queued. */
static struct ane_job *prepare(struct drm_file *file, const struct drm_ane_request *words)
{
	struct ane_file *own = file->driver_priv;
	struct ane_job *job;
	int ret;

	ret = check(words);
	if (ret)
		return ERR_PTR(ret);
	job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return ERR_PTR(-ENOMEM);
	job->file = own;
	job->priority = words->priority;
	job->request.first_bytes = words->first_size;
	job->request.tasks = words->task_count;
	job->request.network_id = words->network_id ?: ANE_FIFO_NID;
	job->request.deadline = words->deadline_ns && words->deadline_ns < KTIME_MAX ? words->deadline_ns : KTIME_MAX;
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL_ACCOUNT);
	ret = job->fence ? read_fences(own, job, words) : -ENOMEM;
	if (!ret)
		ret = bind_all(file, job, words);
	if (!ret)
		ret = ane_space_first(own->space);
	if (!ret)
		return job;
	ane_job_free(job);
	return ERR_PTR(ret);
}

static void drop(struct list_head *jobs)
{
	struct ane_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, queued)
		ane_job_free(job);
}

/* Under the queue's lock: what a job waits for may have ended meanwhile. */
static void look_at_fences(struct ane_job *job)
{
	unsigned int i;

	for (i = 0; i < job->after_count; i++) {
		const struct ane_fence *fence = ane_fence_find(job->file, job->after[i]);

		if (!ane_fence_has_ended(fence))
			continue;
		job->is_doomed |= fence && fence->result;
		job->after[i--] = job->after[--job->after_count];
	}
}

/* All of them or none: -EAGAIN if the file has too much in flight, or -EIO while it is parked. */
static int try_queue(struct ane_device *ane, struct ane_file *own, struct list_head *jobs, u64 *last)
{
	struct ane_job *job;
	u64 before = 0, chain;
	int ret = 0;

	spin_lock(&ane->queue_lock);
	if (READ_ONCE(ane->is_lost) || ktime_after(own->parked_until, ktime_get()))
		ret = -EIO;
	else if (own->in_flight >= ANE_IN_FLIGHT_MAX)
		ret = -EAGAIN;
	if (ret)
		goto out;
	chain = own->last_fence + 1;
	list_for_each_entry(job, jobs, queued) {
		look_at_fences(job);
		if (before)
			job->after[job->after_count++] = before;
		before = ++own->last_fence;
		job->fence->number = job->request.fence = before;
		job->chain = chain;
		job->since = ktime_get();
		job->is_counted = list_is_last(&job->queued, jobs);
	}
	own->in_flight++;
	own->space->counters.at[ANE_COUNTER_IN_FLIGHT]++;
	own->space->counters.at[ANE_COUNTER_IN_FLIGHT_PEAK] =
		max_t(u64, own->space->counters.at[ANE_COUNTER_IN_FLIGHT_PEAK], own->in_flight);
	ane->counters.at[ANE_COUNTER_IN_FLIGHT]++;
	ane->counters.at[ANE_COUNTER_IN_FLIGHT_PEAK] =
		max(ane->counters.at[ANE_COUNTER_IN_FLIGHT_PEAK], ane->counters.at[ANE_COUNTER_IN_FLIGHT]);
	ane_queue_add(ane, jobs);
	*last = before;
out:
	spin_unlock(&ane->queue_lock);
	return ret;
}

static bool has_room(struct ane_device *ane, struct ane_file *own)
{
	bool has_room;

	spin_lock(&ane->queue_lock);
	has_room = own->in_flight < ANE_IN_FLIGHT_MAX;
	spin_unlock(&ane->queue_lock);
	return has_room;
}

static int queue(struct ane_device *ane, struct ane_file *own, struct list_head *jobs, u32 flags, u64 *last)
{
	int ret;

	for (;;) {
		ret = try_queue(ane, own, jobs, last);
		if (!ret)
			ane_queue_kick(ane);
		if (ret != -EAGAIN || flags & ANE_REQUEST_NONBLOCK)
			return ret;
		if (wait_event_interruptible(own->told, has_room(ane, own)))
			return -EINTR;
	}
}

/* A device that is gone takes no work; one that goes later ends what it has. */
static struct ane_job *prepare_here(struct drm_file *file, const struct drm_ane_request *words)
{
	struct ane_file *own = file->driver_priv;
	struct ane_job *job;
	int idx;

	if (!drm_dev_enter(&own->space->ane->drm, &idx))
		return ERR_PTR(-ENODEV);
	job = prepare(file, words);
	drm_dev_exit(idx);
	return job;
}

int ane_submit_request(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_request *words = data;
	struct ane_job *job;
	LIST_HEAD(jobs);
	u64 fence;
	int ret;

	job = prepare_here(file, words);
	if (IS_ERR(job))
		return PTR_ERR(job);
	list_add(&job->queued, &jobs);
	ret = queue(to_ane(drm), file->driver_priv, &jobs, words->flags, &fence);
	if (ret)
		drop(&jobs);
	else
		words->out_fence = fence;
	return ret;
}

/* Makes the jobs of a chain; the index of the one that cannot be made is counted up to. */
static int prepare_chain(struct drm_file *file, struct drm_ane_chain *chain, const struct drm_ane_request *requests,
			 struct list_head *jobs)
{
	u32 i;

	for (i = 0; i < chain->request_count; i++) {
		struct ane_job *job = ERR_PTR(-EINVAL);

		/* A chain is taken as a whole or not at all, so only the chain itself may ask not to wait. */
		if (!(requests[i].flags & ANE_REQUEST_NONBLOCK))
			job = prepare_here(file, &requests[i]);
		if (IS_ERR(job)) {
			chain->failed = i;
			return PTR_ERR(job);
		}
		list_add_tail(&job->queued, jobs);
	}
	return 0;
}

int ane_submit_chain(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_chain *chain = data;
	struct drm_ane_request *requests, __user *at = u64_to_user_ptr(chain->requests);
	LIST_HEAD(jobs);
	u64 last;
	u32 i;
	int ret;

	if (!chain->request_count || chain->flags & ~ANE_REQUEST_NONBLOCK)
		return -EINVAL;
	if (chain->request_count > ANE_CHAIN_MAX)
		return -E2BIG;
	if (chain->request_size != sizeof(*requests))
		return -EINVAL;
	requests = memdup_array_user(at, chain->request_count, sizeof(*requests));
	if (IS_ERR(requests))
		return PTR_ERR(requests);
	ret = prepare_chain(file, chain, requests, &jobs);
	if (!ret)
		ret = queue(to_ane(drm), file->driver_priv, &jobs, chain->flags, &last);
	if (ret) {
		drop(&jobs);
		goto out;
	}
	chain->out_fence = last;
	/* They run, whether their numbers can be told or not; that of the last is enough to wait for them. */
	for (i = 0; i < chain->request_count; i++)
		if (put_user(last - (chain->request_count - 1 - i), &at[i].out_fence))
			break;
out:
	kfree(requests);
	return ret;
}
