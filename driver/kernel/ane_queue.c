// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests behind their callers' backs: who is next, and what becomes of each.
 *
 * A worker carries them out one at a time, the most urgent priority first. Among files of one priority the one whose turn
 * is longest ago is next, so that a file with many requests waits for one with few. Requests of one file and priority begin
 * in their order: one that has to wait for others, or whose file is parked, holds up those behind it.
 */
#include <drm/drm_drv.h>
#include <drm/drm_managed.h>
#include <linux/slab.h>

#include "ane.h"

struct ane_fence *ane_fence_find(struct ane_file *file, u64 number)
{
	struct ane_fence *fence;

	hash_for_each_possible(file->fences, fence, hash, number)
		if (fence->number == number)
			return fence;
	return NULL;
}

static void forget_oldest(struct ane_file *file)
{
	struct ane_fence *oldest = list_first_entry(&file->ended, struct ane_fence, age);

	list_del(&oldest->age);
	hash_del(&oldest->hash);
	file->ended_count--;
	kfree(oldest);
}

/* What waits for the fence waits no longer, or is doomed. */
static void settle(struct ane_file *file, u64 number, bool has_failed)
{
	struct ane_job *job;
	unsigned int i;

	list_for_each_entry(job, &file->jobs, link) {
		for (i = 0; i < job->after_count; i++) {
			if (job->after[i] != number)
				continue;
			job->after[i--] = job->after[--job->after_count];
			job->is_doomed |= has_failed;
		}
	}
}

static unsigned int counter_of(int result)
{
	switch (result) {
	case 0:
		return ANE_COUNTER_COMPLETED;
	case -ECANCELED:
		return ANE_COUNTER_CANCELLED;
	case -ETIME:
		return ANE_COUNTER_TIMED_OUT;
	default:
		return ANE_COUNTER_FAILED;
	}
}

void ane_job_free(struct ane_job *job)
{
	unsigned int i;

	for (i = 0; i < job->use_count; i++) {
		ane_release(job->uses[i].buffer, job->uses[i].mapping);
		drm_gem_object_put(&job->uses[i].buffer->gem);
	}
	kfree(job->fence);
	kfree(job);
}

/*
 * The last of a chain may end before others of it, by being taken back. Then the one before it counts for the chain:
 * the requests of a chain follow each other among the file's.
 */
static void uncount(struct ane_device *ane, struct ane_job *job)
{
	struct ane_file *file = job->file;

	if (!list_is_first(&job->link, &file->jobs)) {
		struct ane_job *before = list_prev_entry(job, link);

		if (before->chain == job->chain) {
			before->is_counted = true;
			return;
		}
	}
	file->in_flight--;
	file->space->counters.at[ANE_COUNTER_IN_FLIGHT]--;
	ane->counters.at[ANE_COUNTER_IN_FLIGHT]--;
}

/*
 * Under the queue's lock, with the job out of its priority's list. The job itself is freed behind it, by what it
 * returns to: its buffers take locks that may not be taken here. The caller settles what waits for the job's fence.
 */
static void end_unsettled(struct ane_device *ane, struct ane_job *job, int result, struct list_head *dead)
{
	struct ane_file *file = job->file;
	struct ane_fence *fence = job->fence;

	lockdep_assert_held(&ane->queue_lock);
	job->fence = NULL;
	fence->result = result;
	fence->fault = job->request.fault;
	fence->timestamp = job->request.ended;
	fence->state = ANE_FENCE_STATE_COMPLETE;
	list_add_tail(&fence->age, &file->ended);
	if (++file->ended_count > ANE_FENCE_HISTORY)
		forget_oldest(file);
	if (job->is_counted)
		uncount(ane, job);
	list_del(&job->link);
	file->space->counters.at[counter_of(result)]++;
	ane->counters.at[counter_of(result)]++;
	list_add_tail(&job->queued, dead);
	wake_up_all(&file->told);
}

/* The same, and the requests behind it learn of its end. */
static void end(struct ane_device *ane, struct ane_job *job, int result, struct list_head *dead)
{
	settle(job->file, job->fence->number, result != 0);
	end_unsettled(ane, job, result, dead);
}

