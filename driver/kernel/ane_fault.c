// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Faults: what a DART caught, kept for the file whose request it was, and going on afterwards.
 *
 * A window names a fault by its status word and the address. The rest of the descriptor follows from these: the entries that
 * the walk used are parts of the address, and each cause has a bit of its own, or a pair of them.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <linux/capability.h>

#include "ane.h"

#define STATUS(bit)	ANE_DART_ERROR_STATUS_##bit##_MASK
#define CAUSES		(~(STATUS(FAULT) | STATUS(STREAM) | STATUS(WRITE)))

static const struct {
	u32 bits;
	u8 cause, type, stage;
} causes[] = {
#define CAUSE(bits, cause, type, stage) { bits, ANE_FAULT_CAUSE_##cause, ANE_FAULT_TYPE_##type##_FAULT, ANE_FAULT_CLASS_##stage }
	CAUSE(STATUS(NO_TTBR), NO_TABLE_BASE, TRANSLATION, TABLE_BASE),
	CAUSE(STATUS(NO_L2_ENTRY), NO_L2_ENTRY, TRANSLATION, L2_TABLE),
	CAUSE(STATUS(NO_L3_ENTRY), NO_L3_ENTRY, TRANSLATION, L3_TABLE),
	CAUSE(STATUS(TABLE_UNREADABLE) | STATUS(NO_L2_ENTRY), L2_TABLE_UNREADABLE, TRANSLATION, L2_TABLE),
	CAUSE(STATUS(TABLE_UNREADABLE) | STATUS(NO_L3_ENTRY), L3_TABLE_UNREADABLE, TRANSLATION, L3_TABLE),
	/* Alone the bit is the leaf's. */
	CAUSE(STATUS(TABLE_UNREADABLE), L3_TABLE_UNREADABLE, TRANSLATION, L3_TABLE),
	CAUSE(STATUS(ENTRY_MALFORMED) | STATUS(NO_L2_ENTRY), L2_ENTRY_MALFORMED, TRANSLATION, L2_TABLE),
	CAUSE(STATUS(ENTRY_MALFORMED) | STATUS(NO_L3_ENTRY), L3_ENTRY_MALFORMED, TRANSLATION, L3_TABLE),
	CAUSE(STATUS(READ_PROTECTION), READ_NOT_PERMITTED, PROTECTION, PERMISSION),
	CAUSE(STATUS(WRITE_PROTECTION), WRITE_NOT_PERMITTED, PROTECTION, PERMISSION),
	CAUSE(STATUS(SUB_PAGE), OUTSIDE_THE_OPEN_PART_OF_THE_PAGE, PROTECTION, PERMISSION),
	CAUSE(STATUS(STREAM_DISABLED), STREAM_DISABLED, STREAM, STREAM_CONTROL),
	CAUSE(STATUS(STREAM_BLOCKED), STREAM_BLOCKED, STREAM, STREAM_CONTROL),
	CAUSE(STATUS(STREAM_CONTROL_INVALID), STREAM_CONTROL_INVALID, STREAM, STREAM_CONTROL),
	CAUSE(STATUS(OUTSIDE_APERTURE), ADDRESS_OUTSIDE_THE_APERTURE, ADDRESS, ADDRESS_FILTER),
	CAUSE(STATUS(HIGH_ADDRESS), ADDRESS_ABOVE_32_BITS, ADDRESS, ADDRESS_FILTER),
	CAUSE(STATUS(NO_MEMORY), NO_MEMORY_AT_THE_PHYSICAL_ADDRESS, MEMORY, MEMORY_ACCESS),
#undef CAUSE
};

void ane_fault_explain(struct ane_dart_error_info *info, u32 status, u64 address)
{
	u32 cause = ANE_FAULT_CAUSE_UNEXPLAINED, type = ANE_FAULT_TYPE_UNEXPLAINED_FAULT;
	u32 stage = ANE_FAULT_CLASS_UNEXPLAINED;
	int i;

	for (i = 0; i < ARRAY_SIZE(causes); i++) {
		if (causes[i].bits != (status & CAUSES))
			continue;
		cause = causes[i].cause;
		type = causes[i].type;
		stage = causes[i].stage;
	}
	*info = (struct ane_dart_error_info){
		.fault_type = cpu_to_le64(type),
		.hw_class = cpu_to_le64(stage),
		.hw_error = cpu_to_le64(cause),
		.hw_status = cpu_to_le32(status),
		.is_write = !!(status & STATUS(WRITE)),
		.sid = cpu_to_le32((status & STATUS(STREAM)) >> ANE_DART_ERROR_STATUS_STREAM_SHIFT),
		.address = cpu_to_le32(lower_32_bits(address)),
		/* One base leads to so many bytes as its table has entries. */
		.ttbr_index = cpu_to_le32(address >> ANE_L2_SHIFT >> ilog2(ANE_TABLE_ENTRIES)),
		.l2_index = cpu_to_le32(address >> ANE_L2_SHIFT & (ANE_TABLE_ENTRIES - 1)),
		.l3_index = cpu_to_le32(address >> ANE_L3_SHIFT & (ANE_TABLE_ENTRIES - 1)),
	};
}

