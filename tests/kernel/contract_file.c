// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * /dev/ane-contract: a job goes in by writing, the first read runs it, and what is read is the output.
 *
 * A job is words of 32 bits, little-endian: tasks; bytes of the first descriptor; for each of 32 BARs its bytes, the
 * bytes that it holds at first, the page that is left unmapped and how many follow (a count of 0: none); the BAR that
 * is the output. Behind it the first descriptor, then what the BARs hold, in order.
 *
 * A file has to be closed before the driver is unbound: it refers to the device.
 */
#include <linux/fs.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "contract.h"

#define JOB_MAX		(64u << 20)
#define BUFFER_MAX	(64u << 20)

struct job_bar {
	__le32 bytes, data_bytes, hole, hole_pages;
};

struct job_header {
	__le32 tasks, first_bytes;
	struct job_bar bars[BARS];
	__le32 output;
};

struct buffer {
	void *at;
	u32 iova, pages, hole, hole_pages;
};

struct session {
	struct contract *c;
	struct mutex lock;
	void *job;
	size_t job_bytes;
	/* The BARs' buffers, and the first descriptor's. */
	struct buffer buffers[BARS + 1];
	u32 next_iova;
	bool is_done;
	int ret;
	const void *out;
	size_t out_bytes;
};

static bool is_hole(const struct buffer *b, u32 page)
{
	return page >= b->hole && page - b->hole < b->hole_pages;
}

static int map_buffer(struct session *s, struct buffer *b, u32 bytes, const void *data, u32 data_bytes)
{
	u32 page;
	int ret;

	if (!bytes || bytes > BUFFER_MAX || data_bytes > bytes ||
	    s->next_iova + bytes > APERTURE_END - PAGE_BYTES)
		return -EINVAL;
	b->at = vmalloc_user(bytes);
	if (!b->at)
		return -ENOMEM;
	memcpy(b->at, data, data_bytes);
	b->iova = s->next_iova;
	for (page = 0; page < DIV_ROUND_UP(bytes, PAGE_BYTES); page++) {
		phys_addr_t at = page_to_phys(vmalloc_to_page(b->at + page * PAGE_BYTES));

		b->pages = page + 1;
		if (is_hole(b, page))
			continue;
		ret = iommu_map(s->c->domain, b->iova + page * PAGE_BYTES, at, PAGE_BYTES, IOMMU_READ | IOMMU_WRITE,
				GFP_KERNEL);
		if (ret) {
			b->pages = page;
			return ret;
		}
	}
	s->next_iova = b->iova + b->pages * PAGE_BYTES;
	return 0;
}

static void unmap_buffers(struct session *s)
{
	u32 page;
	int i;

	for (i = 0; i <= BARS; i++) {
		struct buffer *b = &s->buffers[i];

		for (page = 0; page < b->pages; page++)
			if (!is_hole(b, page))
				iommu_unmap(s->c->domain, b->iova + page * PAGE_BYTES, PAGE_BYTES);
		b->pages = 0;
	}
}

static int load(struct session *s, struct contract_job *job)
{
	const struct job_header *header = s->job;
	size_t at = sizeof(*header);
	u32 output, bytes, data;
	int i, ret;

	if (s->job_bytes < sizeof(*header))
		return -EINVAL;
	job->tasks = le32_to_cpu(header->tasks);
	job->first_bytes = le32_to_cpu(header->first_bytes);
	output = le32_to_cpu(header->output);
	if (!job->tasks || job->tasks > 0xffff || job->first_bytes % 4 || job->first_bytes > s->job_bytes - at ||
	    output >= BARS)
		return -EINVAL;
	s->next_iova = APERTURE_START;
	ret = map_buffer(s, &s->buffers[BARS], job->first_bytes, s->job + at, job->first_bytes);
	if (ret)
		return ret;
	at += job->first_bytes;
	job->first = s->buffers[BARS].iova;
	for (i = 0; i < BARS; i++) {
		bytes = le32_to_cpu(header->bars[i].bytes);
		data = le32_to_cpu(header->bars[i].data_bytes);
		if (!bytes)
			continue;
		if (data > s->job_bytes - at)
			return -EINVAL;
		s->buffers[i].hole = le32_to_cpu(header->bars[i].hole);
		s->buffers[i].hole_pages = le32_to_cpu(header->bars[i].hole_pages);
		ret = map_buffer(s, &s->buffers[i], bytes, s->job + at, data);
		if (ret)
			return ret;
		at += data;
		job->bars[i] = s->buffers[i].iova;
	}
	s->out = s->buffers[output].at;
	s->out_bytes = s->out ? le32_to_cpu(header->bars[output].bytes) : 0;
	return 0;
}

static int run(struct session *s)
{
	struct contract *c = s->c;
	struct contract_job job = {};
	int ret;

	mutex_lock(&c->lock);
	ret = pm_runtime_resume_and_get(c->dev);
	if (!ret) {
		ret = load(s, &job);
		if (!ret)
			ret = contract_submit(c, &job);
		unmap_buffers(s);
		pm_runtime_put_autosuspend(c->dev);
	}
	mutex_unlock(&c->lock);
	return ret;
}

static ssize_t contract_read(struct file *file, char __user *to, size_t count, loff_t *at)
{
	struct session *s = file->private_data;
	ssize_t ret;

	mutex_lock(&s->lock);
	if (!s->is_done) {
		s->is_done = true;
		s->ret = run(s);
	}
	ret = s->ret ?: simple_read_from_buffer(to, count, at, s->out, s->out_bytes);
	mutex_unlock(&s->lock);
	return ret;
}

static ssize_t contract_write(struct file *file, const char __user *from, size_t count, loff_t *at)
{
	struct session *s = file->private_data;
	ssize_t ret = -EINVAL;
	void *job;

	mutex_lock(&s->lock);
	if (s->is_done || count > JOB_MAX - s->job_bytes)
		goto out;
	job = kvrealloc(s->job, s->job_bytes + count, GFP_KERNEL);
	ret = -ENOMEM;
	if (!job)
		goto out;
	s->job = job;
	ret = -EFAULT;
	if (copy_from_user(job + s->job_bytes, from, count))
		goto out;
	s->job_bytes += count;
	ret = count;
out:
	mutex_unlock(&s->lock);
	return ret;
}

static int contract_open(struct inode *inode, struct file *file)
{
	struct session *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return -ENOMEM;
	s->c = container_of(file->private_data, struct contract, misc);
	mutex_init(&s->lock);
	file->private_data = s;
	return 0;
}

static int contract_release(struct inode *inode, struct file *file)
{
	struct session *s = file->private_data;
	int i;

	for (i = 0; i <= BARS; i++)
		vfree(s->buffers[i].at);
	kvfree(s->job);
	kfree(s);
	return 0;
}

const struct file_operations contract_fops = {
	.owner = THIS_MODULE,
	.open = contract_open,
	.read = contract_read,
	.write = contract_write,
	.release = contract_release,
};
