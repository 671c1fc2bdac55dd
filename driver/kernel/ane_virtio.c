// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The engine behind a virtio function (docs/virtio-ane.md): registers are reached by batches, one question for many of them,
 * and the end of a request comes as an event. The page tables are this driver's.
 *
 * A request takes one batch and one event. The event stays on both event lines until it is read there, which the next
 * batch does on its way.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "ane_virtio.h"

/* How long nothing may be heard of a request before the registers are asked. */
#define SILENCE		HZ

/* The device ends a request that gets nowhere by itself; this is for one that fails to. */
static unsigned int patience_s = 60;
module_param(patience_s, uint, 0644);
MODULE_PARM_DESC(patience_s, "Seconds after which a virtio function that says nothing of a request is reset");

static const u32 windows[] = { ANE_DART0 - ANE_DART0, ANE_DART1 - ANE_DART0, ANE_DART2 - ANE_DART0 };

static struct ane_virtio *virtio_of(struct ane_device *ane)
{
	return ane->bus_data;
}

static int ask(struct ane_device *ane, struct ane_batch *batch)
{
	ane->accesses++;
	return ane_ring_ask(virtio_of(ane), VIRTIO_ANE_REQUEST_BATCH, batch);
}

static int space_init(struct ane_device *ane, struct ane_space *space)
{
	return ane_tables_init(space, virtio_of(ane)->config.pte_format);
}

static int map(struct ane_space *space, u32 address, phys_addr_t page)
{
	return ane_tables_put(space, virtio_of(space->ane)->config.pte_format, address, page);
}

/* All windows get the same: which circuit goes through which is the engine's business. */
static int attach(struct ane_device *ane, struct ane_space *space)
{
	u32 base = ANE_DART_TTBR_VALID_MASK | page_to_phys(space->l2) >> 12;
	struct ane_batch *batch = &ane->batch;
	unsigned int i, first = 0;
	int ret;

	batch->count = 0;
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		ane_write(batch, ANE_DART_TTBR(4 * ANE_STREAM) + windows[i], base);
		ane_write(batch, ANE_DART_TCR(ANE_STREAM) + windows[i], ANE_DART_TCR_TRANSLATE_MASK);
		ane_write(batch, ANE_DART_STREAM_SELECT + windows[i], BIT(ANE_STREAM));
		ane_write(batch, ANE_DART_STREAM_COMMAND + windows[i], ANE_DART_STREAM_COMMAND_INVALIDATE_MASK);
	}
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		first = ane_read(batch, ANE_DART_STREAM_COMMAND + windows[i]);
	first -= ARRAY_SIZE(windows) - 1;
	ret = ask(ane, batch);
	/* The device is done with it at once. */
	for (i = 0; !ret && i < ARRAY_SIZE(windows); i++)
		if (batch->at[first + i].value & ANE_DART_STREAM_COMMAND_BUSY_MASK)
			ret = -EBUSY;
	return ret;
}

/* What the last request left on the event lines is taken off. */
static int prepare(struct ane_device *ane, struct ane_batch *batch)
{
	struct ane_virtio *v = virtio_of(ane);
	bool is_dead;
	unsigned int owed;

	spin_lock_irq(&v->lock);
	owed = v->owed;
	v->owed = 0;
	v->has_ended = v->has_fault = false;
	is_dead = v->is_dead;
	spin_unlock_irq(&v->lock);
	if (is_dead || owed > 4)
		return -EHOSTDOWN;
	if (!owed)
		return 0;
	for (; owed; owed--) {
		ane_read(batch, ANE_TM_EVENT_INFO(0));
		ane_read(batch, ANE_TM_EVENT_INFO(1));
	}
	ane_write(batch, ANE_TM_INTERRUPT_ACK, ANE_TM_INTERRUPT_ACK_EVENTS_MASK);
	return 0;
}

/* A window holds its first fault until it is cleared: by writing back what it says. */
static int clear_faults(struct ane_device *ane)
{
	struct ane_batch *batch = &ane->batch;
	u32 errors[ARRAY_SIZE(windows)];
	unsigned int i;
	int ret;

	batch->count = 0;
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		ane_read(batch, ANE_DART_ERROR_STATUS + windows[i]);
	ret = ask(ane, batch);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		errors[i] = batch->at[i].value;
	batch->count = 0;
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		if (errors[i])
			ane_write(batch, ANE_DART_ERROR_STATUS + windows[i], errors[i]);
	return batch->count ? ask(ane, batch) : 0;
}

