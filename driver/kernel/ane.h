/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The driver of the Apple Neural Engine, H13: what its parts share.
 *
 * A client's file has a device address space of its own. Requests run one at a time, each in the space of the file
 * that made it, so no client's program reaches another's buffers. How registers are reached, who keeps the page tables
 * and how the end of a request is noticed is the transport's: struct ane_bus.
 *
 * Locks, outer before inner: the device's lock, that of the list of spaces or a space's own, the queue's spin lock.
 * Buffers may be freed by a process that unmaps them, with its memory's lock held, and take the device's lock: so no
 * user memory is touched under it.
 */
#ifndef ANE_H
#define ANE_H

#include <drm/drm_device.h>
#include <drm/drm_gem.h>
#include <drm/drm_mm.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "ane_accel.h"
#include "ane_regs.h"

#define ANE_PAGE	(1u << ANE_PAGE_SHIFT)
#define ANE_BARS	ANE_BARS_MAX
/* Pages of the processor that make up one of the engine's, as an order. */
#define ANE_BLOCK_ORDER	(ANE_PAGE_SHIFT - PAGE_SHIFT)
/* Tables of leaves that the aperture has: 0xe0000000 bytes, 32 MiB each. */
#define ANE_L3_TABLES	112
/* Where addresses begin: zero is a BAR that names nothing. */
#define ANE_FIRST_ADDRESS	ANE_PAGE
#define ANE_END_ADDRESS		((u64)ANE_L3_TABLES << ANE_L2_SHIFT)
/* The context that requests run in: its number, and the streams' bit. */
#define ANE_STREAM	0
/* Most accesses at once: the least that a virtio device takes in a batch. */
#define ANE_BATCH	64
/* Of the device's clock, which time stamps count. */
#define ANE_TICKS_PER_SECOND	24000000u
#define ANE_COUNTERS	(ANE_COUNTER_MOVER_UNITS + 1)
#define ANE_TASKS_MAX	0xffffu

struct ane_device;
struct ane_file;
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

struct ane_counters {
	u64 at[ANE_COUNTERS];
};

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
	/* It was in the engine's registers at some time, so an engine that is lost may still use it. Under the device's lock. */
	bool was_attached;
	/* The page tables: the transport's own, or the kernel's. */
	struct page *l2, *l3[ANE_L3_TABLES];
	struct iommu_domain *domain;
	/* The page that first descriptors are copied to; none before the first request that needs it. */
	struct page *first;
	struct drm_mm_node first_address;
	/* Under the queue's lock. */
	struct ane_counters counters;
};

/* Where a part of a buffer lies in its space. All of it is under the space's lock. */
struct ane_mapping {
	struct drm_mm_node node;
	/* It lies there, with all of its pages. */
	bool is_placed;
	u32 usage, flags;
	/* Where it has to lie, or ANE_ADDRESS_ANY. */
	u64 fixed;
	/* Pages of the processor. */
	unsigned long first, count;
	/* Requests in flight that use it. */
	unsigned int users;
};

struct ane_buffer {
	struct drm_gem_object gem;
	struct ane_space *space;
	/* As it was made. */
	u32 flags;
	/* Pages of the processor's size; so many make up one of the engine's. */
	struct page **pages;
	unsigned long page_count;
	/* Number 0 is the buffer's own. */
	struct ane_mapping own, *mappings[ANE_MAPPINGS_MAX];
};

static inline struct ane_buffer *to_buffer(struct drm_gem_object *gem)
{
	return container_of(gem, struct ane_buffer, gem);
}

struct ane_request {
	u32 bars[ANE_BARS];
	u32 first, first_bytes, tasks;
	u8 network_id;
	/* Where the first descriptor is copied from; none if it lies where the engine is to read it. */
	const struct ane_buffer *copied;
	u64 copied_at;
	/* When it is given up, by ktime_get(). */
	ktime_t deadline;
	/* Whoever waits for its end is to give it up. */
	bool is_cancelled;
	/* Of a fence, zero without one. */
	u64 fence;
	/* What became of it: the number of its fault, and when it ended, in the device's ticks. */
	u64 fault, ended;
};

/* A fault, as the transport has it. */
struct ane_fault {
	u64 sequence, fence, timestamp;
	u32 flags, window, engine_status;
	struct ane_dart_error_info info;
};

struct ane_fence {
	struct hlist_node hash;
	/* Among those that have ended, oldest first. */
	struct list_head age;
	u64 number, fault, timestamp;
	u32 state;
	int result;
};

