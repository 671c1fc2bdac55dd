// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers, and the device addresses of a file.
 *
 * The engine's pages have 16 KiB, those of the processor may have 4: a buffer is made of blocks that are one page to the
 * engine. It gets the lowest addresses that are free, from the second page on; existing clients rely on it. A buffer
 * lives until its handle, every mapping of a process and every request that uses it are gone, and its addresses as long.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_vma_manager.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ane.h"

/* Where addresses begin: zero is a BAR that names nothing. */
#define FIRST_ADDRESS	ANE_PAGE
#define LAST_ADDRESS	((u64)ANE_L3_TABLES << ANE_L2_SHIFT)

#define BLOCK_ORDER	(ANE_PAGE_SHIFT - PAGE_SHIFT)

struct ane_space *ane_space_create(struct ane_device *ane)
{
	struct ane_space *space = kzalloc(sizeof(*space), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!space)
		return ERR_PTR(-ENOMEM);
	ret = ane->bus->space_init(ane, space);
	if (ret) {
		kfree(space);
		return ERR_PTR(ret);
	}
	kref_init(&space->refs);
	mutex_init(&space->lock);
	drm_mm_init(&space->addresses, FIRST_ADDRESS, LAST_ADDRESS - FIRST_ADDRESS);
	drm_dev_get(&ane->drm);
	space->ane = ane;
	mutex_lock(&ane->lock);
	list_add(&space->link, &ane->spaces);
	mutex_unlock(&ane->lock);
	return space;
}

static void space_release(struct kref *refs)
{
	struct ane_space *space = container_of(refs, struct ane_space, refs);
	struct ane_device *ane = space->ane;

	mutex_lock(&ane->lock);
	list_del(&space->link);
	/* Attached, it stays in the registers: the next request replaces it, and until then nothing runs. */
	if (ane->attached == space)
		ane->attached = NULL;
	if (!ane->is_lost)
		ane->bus->space_fini(space);
	mutex_unlock(&ane->lock);
	drm_mm_takedown(&space->addresses);
	mutex_destroy(&space->lock);
	kfree(space);
	drm_dev_put(&ane->drm);
}

void ane_space_put(struct ane_space *space)
{
	kref_put(&space->refs, space_release);
}

static struct ane_buffer *to_buffer(struct drm_gem_object *gem)
{
	return container_of(gem, struct ane_buffer, gem);
}

static void free_pages_of(struct ane_buffer *buffer)
{
	unsigned long i;

	for (i = 0; i < buffer->page_count; i++)
		__free_page(buffer->pages[i]);
	kvfree(buffer->pages);
}

static int get_pages_of(struct ane_buffer *buffer, u64 bytes)
{
	unsigned long i, count = bytes >> PAGE_SHIFT;
	struct page *block;

	buffer->pages = kvmalloc_array(count, sizeof(*buffer->pages), GFP_KERNEL_ACCOUNT);
	if (!buffer->pages)
		return -ENOMEM;
	while (buffer->page_count < count) {
		block = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL,
				    BLOCK_ORDER);
		if (!block)
			return -ENOMEM;
		/* Each is mapped and counted alone. */
		if (BLOCK_ORDER)
			split_page(block, BLOCK_ORDER);
		for (i = 0; i < 1ul << BLOCK_ORDER; i++)
			buffer->pages[buffer->page_count++] = block + i;
	}
	return 0;
}

static int map_buffer(struct ane_buffer *buffer)
{
	struct ane_space *space = buffer->space;
	unsigned long i;
	u64 address;
	int ret;

	mutex_lock(&space->lock);
	ret = drm_mm_insert_node_in_range(&space->addresses, &buffer->addresses, buffer->gem.size, ANE_PAGE, 0,
					  FIRST_ADDRESS, LAST_ADDRESS, DRM_MM_INSERT_LOW);
	if (ret)
		goto out;
	for (i = 0; !ret && i < buffer->page_count; i += 1ul << BLOCK_ORDER) {
		address = buffer->addresses.start + ((u64)i << PAGE_SHIFT);
		ret = space->ane->bus->map(space, address, page_to_phys(buffer->pages[i]));
	}
	if (ret) {
		/* The engine has not been told of any of it. */
		space->ane->bus->unmap(space, buffer->addresses.start, address - buffer->addresses.start);
		drm_mm_remove_node(&buffer->addresses);
	}
out:
	mutex_unlock(&space->lock);
	/* Clients expect one name for want of room. */
	return ret == -ENOSPC ? -ENOMEM : ret;
}

static void unmap_buffer(struct ane_buffer *buffer)
{
	struct ane_space *space = buffer->space;

	if (!drm_mm_node_allocated(&buffer->addresses))
		return;
	mutex_lock(&space->lock);
	space->ane->bus->unmap(space, buffer->addresses.start, buffer->gem.size);
	drm_mm_remove_node(&buffer->addresses);
	mutex_unlock(&space->lock);
	space->is_stale = true;
}

static void free_buffer(struct drm_gem_object *gem)
{
	struct ane_buffer *buffer = to_buffer(gem);
	struct ane_device *ane = to_ane(gem->dev);
	bool is_lost;

	/*
	 * A program may use addresses that its request does not name, so no page goes while one runs; and the next one is
	 * not started before the engine has forgotten where they were.
	 */
	mutex_lock(&ane->lock);
	unmap_buffer(buffer);
	is_lost = ane->is_lost;
	mutex_unlock(&ane->lock);
	/* An engine that nobody can stop may still write to them. */
	if (!is_lost)
		free_pages_of(buffer);
	drm_gem_object_release(gem);
	ane_space_put(buffer->space);
	kfree(buffer);
}

/* A buffer has one place in one space: other files do not get it. */
static int open_buffer(struct drm_gem_object *gem, struct drm_file *file)
{
	return to_buffer(gem)->space == file->driver_priv ? 0 : -EACCES;
}

static int mmap_buffer(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct ane_buffer *buffer = to_buffer(gem);

	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages_zero(vma, buffer->pages, buffer->page_count);
}

static const struct vm_operations_struct buffer_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs buffer_funcs = {
	.free = free_buffer,
	.open = open_buffer,
	.mmap = mmap_buffer,
	.vm_ops = &buffer_vm_ops,
};

int ane_buffer_create(struct drm_file *file, u64 bytes, u32 *handle, u64 *offset)
{
	struct ane_space *space = file->driver_priv;
	struct ane_buffer *buffer;
	int ret;

	if (!bytes)
		return -EINVAL;
	if (bytes > LAST_ADDRESS - FIRST_ADDRESS)
		return -ENOMEM;
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return -ENOMEM;
	bytes = ALIGN(bytes, ANE_PAGE);
	kref_get(&space->refs);
	buffer->space = space;
	buffer->gem.funcs = &buffer_funcs;
	drm_gem_private_object_init(&space->ane->drm, &buffer->gem, bytes);
	ret = get_pages_of(buffer, bytes);
	if (!ret)
		ret = map_buffer(buffer);
	if (!ret)
		ret = drm_gem_create_mmap_offset(&buffer->gem);
	if (!ret)
		ret = drm_gem_handle_create(file, &buffer->gem, handle);
	if (!ret)
		*offset = drm_vma_node_offset_addr(&buffer->gem.vma_node);
	/* From here on the handle has it; without one it goes. */
	drm_gem_object_put(&buffer->gem);
	return ret;
}
