/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * libane: runs compiled programs (.anec) on an Apple Neural Engine through its Linux device node.
 *
 * Open a program, copy inputs in, run it, copy outputs out:
 *
 *	struct ane_nn *nn = ane_init("model.anec");
 *	ane_tile_send(nn, input, 0);
 *	if (ane_exec(nn) == 0)
 *		ane_tile_read(nn, output, 0);
 *	ane_free(nn);
 *
 * Tensors are 16-bit floats. A program's inputs and outputs are numbered from 0, in the order of their BARs: output i
 * is BAR 4 + i, input i is BAR 4 + (number of outputs) + i, unless its tasks are bound to others: then a BAR that they
 * write is an output, and one that they only read an input.
 *
 * A few programs move bytes, such as truth values. Their tensors are 16-bit numbers all the same: the byte of an element is the
 * low byte of its number, so that true is 1 and not 1.0, and the high byte of a result is zero. In the buffer an element takes one
 * byte, which only matters to who copies whole buffers. (The Linux driver's library takes two, which its engine does not.)
 *
 * NULL, an index that a program does not have and numbers that make no tensor are answered with an error, or with nothing
 * done. What C cannot know, the library does not either; undefined is
 *	- a program that ane_init did not give, or that was given back already;
 *	- a tensor that is shorter than the program's input or output, or a buffer shorter than its size;
 *	- two calls on one program at a time. Different programs may be used in different threads.
 * A fork's child has the same programs, with the same buffers, and may run them. Who gives one back takes it from both.
 */
#ifndef ANE_H
#define ANE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* BARs of a program. */
#define TILE_COUNT 0x20

/* A buffer is a whole number of these: 0x4000 bytes. */
#define TILE_SHIFT 0xEUL
#define TILE_SIZE 0x4000UL

/* The header of a .anec file, as it is in the file. */
struct anec {
	uint64_t size;			/* payload: tasks, rounded up to 16 bytes, and constants */
	uint32_t td_size;		/* first task */
	uint32_t td_count;		/* number of tasks */
	uint64_t tsk_size;		/* all tasks */
	uint64_t krn_size;		/* constants */
	uint32_t src_count;		/* inputs */
	uint32_t dst_count;		/* outputs */
	uint32_t tiles[TILE_COUNT];	/* of each BAR: its buffer, in tiles */
	uint64_t nchw[TILE_COUNT][6];	/* of each BAR: N, C, H, W, bytes of a plane, bytes of a row */
} __attribute__((packed));

/* A buffer of the device, mapped. */
struct ane_bo {
	void *map;
	uint64_t size;
	uint32_t handle;
	uint64_t offset;
};

/* The BARs of inputs and outputs, by their numbers; 0xff where there is none. */
struct ane_bind {
	uint8_t src[TILE_COUNT];
	uint8_t dst[TILE_COUNT];
};

/* A program, loaded. */
struct ane_nn {
	int fd;
	void *data;			/* the payload, as in the file */
	struct anec anec;
	struct ane_bo chans[TILE_COUNT];
	struct ane_bo btsp_chan;
	struct ane_bind bind;
	uint32_t tile_shift;		/* a tile of anec has 1 << tile_shift bytes */
	uint32_t byte_bars;		/* BARs whose elements are bytes: bit i for BAR i */
};

/*
 * Loads a program on the dev_id-th device, 0 or 1, and makes its buffers, zeroed. NULL if that fails: errno is EINVAL
 * for a file that is no such program, ENODEV if there is no such device, EBUSY if it is taken, EACCES if its node is
 * somebody else's.
 */
struct ane_nn *__ane_init(const char *path, int dev_id);

/*
 * The same for a file whose tiles have 1 << tile_shift bytes: 0xE is usual, 9 is what newer converters of whole programs write.
 * The counts stay as they are in the file, and sizes are exact. (__ane_init finds files of the second kind by itself,
 * and counts their buffers in tiles of 0x4000 bytes.) EINVAL if the file's numbers do not agree with each other then.
 */
struct ane_nn *__ane_init_shift(const char *path, int dev_id, uint32_t tile_shift);

/* Gives all of it back. NULL is allowed. */
void __ane_free(struct ane_nn *nn);

/* Runs the program and waits: 0, or -1 and errno, which is ETIMEDOUT if the engine gets nowhere for two seconds, or
 * would have taken longer on the chip. */
int ane_exec(struct ane_nn *nn);

/*
 * Runs the program so many times, with its state kept on the device: what output state_dst_idx got is input state_src_idx of the
 * next time. The two buffers change places with every second time, so the last state is in the output's buffer after an
 * odd number of times, and in the input's after an even one. 0, or -1 and errno, which is EINVAL for no time at all, for
 * no such input or output, and for buffers of different sizes.
 */
int ane_exec_loop(struct ane_nn *nn, uint32_t iterations, uint32_t state_src_idx, uint32_t state_dst_idx);

/*
 * Constants in the place of the program's own: how many bytes there may be, and a copy of them to the device. The second gives
 * 0, or -1 and errno: EINVAL for more than that.
 */
uint64_t ane_kernel_capacity(struct ane_nn *nn);
int ane_bind_kernel(struct ane_nn *nn, const void *from, uint64_t size);

/* Bytes of a buffer; 0 if there is no such input or output. */
uint64_t __ane_src_size(struct ane_nn *nn, uint32_t idx);
uint64_t __ane_dst_size(struct ane_nn *nn, uint32_t idx);

/* Copy whole buffers, as the engine has them. Nothing happens if there is no such input or output. */
void __ane_send(struct ane_nn *nn, const void *from, uint32_t idx);
void __ane_read(struct ane_nn *nn, void *to, uint32_t idx);

/*
 * Copy dense tensors, N C H W: 0, or -1 and errno. That is EINVAL, and nothing happens, if there is no such input or output,
 * or the file does not say how the tensor lies in the buffer. What lies in the buffer beside the elements becomes zero, up to
 * N * C * P bytes.
 */
int __ane_tile_send(struct ane_nn *nn, const void *from, uint32_t idx);
int __ane_tile_read(struct ane_nn *nn, void *to, uint32_t idx);

/* Says so for a BAR: N, C, H, W, bytes of a plane, bytes of a row. Nothing happens if there is no such BAR. */
void ane_set_oracle_nchw(struct ane_nn *nn, uint32_t ch, const uint64_t nchw[6]);

/*
 * From a dense tensor to rows of R bytes in planes of P bytes, and back: element n, c, h, w is the half at byte
 * (n * C + c) * P + h * R + w * 2. Nothing happens if there are no elements, rows or planes would overlap, or a number
 * does not fit what an engine has. ane_tile writes N * C * P bytes (all elements, if P is less than a plane of them): what is
 * no element becomes zero. data and tile do not overlap; both may lie anywhere.
 */
void ane_tile(const void *data, void *tile, uint64_t N, uint64_t C, uint64_t H, uint64_t W, uint64_t P, uint64_t R);
void ane_untile(void *data, const void *tile, uint64_t N, uint64_t C, uint64_t H, uint64_t W, uint64_t P, uint64_t R);

#define ane_init(path) __ane_init(path, 0)
#define ane_free(nn) __ane_free(nn)

#define to_anec(nn) (&(nn)->anec)
#define ane_src_count(nn) (to_anec(nn)->src_count)
#define ane_dst_count(nn) (to_anec(nn)->dst_count)

#define ane_src_size(nn, idx) __ane_src_size(nn, idx)
#define ane_dst_size(nn, idx) __ane_dst_size(nn, idx)

#define ane_send(nn, from, idx) __ane_send(nn, from, idx)
#define ane_read(nn, to, idx) __ane_read(nn, to, idx)

#define ane_tile_send(nn, from, idx) __ane_tile_send(nn, from, idx)
#define ane_tile_read(nn, to, idx) __ane_tile_read(nn, to, idx)

#ifdef __cplusplus
}
#endif

#endif
