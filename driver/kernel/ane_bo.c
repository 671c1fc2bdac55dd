// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers with usage codes and mappings of their own: the calls DRM_IOCTL_ANE_BO_*.
 *
 * The usage code stays with the mapping for its life. It changes nothing about the leaf: on this engine leaves carry no
 * permission. Nothing is evicted, so a mapping that is pinned is as any other.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <linux/slab.h>

#include "ane.h"

static bool is_usage(u32 usage)
{
	switch (usage) {
	case ANE_USAGE_INPUT_TENSOR:
	case ANE_USAGE_OUTPUT_TENSOR:
	case ANE_USAGE_INTERMEDIATE:
	case ANE_USAGE_WEIGHTS:
	case ANE_USAGE_PROGRAM:
	case ANE_USAGE_CONSTANTS:
		return true;
	default:
		/* The firmware's own are for nobody else. */
		return false;
	}
}

int ane_bo_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	const u32 known = ANE_BO_SCATTERED | ANE_BO_FIXED_ADDRESS | ANE_BO_PINNED | ANE_BO_PREMAPPED;
	struct drm_ane_bo_create *create = data;
	struct ane_wish wish = {
		.bytes = create->size,
		.address = create->device_address,
		.flags = create->flags,
		.usage = create->usage,
	};
	struct ane_buffer *buffer;
	u32 handle;
	int idx, ret;

	if (create->reserved[0] || create->reserved[1])
		return -EINVAL;
	/* There are no pools here, so none was ever given out. */
	if (create->pool != ANE_HANDLE_NONE)
		return -ENOENT;
	if (!create->size || create->size > ANE_END_ADDRESS - ANE_FIRST_ADDRESS || create->flags & ~known ||
	    !is_usage(create->usage))
		return -EINVAL;
	if (create->flags & ANE_BO_FIXED_ADDRESS ? create->device_address % ANE_PAGE : create->device_address)
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = ane_buffer_create(file, &wish, &handle, &buffer);
	drm_dev_exit(idx);
	if (ret)
		return ret;
	create->handle = handle;
	create->size = buffer->gem.size;
	create->map_offset = drm_vma_node_offset_addr(&buffer->gem.vma_node);
	mutex_lock(&buffer->space->lock);
	create->device_address = buffer->own.is_placed ? buffer->own.node.start : 0;
	mutex_unlock(&buffer->space->lock);
	drm_gem_object_put(&buffer->gem);
	return 0;
}

int ane_bo_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_info *info = data;
	struct ane_buffer *buffer;
	int i;

	if (info->reserved[0] || info->reserved[1])
		return -EINVAL;
	buffer = ane_buffer_get(file, info->handle);
	if (!buffer)
		return -ENOENT;
	*info = (struct drm_ane_bo_info){
		.handle = info->handle,
		.flags = buffer->flags,
		.size = buffer->gem.size,
		.map_offset = drm_vma_node_offset_addr(&buffer->gem.vma_node),
		.usage = buffer->own.usage,
		.pool = ANE_HANDLE_NONE,
	};
	mutex_lock(&buffer->space->lock);
	if (buffer->own.is_placed) {
		info->device_address = buffer->own.node.start;
		info->state |= ANE_BO_MAPPED;
	}
	for (i = 0; i < ANE_MAPPINGS_MAX; i++) {
		const struct ane_mapping *mapping = buffer->mappings[i];

		if (!mapping || !mapping->is_placed)
			continue;
		info->mapping_count++;
		if (mapping->users)
			info->state |= ANE_BO_BUSY;
	}
	mutex_unlock(&buffer->space->lock);
	drm_gem_object_put(&buffer->gem);
	return 0;
}

/* Adds a mapping that nobody takes away before it has its place. */
static int add_mapping(struct ane_buffer *buffer, struct ane_mapping *mapping)
{
	int number;

	mapping->users = 1;
	mutex_lock(&buffer->space->lock);
	for (number = 1; number < ANE_MAPPINGS_MAX && buffer->mappings[number]; number++)
		;
	if (number < ANE_MAPPINGS_MAX)
		buffer->mappings[number] = mapping;
	mutex_unlock(&buffer->space->lock);
	return number < ANE_MAPPINGS_MAX ? number : -ENOSPC;
}

