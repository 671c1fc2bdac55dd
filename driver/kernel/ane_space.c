// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The device addresses of a file, and what lies at them.
 *
 * A buffer gets the lowest addresses that are free, from the second page on; existing clients rely on it. What has a place
 * keeps it until somebody takes it away: nothing is evicted here. The engine may use an address that its request does
 * not name, so a place is taken away only while no request runs, and the next one does not start before the engine has
 * forgotten what was there.
 */
#include <drm/drm_drv.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ane.h"

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
	drm_mm_init(&space->addresses, ANE_FIRST_ADDRESS, ANE_END_ADDRESS - ANE_FIRST_ADDRESS);
	drm_dev_get(&ane->drm);
	space->ane = ane;
	mutex_lock(&ane->spaces_lock);
	list_add(&space->link, &ane->spaces);
	mutex_unlock(&ane->spaces_lock);
	return space;
}

/* Under the device's lock. */
static void drop_first(struct ane_space *space)
{
	if (!space->first)
		return;
	space->ane->bus->unmap(space, space->first_address.start, ANE_PAGE);
	drm_mm_remove_node(&space->first_address);
	if (!ane_space_is_lost(space))
		__free_pages(space->first, ANE_BLOCK_ORDER);
	space->first = NULL;
}

static void space_release(struct kref *refs)
{
	struct ane_space *space = container_of(refs, struct ane_space, refs);
	struct ane_device *ane = space->ane;

	mutex_lock(&ane->lock);
	mutex_lock(&ane->spaces_lock);
	list_del(&space->link);
	mutex_unlock(&ane->spaces_lock);
	/* Attached, it stays in the registers: the next request replaces it, and until then nothing runs. */
	if (ane->attached == space)
		ane->attached = NULL;
	drop_first(space);
	if (!ane_space_is_lost(space))
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

int ane_space_first(struct ane_space *space)
{
	struct page *page;
	int ret = 0;

	mutex_lock(&space->lock);
	if (space->first)
		goto out;
	page = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO, ANE_BLOCK_ORDER);
	ret = -ENOMEM;
	if (!page)
		goto out;
	/* At the end, out of the way of buffers: clients count on theirs following each other from the start. */
	ret = drm_mm_insert_node_in_range(&space->addresses, &space->first_address, ANE_PAGE, ANE_PAGE, 0,
					  ANE_FIRST_ADDRESS, ANE_END_ADDRESS, DRM_MM_INSERT_HIGH);
	if (!ret) {
		/* A single leaf is there or it is not: the engine has seen nothing of one that failed. */
		ret = space->ane->bus->map(space, space->first_address.start, page_to_phys(page));
		if (ret)
			drm_mm_remove_node(&space->first_address);
	}
	if (ret)
		__free_pages(page, ANE_BLOCK_ORDER);
	else
		space->first = page;
out:
	mutex_unlock(&space->lock);
	return ret;
}

/* Finds room; -ENOSPC if there is none. */
static int reserve(struct ane_space *space, struct ane_mapping *mapping, u64 address)
{
	u64 bytes = (u64)mapping->count << PAGE_SHIFT;
	int ret;

	if (address == ANE_ADDRESS_ANY)
		address = mapping->fixed;
	if (address == ANE_ADDRESS_ANY)
		return drm_mm_insert_node_in_range(&space->addresses, &mapping->node, bytes, ANE_PAGE, 0,
						   ANE_FIRST_ADDRESS, ANE_END_ADDRESS, DRM_MM_INSERT_LOW);
	if (address % ANE_PAGE)
		return -EINVAL;
	if (address < ANE_FIRST_ADDRESS || address >= ANE_END_ADDRESS || bytes > ANE_END_ADDRESS - address)
		return -ERANGE;
	mapping->node.start = address;
	mapping->node.size = bytes;
	ret = drm_mm_reserve_node(&space->addresses, &mapping->node);
	return ret == -ENOSPC ? -EEXIST : ret;
}

static int place(struct ane_buffer *buffer, struct ane_mapping *mapping, u64 address)
{
	struct ane_space *space = buffer->space;
	unsigned long i;
	int ret;

	if (mapping->is_placed)
		return -EALREADY;
	/* Somebody else's attempt has failed, and is about to be undone. */
	if (drm_mm_node_allocated(&mapping->node))
		return -ENOMEM;
	ret = reserve(space, mapping, address);
	for (i = 0; !ret && i < mapping->count; i += 1ul << ANE_BLOCK_ORDER)
		ret = space->ane->bus->map(space, mapping->node.start + ((u64)i << PAGE_SHIFT),
					   page_to_phys(buffer->pages[mapping->first + i]));
	if (ret)
		return ret;
	mapping->is_placed = true;
	ane_count(space, ANE_COUNTER_MAPS, 1);
	ane_count(space, ANE_COUNTER_MAPPED_BYTES, mapping->node.size);
	return 0;
}

int ane_place(struct ane_buffer *buffer, struct ane_mapping *mapping, u64 address)
{
	struct ane_space *space = buffer->space;
	bool has_room;
	int ret;

	mutex_lock(&space->lock);
	ret = place(buffer, mapping, address);
	has_room = drm_mm_node_allocated(&mapping->node);
	mutex_unlock(&space->lock);
	/* Without room nothing was mapped, so there is nothing to undo and no request to wait for. */
	if (!ret || ret == -EALREADY || !has_room)
		return ret;
	/* What was mapped of it a request that runs in this space may have reached, and the engine still knows it. */
	mutex_lock(&space->ane->lock);
	mutex_lock(&space->lock);
	if (!mapping->is_placed)
		ane_displace(buffer, mapping);
	mutex_unlock(&space->lock);
	mutex_unlock(&space->ane->lock);
	return ret;
}

int ane_hold(struct ane_buffer *buffer, u32 number, struct ane_mapping **held, u64 *address)
{
	struct ane_mapping *mapping;
	int ret;

	if (number >= ANE_MAPPINGS_MAX)
		return -EINVAL;
	for (;;) {
		mutex_lock(&buffer->space->lock);
		mapping = buffer->mappings[number];
		ret = mapping && (mapping->is_placed || !number) ? 0 : -EINVAL;
		if (!ret && mapping->is_placed) {
			mapping->users++;
			*held = mapping;
			*address = mapping->node.start;
			mutex_unlock(&buffer->space->lock);
			return 0;
		}
		mutex_unlock(&buffer->space->lock);
		if (ret)
			return ret;
		/* Another thread may take it away again at once. */
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = ane_place(buffer, mapping, ANE_ADDRESS_ANY);
		if (ret && ret != -EALREADY)
			return ret;
	}
}

void ane_release(struct ane_buffer *buffer, struct ane_mapping *mapping)
{
	mutex_lock(&buffer->space->lock);
	mapping->users--;
	mutex_unlock(&buffer->space->lock);
}

void ane_displace(struct ane_buffer *buffer, struct ane_mapping *mapping)
{
	struct ane_space *space = buffer->space;

	lockdep_assert_held(&space->ane->lock);
	lockdep_assert_held(&space->lock);
	if (!drm_mm_node_allocated(&mapping->node))
		return;
	space->ane->bus->unmap(space, mapping->node.start, mapping->node.size);
	if (mapping->is_placed) {
		ane_count(space, ANE_COUNTER_UNMAPS, 1);
		ane_count(space, ANE_COUNTER_MAPPED_BYTES, -(s64)mapping->node.size);
	}
	drm_mm_remove_node(&mapping->node);
	mapping->is_placed = false;
	space->is_stale = true;
}