/* Why the engine ended a request that did not run to its end. */
static int explain(struct ane_device *ane)
{
	struct ane_batch *batch = &ane->batch;
	u32 code;
	int ret;

	batch->count = 0;
	ane_read(batch, ANE_TM_ERROR);
	ane_read(batch, ANE_TM_ERROR_PLACE);
	ane_read(batch, ANE_TM_ERROR_VALUE);
	ret = ask(ane, batch);
	if (ret)
		return ret;
	code = batch->at[0].value & ANE_TM_ERROR_CODE_MASK;
	dev_dbg(ane->drm.dev, "request ends with code %#x, place %#x, value %#x\n", code, batch->at[1].value,
		batch->at[2].value);
	return code == ANE_TM_ERROR_CODE_DEADLINE ? -ETIME : -EIO;
}

/* The device has ended the request that faulted: what is left is to tell its file, and to free the windows. */
static int contain(struct ane_device *ane, struct ane_file *file, struct ane_request *request,
		   const struct virtio_ane_event *event)
{
	struct ane_fault fault = {
		.timestamp = le64_to_cpu(event->timestamp),
		.window = le16_to_cpu(event->source),
		.engine_status = le32_to_cpu(event->engine_status),
		.info = event->info,
	};

	dev_warn_ratelimited(ane->drm.dev, "engine faults at %#x, cause %llu\n", le32_to_cpu(event->info.address),
			     le64_to_cpu(event->info.hw_error));
	ane_fault_keep(ane, file, request, &fault);
	/* Invalidates the stream before the next request. */
	file->space->is_stale = true;
	ane->contained++;
	return clear_faults(ane);
}

static bool is_told(struct ane_device *ane, const struct ane_request *request)
{
	struct ane_virtio *v = virtio_of(ane);

	return READ_ONCE(v->has_ended) || READ_ONCE(v->is_dead) || READ_ONCE(ane->is_gone) ||
	       READ_ONCE(request->is_cancelled);
}

/* An event may have been dropped; the lines drop nothing. An end that only they know is taken for a failure. */
static int look(struct ane_device *ane, const struct ane_request *request)
{
	struct ane_batch *batch = &ane->batch;
	int ret;

	batch->count = 0;
	ane_read(batch, ANE_TM_EVENT_COUNT(0));
	ret = ask(ane, batch);
	if (ret || !batch->at[0].value)
		return ret;
	return wait_event_timeout(virtio_of(ane)->told, is_told(ane, request), HZ) ? 0 : -EPROTO;
}

/* 0 if there is news, and otherwise why nobody waits any longer. */
static int sleep(struct ane_device *ane, const struct ane_request *request)
{
	unsigned int rounds = 0;
	long left, ret;

	while (!is_told(ane, request)) {
		left = SILENCE;
		if (request->deadline != KTIME_MAX) {
			s64 ns = ktime_to_ns(ktime_sub(request->deadline, ktime_get()));

			if (ns <= 0)
				return -ETIMEDOUT;
			left = min_t(u64, SILENCE, nsecs_to_jiffies64(ns) + 1);
		}
		ret = wait_event_killable_timeout(virtio_of(ane)->told, is_told(ane, request), left);
		if (ret < 0)
			return -EINTR;
		if (ret || left < SILENCE)
			continue;
		ret = look(ane, request);
		if (ret < 0)
			return ret;
		if (++rounds >= READ_ONCE(patience_s))
			return -ETIMEDOUT;
	}
	return 0;
}

