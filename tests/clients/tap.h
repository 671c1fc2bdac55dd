/* What the clients share that print TAP: a program of a model with inputs of a seed, and what comes of it. */
#ifndef TAP_H
#define TAP_H

#include "client.h"

static const char *model;
static int count, failed;

static inline void report(int good, const char *what)
{
	printf("%sok %d %s\n", good ? "" : "not ", ++count, what);
	failed += !good;
}

#define TEST(what) report((what), #what)

/* How a call ends: 0, or the error. */
static inline int call(int fd, unsigned long number, void *argument)
{
	return ioctl(fd, number, argument) == 0 ? 0 : errno;
}

static inline int run(struct program *program)
{
	struct drm_ane_submit submit = submission(program);
	return call(program->fd, DRM_IOCTL_ANE_SUBMIT, &submit);
}

/* A file of its own with the program in it, its inputs filled by a seed. */
static inline struct program fresh(unsigned seed)
{
	int fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, model);
	for (unsigned input = 0; input < program.header.inputs; input++) {
		struct buffer *bar = &program.bars[4 + program.header.outputs + input];
		for (uint64_t at = 0; at + 1 < bar->size; at += 2) {
			/* Halves of either sign, none of them large. */
			seed = seed * 1664525 + 1013904223;
			bar->map[at] = seed >> 24;
			bar->map[at + 1] = 0x30 | (seed >> 16 & 0x8f);
		}
	}
	return program;
}

static inline uint64_t sum(const struct program *program)
{
	uint64_t hash = 14695981039346656037ull;
	for (unsigned output = 0; output < program->header.outputs; output++) {
		const struct buffer *bar = &program->bars[4 + output];
		for (uint64_t at = 0; at < bar->size; at++)
			hash = (hash ^ bar->map[at]) * 1099511628211ull;
	}
	return hash;
}

/* Its result, from outputs that hold nothing of an earlier one. */
static inline uint64_t result(struct program *program)
{
	for (unsigned output = 0; output < program->header.outputs; output++)
		memset(program->bars[4 + output].map, 0xa5, program->bars[4 + output].size);
	CHECK(run(program) == 0);
	return sum(program);
}

static inline void drop(struct program *program)
{
	for (unsigned bar = 0; bar < 32; bar++)
		if (program->bars[bar].map)
			munmap(program->bars[bar].map, program->bars[bar].size);
	munmap(program->bootstrap.map, program->bootstrap.size);
	close(program->fd);
}

#endif
