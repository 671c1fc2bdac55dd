/*
 * The calls that every libane has; what lies behind them here is in ane.c. As in the one of Linux's driver, most are macros, and an
 * index that is no constant does not compile unless LIBANE_CONFIG_NO_STATIC_ASSERT is defined.
 */
#ifndef ANE_H
#define ANE_H

#include <stdint.h>

#define TILE_COUNT 0x20

struct ane_nn {
	/* As it stands in the file. */
	struct {
		uint64_t size;
		uint32_t td_size, td_count;
		uint64_t tsk_size, krn_size;
		uint32_t src_count, dst_count;
		uint32_t tiles[TILE_COUNT];
		uint64_t nchw[TILE_COUNT][6];
	} anec;
	void *own;
};

#ifndef LIBANE_CONFIG_NO_STATIC_ASSERT
#define ANE_HAS_INDEX(index) _Static_assert((index) < TILE_COUNT, "index")
#else
#define ANE_HAS_INDEX(index) \
	do {                 \
	} while (0)
#endif

struct ane_nn *__ane_init(const char *path, int node);
void __ane_free(struct ane_nn *nn);
int ane_exec(struct ane_nn *nn);
void __ane_tile_send(struct ane_nn *nn, const void *dense, uint32_t input);
void __ane_tile_read(const struct ane_nn *nn, void *dense, uint32_t output);

#define ane_init(path) __ane_init(path, 0)
#define ane_free(nn) __ane_free(nn)
#define ane_src_count(nn) ((nn)->anec.src_count)
#define ane_dst_count(nn) ((nn)->anec.dst_count)
#define ane_tile_send(nn, dense, input)             \
	({                                          \
		ANE_HAS_INDEX(input);               \
		__ane_tile_send(nn, dense, input);  \
	})
#define ane_tile_read(nn, dense, output)            \
	({                                          \
		ANE_HAS_INDEX(output);              \
		__ane_tile_read(nn, dense, output); \
	})

#endif
