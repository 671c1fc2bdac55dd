/* What the newest header of libane has beyond the first: newer MODEL.anec FOLDER */
#include "client.h"

#include "ane.h"

#define HEADER_TILES 0x28
#define HEADER_SHAPES 0xa8

static uint8_t *dense, *expected;
static size_t dense_bytes;

/* Loaded, with an input that is the same every time. */
static struct ane_nn *filled(struct ane_nn *nn)
{
	CHECK(nn);
	for (uint32_t input = 0; input < ane_src_count(nn); input++)
		CHECK(ane_tile_send(nn, dense, input) == 0);
	return nn;
}

static void gives_the_same(struct ane_nn *nn)
{
	uint8_t *out = malloc(dense_bytes);
	CHECK(out && ane_exec(nn) == 0 && ane_tile_read(nn, out, 0) == 0);
	CHECK(memcmp(out, expected, dense_bytes) == 0);
	free(out);
}

static const char *written(const char *folder, const uint8_t *file, size_t size)
{
	static char path[4096];
	FILE *to;
	snprintf(path, sizeof path, "%s/changed.anec", folder);
	to = fopen(path, "wb");
	CHECK(to && fwrite(file, 1, size, to) == size && fclose(to) == 0);
	return path;
}

/* The same program with its buffers counted in 512 bytes, and no more of them than it needs. */
static void other_unit(const struct ane_nn *of, const char *folder, const uint8_t *model, size_t size)
{
	uint8_t *file = malloc(size);
	uint32_t tiles[TILE_COUNT];
	uint64_t surface = 0;
	CHECK(file);
	memcpy(file, model, size);
	memcpy(tiles, to_anec(of)->tiles, sizeof tiles);
	for (uint32_t bar = 0; bar < TILE_COUNT; bar++) {
		uint64_t nchw[6];
		memcpy(nchw, to_anec(of)->nchw[bar], sizeof nchw);
		tiles[bar] <<= of->tile_shift - 9;
		if (nchw[0]) {
			surface = (nchw[0] * nchw[1] * nchw[4] + 511) >> 9;
			tiles[bar] = (uint32_t)surface;
		}
	}
	memcpy(file + HEADER_TILES, tiles, sizeof tiles);
	const char *path = written(folder, file, size);
	struct ane_nn *nn = filled(__ane_init_shift(path, 0, 9));
	CHECK(nn->tile_shift == 9 && ane_dst_size(nn, 0) == (uint64_t)tiles[nn->bind.dst[0]] << 9);
	CHECK(nn->chans[nn->bind.src[0]].size == ane_src_size(nn, 0));
	gives_the_same(nn);
	ane_free(nn);
	static const uint32_t wrong[] = { 0, 32, UINT32_MAX };
	for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
		errno = 0;
		CHECK(__ane_init_shift(path, 0, wrong[at]) == NULL && errno == EINVAL);
	}
	free(file);
}

/* A file that says nothing of its tensors. */
static void no_shapes(const struct ane_nn *of, const char *folder, const uint8_t *model, size_t size)
{
	uint8_t *file = malloc(size);
	CHECK(file);
	memcpy(file, model, size);
	memset(file + HEADER_SHAPES, 0, sizeof to_anec(of)->nchw);
	struct ane_nn *nn = ane_init(written(folder, file, size));
	CHECK(nn);
	errno = 0;
	CHECK(ane_tile_send(nn, dense, 0) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(ane_tile_read(nn, dense, 0) == -1 && errno == EINVAL);
	for (uint32_t bar = 0; bar < TILE_COUNT; bar++) {
		uint64_t nchw[6];
		memcpy(nchw, to_anec(of)->nchw[bar], sizeof nchw);
		ane_set_oracle_nchw(nn, bar, nchw);
	}
	ane_set_oracle_nchw(nn, TILE_COUNT, NULL);
	ane_set_oracle_nchw(NULL, 0, NULL);
	gives_the_same(filled(nn));
	ane_free(nn);
	free(file);
}

/* Its own constants once more, at the place where they are. */
static void constants(struct ane_nn *nn)
{
	uint64_t at = (to_anec(nn)->tsk_size + 15) / 16 * 16, room = ane_kernel_capacity(nn);
	CHECK(room == nn->chans[0].size - at && room >= to_anec(nn)->krn_size);
	memset((uint8_t *)nn->chans[0].map + at, 0xff, to_anec(nn)->krn_size);
	CHECK(ane_bind_kernel(nn, (uint8_t *)nn->data + at, to_anec(nn)->krn_size) == 0);
	gives_the_same(filled(nn));
	errno = 0;
	CHECK(ane_bind_kernel(nn, nn->data, room + 1) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(ane_bind_kernel(nn, NULL, 0) == -1 && errno == EINVAL);
	CHECK(ane_bind_kernel(NULL, nn->data, 0) == -1 && ane_kernel_capacity(NULL) == 0);
}

/* Three times by hand, and three times in a loop. */
static void loop(struct ane_nn *nn)
{
	size_t size = ane_dst_size(nn, 0);
	uint8_t *state = malloc(size), *looped = malloc(size);
	CHECK(state && looped && size == ane_src_size(nn, 0));
	filled(nn);
	for (int time = 0; time < 3; time++) {
		CHECK(ane_exec(nn) == 0);
		ane_read(nn, state, 0);
		ane_send(nn, state, 0);
	}
	filled(nn);
	CHECK(ane_exec_loop(nn, 3, 0, 0) == 0);
	ane_read(nn, looped, 0);
	CHECK(memcmp(state, looped, size) == 0);
	filled(nn);
	CHECK(ane_exec_loop(nn, 2, 0, 0) == 0 && ane_exec_loop(nn, 1, 0, 0) == 0);
	static const uint32_t wrong[][3] = { { 0, 0, 0 }, { 1, TILE_COUNT, 0 }, { 1, 0, TILE_COUNT } };
	for (size_t at = 0; at < sizeof wrong / sizeof *wrong; at++) {
		errno = 0;
		CHECK(ane_exec_loop(nn, wrong[at][0], wrong[at][1], wrong[at][2]) == -1 && errno == EINVAL);
	}
	errno = 0;
	CHECK(ane_exec_loop(NULL, 1, 0, 0) == -1 && errno == EINVAL);
	free(state);
	free(looped);
}

int main(int argc, char **argv)
{
	size_t size;
	uint64_t nchw[6];
	CHECK(argc == 3);
	uint8_t *model = load(argv[1], &size);
	struct ane_nn *nn = ane_init(argv[1]);
	CHECK(nn && nn->tile_shift == TILE_SHIFT && nn->bind.dst[ane_dst_count(nn)] == 0xff);
	memcpy(nchw, to_anec(nn)->nchw[nn->bind.dst[0]], sizeof nchw);
	dense_bytes = nchw[0] * nchw[1] * nchw[2] * nchw[3] * 2;
	dense = malloc(dense_bytes);
	expected = malloc(dense_bytes);
	CHECK(dense && expected);
	for (size_t at = 0; at < dense_bytes; at++)
		dense[at] = at % 2 ? 0x3c : (uint8_t)(at * 7);
	filled(nn);
	CHECK(ane_exec(nn) == 0 && ane_tile_read(nn, expected, 0) == 0);
	errno = 0;
	CHECK(ane_tile_send(nn, dense, ane_src_count(nn)) == -1 && errno == EINVAL);
	constants(nn);
	loop(nn);
	other_unit(nn, argv[2], model, size);
	no_shapes(nn, argv[2], model, size);
	ane_free(nn);
	free(model);
	free(dense);
	free(expected);
	return 0;
}
