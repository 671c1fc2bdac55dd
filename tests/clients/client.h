/* What the clients in C share: finding the device, its buffers, tensors and files. Everything by plain system calls. */
#ifndef CLIENT_H
#define CLIENT_H

#include <errno.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ane_accel.h"

/* DRM's own, as <drm/drm.h> has it. */
struct version {
	int major, minor, patchlevel;
	size_t name_len;
	char *name;
	size_t date_len;
	char *date;
	size_t desc_len;
	char *desc;
};
#define IOCTL_VERSION _IOWR('d', 0x00, struct version)

#define TILE 0x4000ul

/* The header of an ANEC. */
struct header {
	uint64_t size;
	uint32_t td_size, td_count;
	uint64_t tsk_size, krn_size;
	uint32_t inputs, outputs;
	uint32_t tiles[32];
	uint64_t nchw[32][6];
} __attribute__((packed));

struct buffer {
	uint32_t handle;
	uint64_t size, offset;
	uint8_t *map;
};

#define CHECK(what)                                                                                  \
	do {                                                                                         \
		if (!(what)) {                                                                       \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #what, strerror(errno)); \
			exit(1);                                                                     \
		}                                                                                    \
	} while (0)

/* The first node whose driver is called "ane", or -1. */
static inline int open_device(void)
{
	for (int node = 0; node < 64; node++) {
		char path[32], name[4] = "";
		struct version version = { 0 };
		snprintf(path, sizeof path, "/dev/accel/accel%d", node);
		int fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (ioctl(fd, IOCTL_VERSION, &version) == 0 && version.name_len == 3) {
			memset(&version, 0, sizeof version);
			version.name = name;
			version.name_len = 3;
			if (ioctl(fd, IOCTL_VERSION, &version) == 0 && strcmp(name, "ane") == 0)
				return fd;
		}
		close(fd);
	}
	return -1;
}

static inline struct buffer new_buffer(int fd, uint64_t size)
{
	struct drm_ane_bo_init init = { .size = size };
	CHECK(ioctl(fd, DRM_IOCTL_ANE_BO_INIT, &init) == 0);
	struct buffer buffer = { .handle = init.handle, .size = size, .offset = init.offset };
	buffer.map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)init.offset);
	CHECK(buffer.map != MAP_FAILED);
	return buffer;
}

static inline uint8_t *load(const char *path, size_t *size)
{
	struct stat stat;
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && fstat(fd, &stat) == 0);
	uint8_t *bytes = malloc((size_t)stat.st_size + 1);
	CHECK(bytes && read(fd, bytes, (size_t)stat.st_size) == stat.st_size);
	close(fd);
	*size = (size_t)stat.st_size;
	return bytes;
}

static inline void save(const char *prefix, unsigned index, const void *bytes, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s.%u", prefix, index);
	FILE *file = fopen(path, "wb");
	CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Where an element of a tensor lies in the engine's memory. */
static inline size_t place(const uint64_t *nchw, uint64_t n, uint64_t c, uint64_t h, uint64_t w)
{
	return (n * nchw[1] + c) * nchw[4] + h * nchw[5] + w * 2;
}

#define EACH_ELEMENT(nchw)                                       \
	for (uint64_t n = 0; n < (nchw)[0]; n++)                 \
		for (uint64_t c = 0; c < (nchw)[1]; c++)         \
			for (uint64_t h = 0; h < (nchw)[2]; h++) \
				for (uint64_t w = 0; w < (nchw)[3]; w++)

/* A program with its buffers. */
struct program {
	int fd;
	struct header header;
	struct buffer bars[32], bootstrap;
};

static inline struct program load_program(int fd, const char *path)
{
	struct program program = { .fd = fd };
	size_t size;
	uint8_t *file = load(path, &size);
	memcpy(&program.header, file, sizeof program.header);
	struct header *header = &program.header;
	for (unsigned bar = 0; bar < 32; bar++)
		if (header->tiles[bar])
			program.bars[bar] = new_buffer(fd, header->tiles[bar] * TILE);
	program.bootstrap = new_buffer(fd, TILE);
	const uint8_t *payload = file + size - header->size;
	memcpy(program.bars[0].map, payload, header->size);
	memcpy(program.bootstrap.map, payload, header->td_size);
	program.bootstrap.map[2] = ANE_FIFO_NID;
	free(file);
	return program;
}

static inline struct drm_ane_submit submission(const struct program *program)
{
	struct drm_ane_submit submit = {
		.tsk_size = program->header.tsk_size,
		.td_count = program->header.td_count,
		.td_size = program->header.td_size,
		.btsp_handle = program->bootstrap.handle,
	};
	for (unsigned bar = 0; bar < 32; bar++)
		submit.handles[bar] = program->bars[bar].handle;
	return submit;
}

/* The same as a request, with room for its BARs, of which there are 32 at most. */
static inline struct drm_ane_request request_of(const struct program *program, struct drm_ane_bar *bars)
{
	struct drm_ane_request request = {
		.program = ANE_HANDLE_NONE,
		.priority = ANE_PRIORITY_DEFAULT,
		.bars = (uintptr_t)bars,
		.bar_size = sizeof *bars,
		.stream_size = program->header.tsk_size,
		.task_count = program->header.td_count,
		.first_size = program->header.td_size,
	};
	for (unsigned bar = 0; bar < 32; bar++)
		if (program->bars[bar].handle)
			bars[request.bar_count++] = (struct drm_ane_bar){ .index = bar, .handle = program->bars[bar].handle };
	return request;
}

static inline void put(struct program *program, unsigned input, const void *dense)
{
	unsigned bar = 4 + program->header.outputs + input;
	uint64_t nchw[6];
	memcpy(nchw, program->header.nchw[bar], sizeof nchw);
	const uint16_t *next = dense;
	EACH_ELEMENT(nchw)
		memcpy(program->bars[bar].map + place(nchw, n, c, h, w), next++, 2);
}

/* The caller frees it. */
static inline uint16_t *get(const struct program *program, unsigned output, size_t *size)
{
	unsigned bar = 4 + output;
	uint64_t nchw[6];
	memcpy(nchw, program->header.nchw[bar], sizeof nchw);
	*size = nchw[0] * nchw[1] * nchw[2] * nchw[3] * 2;
	uint16_t *dense = malloc(*size), *next = dense;
	CHECK(dense);
	EACH_ELEMENT(nchw)
		memcpy(next++, program->bars[bar].map + place(nchw, n, c, h, w), 2);
	return dense;
}

#endif