void ane_fault_keep(struct ane_device *ane, struct ane_file *file, struct ane_request *request, struct ane_fault *fault)
{
	ane_count(file->space, ANE_COUNTER_FAULTS, 1);
	spin_lock(&ane->queue_lock);
	fault->sequence = ++ane->faults;
	fault->fence = request->fence;
	if (!request->fault)
		request->fault = fault->sequence;
	if (file->fault_count == ANE_FAULTS_MAX) {
		memmove(&file->faults[0], &file->faults[1], sizeof(file->faults) - sizeof(file->faults[0]));
		file->fault_count--;
		file->has_lost_faults = true;
	}
	file->faults[file->fault_count++] = *fault;
	if (file->has_lost_faults)
		file->faults[0].flags |= ANE_FAULT_LOST;
	file->has_lost_faults = false;
	/* Clients of requests without a fence cannot recover, and do not know of parks. */
	if (request->fence)
		file->parked_until = ktime_add_ms(ktime_get(), ANE_RECOVERY_PARK_MS);
	spin_unlock(&ane->queue_lock);
}

/* Takes it out of the file's. */
static bool take(struct ane_file *file, u64 sequence, struct ane_fault *fault)
{
	unsigned int i;

	for (i = 0; i < file->fault_count; i++) {
		if (sequence && file->faults[i].sequence != sequence)
			continue;
		*fault = file->faults[i];
		file->fault_count--;
		memmove(&file->faults[i], &file->faults[i + 1], (file->fault_count - i) * sizeof(*fault));
		return true;
	}
	return false;
}

int ane_get_fault(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_get_fault *get = data;
	struct ane_device *ane = to_ane(drm);
	struct ane_file *own = file->driver_priv;
	struct ane_fault fault;
	u32 remaining;
	bool is_there;

	if (get->reserved)
		return -EINVAL;
	spin_lock(&ane->queue_lock);
	is_there = take(own, get->sequence, &fault);
	remaining = own->fault_count;
	spin_unlock(&ane->queue_lock);
	if (!is_there)
		return -ENODATA;
	*get = (struct drm_ane_get_fault){
		.sequence = fault.sequence,
		.fence = fault.fence,
		.timestamp = fault.timestamp,
		.flags = fault.flags,
		.context = ANE_STREAM,
		.window = fault.window,
		.engine_status = fault.engine_status,
		.remaining = remaining,
		.info = fault.info,
	};
	return 0;
}

static int resume(struct ane_device *ane, struct ane_file *own, struct drm_ane_recover *recover)
{
	bool was_parked;

	if (READ_ONCE(ane->is_lost))
		return -EIO;
	spin_lock(&ane->queue_lock);
	was_parked = ktime_after(own->parked_until, ktime_get());
	own->parked_until = 0;
	spin_unlock(&ane->queue_lock);
	if (!was_parked)
		return -EALREADY;
	ane_count(own->space, ANE_COUNTER_RECOVERIES, 1);
	ane_queue_kick(ane);
	recover->state = ANE_STATE_PARKED;
	recover->cancelled = 0;
	return 0;
}

static int reset(struct ane_device *ane, struct ane_file *own, struct drm_ane_recover *recover)
{
	u32 state = READ_ONCE(ane->is_lost) ? ANE_STATE_DEAD : ANE_STATE_READY;
	unsigned int cancelled;
	int idx, ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (!drm_dev_enter(&ane->drm, &idx))
		return -ENODEV;
	/* The one that runs as well: what keeps the lock lets go of it. */
	cancelled = ane_queue_cancel(ane, NULL);
	ret = ane_reset(ane);
	drm_dev_exit(idx);
	if (ret)
		return -EIO;
	ane_count(own->space, ANE_COUNTER_RECOVERIES, 1);
	spin_lock(&ane->queue_lock);
	if (ktime_after(own->parked_until, ktime_get()))
		state = ANE_STATE_PARKED;
	own->parked_until = 0;
	spin_unlock(&ane->queue_lock);
	recover->state = state;
	recover->cancelled = cancelled;
	return 0;
}

int ane_recover_call(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_recover *recover = data;
	struct ane_device *ane = to_ane(drm);

	if (recover->reserved)
		return -EINVAL;
	switch (recover->flags) {
	case ANE_RECOVER_RESUME:
		return resume(ane, file->driver_priv, recover);
	case ANE_RECOVER_RESET:
		return reset(ane, file->driver_priv, recover);
	default:
		return -EINVAL;
	}
}
