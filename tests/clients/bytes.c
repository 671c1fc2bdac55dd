/* A program that moves bytes: the logical not of each element. bytes MODEL.anec */
#include "client.h"

#include "ane.h"

int main(int argc, char **argv)
{
	uint64_t nchw[6];
	CHECK(argc == 2);
	struct ane_nn *nn = ane_init(argv[1]);
	CHECK(nn && nn->byte_bars == (1u << nn->bind.src[0] | 1u << nn->bind.dst[0]));
	memcpy(nchw, nn->anec.nchw[nn->bind.src[0]], sizeof nchw);
	size_t elements = nchw[0] * nchw[1] * nchw[2] * nchw[3];
	/* Rows of as many 16-bit numbers would overlap. */
	CHECK(elements > 0 && nchw[5] < 2 * nchw[3]);
	uint16_t *in = malloc(2 * elements), *out = malloc(2 * elements);
	uint8_t *whole = malloc(ane_src_size(nn, 0));
	CHECK(in && out && whole);
	for (size_t at = 0; at < elements; at++) {
		/* The high byte is nobody's. */
		in[at] = at % 3 == 0 ? 0xff01 : 0xff00;
		out[at] = 0xffff;
	}
	CHECK(ane_tile_send(nn, in, 0) == 0 && ane_exec(nn) == 0 && ane_tile_read(nn, out, 0) == 0);
	for (size_t at = 0; at < elements; at++)
		CHECK(out[at] == (at % 3 != 0));
	/* The same by hand. */
	memset(whole, 1, ane_src_size(nn, 0));
	ane_send(nn, whole, 0);
	CHECK(ane_exec(nn) == 0 && ane_tile_read(nn, out, 0) == 0);
	for (size_t at = 0; at < elements; at++)
		CHECK(out[at] == 0);
	ane_free(nn);
	return 0;
}
