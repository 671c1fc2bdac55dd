// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The queues of the virtio function: questions with their answers on one, events on the other.
 *
 * One question is on its way at a time, and its asker sleeps. Events come whenever the engine has something to tell; each
 * is copied and its buffer given back at once, so the device always finds one.
 */
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>

#include "ane_virtio.h"

/* Seconds. An answer waits for the task that runs, at most; the host may have other things to do. */
#define PATIENCE	60
/* The same of a function that is being removed: there may be nobody behind it. */
#define PATIENCE_GONE	2

static void ctrl_used(struct virtqueue *vq)
{
	struct ane_device *ane = dev_get_drvdata(&vq->vdev->dev);
	struct ane_virtio *v = ane->bus_data;

	complete(&v->answered);
}

/* The first of a request is the one that is told. */
static void take_fault(struct ane_virtio *v, const struct virtio_ane_event *event)
{
	if (!v->has_fault)
		v->fault = *event;
	v->has_fault = true;
}

static void take_event(struct ane_virtio *v, const struct virtio_ane_event *event)
{
	switch (le16_to_cpu(event->kind)) {
	case VIRTIO_ANE_EVENT_TASK_MANAGER:
		v->owed++;
		v->info = le32_to_cpu(event->words[1]);
		v->ended = le64_to_cpu(event->timestamp);
		v->has_ended = true;
		break;
	case VIRTIO_ANE_EVENT_DART:
		take_fault(v, event);
		break;
	case VIRTIO_ANE_EVENT_DEAD:
		take_fault(v, event);
		v->is_dead = true;
		break;
	}
}

static int give(struct ane_virtio *v, struct virtio_ane_event *buffer)
{
	struct scatterlist sg;

	sg_init_one(&sg, buffer, sizeof(*buffer));
	return virtqueue_add_inbuf(v->events, &sg, 1, buffer, GFP_ATOMIC);
}

void ane_ring_events(struct virtqueue *vq)
{
	struct ane_device *ane = dev_get_drvdata(&vq->vdev->dev);
	struct ane_virtio *v = ane->bus_data;
	struct virtio_ane_event *event;
	unsigned long flags;
	unsigned int length;

	spin_lock_irqsave(&v->lock, flags);
	while ((event = virtqueue_get_buf(vq, &length))) {
		/* A buffer that is too short for an event comes back with nothing in it; ours are not. */
		if (length >= sizeof(*event))
			take_event(v, event);
		/* It came out of the queue, so there is room for it; an event that finds none is looked for by its waiter. */
		if (give(v, event))
			dev_warn_ratelimited(&vq->vdev->dev, "event queue takes no buffer\n");
	}
	virtqueue_kick(vq);
	spin_unlock_irqrestore(&v->lock, flags);
	wake_up_all(&v->told);
}

static void drop_queues(struct ane_virtio *v)
{
	/* Without queues nothing is asked, should somebody still try. */
	v->is_silent = true;
	if (v->ctrl)
		v->vdev->config->del_vqs(v->vdev);
	v->ctrl = v->events = NULL;
}

int ane_ring_start(struct ane_virtio *v)
{
	struct virtqueue_info infos[VIRTIO_ANE_QUEUES] = {
		[VIRTIO_ANE_CTRL_QUEUE] = { "ctrl", ctrl_used },
		[VIRTIO_ANE_EVENT_QUEUE] = { "event", ane_ring_events },
	};
	struct virtqueue *vqs[VIRTIO_ANE_QUEUES];
	unsigned long flags;
	int i, ret;

	ret = virtio_find_vqs(v->vdev, VIRTIO_ANE_QUEUES, vqs, infos, NULL);
	if (ret)
		return ret;
	v->ctrl = vqs[VIRTIO_ANE_CTRL_QUEUE];
	v->events = vqs[VIRTIO_ANE_EVENT_QUEUE];
	v->is_silent = false;
	spin_lock_irqsave(&v->lock, flags);
	for (i = 0; i < EVENTS && !ret; i++)
		ret = give(v, &v->buffers[i]);
	spin_unlock_irqrestore(&v->lock, flags);
	if (ret) {
		drop_queues(v);
		return ret;
	}
	virtio_device_ready(v->vdev);
	virtqueue_kick(v->events);
	return 0;
}

void ane_ring_stop(struct ane_virtio *v)
{
	/* Nothing is asked from here on. */
	v->is_silent = true;
	virtio_reset_device(v->vdev);
	drop_queues(v);
}