static int map(struct ane_buffer *buffer, const struct drm_ane_bo_map *map, u64 *address)
{
	u64 left = buffer->gem.size - map->offset, bytes;
	struct ane_mapping *mapping;
	int number, ret;

	if (map->offset >= buffer->gem.size || map->size > left)
		return -EINVAL;
	bytes = map->size ? ALIGN(map->size, ANE_PAGE) : left;
	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	mapping->usage = map->usage;
	mapping->flags = map->flags;
	mapping->fixed = map->flags & ANE_BO_FIXED_ADDRESS ? map->device_address : ANE_ADDRESS_ANY;
	mapping->first = map->offset >> PAGE_SHIFT;
	mapping->count = bytes >> PAGE_SHIFT;
	number = add_mapping(buffer, mapping);
	if (number < 0) {
		kfree(mapping);
		return number;
	}
	ret = ane_place(buffer, mapping, ANE_ADDRESS_ANY);
	mutex_lock(&buffer->space->lock);
	mapping->users--;
	*address = mapping->node.start;
	if (ret)
		buffer->mappings[number] = NULL;
	mutex_unlock(&buffer->space->lock);
	if (!ret)
		return number;
	kfree(mapping);
	return ret;
}

int ane_bo_map(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_map *args = data;
	struct ane_buffer *buffer;
	u64 address;
	int idx, ret;

	if (args->flags & ~(ANE_BO_FIXED_ADDRESS | ANE_BO_PINNED) || !is_usage(args->usage) ||
	    args->offset % ANE_PAGE)
		return -EINVAL;
	if (args->flags & ANE_BO_FIXED_ADDRESS ? args->device_address % ANE_PAGE : args->device_address)
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = -ENOENT;
	buffer = ane_buffer_get(file, args->handle);
	if (buffer) {
		ret = map(buffer, args, &address);
		drm_gem_object_put(&buffer->gem);
	}
	drm_dev_exit(idx);
	if (ret < 0)
		return ret;
	args->mapping = ret;
	args->device_address = address;
	return 0;
}

static int unmap(struct ane_buffer *buffer, const struct drm_ane_bo_unmap *args)
{
	struct ane_mapping *mapping = args->mapping < ANE_MAPPINGS_MAX ? buffer->mappings[args->mapping] : NULL;

	if (!mapping || (!mapping->is_placed && !mapping->users))
		return -ENODATA;
	if (mapping->usage != args->usage)
		return -EINVAL;
	if (mapping->users)
		return -EBUSY;
	ane_displace(buffer, mapping);
	if (args->mapping) {
		buffer->mappings[args->mapping] = NULL;
		kfree(mapping);
	}
	return 0;
}

int ane_bo_unmap(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_ane_bo_unmap *args = data;
	struct ane_device *ane = to_ane(drm);
	struct ane_buffer *buffer;
	int idx, ret = -EINTR;

	if (args->reserved)
		return -EINVAL;
	buffer = ane_buffer_get(file, args->handle);
	if (!buffer)
		return -ENOENT;
	if (!drm_dev_enter(drm, &idx)) {
		ret = -ENODEV;
		goto out;
	}
	/* Whatever runs may reach the place, whether it names the mapping or not. */
	if (!mutex_lock_interruptible(&ane->lock)) {
		mutex_lock(&buffer->space->lock);
		ret = unmap(buffer, args);
		mutex_unlock(&buffer->space->lock);
		mutex_unlock(&ane->lock);
	}
	drm_dev_exit(idx);
out:
	drm_gem_object_put(&buffer->gem);
	return ret;
}

int ane_bo_premap(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_premap *args = data;
	struct ane_buffer *buffer;
	int idx, ret;

	if (args->reserved || args->count != 1 || !args->device_address ||
	    (args->device_address != ANE_ADDRESS_ANY && args->device_address % ANE_PAGE))
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = -ENOENT;
	buffer = ane_buffer_get(file, args->handle);
	if (!buffer)
		goto out;
	ret = -EINVAL;
	if (!args->size || args->size > buffer->gem.size || args->usage != buffer->own.usage)
		goto put;
	if (buffer->own.fixed != ANE_ADDRESS_ANY && args->device_address != ANE_ADDRESS_ANY &&
	    args->device_address != buffer->own.fixed)
		goto put;
	ret = ane_place(buffer, &buffer->own, args->device_address);
	if (!ret)
		ane_count(buffer->space, ANE_COUNTER_PREMAPS, 1);
	if (ret && ret != -EALREADY)
		goto put;
	mutex_lock(&buffer->space->lock);
	args->device_address = buffer->own.is_placed ? buffer->own.node.start : 0;
	mutex_unlock(&buffer->space->lock);
put:
	drm_gem_object_put(&buffer->gem);
out:
	drm_dev_exit(idx);
	return ret;
}
