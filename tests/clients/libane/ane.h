/* The calls that every libane has; what lies behind them here is in ane.c. */
#ifndef ANE_H
#define ANE_H

#include <stdint.h>

struct ane_nn {
	/* As it stands in the file. */
	struct {
		uint64_t size;
		uint32_t td_size, td_count;
		uint64_t tsk_size, krn_size;
		uint32_t src_count, dst_count;
		uint32_t tiles[32];
		uint64_t nchw[32][6];
	} anec;
	void *own;
};

struct ane_nn *ane_init(const char *path);
void ane_free(struct ane_nn *nn);
uint32_t ane_src_count(const struct ane_nn *nn);
uint32_t ane_dst_count(const struct ane_nn *nn);
void ane_tile_send(struct ane_nn *nn, const void *dense, uint32_t input);
void ane_tile_read(const struct ane_nn *nn, void *dense, uint32_t output);
int ane_exec(struct ane_nn *nn);

#endif
