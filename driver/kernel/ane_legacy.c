// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The calls that clients of today use, with the checks that docs/uapi.md gives them. A submission runs in its caller's
 * context, which spares it a worker's waking.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>

#include "ane.h"

/* Longest first descriptor: what today's driver takes. */
#define FIRST_MAX	0x40000u

int ane_get_caps(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_caps *caps = data;

	if (caps->pad)
		return -EINVAL;
	*caps = (struct drm_ane_caps){
		.size = sizeof(*caps),
		.abi = ANE_CAPS_ABI,
		.family = ANE_CAPS_FAMILY_H13,
	};
	return 0;
}

int ane_bo_init(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_init *init = data;
	/* Existing clients map everything both ways, at once, and never say what for. */
	struct ane_wish wish = { .bytes = init->size, .flags = ANE_BO_PREMAPPED, .usage = ANE_USAGE_PROGRAM };
	struct ane_buffer *buffer;
	u32 handle;
	int idx, ret;

	if (init->pad || !init->size)
		return -EINVAL;
	if (init->size > ANE_END_ADDRESS - ANE_FIRST_ADDRESS)
		return -ENOMEM;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = ane_buffer_create(file, &wish, &handle, &buffer);
	drm_dev_exit(idx);
	if (ret)
		/* Clients expect one name for want of room. */
		return ret == -ENOSPC ? -ENOMEM : ret;
	init->handle = handle;
	init->offset = drm_vma_node_offset_addr(&buffer->gem.vma_node);
	drm_gem_object_put(&buffer->gem);
	return 0;
}

int ane_bo_free(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_free *args = data;

	if (args->pad)
		return -EINVAL;
	return drm_gem_handle_delete(file, args->handle);
}

/* The buffers that a request names, held until it has ended. */
struct named {
	struct ane_buffer *bars[ANE_BARS], *first;
};

static void let_go(struct ane_buffer *buffer)
{
	if (!buffer)
		return;
	ane_release(buffer, &buffer->own);
	drm_gem_object_put(&buffer->gem);
}

/* Where its own mapping lies, which stays there. */
static int hold(struct drm_file *file, u32 handle, struct ane_buffer **held, u32 *address)
{
	struct ane_buffer *buffer = ane_buffer_get(file, handle);
	struct ane_mapping *own;
	u64 at;
	int ret;

	if (!buffer)
		return -EINVAL;
	ret = ane_hold(buffer, 0, &own, &at);
	if (ret) {
		drm_gem_object_put(&buffer->gem);
		return ret == -ENOSPC || ret == -EEXIST ? -ENOMEM : ret;
	}
	*held = buffer;
	*address = at;
	return 0;
}

static int look_up(struct drm_file *file, const struct drm_ane_submit *args, struct named *named,
		   struct ane_request *request)
{
	int i, ret;

	for (i = 0; i < ANE_BARS; i++) {
		if (!args->handles[i])
			continue;
		ret = hold(file, args->handles[i], &named->bars[i], &request->bars[i]);
		if (ret)
			return ret;
	}
	ret = hold(file, args->btsp_handle, &named->first, &request->first);
	if (ret)
		return ret;
	if (args->tsk_size >= named->bars[0]->gem.size || args->td_size > named->first->gem.size)
		return -EINVAL;
	/* Coefficients lie behind the commands, in the same buffer. */
	request->bars[1] = request->bars[0] + ALIGN(args->tsk_size, ANE_CMD_GRAN);
	request->first_bytes = args->td_size;
	request->tasks = args->td_count;
	return 0;
}

int ane_legacy_submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_ane_submit *args = data;
	struct ane_request request = { .network_id = ANE_FIFO_NID, .deadline = KTIME_MAX };
	struct named named = {};
	int i, idx, ret;

	BUILD_BUG_ON(ARRAY_SIZE(args->handles) != ANE_BARS);
	if (args->pad || !args->tsk_size || !args->td_count || args->td_count > ANE_TASKS_MAX || !args->td_size ||
	    args->td_size % 4 || args->td_size > FIRST_MAX || !args->handles[0] || args->handles[1] ||
	    !args->btsp_handle)
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = look_up(file, args, &named, &request);
	if (!ret)
		ret = ane_submit(to_ane(drm), file->driver_priv, &request);
	drm_dev_exit(idx);
	for (i = 0; i < ANE_BARS; i++)
		let_go(named.bars[i]);
	let_go(named.first);
	return ret;
}