/* As the kernel does after a sleep: the reset took back what was agreed on. */
static int negotiate(struct virtio_device *vdev)
{
	int ret;

	virtio_add_status(vdev, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	virtio_add_status(vdev, VIRTIO_CONFIG_S_DRIVER);
	ret = vdev->config->finalize_features(vdev);
	if (ret)
		return ret;
	virtio_add_status(vdev, VIRTIO_CONFIG_S_FEATURES_OK);
	return vdev->config->get_status(vdev) & VIRTIO_CONFIG_S_FEATURES_OK ? 0 : -ENODEV;
}

int ane_ring_restart(struct ane_virtio *v)
{
	int ret;

	/* The reset of a function that was pulled out would be waited for without end. */
	if (v->ctrl && virtqueue_is_broken(v->ctrl))
		return -ENODEV;
	ane_ring_stop(v);
	ret = negotiate(v->vdev);
	return ret ?: ane_ring_start(v);
}

static int check(struct ane_virtio *v, struct ane_batch *batch, unsigned int length)
{
	const struct virtio_ane_response *head = &v->answer->head;
	unsigned int i, reads = 0;
	u32 status;

	if (length < sizeof(*head) || le64_to_cpu(head->cookie) != v->cookie)
		return -EPROTO;
	status = le32_to_cpu(head->status);
	if (status == VIRTIO_ANE_STATUS_DEAD)
		return -EHOSTDOWN;
	if (status != VIRTIO_ANE_STATUS_DONE) {
		dev_err_ratelimited(&v->vdev->dev, "device refuses operation %u with status %u, detail %#x\n",
				    le32_to_cpu(head->index), status, le32_to_cpu(head->detail));
		return -EPROTO;
	}
	for (i = 0; batch && i < batch->count; i++) {
		if (batch->at[i].is_write)
			continue;
		if (length < sizeof(*head) + (reads + 1) * sizeof(__le32))
			return -EPROTO;
		batch->at[i].value = le32_to_cpu(v->answer->values[reads++]);
	}
	return 0;
}

static unsigned int compose(struct ane_virtio *v, u16 kind, const struct ane_batch *batch)
{
	unsigned int i, count = batch ? batch->count : 0;

	v->question->head = (struct virtio_ane_request){
		.kind = cpu_to_le16(kind),
		.count = cpu_to_le32(count),
		.cookie = cpu_to_le64(++v->cookie),
	};
	for (i = 0; i < count; i++) {
		const struct ane_access *access = &batch->at[i];

		v->question->ops[i] = (struct virtio_ane_op){
			.access = cpu_to_le16(access->is_write ? VIRTIO_ANE_WRITE : VIRTIO_ANE_READ),
			.offset = cpu_to_le32(access->offset),
			.value = cpu_to_le32(access->is_write ? access->value : 0),
		};
	}
	return sizeof(v->question->head) + count * sizeof(v->question->ops[0]);
}

/*
 * The ring says whether there is an answer, the completion only when to look: a handler that is interrupted between its own
 * look and its call completes a question that was asked meanwhile.
 */
static bool is_answered(struct ane_virtio *v, unsigned int *length)
{
	struct ane_device *ane = dev_get_drvdata(&v->vdev->dev);
	unsigned long begun = jiffies;

	do {
		wait_for_completion_timeout(&v->answered, HZ);
		if (virtqueue_get_buf(v->ctrl, length))
			return true;
	} while (!virtqueue_is_broken(v->ctrl) &&
		 time_before(jiffies, begun + (READ_ONCE(ane->is_gone) ? PATIENCE_GONE : PATIENCE) * HZ));
	return false;
}

int ane_ring_ask(struct ane_virtio *v, u16 kind, struct ane_batch *batch)
{
	struct scatterlist out, in, *sgs[] = { &out, &in };
	unsigned int length;

	if (v->is_silent)
		return -EPIPE;
	sg_init_one(&out, v->question, compose(v, kind, batch));
	sg_init_one(&in, v->answer, sizeof(*v->answer));
	reinit_completion(&v->answered);
	if (virtqueue_add_sgs(v->ctrl, sgs, 1, 1, v, GFP_KERNEL))
		return -EPIPE;
	if (!virtqueue_kick(v->ctrl) || !is_answered(v, &length)) {
		/* The device has question and answer, and may still write: only its reset gives them back. */
		v->is_silent = true;
		return -EPIPE;
	}
	return check(v, batch, length);
}
