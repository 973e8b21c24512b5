// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables of the window. Levels count from the bottom: 0 page table (4K leaves), 1 page directory
 * (2M leaves), 2 page-directory-pointer table (1G leaves), 3 PML4, 4 PML5.
 */
#include "pgtable.h"

/* The table that a present entry points to; a memory encryption bit among the flags is no address. */
static u64 *table_below(const struct ts_tables *tables, u64 entry)
{
	return tables->reach(tables->context, entry & TS_PTE_ADDR & ~tables->table_flags);
}

/* The next table below entry: the one that is there, or a new one; 0 if neither can be had. */
static u64 *descend(const struct ts_tables *tables, u64 *entry)
{
	u64 physical, *table;

	if (*entry & TS_PTE_P)
		return *entry & TS_PTE_PS ? 0 : table_below(tables, *entry);
	table = tables->alloc(tables->context, &physical);
	if (table)
		*entry = physical | tables->table_flags;
	return table;
}

u64 *ts_pt_map(const struct ts_tables *tables, u64 va, u64 pa, u64 page, u64 flags)
{
	u64 *table = tables->root, *entry;
	u32 level;

	if ((va | pa) & (ts_page_size(page) - 1) || pa & ~TS_PTE_ADDR)
		return 0;
	for (level = tables->levels - 1; level > page; level--) {
		table = descend(tables, &table[ts_pt_index(va, level)]);
		if (!table)
			return 0;
	}
	entry = &table[ts_pt_index(va, level)];
	if (*entry & TS_PTE_P)
		return 0;
	*entry = pa | flags | (page == TS_4K ? 0 : TS_PTE_PS);
	return entry;
}

u64 *ts_pt_leaf(const struct ts_tables *tables, u64 va, u64 *page)
{
	u64 *table = tables->root, *entry;
	u32 level;

	for (level = tables->levels - 1;; level--) {
		entry = &table[ts_pt_index(va, level)];
		if (!(*entry & TS_PTE_P))
			return 0;
		/* Bit 7 of a 4K leaf is PAT, of a PML4 or PML5 entry reserved (SDM table 4-14). */
		if (!level || (level <= TS_1G && (*entry & TS_PTE_PS)))
			break;
		table = table_below(tables, *entry);
	}
	if (page)
		*page = level;
	return entry;
}

void ts_accessed_clear(u64 *const *leaf, u64 n)
{
	u64 i;

	for (i = 0; i < n; i++)
		*(volatile u64 *)leaf[i] &= ~TS_PTE_A;
}

u64 ts_accessed_count(u64 *const *leaf, u64 n)
{
	u64 i, count = 0;

	for (i = 0; i < n; i++)
		count += !!(*(volatile u64 *)leaf[i] & TS_PTE_A);
	return count;
}
