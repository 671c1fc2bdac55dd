/* Runs a program by any libane, with the calls that all of them have: tiles MODEL.anec OUTPUTS INPUT... */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Loops count inputs: an index need not be a constant. */
#define LIBANE_CONFIG_NO_STATIC_ASSERT
#include "ane.h"

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

static void *load(const char *path)
{
	FILE *file = fopen(path, "rb");
	CHECK(file && fseek(file, 0, SEEK_END) == 0);
	size_t size = (size_t)ftell(file);
	rewind(file);
	void *bytes = malloc(size + 1);
	CHECK(bytes && fread(bytes, 1, size, file) == size && fclose(file) == 0);
	return bytes;
}

int main(int argc, char **argv)
{
	CHECK(argc >= 3);
	struct ane_nn *nn = ane_init(argv[1]);
	CHECK(nn && ane_src_count(nn) == (uint32_t)argc - 3);
	for (uint32_t input = 0; input < ane_src_count(nn); input++) {
		void *dense = load(argv[3 + input]);
		ane_tile_send(nn, dense, input);
		free(dense);
	}
	CHECK(ane_exec(nn) == 0);
	for (uint32_t output = 0; output < ane_dst_count(nn); output++) {
		char path[4096];
		uint64_t size = 2;
		for (int axis = 0; axis < 4; axis++)
			size *= nn->anec.nchw[4 + output][axis];
		void *dense = malloc(size);
		snprintf(path, sizeof path, "%s.%u", argv[2], output);
		FILE *file = fopen(path, "wb");
		CHECK(dense && file);
		ane_tile_read(nn, dense, output);
		CHECK(fwrite(dense, 1, size, file) == size && fclose(file) == 0);
		free(dense);
	}
	ane_free(nn);
	return 0;
}
