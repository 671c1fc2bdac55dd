// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Page tables of the engine, where no other driver keeps them: an L2 table whose entries name L3 tables, whose leaves name
 * pages. A table is one page of the engine's. Three formats are known; config space says which one the device reads.
 */
#include <linux/gfp.h>
#include <linux/mm.h>

#include "ane.h"
#include "virtio_ane.h"

static const struct {
	u64 table, leaf;
	u8 shift, address_bits;
} formats[] = {
	[VIRTIO_ANE_PTE_SEED] = { ANE_PTE_SEED_TABLE, ANE_PTE_SEED_LEAF, ANE_PTE_SEED_SHIFT, 47 },
	[VIRTIO_ANE_PTE_T8020] = { ANE_PTE_T8020_TABLE, ANE_PTE_T8020_LEAF, ANE_PTE_T8020_SHIFT, 36 },
	[VIRTIO_ANE_PTE_T6000] = { ANE_PTE_T6000_TABLE, ANE_PTE_T6000_LEAF, ANE_PTE_T6000_SHIFT, 42 },
};

/* A table base has 31 bits of the address above bit 12. */
#define BASE_BITS	43

static struct page *new_table(void)
{
	return alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_ZERO, ANE_PAGE_SHIFT - PAGE_SHIFT);
}

static void put_entry(struct page *table, u32 index, u64 word)
{
	/* The engine may read it at any time: whole, and behind what it leads to. */
	smp_wmb();
	WRITE_ONCE(((__le64 *)page_address(table))[index], cpu_to_le64(word));
}

int ane_tables_init(struct ane_space *space, u8 format)
{
	if (format >= ARRAY_SIZE(formats))
		return -EOPNOTSUPP;
	space->l2 = new_table();
	if (!space->l2)
		return -ENOMEM;
	if (page_to_phys(space->l2) >> BASE_BITS) {
		ane_tables_fini(space);
		return -ERANGE;
	}
	return 0;
}

void ane_tables_fini(struct ane_space *space)
{
	int i;

	for (i = 0; i < ANE_L3_TABLES; i++)
		if (space->l3[i])
			__free_pages(space->l3[i], ANE_PAGE_SHIFT - PAGE_SHIFT);
	if (space->l2)
		__free_pages(space->l2, ANE_PAGE_SHIFT - PAGE_SHIFT);
	space->l2 = NULL;
}

static u64 entry(u64 template, u8 format, phys_addr_t page)
{
	return template | page >> formats[format].shift;
}

int ane_tables_put(struct ane_space *space, u8 format, u32 address, phys_addr_t page)
{
	u32 l2 = address >> ANE_L2_SHIFT, l3 = address >> ANE_L3_SHIFT & (ANE_TABLE_ENTRIES - 1);
	struct page *table;

	if (page >> formats[format].address_bits)
		return -ERANGE;
	if (!space->l3[l2]) {
		table = new_table();
		if (!table)
			return -ENOMEM;
		if (page_to_phys(table) >> formats[format].address_bits) {
			__free_pages(table, ANE_PAGE_SHIFT - PAGE_SHIFT);
			return -ERANGE;
		}
		space->l3[l2] = table;
		put_entry(space->l2, l2, entry(formats[format].table, format, page_to_phys(table)));
	}
	put_entry(space->l3[l2], l3, entry(formats[format].leaf, format, page));
	return 0;
}

void ane_tables_clear(struct ane_space *space, u32 address, u32 bytes)
{
	for (; bytes; bytes -= ANE_PAGE, address += ANE_PAGE) {
		struct page *table = space->l3[address >> ANE_L2_SHIFT];

		if (table)
			put_entry(table, address >> ANE_L3_SHIFT & (ANE_TABLE_ENTRIES - 1), 0);
	}
}
