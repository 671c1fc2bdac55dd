// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of the calls of /dev/accel/accelN, what sysfs tells, and the device's life.
 *
 * DRM takes an argument of any size for a number: what it lacks is zero, what is too much is not looked at.
 */
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <linux/module.h>
#include <linux/of.h>

#include "ane.h"

static int open_file(struct drm_device *drm, struct drm_file *file)
{
	struct ane_space *space;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	space = ane_space_create(to_ane(drm));
	drm_dev_exit(idx);
	if (IS_ERR(space))
		return PTR_ERR(space);
	file->driver_priv = ane_file_create(space);
	if (!file->driver_priv) {
		ane_space_put(space);
		return -ENOMEM;
	}
	return 0;
}

/*
 * DRM lets go of a file's buffers before it calls close_file. Their freeing waits for the request that runs, so the file's
 * requests are ended first. No call of this file runs any more, and none comes.
 */
static int release_file(struct inode *inode, struct file *opened)
{
	struct drm_file *file = opened->private_data;

	ane_queue_cancel(to_ane(file->minor->dev), file->driver_priv);
	return drm_release(inode, opened);
}

static void close_file(struct drm_device *drm, struct drm_file *file)
{
	struct ane_file *own = file->driver_priv;
	struct ane_space *space = own->space;

	ane_file_close(to_ane(drm), own);
	ane_space_put(space);
}

/* Numbers that uapi has for a driver in user space alone. */
static int no_such_call(struct drm_device *drm, void *data, struct drm_file *file)
{
	return -ENOTTY;
}

/* The companion blocks: this driver offers none, and GET_PARAM says so. */
static int no_such_block(struct drm_device *drm, void *data, struct drm_file *file)
{
	return -EOPNOTSUPP;
}

/* Why a request failed is told by its result and its fault; no text is kept. */
static int no_text(struct drm_device *drm, void *data, struct drm_file *file)
{
	return -ENODATA;
}

#define CALL(call, handler) [DRM_IOCTL_NR(DRM_IOCTL_ANE_##call) - DRM_COMMAND_BASE] = { \
	.cmd = DRM_IOCTL_ANE_##call, .func = handler, .name = #call }

static const struct drm_ioctl_desc calls[] = {
	CALL(GET_CAPS, ane_get_caps),
	CALL(BO_INIT, ane_bo_init),
	CALL(BO_FREE, ane_bo_free),
	CALL(SUBMIT, ane_legacy_submit),
	CALL(GET_PARAM, ane_get_param),
	CALL(CONTEXT_ATTACH, ane_context_attach),
	CALL(CONTEXT_DETACH, ane_context_detach),
	CALL(BO_CREATE, ane_bo_create),
	CALL(BO_INFO, ane_bo_info),
	CALL(BO_MAP, ane_bo_map),
	CALL(BO_UNMAP, ane_bo_unmap),
	CALL(BO_PREMAP, ane_bo_premap),
	CALL(POOL_CREATE, no_such_call),
	CALL(POOL_DESTROY, no_such_call),
	CALL(POOL_TAKE, no_such_call),
	CALL(POOL_RECYCLE, no_such_call),
	CALL(PROGRAM_CREATE, no_such_call),
	CALL(PROGRAM_DESTROY, no_such_call),
	CALL(SUBMIT_REQUEST, ane_submit_request),
	CALL(SUBMIT_CHAIN, ane_submit_chain),
	CALL(WAIT, ane_wait),
	CALL(CANCEL, ane_cancel),
	CALL(GET_FAULT, ane_get_fault),
	CALL(RECOVER, ane_recover_call),
	CALL(GET_STATS, ane_get_stats),
	CALL(PE_MMU_MAP, no_such_block),
	CALL(PE_MMU_UNMAP, no_such_block),
	CALL(MOVER, no_such_block),
	CALL(GET_FAILURE, no_text),
};

/* DRM_ACCEL_FOPS, but for release. */
static const struct file_operations ane_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = release_file,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.mmap = drm_gem_mmap,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

static const struct drm_driver ane_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM,
	.open = open_file,
	.postclose = close_file,
	.ioctls = calls,
	.num_ioctls = ARRAY_SIZE(calls),
	.fops = &ane_fops,
	.name = "ane",
	.desc = "Apple Neural Engine",
	/* Clients compare it with the number of the ABI. */
	.major = ANE_CAPS_ABI,
};