struct ane_use {
	struct ane_buffer *buffer;
	struct ane_mapping *mapping;
};

/* A request that waits for its turn, or runs. */
struct ane_job {
	/* Among its file's, and among those of its priority that wait. */
	struct list_head link, queued;
	struct ane_file *file;
	struct ane_request request;
	struct ane_fence *fence;
	struct ane_use uses[ANE_BARS];
	unsigned int use_count;
	/* Fences that have to end first. */
	u64 after[ANE_IN_FENCES_MAX + 1];
	unsigned int after_count;
	u32 priority;
	ktime_t since;
	/* The fence of its chain's first request; its own if it is in none. */
	u64 chain;
	/* It counts as one in flight; of a chain only the last that has not ended does. */
	bool is_counted;
	/* One that it waits for has failed. */
	bool is_doomed;
};

#define ANE_PRIORITIES	(ANE_PRIORITY_LAST + 1)

/* An open file. But for the space all of it is under the queue's lock. */
struct ane_file {
	struct ane_space *space;
	/* All that are not at their end. */
	struct list_head jobs;
	unsigned int in_flight;
	u64 last_fence;
	DECLARE_HASHTABLE(fences, 8);
	struct list_head ended;
	unsigned int ended_count;
	/* A request of it has ended. */
	wait_queue_head_t told;
	/* Its turn came last at this count, and it was looked at in this round. */
	u64 turn, looked_at;
	/* Until then nothing of it is begun. */
	ktime_t parked_until;
	struct ane_fault faults[ANE_FAULTS_MAX];
	unsigned int fault_count;
	bool has_lost_faults;
	/* It has taken its context by name, or by the first call that needs one. */
	bool has_context;
};

struct ane_bus {
	const char *name;
	/* Everything below but map, space_init and wake is called under the device's lock, with the power on. */
	int (*access)(struct ane_device *ane, struct ane_batch *batch);
	int (*space_init)(struct ane_device *ane, struct ane_space *space);
	void (*space_fini)(struct ane_space *space);
	/* One page of the engine's. Under the space's lock. */
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
	int (*wait)(struct ane_device *ane, struct ane_file *file, struct ane_request *request);
	/* Has whoever sleeps there look at is_gone and is_cancelled. */
	void (*wake)(struct ane_device *ane);
	/* Ends whatever runs, and leaves the engine as after power-on, with no space attached. */
	int (*recover)(struct ane_device *ane);
	/* Where the power is the driver's to switch. */
	int (*power_on)(struct ane_device *ane);
	void (*power_off)(struct ane_device *ane);
};

/* What GET_PARAM tells of the hardware. */
struct ane_facts {
	u64 features;
	u32 chip, instance, ane_type, engines, queues, fault_policy;
};

struct ane_device {
	struct drm_device drm;
	const struct ane_bus *bus;
	void *bus_data;
	struct ane_facts facts;
	/* The hardware, and everything to the next comment that names a lock. */
	struct mutex lock;
	/* Under a lock of its own, since a file that is opened waits for no request. */
	struct mutex spaces_lock;
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
	/* What sysfs tells, without the lock. accesses: of registers if they trap one by one, else of batches. */
	u64 submissions, failed, recoveries, accesses, contained;
	/* Requests that wait for their turn, by priority. Everything below is under this lock. */
	spinlock_t queue_lock;
	struct list_head queues[ANE_PRIORITIES];
	struct ane_job *running;
	/* What the engine is at, of the queue or not. */
	struct ane_request *current_request;
	/* Time with a request pushed and not ended, since when one is (or zero), and requests that ended, well or not. */
	u64 busy_ns, busy_since, jobs;
	u64 turns, rounds, faults;
	struct ane_counters counters;
	struct workqueue_struct *workers;
	struct delayed_work work;
};

static inline struct ane_device *to_ane(struct drm_device *drm)
{
	return container_of(drm, struct ane_device, drm);
}

struct ane_device *ane_create(struct device *parent, const struct ane_bus *bus, void *bus_data);
int ane_register(struct ane_device *ane);
void ane_unregister(struct ane_device *ane);
extern const struct attribute_group *ane_groups[];

/* Adds to a counter of a space and to the device's. */
void ane_count(struct ane_space *space, unsigned int counter, s64 by);

struct ane_space *ane_space_create(struct ane_device *ane);
void ane_space_put(struct ane_space *space);
/* An engine that nobody can stop may still reach what the space leads to. Under the device's lock. */
static inline bool ane_space_is_lost(const struct ane_space *space)
{
	return space->ane->is_lost && space->was_attached;
}
/* Gives the space its page for first descriptors. */
int ane_space_first(struct ane_space *space);
/*
 * Gives a mapping its place: at that address; if it is ANE_ADDRESS_ANY where the mapping is fixed, or at the lowest that
 * is free. Its caller has none of the locks. -EALREADY if it has one, -EEXIST or -ENOSPC for want of room.
 */
