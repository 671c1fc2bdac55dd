/* Runs a program by raw ioctls: raw MODEL.anec OUTPUTS INPUT...; writes OUTPUTS.0, OUTPUTS.1, ... */
#include "client.h"

int main(int argc, char **argv)
{
	CHECK(argc >= 3);
	int fd = open_device();
	CHECK(fd >= 0);
	struct program program = load_program(fd, argv[1]);
	CHECK(program.header.inputs == (uint32_t)argc - 3);
	for (int input = 0; input < argc - 3; input++) {
		size_t size;
		uint8_t *dense = load(argv[3 + input], &size);
		put(&program, (unsigned)input, dense);
		free(dense);
	}
	/* The mappings are enough from here on: a duplicate is as good as the descriptor, and it may be closed. */
	int again = dup(fd);
	CHECK(again >= 0 && close(fd) == 0);
	struct drm_ane_submit submit = submission(&program);
	CHECK(ioctl(again, DRM_IOCTL_ANE_SUBMIT, &submit) == 0);
	for (uint32_t output = 0; output < program.header.outputs; output++) {
		size_t size;
		uint16_t *dense = get(&program, output, &size);
		save(argv[2], output, dense, size);
		free(dense);
	}
	return 0;
}
