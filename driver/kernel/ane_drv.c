// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The calls of /dev/accel/accelN, what sysfs tells, and the device's life. The calls are those that clients of today use:
 * GET_CAPS, BO_INIT, BO_FREE and SUBMIT, with the checks that docs/uapi.md gives them.
 */
#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <linux/module.h>
#include <linux/of.h>

#include "ane.h"
#include "ane_accel.h"

/* Longest first descriptor: what today's driver takes. */
#define FIRST_MAX	0x40000u
#define TASKS_MAX	0xffffu

static int get_caps(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_caps *caps = data;

	*caps = (struct drm_ane_caps){
		.size = sizeof(*caps),
		.abi = ANE_CAPS_ABI,
		.family = ANE_CAPS_FAMILY_H13,
	};
	return 0;
}

static int bo_init(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_init *init = data;
	int idx, ret;

	if (init->pad)
		return -EINVAL;
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = ane_buffer_create(file, init->size, &init->handle, &init->offset);
	drm_dev_exit(idx);
	return ret;
}

static int bo_free(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_ane_bo_free *args = data;

	if (args->pad)
		return -EINVAL;
	return drm_gem_handle_delete(file, args->handle);
}

/* The buffers that a request names, held until it has ended. */
struct named {
	struct drm_gem_object *bars[ANE_BARS], *first;
};

static void let_go(struct named *named)
{
	int i;

	for (i = 0; i < ANE_BARS; i++)
		drm_gem_object_put(named->bars[i]);
	drm_gem_object_put(named->first);
}

static u32 address_of(struct drm_gem_object *gem)
{
	return container_of(gem, struct ane_buffer, gem)->addresses.start;
}

static int look_up(struct drm_file *file, const struct drm_ane_submit *args, struct named *named,
		   struct ane_request *request)
{
	int i;

	for (i = 0; i < ANE_BARS; i++) {
		if (!args->handles[i])
			continue;
		named->bars[i] = drm_gem_object_lookup(file, args->handles[i]);
		if (!named->bars[i])
			return -EINVAL;
		request->bars[i] = address_of(named->bars[i]);
	}
	named->first = drm_gem_object_lookup(file, args->btsp_handle);
	if (!named->first)
		return -EINVAL;
	if (args->tsk_size >= named->bars[0]->size || args->td_size > named->first->size)
		return -EINVAL;
	/* Coefficients lie behind the commands, in the same buffer. */
	request->bars[1] = request->bars[0] + ALIGN(args->tsk_size, ANE_CMD_GRAN);
	request->first = address_of(named->first);
	request->first_bytes = args->td_size;
	request->tasks = args->td_count;
	return 0;
}

static int submit(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct drm_ane_submit *args = data;
	struct ane_request request = {};
	struct named named = {};
	int idx, ret;

	BUILD_BUG_ON(ARRAY_SIZE(args->handles) != ANE_BARS);
	if (args->pad || !args->tsk_size || !args->td_count || args->td_count > TASKS_MAX || !args->td_size ||
	    args->td_size % 4 || args->td_size > FIRST_MAX || !args->handles[0] || args->handles[1] ||
	    !args->btsp_handle)
		return -EINVAL;
	ret = look_up(file, args, &named, &request);
	if (ret)
		goto out;
	ret = -ENODEV;
	if (!drm_dev_enter(drm, &idx))
		goto out;
	ret = ane_submit(to_ane(drm), file->driver_priv, &request);
	drm_dev_exit(idx);
out:
	let_go(&named);
	return ret;
}

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
	file->driver_priv = space;
	return 0;
}

static void close_file(struct drm_device *drm, struct drm_file *file)
{
	ane_space_put(file->driver_priv);
}

#define CALL(call, handler) [DRM_IOCTL_NR(DRM_IOCTL_ANE_##call) - DRM_COMMAND_BASE] = { \
	.cmd = DRM_IOCTL_ANE_##call, .func = handler, .name = #call }

static const struct drm_ioctl_desc calls[] = {
	CALL(GET_CAPS, get_caps),
	CALL(BO_INIT, bo_init),
	CALL(BO_FREE, bo_free),
	CALL(SUBMIT, submit),
};

DEFINE_DRM_ACCEL_FOPS(ane_fops);

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

static ssize_t ane_stats_show(struct device *dev, struct device_attribute *attr, char *text)
{
	struct ane_device *ane = dev_get_drvdata(dev);
	ssize_t length;

	mutex_lock(&ane->lock);
	length = sysfs_emit(text, "submissions %llu\nfailed %llu\nrecoveries %llu\naccesses %llu\n", ane->submissions,
			    ane->failed, ane->recoveries, ane->accesses);
	mutex_unlock(&ane->lock);
	return length;
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
	mutex_lock(&ane->lock);
	ret = ane->bus->power_on(ane);
	if (!ret) {
		ret = ane_recover(ane);
		ane->bus->power_off(ane);
	}
	mutex_unlock(&ane->lock);
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

	if (IS_ERR(ane))
		return ane;
	ane->bus = bus;
	ane->bus_data = bus_data;
	mutex_init(&ane->lock);
	INIT_LIST_HEAD(&ane->spaces);
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
	drm_dev_unplug(&ane->drm);
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
