/* SPDX-License-Identifier: GPL-2.0 */
/*
 * x86-64 page tables for the window under test (SDM vol. 3, 4.5; APM vol. 2, 5.3).
 *
 * The owner of memory (guest, module, test) injects how a table page is had and reached.
 */
#ifndef TS_PGTABLE_H
#define TS_PGTABLE_H

#include "types.h"

/* Bits of an entry; positions from SDM vol. 3, tables 4-15 to 4-20. */
#define TS_PTE_P (1ULL << 0)  /* present */
#define TS_PTE_W (1ULL << 1)  /* writable */
#define TS_PTE_U (1ULL << 2)  /* user */
#define TS_PTE_A (1ULL << 5)  /* accessed: set by the walker, never by a TLB hit */
#define TS_PTE_D (1ULL << 6)  /* dirty */
#define TS_PTE_PS (1ULL << 7) /* large leaf, in a PDPTE (1G) or PDE (2M) */
#define TS_PTE_G (1ULL << 8)  /* global, with CR4.PGE */
#define TS_PTE_NX (1ULL << 63)
#define TS_PTE_ADDR 0x000ffffffffff000ULL

struct ts_tables {
	void *context;
	/* A zeroed 4K page for a table and its physical address; 0 when there is none left. */
	u64 *(*alloc)(void *context, u64 *physical);
	/* The table page at a physical address that alloc gave. */
	u64 *(*reach)(void *context, u64 physical);
	u64 *root;  /* PML4, or PML5 with levels = 5 */
	u32 levels; /* 4 or 5 */
	u64 table_flags; /* in entries that point to a table: P W A, plus memory encryption bit */
};

/* Index into the table of a level (0 = page table) for an address. */
static inline u32 ts_pt_index(u64 va, u32 level)
{
	return va >> (12 + 9 * level) & 511;
}

/*
 * Maps one leaf of a size at va to pa with flags (P, W, G, NX, ...; PS is added as the size needs)
 * and returns its entry, or 0: no memory for a table, va or pa not aligned to the size, pa beyond
 * bit 51, or something mapped there already.
 */
u64 *ts_pt_map(const struct ts_tables *tables, u64 va, u64 pa, u64 page, u64 flags);

/* The leaf entry that maps va, and its size in *page (may be 0); 0 if va is not mapped. */
u64 *ts_pt_leaf(const struct ts_tables *tables, u64 va, u64 *page);

/*
 * Accessed bits of n leaf entries: cleared by plain stores, without a flush, so that a cached
 * translation keeps working and only a new walk sets the bit again (SDM vol. 3, 4.8).
 */
void ts_accessed_clear(u64 *const *leaf, u64 n);
u64 ts_accessed_count(u64 *const *leaf, u64 n);

#endif
