// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Buffers: their memory, and who holds them.
 *
 * The engine's pages have 16 KiB, those of the processor may have 4: a buffer is made of blocks that are one page to the
 * engine. It lives until its handle, every mapping of a process and every request that uses it are gone, and its addresses
 * as long.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_vma_manager.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ane.h"

static void free_pages_of(struct ane_buffer *buffer)
{
	unsigned long i;

	for (i = 0; i < buffer->page_count; i++)
		__free_page(buffer->pages[i]);
	kvfree(buffer->pages);
}

/* From the last block to the first: memory hands them out in rising order, if it has them. */
static void scatter(struct ane_buffer *buffer)
{
	const unsigned long per = 1ul << ANE_BLOCK_ORDER;
	unsigned long low, high, i;

	for (low = 0, high = buffer->page_count - per; low < high; low += per, high -= per)
		for (i = 0; i < per; i++)
			swap(buffer->pages[low + i], buffer->pages[high + i]);
}

static int get_pages_of(struct ane_buffer *buffer, u64 bytes)
{
	unsigned long i, count = bytes >> PAGE_SHIFT;
	struct page *block;

	buffer->pages = kvmalloc_array(count, sizeof(*buffer->pages), GFP_KERNEL_ACCOUNT);
	if (!buffer->pages)
		return -ENOMEM;
	while (buffer->page_count < count) {
		if (fatal_signal_pending(current))
			return -EINTR;
		block = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN | __GFP_RETRY_MAYFAIL,
				    ANE_BLOCK_ORDER);
		if (!block)
			return -ENOMEM;
		/* Each is mapped and counted alone. */
		if (ANE_BLOCK_ORDER)
			split_page(block, ANE_BLOCK_ORDER);
		for (i = 0; i < 1ul << ANE_BLOCK_ORDER; i++)
			buffer->pages[buffer->page_count++] = block + i;
		cond_resched();
	}
	if (buffer->flags & ANE_BO_SCATTERED)
		scatter(buffer);
	return 0;
}

static void free_buffer(struct drm_gem_object *gem)
{
	struct ane_buffer *buffer = to_buffer(gem);
	struct ane_space *space = buffer->space;
	struct ane_device *ane = to_ane(gem->dev);
	bool is_lost;
	int i;

	mutex_lock(&ane->lock);
	mutex_lock(&space->lock);
	for (i = 0; i < ANE_MAPPINGS_MAX; i++)
		if (buffer->mappings[i])
			ane_displace(buffer, buffer->mappings[i]);
	mutex_unlock(&space->lock);
	is_lost = ane_space_is_lost(space);
	mutex_unlock(&ane->lock);
	for (i = 1; i < ANE_MAPPINGS_MAX; i++)
		kfree(buffer->mappings[i]);
	ane_count(space, ANE_COUNTER_BUFFERS, -1);
	ane_count(space, ANE_COUNTER_BUFFER_BYTES, -(s64)gem->size);
	if (!is_lost)
		free_pages_of(buffer);
	drm_gem_object_release(gem);
	kfree(buffer);
	ane_space_put(space);
}

/* A buffer has one place in one space: other files do not get it. */
static int open_buffer(struct drm_gem_object *gem, struct drm_file *file)
{
	struct ane_file *own = file->driver_priv;

	return to_buffer(gem)->space == own->space ? 0 : -EACCES;
}

static int mmap_buffer(struct drm_gem_object *gem, struct vm_area_struct *vma)
{
	struct ane_buffer *buffer = to_buffer(gem);

	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	return vm_map_pages_zero(vma, buffer->pages, buffer->page_count);
}

/* Every page is there from the start. But the kernel takes all of them out when the device goes, and the memory stays. */
static vm_fault_t fault_buffer(struct vm_fault *vmf)
{
	struct drm_gem_object *gem = vmf->vma->vm_private_data;
	struct ane_buffer *buffer = to_buffer(gem);
	unsigned long at = vmf->pgoff - drm_vma_node_start(&gem->vma_node);

	if (at >= buffer->page_count)
		return VM_FAULT_SIGBUS;
	get_page(buffer->pages[at]);
	vmf->page = buffer->pages[at];
	return 0;
}

static const struct vm_operations_struct buffer_vm_ops = {
	.fault = fault_buffer,
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs buffer_funcs = {
	.free = free_buffer,
	.open = open_buffer,
	.mmap = mmap_buffer,
	.vm_ops = &buffer_vm_ops,
};

struct ane_buffer *ane_buffer_get(struct drm_file *file, u32 handle)
{
	struct drm_gem_object *gem = drm_gem_object_lookup(file, handle);

	return gem ? to_buffer(gem) : NULL;
}

int ane_buffer_create(struct drm_file *file, const struct ane_wish *wish, u32 *handle, struct ane_buffer **made)
{
	struct ane_file *own = file->driver_priv;
	struct ane_space *space = own->space;
	struct ane_buffer *buffer;
	u64 bytes = ALIGN(wish->bytes, ANE_PAGE);
	int ret;

	/* Its memory could not be given back. */
	if (READ_ONCE(space->ane->is_lost))
		return -ENODEV;
	spin_lock(&space->ane->queue_lock);
	own->has_context = true;
	spin_unlock(&space->ane->queue_lock);
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL_ACCOUNT);
	if (!buffer)
		return -ENOMEM;
	kref_get(&space->refs);
	buffer->space = space;
	buffer->flags = wish->flags;
	buffer->gem.funcs = &buffer_funcs;
	buffer->mappings[0] = &buffer->own;
	buffer->own.usage = wish->usage;
	buffer->own.flags = wish->flags;
	buffer->own.fixed = wish->flags & ANE_BO_FIXED_ADDRESS ? wish->address : ANE_ADDRESS_ANY;
	buffer->own.count = bytes >> PAGE_SHIFT;
	drm_gem_private_object_init(&space->ane->drm, &buffer->gem, bytes);
	ane_count(space, ANE_COUNTER_BUFFERS, 1);
	ane_count(space, ANE_COUNTER_BUFFER_BYTES, bytes);
	ret = get_pages_of(buffer, bytes);
	if (!ret && wish->flags & (ANE_BO_FIXED_ADDRESS | ANE_BO_PREMAPPED))
		ret = ane_place(buffer, &buffer->own, ANE_ADDRESS_ANY);
	if (!ret)
		ret = drm_gem_create_mmap_offset(&buffer->gem);
	if (!ret)
		ret = drm_gem_handle_create(file, &buffer->gem, handle);
	if (ret)
		drm_gem_object_put(&buffer->gem);
	else
		*made = buffer;
	return ret;
}