static int wait(struct ane_device *ane, struct ane_file *file, struct ane_request *request)
{
	struct ane_virtio *v = virtio_of(ane);
	struct virtio_ane_event fault;
	int ret = sleep(ane, request), cleared = 0;
	bool has_fault;
	u32 info;

	if (ret)
		return ret;
	spin_lock_irq(&v->lock);
	info = v->info;
	request->ended = v->has_ended ? v->ended : 0;
	has_fault = v->has_fault;
	fault = v->fault;
	ret = v->is_dead ? -EHOSTDOWN : v->has_ended ? 0 : READ_ONCE(request->is_cancelled) ? -ECANCELED : -ENODEV;
	spin_unlock_irq(&v->lock);
	if (!ret && info == (ANE_TM_EVENT_INFO_CODE_DONE | request->network_id << ANE_TM_EVENT_INFO_NID_SHIFT |
			     (request->tasks - 1)))
		return 0;
	if (has_fault)
		cleared = contain(ane, file, request, &fault);
	return ret ?: cleared ?: explain(ane);
}

static void wake(struct ane_device *ane)
{
	wake_up_all(&virtio_of(ane)->told);
}

/* Only the request of this name resets the engine for sure: not every monitor passes a reset of the function on. */
static int recover(struct ane_device *ane)
{
	struct ane_virtio *v = virtio_of(ane);
	struct ane_batch *batch = &ane->batch;
	unsigned int i;
	int ret = 0;

	/* An answer did not come, and the question is still with the device. It may answer again by now. */
	if (v->is_silent)
		ret = READ_ONCE(ane->is_gone) ? -ENODEV : ane_ring_restart(v);
	if (!ret)
		ret = ane_ring_ask(v, VIRTIO_ANE_REQUEST_RESET, NULL);
	if (ret)
		return ret;
	/* Events of before are in their buffers by now, if they come at all. */
	ane_ring_events(v->events);
	spin_lock_irq(&v->lock);
	v->owed = 0;
	v->is_dead = false;
	spin_unlock_irq(&v->lock);
	batch->count = 0;
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		ane_read(batch, ANE_DART_ENABLED_STREAMS + windows[i]);
	ret = ask(ane, batch);
	if (ret)
		return ret;
	for (i = 0; i < ARRAY_SIZE(windows); i++) {
		batch->at[i].is_write = true;
		batch->at[i].value |= BIT(ANE_STREAM);
	}
	/* One line tells by events; the other is read along. */
	ane_enable(batch, BIT(ANE_TM_LINE_ENABLE_LINES_SHIFT));
	return ask(ane, batch);
}

static const struct ane_bus virtio_bus = {
	.name = "virtio",
	.access = ask,
	.space_init = space_init,
	.space_fini = ane_tables_fini,
	.map = map,
	.unmap = ane_tables_clear,
	.attach = attach,
	.prepare = prepare,
	.wait = wait,
	.wake = wake,
	.recover = recover,
};

/* It never changes. Each access may be a round trip to another process, and words are the widest that it has. */
static void read_config(struct virtio_device *vdev, struct virtio_ane_config *config)
{
	unsigned int at;

	BUILD_BUG_ON(sizeof(*config) != VIRTIO_ANE_CONFIG_SIZE);
	for (at = 0; at < sizeof(*config); at += 4)
		vdev->config->get(vdev, at, (u8 *)config + at, 4);
}

