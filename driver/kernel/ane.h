/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The driver of the Apple Neural Engine, H13: what its parts share.
 *
 * A client's file has a device address space of its own. Requests run one at a time, each in the space of the file
 * that made it, so no client's program reaches another's buffers. How registers are reached, who keeps the page tables
 * and how the end of a request is noticed is the transport's: struct ane_bus.
 */
#ifndef ANE_H
#define ANE_H

#include <drm/drm_device.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>

#include "ane_regs.h"

#define ANE_PAGE	(1u << ANE_PAGE_SHIFT)
#define ANE_BARS	32
/* Tables of leaves that the aperture has: 0xe0000000 bytes, 32 MiB each. */
#define ANE_L3_TABLES	112
/* The context that requests run in: its number, and the streams' bit. */
#define ANE_STREAM	0
/* Most accesses at once: the least that a virtio device takes in a batch. */
#define ANE_BATCH	64

struct ane_device;
struct iommu_domain;

/* Register accesses, carried out in order. Offsets are the container's, as in ane_regs.h. */
struct ane_access {
	u32 offset, value;
	bool is_write;
};

struct ane_batch {
	unsigned int count;
	struct ane_access at[ANE_BATCH];
};

void ane_write(struct ane_batch *batch, u32 offset, u32 value);
/* Adds a read, and says which access it is. */
unsigned int ane_read(struct ane_batch *batch, u32 offset);

/* The device addresses of a file. It lives until the last buffer in it is gone. */
struct ane_space {
	struct kref refs;
	struct ane_device *ane;
	/* In the device's list. */
	struct list_head link;
	struct mutex lock;
	struct drm_mm addresses;
	/* Leaves went away, and the engine may still know them. Under the device's lock. */
	bool is_stale;
	/* The page tables: the transport's own, or the kernel's. */
	struct page *l2, *l3[ANE_L3_TABLES];
	struct iommu_domain *domain;
};

struct ane_buffer {
	struct drm_gem_object gem;
	struct ane_space *space;
	struct drm_mm_node addresses;
	/* Pages of the processor's size; so many make up one of the engine's. */
	struct page **pages;
	unsigned long page_count;
};

struct ane_request {
	u32 bars[ANE_BARS];
	u32 first, first_bytes, tasks;
};

struct ane_bus {
	const char *name;
	/* Everything below but map and space_init is called under the device's lock, with the power on. */
	int (*access)(struct ane_device *ane, struct ane_batch *batch);
	int (*space_init)(struct ane_device *ane, struct ane_space *space);
	void (*space_fini)(struct ane_space *space);
	/* One page of the engine's. */
	int (*map)(struct ane_space *space, u32 address, phys_addr_t page);
	void (*unmap)(struct ane_space *space, u32 address, u32 bytes);
	/* From here on the engine goes by this space, and knows nothing of what went away in it. */
	int (*attach)(struct ane_device *ane, struct ane_space *space);
	/* Before the push: nothing of an earlier request is left. */
	int (*prepare)(struct ane_device *ane, struct ane_batch *batch);
	/*
	 * Sleeps until the request has ended; 0 if all of it ran, -EIO or -ETIME if the engine ended it. Anything else
	 * leaves it running, and takes a recovery.
	 */
	int (*wait)(struct ane_device *ane, const struct ane_request *request);
	/* Ends whatever runs, and leaves the engine as after power-on, with no space attached. */
	int (*recover)(struct ane_device *ane);
	int (*power_on)(struct ane_device *ane);
	void (*power_off)(struct ane_device *ane);
};

struct ane_device {
	struct drm_device drm;
	const struct ane_bus *bus;
	void *bus_data;
	/* The hardware, and everything below. */
	struct mutex lock;
	struct list_head spaces;
	/* The space that the engine goes by; it is only compared, and may be gone. */
	struct ane_space *attached;
	struct ane_batch batch;
	/* What the registers of the queue's first set hold; none after a loss of power. */
	u32 bars[ANE_BARS];
	bool has_bars;
	/* Recovery failed: nothing is known of what the engine does, and its memory is kept from others. */
	bool is_lost;
	/* The function is going: nobody waits for it any more. */
	bool is_gone;
	/* What sysfs tells. accesses: of registers if they trap one by one, else of batches. */
	u64 submissions, failed, recoveries, accesses;
};

static inline struct ane_device *to_ane(struct drm_device *drm)
{
	return container_of(drm, struct ane_device, drm);
}

struct ane_device *ane_create(struct device *parent, const struct ane_bus *bus, void *bus_data);
int ane_register(struct ane_device *ane);
void ane_unregister(struct ane_device *ane);
extern const struct attribute_group *ane_groups[];

struct ane_space *ane_space_create(struct ane_device *ane);
void ane_space_put(struct ane_space *space);
int ane_buffer_create(struct drm_file *file, u64 bytes, u32 *handle, u64 *offset);

int ane_submit(struct ane_device *ane, struct ane_space *space, const struct ane_request *request);
int ane_recover(struct ane_device *ane);
/* The accesses that let queues run. */
void ane_enable(struct ane_batch *batch, u32 lines);

/* The transport's own page tables. */
int ane_tables_init(struct ane_space *space, u8 format);
void ane_tables_fini(struct ane_space *space);
int ane_tables_put(struct ane_space *space, u8 format, u32 address, phys_addr_t page);
void ane_tables_clear(struct ane_space *space, u32 address, u32 bytes);

#if IS_ENABLED(CONFIG_VIRTIO)
int ane_virtio_register(void);
void ane_virtio_unregister(void);
#else
static inline int ane_virtio_register(void) { return 0; }
static inline void ane_virtio_unregister(void) {}
#endif
/* A kernel without device trees has no such device. */
#if IS_ENABLED(CONFIG_OF)
int ane_platform_register(void);
void ane_platform_unregister(void);
#else
static inline int ane_platform_register(void) { return 0; }
static inline void ane_platform_unregister(void) {}
#endif

#endif