static void bury(struct list_head *dead)
{
	struct ane_job *job, *next;

	list_for_each_entry_safe(job, next, dead, queued)
		ane_job_free(job);
}

/* The next one of a priority; *later is when a parked file's time is over. */
static struct ane_job *best_of(struct ane_device *ane, struct list_head *queue, ktime_t *later)
{
	struct ane_job *job, *best = NULL;
	u64 round = ++ane->rounds;

	list_for_each_entry(job, queue, queued) {
		struct ane_file *file = job->file;

		/* Its first of this priority was looked at already. */
		if (file->looked_at == round)
			continue;
		file->looked_at = round;
		if (job->after_count && !job->is_doomed)
			continue;
		if (ktime_after(file->parked_until, ktime_get())) {
			*later = min(*later, file->parked_until);
			continue;
		}
		if (!best || file->turn < best->file->turn)
			best = job;
	}
	return best;
}

static struct ane_job *take(struct ane_device *ane, ktime_t *later)
{
	struct ane_job *job = NULL;
	int i;

	for (i = 0; i < ANE_PRIORITIES && !job; i++)
		job = best_of(ane, &ane->queues[i], later);
	if (!job)
		return NULL;
	list_del_init(&job->queued);
	job->file->turn = ++ane->turns;
	ane->running = job;
	job->fence->state = ANE_FENCE_STATE_RUNNING;
	return job;
}

static int run(struct ane_device *ane, struct ane_job *job)
{
	ktime_t begun = ktime_get(), now;
	int idx, ret;

	ane_count(job->file->space, ANE_COUNTER_QUEUED_NS, ktime_to_ns(ktime_sub(begun, job->since)));
	if (job->is_doomed || READ_ONCE(job->request.is_cancelled))
		return -ECANCELED;
	if (!ktime_before(begun, job->request.deadline))
		return -ETIME;
	if (!drm_dev_enter(&ane->drm, &idx))
		return -ENODEV;
	mutex_lock(&ane->lock);
	ret = ane_submit_locked(ane, job->file, &job->request);
	mutex_unlock(&ane->lock);
	drm_dev_exit(idx);
	now = ktime_get();
	ane_count(job->file->space, ANE_COUNTER_RUNNING_NS, ktime_to_ns(ktime_sub(now, begun)));
	if (READ_ONCE(job->request.is_cancelled))
		return -ECANCELED;
	return ret == -ETIMEDOUT ? -ETIME : ret;
}

static void work(struct work_struct *work)
{
	struct ane_device *ane = container_of(to_delayed_work(work), struct ane_device, work);
	ktime_t later = KTIME_MAX;
	struct ane_job *job;
	LIST_HEAD(dead);
	int result;

	spin_lock(&ane->queue_lock);
	job = take(ane, &later);
	spin_unlock(&ane->queue_lock);
	if (job) {
		result = run(ane, job);
		/* The file may be closed as soon as its last request has ended, so buffers are let go before. */
		while (job->use_count) {
			struct ane_use *use = &job->uses[--job->use_count];

			ane_release(use->buffer, use->mapping);
			drm_gem_object_put(&use->buffer->gem);
		}
		spin_lock(&ane->queue_lock);
		ane->running = NULL;
		end(ane, job, result, &dead);
		spin_unlock(&ane->queue_lock);
		bury(&dead);
		ane_queue_kick(ane);
	} else if (later != KTIME_MAX) {
		/* Somebody may have kicked the worker since it looked; that stays. */
		queue_delayed_work(ane->workers, &ane->work,
				   nsecs_to_jiffies(max_t(s64, later - ktime_get(), 0)) + 1);
	}
}

void ane_queue_kick(struct ane_device *ane)
{
	mod_delayed_work(ane->workers, &ane->work, 0);
}

/* Of a device that is gone the transport is gone as well, and nobody waits there. */
static void wake(struct ane_device *ane)
{
	int idx;

	if (!drm_dev_enter(&ane->drm, &idx))
		return;
	ane->bus->wake(ane);
	drm_dev_exit(idx);
}