/* Before the driver says FEATURES_OK. */
static int ane_validate(struct virtio_device *vdev)
{
	struct virtio_ane_config config;

	read_config(vdev, &config);
	if (le32_to_cpu(config.magic) != VIRTIO_ANE_MAGIC)
		return -ENODEV;
	if (le32_to_cpu(config.version) != VIRTIO_ANE_VERSION) {
		dev_err(&vdev->dev, "version %u of the wire is not known\n", le32_to_cpu(config.version));
		return -ENODEV;
	}
	if (le32_to_cpu(config.page_size) != ANE_PAGE || le64_to_cpu(config.aperture_base) > ANE_PAGE ||
	    le64_to_cpu(config.aperture_base) + le64_to_cpu(config.aperture_size) <
		    (u64)ANE_L3_TABLES << ANE_L2_SHIFT ||
	    config.pte_format > VIRTIO_ANE_PTE_T6000 || le16_to_cpu(config.batch_max) < ANE_BATCH) {
		dev_err(&vdev->dev, "pages, aperture or batches are none that this driver knows\n");
		return -EOPNOTSUPP;
	}
	if (!__virtio_test_bit(vdev, VIRTIO_F_VERSION_1))
		return -ENODEV;
	if (__virtio_test_bit(vdev, VIRTIO_F_ACCESS_PLATFORM)) {
		dev_err(&vdev->dev, "the engine's own page tables hold physical addresses, and it is behind an IOMMU\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int ane_probe(struct virtio_device *vdev)
{
	struct ane_device *ane;
	struct ane_virtio *v;
	int ret;

	v = devm_kzalloc(&vdev->dev, sizeof(*v), GFP_KERNEL);
	if (!v)
		return -ENOMEM;
	v->question = devm_kzalloc(&vdev->dev, sizeof(*v->question), GFP_KERNEL);
	v->answer = devm_kzalloc(&vdev->dev, sizeof(*v->answer), GFP_KERNEL);
	v->buffers = devm_kcalloc(&vdev->dev, EVENTS, sizeof(*v->buffers), GFP_KERNEL);
	if (!v->question || !v->answer || !v->buffers)
		return -ENOMEM;
	v->vdev = vdev;
	init_completion(&v->answered);
	init_waitqueue_head(&v->told);
	spin_lock_init(&v->lock);
	read_config(vdev, &v->config);
	ane = ane_create(&vdev->dev, &virtio_bus, v);
	if (IS_ERR(ane))
		return PTR_ERR(ane);
	ane->facts = (struct ane_facts){
		.features = ANE_FEATURE_VIRTUAL |
			    (le32_to_cpu(v->config.features) & VIRTIO_ANE_FEATURE_CHECK ? ANE_FEATURE_CHECK : 0),
		.chip = le32_to_cpu(v->config.chip),
		.instance = le16_to_cpu(v->config.instance),
		.ane_type = le16_to_cpu(v->config.ane_type),
		.engines = le16_to_cpu(v->config.engine_count),
		.queues = le16_to_cpu(v->config.queue_count),
		.fault_policy = v->config.fault_policy,
	};
	ret = ane_ring_start(v);
	if (ret)
		return ret;
	ret = recover(ane);
	if (!ret)
		ret = ane_register(ane);
	if (ret)
		ane_ring_stop(v);
	return ret;
}

static void stop(struct ane_device *ane)
{
	mutex_lock(&ane->lock);
	/* Whatever the monitor makes of the function's reset, the engine is still first. */
	if (ane_ring_ask(virtio_of(ane), VIRTIO_ANE_REQUEST_RESET, NULL))
		dev_warn(ane->drm.dev, "device does not answer\n");
	ane->attached = NULL;
	ane->has_bars = false;
	ane_ring_stop(virtio_of(ane));
	mutex_unlock(&ane->lock);
}

static void ane_remove(struct virtio_device *vdev)
{
	struct ane_device *ane = dev_get_drvdata(&vdev->dev);

	ane_unregister(ane);
	stop(ane);
}

#ifdef CONFIG_PM_SLEEP
/* No client runs, so no request does. */
static int ane_freeze(struct virtio_device *vdev)
{
	stop(dev_get_drvdata(&vdev->dev));
	return 0;
}

static int ane_restore(struct virtio_device *vdev)
{
	struct ane_device *ane = dev_get_drvdata(&vdev->dev);
	int ret;

	mutex_lock(&ane->lock);
	ret = ane_ring_start(virtio_of(ane));
	if (!ret)
		ret = recover(ane);
	WRITE_ONCE(ane->is_lost, ret != 0);
	mutex_unlock(&ane->lock);
	return ret;
}
#endif

static const struct virtio_device_id ane_ids[] = { { VIRTIO_ANE_ID, VIRTIO_DEV_ANY_ID }, {} };
MODULE_DEVICE_TABLE(virtio, ane_ids);

static struct virtio_driver ane_driver = {
	.driver.name = "ane",
	.driver.dev_groups = ane_groups,
	.id_table = ane_ids,
	.validate = ane_validate,
	.probe = ane_probe,
	.remove = ane_remove,
#ifdef CONFIG_PM_SLEEP
	.freeze = ane_freeze,
	.restore = ane_restore,
#endif
};

int ane_virtio_register(void)
{
	return register_virtio_driver(&ane_driver);
}

void ane_virtio_unregister(void)
{
	unregister_virtio_driver(&ane_driver);
}
