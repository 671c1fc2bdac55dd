/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The virtio function: its two queues, and what its events have told. */
#ifndef ANE_VIRTIO_H
#define ANE_VIRTIO_H

#include <linux/completion.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/wait.h>

#include "ane.h"
#include "virtio_ane.h"

/* Buffers in the event queue. A request ends with three events at most, and one runs at a time. */
#define EVENTS	16

struct ane_question {
	struct virtio_ane_request head;
	struct virtio_ane_op ops[ANE_BATCH];
};

struct ane_answer {
	struct virtio_ane_response head;
	__le32 values[ANE_BATCH];
};

struct ane_virtio {
	struct virtio_device *vdev;
	/* None of them after a start that failed. */
	struct virtqueue *ctrl, *events;
	struct virtio_ane_config config;
	/* What is with the device belongs to it: memory of its own, never of a stack. */
	struct ane_question *question;
	struct ane_answer *answer;
	struct virtio_ane_event *buffers;
	u64 cookie;
	/* A question is with the device and was given up: nothing is asked any more. */
	bool is_silent;
	struct completion answered;
	wait_queue_head_t told;
	/* Under the spin lock: what events have told since the last push. */
	spinlock_t lock;
	bool has_ended, is_dead, has_fault;
	u32 info;
	u64 ended;
	struct virtio_ane_event fault;
	/* Events that came, each of which both lines still hold. Under the device's lock and the spin lock. */
	unsigned int owed;
};

/* Takes what is in the event queue. */
void ane_ring_events(struct virtqueue *vq);
int ane_ring_start(struct ane_virtio *v);
void ane_ring_stop(struct ane_virtio *v);
/* Resets the function, and begins with queues that hold nothing. */
int ane_ring_restart(struct ane_virtio *v);
/* Asks the device; the answer's values go where the batch's reads are. */
int ane_ring_ask(struct ane_virtio *v, u16 kind, struct ane_batch *batch);

#endif
