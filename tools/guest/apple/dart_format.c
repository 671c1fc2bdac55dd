// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The page-table format of DARTs, for a kernel that was built without it.
 *
 * The kernel's own alloc_io_pgtable_ops() looks formats up in a table that is built in, and Debian's has no row for
 * DARTs. apple-dart.c is compiled with these names in the place of the kernel's (Kbuild); the format itself is the
 * kernel's io-pgtable-dart.c, linked in beside it.
 */
#include <linux/io-pgtable.h>

#include "dart_format.h"

struct io_pgtable_ops *dart_alloc_io_pgtable_ops(enum io_pgtable_fmt fmt, struct io_pgtable_cfg *cfg, void *cookie)
{
	struct io_pgtable *table;

	if (fmt != APPLE_DART && fmt != APPLE_DART2)
		return NULL;
	table = io_pgtable_apple_dart_init_fns.alloc(cfg, cookie);
	if (!table)
		return NULL;
	table->fmt = fmt;
	table->cookie = cookie;
	table->cfg = *cfg;
	return &table->ops;
}

void dart_free_io_pgtable_ops(struct io_pgtable_ops *ops)
{
	struct io_pgtable *table;

	if (!ops)
		return;
	table = io_pgtable_ops_to_pgtable(ops);
	io_pgtable_tlb_flush_all(table);
	io_pgtable_apple_dart_init_fns.free(table);
}
