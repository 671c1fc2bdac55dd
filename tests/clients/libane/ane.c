/* The least that is a libane in C: what a driver that comes with one is tried with, without that one. */
#include "client.h"

#include "ane.h"

struct ane_nn *__ane_init(const char *path, int node)
{
	struct ane_nn *nn = calloc(1, sizeof *nn);
	struct program *program = calloc(1, sizeof *program);
	int fd = open_device();

	CHECK(node == 0 && nn && program && fd >= 0 && sizeof nn->anec == sizeof program->header);
	*program = load_program(fd, path);
	memcpy(&nn->anec, &program->header, sizeof nn->anec);
	nn->own = program;
	return nn;
}

void __ane_free(struct ane_nn *nn)
{
	struct program *program = nn->own;

	for (unsigned bar = 0; bar < 32; bar++)
		if (program->bars[bar].map)
			munmap(program->bars[bar].map, program->bars[bar].size);
	munmap(program->bootstrap.map, program->bootstrap.size);
	close(program->fd);
	free(program);
	free(nn);
}

void __ane_tile_send(struct ane_nn *nn, const void *dense, uint32_t input)
{
	put(nn->own, input, dense);
}

void __ane_tile_read(const struct ane_nn *nn, void *dense, uint32_t output)
{
	size_t size;
	uint16_t *copy = get(nn->own, output, &size);

	memcpy(dense, copy, size);
	free(copy);
}

int ane_exec(struct ane_nn *nn)
{
	struct drm_ane_submit submit = submission(nn->own);

	return ioctl(((struct program *)nn->own)->fd, DRM_IOCTL_ANE_SUBMIT, &submit);
}