/*
 * The first two lines are those of the driver for Apple's machines. A request holds the device's lock until it ends, and a
 * monitor has to see that the engine is busy, so only the time and its requests are read under a lock.
 */
static ssize_t ane_stats_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct ane_device *ane = dev_get_drvdata(dev);
	u64 busy_ns, jobs;

	spin_lock(&ane->queue_lock);
	busy_ns = ane->busy_ns;
	if (ane->busy_since)
		busy_ns += ktime_get_ns() - ane->busy_since;
	jobs = ane->jobs;
	spin_unlock(&ane->queue_lock);
	return sysfs_emit(text,
			  "busy_ns %llu\njobs %llu\n"
			  "submissions %llu\nfailed %llu\nrecoveries %llu\naccesses %llu\ncontained %llu\n",
			  busy_ns, jobs, READ_ONCE(ane->submissions), READ_ONCE(ane->failed),
			  READ_ONCE(ane->recoveries), READ_ONCE(ane->accesses), READ_ONCE(ane->contained));
}
static DEVICE_ATTR_RO(ane_stats);

static ssize_t wedged_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct ane_device *ane = dev_get_drvdata(dev);

	return sysfs_emit(text, "%d\n", READ_ONCE(ane->is_lost));
}
static DEVICE_ATTR_RO(wedged);

static ssize_t reset_store(struct device *dev, struct device_attribute *attr, const char *text, size_t bytes)
{
	struct ane_device *ane = dev_get_drvdata(dev);
	int idx, ret = -ENODEV;

	if (!drm_dev_enter(&ane->drm, &idx))
		return ret;
	ret = ane_reset(ane);
	drm_dev_exit(idx);
	return ret ?: bytes;
}
static DEVICE_ATTR_WO(reset);

static struct attribute *ane_attrs[] = { &dev_attr_ane_stats.attr, &dev_attr_wedged.attr, &dev_attr_reset.attr, NULL };
static const struct attribute_group ane_group = { .attrs = ane_attrs };
const struct attribute_group *ane_groups[] = { &ane_group, NULL };

struct ane_device *ane_create(struct device *parent, const struct ane_bus *bus, void *bus_data)
{
	struct ane_device *ane = devm_drm_dev_alloc(parent, &ane_driver, struct ane_device, drm);
	int ret;

	if (IS_ERR(ane))
		return ane;
	ane->bus = bus;
	ane->bus_data = bus_data;
	mutex_init(&ane->lock);
	mutex_init(&ane->spaces_lock);
	INIT_LIST_HEAD(&ane->spaces);
	ret = ane_queue_init(ane);
	if (ret)
		return ERR_PTR(ret);
	dev_set_drvdata(parent, ane);
	return ane;
}

/* The last step of a probe: from here on there are clients. */
int ane_register(struct ane_device *ane)
{
	int ret = drm_dev_register(&ane->drm, 0);

	if (!ret)
		dev_info(ane->drm.dev, "engine found, by %s\n", ane->bus->name);
	return ret;
}

/* Returns when no call is in the driver any more, nor will be. Files that are open stay so, and get ENODEV. */
void ane_unregister(struct ane_device *ane)
{
	WRITE_ONCE(ane->is_gone, true);
	ane->bus->wake(ane);
	drm_dev_unplug(&ane->drm);
	/* Nothing is begun any more: what waits ends with ENODEV, one behind the other. */
	ane_queue_kick(ane);
}

static int __init ane_init(void)
{
	int ret;

	BUILD_BUG_ON(PAGE_SIZE > ANE_PAGE);
	ret = ane_virtio_register();
	if (ret)
		return ret;
	ret = ane_platform_register();
	if (ret)
		ane_virtio_unregister();
	return ret;
}
module_init(ane_init);

static void __exit ane_exit(void)
{
	ane_platform_unregister();
	ane_virtio_unregister();
}
module_exit(ane_exit);

MODULE_DESCRIPTION("Apple Neural Engine, H13: the virtio device and the engine itself");
MODULE_LICENSE("Dual MIT/GPL");
