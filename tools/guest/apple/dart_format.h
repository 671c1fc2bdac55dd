/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef DART_FORMAT_H
#define DART_FORMAT_H

#include <linux/io-pgtable.h>

struct io_pgtable_ops *dart_alloc_io_pgtable_ops(enum io_pgtable_fmt fmt, struct io_pgtable_cfg *cfg, void *cookie);
void dart_free_io_pgtable_ops(struct io_pgtable_ops *ops);

#endif
