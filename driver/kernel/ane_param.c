// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What device and driver say of themselves, counters, and contexts.
 *
 * Every file has an address space of its own, and all of them are context 0 in their turn: there is always one free.
 */
#include <drm/drm_file.h>
#include <linux/capability.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "ane.h"

static u64 state_of(struct ane_device *ane, const struct ane_file *own)
{
	if (READ_ONCE(ane->is_lost))
		return ANE_STATE_DEAD;
	return ktime_after(own->parked_until, ktime_get()) ? ANE_STATE_PARKED : ANE_STATE_READY;
}

int ane_get_param(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ane_device *ane = to_ane(drm);
	const struct ane_facts *facts = &ane->facts;
	struct ane_file *own = file->driver_priv;
	struct drm_ane_get_param *get = data;
	u64 value;

	if (get->reserved)
		return -EINVAL;
	spin_lock(&ane->queue_lock);
	switch (get->param) {
	case ANE_PARAM_ABI_VERSION:
		value = ANE_ABI_VERSION;
		break;
	case ANE_PARAM_FEATURES:
		value = facts->features;
		break;
	case ANE_PARAM_CHIP:
		value = facts->chip;
		break;
	case ANE_PARAM_INSTANCE:
		value = facts->instance;
		break;
	case ANE_PARAM_ANE_TYPE:
		value = facts->ane_type;
		break;
	case ANE_PARAM_ENGINES:
		value = facts->engines;
		break;
	case ANE_PARAM_QUEUES:
		value = facts->queues;
		break;
	case ANE_PARAM_CONTEXTS:
	case ANE_PARAM_CONTEXTS_FREE:
		value = 1;
		break;
	case ANE_PARAM_PAGE_SIZE:
		value = ANE_PAGE;
		break;
	case ANE_PARAM_APERTURE_BASE:
		value = 0;
		break;
	case ANE_PARAM_APERTURE_SIZE:
		value = ANE_END_ADDRESS;
		break;
	case ANE_PARAM_FIRST_ADDRESS:
		value = ANE_FIRST_ADDRESS;
		break;
	case ANE_PARAM_FAULT_POLICY:
		value = facts->fault_policy;
		break;
	case ANE_PARAM_STATE:
		value = state_of(ane, own);
		break;
	case ANE_PARAM_CLOCK_NS:
		value = ktime_get_ns();
		break;
	case ANE_PARAM_TICKS_PER_SECOND:
		value = ANE_TICKS_PER_SECOND;
		break;
	case ANE_PARAM_CONTEXT:
		value = own->has_context ? ANE_STREAM : ANE_CONTEXT_ANY;
		break;
	case ANE_PARAM_PE_MMU_PAGE_SIZE:
	case ANE_PARAM_PE_MMU_OVERHEAD_PS:
	case ANE_PARAM_PE_MMU_FABRIC_PS:
	case ANE_PARAM_MOVER_ATTRIBUTES:
		/* The companion blocks are not driven here. */
		value = 0;
		break;
	default:
		spin_unlock(&ane->queue_lock);
		return -EINVAL;
	}
	spin_unlock(&ane->queue_lock);
	get->value = value;
	return 0;
}

int ane_context_attach(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_context_attach *attach = data;
	struct ane_device *ane = to_ane(drm);
	struct ane_file *own = file->driver_priv;
	bool had_context;

	if (attach->reserved || attach->policy > ANE_CONTEXT_POLICY_SHARE ||
	    (attach->policy != ANE_CONTEXT_POLICY_WAIT && attach->timeout_ns) ||
	    (attach->context != ANE_CONTEXT_ANY && attach->context >= ANE_CONTEXTS_MAX))
		return -EINVAL;
	if (attach->context != ANE_CONTEXT_ANY && attach->context != ANE_STREAM)
		return -EBUSY;
	spin_lock(&ane->queue_lock);
	had_context = own->has_context;
	own->has_context = true;
	spin_unlock(&ane->queue_lock);
	if (had_context)
		return -EALREADY;
	attach->context = ANE_STREAM;
	attach->sharers = 1;
	return 0;
}

int ane_context_detach(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_ane_context_detach *detach = data;
	struct ane_device *ane = to_ane(drm);
	struct ane_file *own = file->driver_priv;
	bool has_buffers;
	int ret = 0;

	if (detach->flags || detach->reserved)
		return -EINVAL;
	spin_lock(&file->table_lock);
	has_buffers = !idr_is_empty(&file->object_idr);
	spin_unlock(&file->table_lock);
	spin_lock(&ane->queue_lock);
	if (!own->has_context)
		ret = -ENOENT;
	else if (has_buffers || !list_empty(&own->jobs))
		ret = -EBUSY;
	else
		own->has_context = false;
	spin_unlock(&ane->queue_lock);
	return ret;
}

void ane_count(struct ane_space *space, unsigned int counter, s64 by)
{
	struct ane_device *ane = space->ane;

	spin_lock(&ane->queue_lock);
	space->counters.at[counter] += by;
	ane->counters.at[counter] += by;
	spin_unlock(&ane->queue_lock);
}

int ane_get_stats(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_get_stats *get = data;
	struct ane_device *ane = to_ane(drm);
	struct ane_file *own = file->driver_priv;
	u32 known = min_t(u32, get->count, ANE_COUNTERS), rest = get->count - known;
	u64 __user *to = u64_to_user_ptr(get->counters);
	struct ane_counters *copy;
	int ret = 0;

	if (get->count > ANE_STATS_MAX)
		return -E2BIG;
	if (get->scope != ANE_STATS_FILE && get->scope != ANE_STATS_DEVICE)
		return -EINVAL;
	/* They show when another user runs something. */
	if (get->scope == ANE_STATS_DEVICE && !capable(CAP_SYS_ADMIN))
		return -EPERM;
	copy = kmalloc(sizeof(*copy), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	spin_lock(&ane->queue_lock);
	*copy = get->scope == ANE_STATS_FILE ? own->space->counters : ane->counters;
	spin_unlock(&ane->queue_lock);
	if (copy_to_user(to, copy->at, known * sizeof(*to)) || (rest && clear_user(to + known, rest * sizeof(*to))))
		ret = -EFAULT;
	else
		get->count = ANE_COUNTERS;
	kfree(copy);
	return ret;
}