int ane_place(struct ane_buffer *buffer, struct ane_mapping *mapping, u64 address);
/*
 * Has a mapping stay where it is until ane_release, and says where that is. The buffer's own gets a place if it has none.
 * -EINVAL if there is no such mapping.
 */
int ane_hold(struct ane_buffer *buffer, u32 number, struct ane_mapping **held, u64 *address);
void ane_release(struct ane_buffer *buffer, struct ane_mapping *mapping);
/* Takes a mapping's place. Under the device's lock, for no page goes while a request runs, and the space's. */
void ane_displace(struct ane_buffer *buffer, struct ane_mapping *mapping);

/* What a buffer is made as, in the words of DRM_IOCTL_ANE_BO_CREATE. */
struct ane_wish {
	u64 bytes, address;
	u32 flags, usage;
};

/* The caller puts the object. */
int ane_buffer_create(struct drm_file *file, const struct ane_wish *wish, u32 *handle, struct ane_buffer **made);
struct ane_buffer *ane_buffer_get(struct drm_file *file, u32 handle);

/* One request in the caller's context, which sleeps until it has ended; the second has the device's lock already. */
int ane_submit(struct ane_device *ane, struct ane_file *file, struct ane_request *request);
int ane_submit_locked(struct ane_device *ane, struct ane_file *file, struct ane_request *request);
/* Recovers under the device's lock, with the power on; the second has neither. */
int ane_recover(struct ane_device *ane);
int ane_reset(struct ane_device *ane);
/* The accesses that let queues run. */
void ane_enable(struct ane_batch *batch, u32 lines);

/* Requests that are carried out behind their caller's back. */
int ane_queue_init(struct ane_device *ane);
void ane_queue_add(struct ane_device *ane, struct list_head *jobs);
void ane_queue_kick(struct ane_device *ane);
/* Ends what waits with ECANCELED, of one file or of all, and says how many. */
unsigned int ane_queue_cancel(struct ane_device *ane, struct ane_file *file);
/* As DRM_IOCTL_ANE_CANCEL has it. */
int ane_queue_take_back(struct ane_device *ane, struct ane_file *file, struct drm_ane_cancel *cancel);
void ane_job_free(struct ane_job *job);

struct ane_file *ane_file_create(struct ane_space *space);
/* Ends its requests, and waits for the one that runs. */
void ane_file_close(struct ane_device *ane, struct ane_file *file);
struct ane_fence *ane_fence_find(struct ane_file *file, u64 number);
/* One that was given out and is not known has ended so long ago that it is forgotten. */
static inline bool ane_fence_has_ended(const struct ane_fence *fence)
{
	return !fence || fence->state == ANE_FENCE_STATE_COMPLETE;
}

/* Keeps a fault for its file, and has the request know of it. */
void ane_fault_keep(struct ane_device *ane, struct ane_file *file, struct ane_request *request, struct ane_fault *fault);
/* The descriptor of a fault whose registers alone are known. */
void ane_fault_explain(struct ane_dart_error_info *info, u32 status, u64 address);

/* The calls, as DRM has them. */
int ane_get_caps(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_init(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_free(struct drm_device *drm, void *data, struct drm_file *file);
int ane_legacy_submit(struct drm_device *drm, void *data, struct drm_file *file);
int ane_get_param(struct drm_device *drm, void *data, struct drm_file *file);
int ane_context_attach(struct drm_device *drm, void *data, struct drm_file *file);
int ane_context_detach(struct drm_device *drm, void *data, struct drm_file *file);
int ane_get_stats(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_create(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_info(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_map(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_unmap(struct drm_device *drm, void *data, struct drm_file *file);
int ane_bo_premap(struct drm_device *drm, void *data, struct drm_file *file);
int ane_submit_request(struct drm_device *drm, void *data, struct drm_file *file);
int ane_submit_chain(struct drm_device *drm, void *data, struct drm_file *file);
int ane_wait(struct drm_device *drm, void *data, struct drm_file *file);
int ane_cancel(struct drm_device *drm, void *data, struct drm_file *file);
int ane_get_fault(struct drm_device *drm, void *data, struct drm_file *file);
int ane_recover_call(struct drm_device *drm, void *data, struct drm_file *file);

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