void ane_queue_add(struct ane_device *ane, struct list_head *jobs)
{
	struct ane_job *job, *next;

	lockdep_assert_held(&ane->queue_lock);
	list_for_each_entry_safe(job, next, jobs, queued) {
		struct ane_file *file = job->file;

		list_move_tail(&job->queued, &ane->queues[job->priority]);
		list_add_tail(&job->link, &file->jobs);
		hash_add(file->fences, &job->fence->hash, job->fence->number);
		file->space->counters.at[ANE_COUNTER_SUBMITTED]++;
		ane->counters.at[ANE_COUNTER_SUBMITTED]++;
	}
}

static void cancel_all_of(struct ane_device *ane, struct list_head *queue, struct ane_file *file, struct list_head *dead,
			  unsigned int *count)
{
	struct ane_job *job, *next;

	list_for_each_entry_safe(job, next, queue, queued) {
		if (file && job->file != file)
			continue;
		list_del_init(&job->queued);
		/* All that could wait for it ends here too. To look for them would take a walk of the file for each job. */
		end_unsettled(ane, job, -ECANCELED, dead);
		(*count)++;
	}
}

unsigned int ane_queue_cancel(struct ane_device *ane, struct ane_file *file)
{
	unsigned int count = 0;
	LIST_HEAD(dead);
	int i;

	spin_lock(&ane->queue_lock);
	for (i = 0; i < ANE_PRIORITIES; i++)
		cancel_all_of(ane, &ane->queues[i], file, &dead, &count);
	if (ane->running && (!file || ane->running->file == file)) {
		WRITE_ONCE(ane->running->request.is_cancelled, true);
		count++;
	}
	/* It may be the one above, or that of a submission whose end the one above waits for. */
	if (!file && ane->current_request && !(ane->running && ane->current_request == &ane->running->request)) {
		WRITE_ONCE(ane->current_request->is_cancelled, true);
		count++;
	}
	spin_unlock(&ane->queue_lock);
	wake(ane);
	bury(&dead);
	return count;
}

static struct ane_job *job_of(struct ane_file *file, u64 number)
{
	struct ane_job *job;

	list_for_each_entry(job, &file->jobs, link)
		if (job->fence->number == number)
			return job;
	return NULL;
}

int ane_queue_take_back(struct ane_device *ane, struct ane_file *file, struct drm_ane_cancel *cancel)
{
	struct ane_job *job;
	LIST_HEAD(dead);
	int ret = 0;

	spin_lock(&ane->queue_lock);
	job = job_of(file, cancel->fence);
	if (!cancel->fence || cancel->fence > file->last_fence) {
		ret = -ENODATA;
	} else if (!job) {
		ret = -EALREADY;
	} else if (job != ane->running) {
		cancel->state = ANE_FENCE_STATE_QUEUED;
		list_del_init(&job->queued);
		end(ane, job, -ECANCELED, &dead);
	} else if (cancel->flags & ANE_CANCEL_RUNNING) {
		cancel->state = ANE_FENCE_STATE_RUNNING;
		WRITE_ONCE(job->request.is_cancelled, true);
	} else {
		ret = -EBUSY;
	}
	spin_unlock(&ane->queue_lock);
	bury(&dead);
	if (!ret) {
		wake(ane);
		ane_queue_kick(ane);
	}
	return ret;
}

static void stop_work(struct drm_device *drm, void *data)
{
	struct ane_device *ane = data;

	cancel_delayed_work_sync(&ane->work);
}

int ane_queue_init(struct ane_device *ane)
{
	int i;

	spin_lock_init(&ane->queue_lock);
	for (i = 0; i < ANE_PRIORITIES; i++)
		INIT_LIST_HEAD(&ane->queues[i]);
	INIT_DELAYED_WORK(&ane->work, work);
	/* It stands still while the system sleeps, and the request that runs ends before. */
	ane->workers = drmm_alloc_ordered_workqueue(&ane->drm, "ane", WQ_FREEZABLE);
	if (IS_ERR(ane->workers))
		return PTR_ERR(ane->workers);
	/* Undone first. */
	return drmm_add_action_or_reset(&ane->drm, stop_work, ane);
}
