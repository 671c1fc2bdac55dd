/* Runs a program by libane: linked MODEL.anec OUTPUTS INPUT... */
#include "client.h"

#include "ane.h"

int main(int argc, char **argv)
{
	CHECK(argc >= 3);
	CHECK(ane_init("/nonexistent") == NULL && __ane_init(argv[1], 2) == NULL && ane_init(NULL) == NULL);
	struct ane_nn *nn = ane_init(argv[1]);
	CHECK(nn);
	CHECK(ane_src_count(nn) == (uint32_t)argc - 3);
	for (uint32_t input = 0; input < ane_src_count(nn); input++) {
		size_t size;
		uint8_t *dense = load(argv[3 + input], &size);
		ane_tile_send(nn, dense, input);
		free(dense);
		CHECK(ane_src_size(nn, input) == (uint64_t)nn->anec.tiles[4 + ane_dst_count(nn) + input] << TILE_SHIFT);
	}
	CHECK(ane_exec(nn) == 0);
	for (uint32_t output = 0; output < ane_dst_count(nn); output++) {
		uint64_t nchw[6];
		memcpy(nchw, nn->anec.nchw[4 + output], sizeof nchw);
		size_t size = nchw[0] * nchw[1] * nchw[2] * nchw[3] * 2;
		uint8_t *dense = malloc(size), *whole = malloc(ane_dst_size(nn, output)), *untiled = malloc(size);
		CHECK(dense && whole && untiled);
		ane_tile_read(nn, dense, output);
		/* The same by hand. */
		ane_read(nn, whole, output);
		ane_untile(untiled, whole, nchw[0], nchw[1], nchw[2], nchw[3], nchw[4], nchw[5]);
		CHECK(memcmp(dense, untiled, size) == 0);
		save(argv[2], output, dense, size);
		free(dense);
		free(whole);
		free(untiled);
	}
	/* What is not there is left alone. */
	CHECK(ane_src_size(nn, 99) == 0 && ane_dst_size(nn, ane_dst_count(nn)) == 0);
	ane_tile_send(nn, NULL, 0);
	ane_tile_read(nn, nn, 99);
	ane_free(nn);
	ane_free(NULL);
	return 0;
}
