// SPDX-License-Identifier: GPL-2.0
/*
 * Page tables against Intel SDM vol. 3, section 4.5: bit positions and index fields typed from its
 * tables 4-15 to 4-20, entries worked out by hand, and the walker of truth.h.
 */
#include "truth.h"

static struct pool pool;

static void test_bits(void **state)
{
	(void)state;
	assert_int_equal(TS_PTE_P, 0x1);
	assert_int_equal(TS_PTE_W, 0x2);
	assert_int_equal(TS_PTE_U, 0x4);
	assert_int_equal(TS_PTE_A, 0x20);
	assert_int_equal(TS_PTE_D, 0x40);
	assert_int_equal(TS_PTE_PS, 0x80);
	assert_int_equal(TS_PTE_G, 0x100);
	assert_true(TS_PTE_NX == 0x8000000000000000ULL);
	assert_true(TS_PTE_ADDR == 0x000ffffffffff000ULL);
	assert_int_equal(ts_page_size(TS_4K), 4096);
	assert_int_equal(ts_page_size(TS_2M), 2097152);
	assert_int_equal(ts_page_size(TS_1G), 1073741824);
}

static void test_index_fields(void **state)
{
	/* 0x0003 0x1a5 0x007 0x155 0x0f3 in 9-bit fields, from bit 48 down, offset 0xabc */
	const u64 va =
		3ULL << 48 | 0x1a5ULL << 39 | 7ULL << 30 | 0x155ULL << 21 | 0xf3ULL << 12 | 0xabc;
	static const u32 index[] = { 0xf3, 0x155, 7, 0x1a5, 3 };
	u32 level, bit;

	(void)state;
	assert_true(va == 0x0003d281eaaf3abcULL);
	for (level = 0; level < 5; level++)
		assert_int_equal(ts_pt_index(va, level), index[level]);
	for (bit = 0; bit < 64; bit++)
		for (level = 0; level < 5; level++)
			assert_int_equal(ts_pt_index(1ULL << bit, level),
					 bit >= 12 + 9 * level && bit <= 20 + 9 * level ?
						 1 << (bit - 12 - 9 * level) :
						 0);
}

/* The tables come from the pool in the order in which they are needed: 1, 2, 3, ... */
static void test_entries_4_levels(void **state)
{
	struct ts_tables tables = pool_tables(&pool, 4, 20);
	u64 *entry;

	(void)state;
	/* indexes 1, 1, 1, 1; XD and G asked for */
	entry = ts_pt_map(&tables, 0x0000008040201000ULL, 0x12345000, TS_4K, 0x8000000000000103ULL);
	assert_true(tables.root[1] == 0x0008000000003023ULL);
	assert_true(pool.table[1][1] == 0x0008000000005023ULL);
	assert_true(pool.table[2][1] == 0x0008000000007023ULL);
	assert_true(pool.table[3][1] == 0x8000000012345103ULL);
	assert_ptr_equal(entry, &pool.table[3][1]);

	/* indexes 1, 1, 2: the next 2M in the same directory, PS added, no new table */
	entry = ts_pt_map(&tables, 0x0000008040400000ULL, 0x40200000, TS_2M, 0x8000000000000103ULL);
	assert_true(pool.table[2][2] == 0x8000000040200183ULL);
	assert_ptr_equal(entry, &pool.table[2][2]);

	/* indexes 1, 511; the highest gigabyte of physical memory */
	entry = ts_pt_map(&tables, 0x000000ffc0000000ULL, 0x000fffffc0000000ULL, TS_1G, 0x3);
	assert_true(pool.table[1][511] == 0x000fffffc0000083ULL);
	assert_ptr_equal(entry, &pool.table[1][511]);
	assert_int_equal(pool.used, 4);

	/* indexes 511, 511, 511, 511, canonical; the highest page frame */
	entry = ts_pt_map(&tables, 0xfffffffffffff000ULL, 0x000ffffffffff000ULL, TS_4K, 0x1);
	assert_true(tables.root[511] == 0x0008000000009023ULL);
	assert_true(pool.table[4][511] == 0x000800000000b023ULL);
	assert_true(pool.table[5][511] == 0x000800000000d023ULL);
	assert_true(pool.table[6][511] == 0x000ffffffffff001ULL);
	assert_ptr_equal(entry, &pool.table[6][511]);
	assert_int_equal(pool.used, 7);
}

static void test_entries_5_levels(void **state)
{
	struct ts_tables tables = pool_tables(&pool, 5, 20);

	(void)state;
	/* indexes 256, 0, 0, 0, 2 */
	assert_non_null(ts_pt_map(&tables, 0xff00000000002000ULL, 0x7000, TS_4K, 0x63));
	assert_true(tables.root[256] == 0x0008000000003023ULL);
	assert_true(pool.table[1][0] == 0x0008000000005023ULL);
	assert_true(pool.table[2][0] == 0x0008000000007023ULL);
	assert_true(pool.table[3][0] == 0x0008000000009023ULL);
	assert_true(pool.table[4][2] == 0x0000000000007063ULL);
	/* indexes 0, 511, 511, 511 and 0, 511, 0 */
	assert_non_null(ts_pt_map(&tables, 0x0000ffffffe00000ULL, 0x200000, TS_2M, 0x3));
	assert_true(tables.root[0] == 0x000800000000b023ULL);
	assert_true(pool.table[5][511] == 0x000800000000d023ULL);
	assert_true(pool.table[6][511] == 0x000800000000f023ULL);
	assert_true(pool.table[7][511] == 0x0000000000200083ULL);
	assert_non_null(ts_pt_map(&tables, 0x0000ff8000000000ULL, 0x40000000, TS_1G, 0x3));
	assert_true(pool.table[6][0] == 0x0000000040000083ULL);
	assert_int_equal(pool.used, 8);
}

/* PWT, PCD, PAT and the ignored bits go through as given; bit 7 of a 4K leaf is PAT, not PS. */
static void test_flags_pass(void **state)
{
	/* XD, ignored 11:9, PCD, PWT, U/S, R/W, P */
	static const u64 flags = 0x8000000000000e1fULL;
	struct ts_tables tables = pool_tables(&pool, 4, 20);
	u64 page;

	(void)state;
	assert_true(*ts_pt_map(&tables, 0, 0x1000, TS_4K, flags | 0x80) == (flags | 0x1080));
	assert_non_null(ts_pt_leaf(&tables, 0xfff, &page));
	assert_int_equal(page, TS_4K);
	assert_true(*ts_pt_map(&tables, 0x200000, 0x200000, TS_2M, flags | 0x1000) ==
		    (flags | 0x201080));
	assert_non_null(ts_pt_leaf(&tables, 0x3fffff, &page));
	assert_int_equal(page, TS_2M);
	assert_true(*ts_pt_map(&tables, 0x40000000, 0x40000000, TS_1G, flags | 0x1000) ==
		    (flags | 0x40001080));
	assert_non_null(ts_pt_leaf(&tables, 0x7fffffff, &page));
	assert_int_equal(page, TS_1G);
}

/*
 * A place for leaf i of a size: each size has its own gigabytes, so that none is in another's way.
 */
static u64 place(u64 *random, u32 levels, u64 page)
{
	u64 va = random_u64(random) & ((1ULL << (levels == 4 ? 48 : 57)) - 1);
	u64 gigabyte = (va >> 30) / 3 * 3 + page;

	if (va >> 30 == (1ULL << (levels == 4 ? 18 : 27)) - 1)
		gigabyte -= 3;
	return (gigabyte << 30 | (va & 0x3fffffff)) & ~(leaf_bytes[page] - 1);
}

static void check_leaf(const struct ts_tables *tables, u64 va, u64 pa, u64 page, u64 flags,
		       u64 *entry)
{
	u64 inside = leaf_bytes[page] - 1, found = 99;
	const u64 probe[] = { va, va + inside, va + (inside & 0x1555a5a5) };
	struct walk w;
	u32 i;

	for (i = 0; i < TS_COUNT(probe); i++) {
		assert_int_equal(walk(&pool, tables, probe[i], &w), WALKED);
		assert_true(w.pa == pa + (probe[i] - va));
		assert_int_equal(w.level, page);
		assert_ptr_equal(w.at, entry);
		assert_int_equal(w.writable, flags >> 1 & 1);
		assert_int_equal(w.no_execute, flags >> 63);
		assert_ptr_equal(ts_pt_leaf(tables, probe[i], &found), entry);
		assert_int_equal(found, page);
	}
	assert_ptr_equal(ts_pt_leaf(tables, va, NULL), entry);
}

#define MANY 50

static void check_many(u32 levels, u64 seed)
{
	static const u64 choices[] = { 0x1, 0x3, 0x103, 0x8000000000000003ULL,
				       0x8000000000000101ULL };
	struct ts_tables tables = pool_tables(&pool, levels, POOL_TABLES - 1);
	struct {
		u64 va, pa, page, flags, *entry;
	} leaf[MANY];
	struct walk w;
	u32 i, j;

	for (i = 0; i < MANY; i++) {
		leaf[i].page = random_below(&seed, 3);
		do {
			leaf[i].va = place(&seed, levels, leaf[i].page);
			for (j = 0; j < i && leaf[j].va != leaf[i].va; j++)
				;
		} while (j < i);
		leaf[i].pa =
			random_u64(&seed) & 0x000fffffffffffffULL & ~(leaf_bytes[leaf[i].page] - 1);
		leaf[i].flags = choices[random_below(&seed, TS_COUNT(choices))];
		leaf[i].entry =
			ts_pt_map(&tables, leaf[i].va, leaf[i].pa, leaf[i].page, leaf[i].flags);
		assert_non_null(leaf[i].entry);
	}
	for (i = 0; i < MANY; i++)
		check_leaf(&tables, leaf[i].va, leaf[i].pa, leaf[i].page, leaf[i].flags,
			   leaf[i].entry);
	for (i = 0; i < 1000; i++) { /* anywhere else both walkers agree that there is nothing */
		u64 va = leaf[random_below(&seed, MANY)].va ^ 1ULL << random_below(&seed, 48);
		enum walked walked = walk(&pool, &tables, va, &w);

		assert_true(walked == WALKED || walked == NOT_PRESENT);
		assert_ptr_equal(ts_pt_leaf(&tables, va, NULL), walked == WALKED ? w.at : NULL);
	}
}

static void test_walker_agrees(void **state)
{
	u64 seed;

	(void)state;
	for (seed = 1; seed <= 100; seed++) {
		check_many(4, seed);
		check_many(5, seed);
	}
}

/* Any bit below the size in va or pa: refused, nothing allocated, nothing written. */
static void test_misaligned(void **state)
{
	static const u32 shift[] = { 12, 21, 30 };
	struct ts_tables tables = pool_tables(&pool, 4, 20);
	u32 page, bit;

	(void)state;
	for (page = 0; page < 3; page++) {
		for (bit = 0; bit < shift[page]; bit++) {
			assert_null(
				ts_pt_map(&tables, 0x80000000 | 1ULL << bit, 0x80000000, page, 3));
			assert_null(
				ts_pt_map(&tables, 0x80000000, 0x80000000 | 1ULL << bit, page, 3));
			assert_null(ts_pt_map(&tables, 1ULL << bit, 1ULL << bit, page, 3));
		}
	}
	assert_int_equal(pool.used, 1);
	for (bit = 0; bit < 512; bit++)
		assert_true(!tables.root[bit]);
}

static void test_larger_leaf_in_the_way(void **state)
{
	u32 levels;

	(void)state;
	for (levels = 4; levels <= 5; levels++) {
		struct ts_tables tables = pool_tables(&pool, levels, 20);
		u64 *giant = ts_pt_map(&tables, 0x40000000, 0x40000000, TS_1G, 3);
		u64 *large = ts_pt_map(&tables, 0x80200000, 0x200000, TS_2M, 3);
		u32 used = pool.used;

		assert_null(ts_pt_map(&tables, 0x40000000, 0x400000, TS_2M, 3));
		assert_null(ts_pt_map(&tables, 0x7fe00000, 0x400000, TS_2M, 3));
		assert_null(ts_pt_map(&tables, 0x40000000, 0x1000, TS_4K, 3));
		assert_null(ts_pt_map(&tables, 0x7ffff000, 0x1000, TS_4K, 3));
		assert_null(ts_pt_map(&tables, 0x80200000, 0x1000, TS_4K, 3));
		assert_null(ts_pt_map(&tables, 0x803ff000, 0x1000, TS_4K, 3));
		assert_int_equal(pool.used, used);
		assert_true(*giant == 0x40000083);
		assert_true(*large == 0x00200083);
		/* Right beside them there is room. */
		assert_non_null(ts_pt_map(&tables, 0x3ffff000, 0x1000, TS_4K, 3));
		assert_non_null(ts_pt_map(&tables, 0x80400000, 0x1000, TS_4K, 3));
		check_leaf(&tables, 0x40000000, 0x40000000, TS_1G, 3, giant);
		check_leaf(&tables, 0x80200000, 0x200000, TS_2M, 3, large);
	}
}

/*
 * A leaf of size s under n levels needs n - 1 - s tables below the root; with five levels both
 * leaves here share the PML4. Without the last of them there is no leaf, what was there before
 * stays, and it can be tried again when there is memory.
 */
static void check_out_of_tables(u32 levels, u64 page)
{
	const u64 before = 0x0000123456789000ULL, va = 0x00007fffc0000000ULL;
	u32 needed = levels - 1 - page - (levels == 5), k;
	u64 *kept, *entry;
	struct walk w;

	for (k = 0; k <= needed; k++) {
		struct ts_tables tables = pool_tables(&pool, levels, 20);

		kept = ts_pt_map(&tables, before, 0x5000, TS_4K, 3);
		assert_non_null(kept);
		pool.limit = pool.used + k;
		entry = ts_pt_map(&tables, va, 0x40000000, page, 3);
		assert_int_equal(!!entry, k == needed);
		if (!entry) {
			assert_int_equal(walk(&pool, &tables, va, &w), NOT_PRESENT);
			assert_null(ts_pt_leaf(&tables, va, NULL));
		}
		check_leaf(&tables, before, 0x5000, TS_4K, 3, kept);
		pool.limit = POOL_TABLES;
		if (!entry)
			entry = ts_pt_map(&tables, va, 0x40000000, page, 3);
		assert_non_null(entry);
		assert_null(ts_pt_map(&tables, va, 0x80000000, page, 3)); /* mapped already */
		check_leaf(&tables, va, 0x40000000, page, 3, entry);
		assert_int_equal(pool.used, 1 + (levels - 1) + needed);
	}
}

static void test_out_of_tables(void **state)
{
	u32 levels, page;

	(void)state;
	for (levels = 4; levels <= 5; levels++)
		for (page = 0; page < 3; page++)
			check_out_of_tables(levels, page);
}

static void test_unmapped(void **state)
{
	struct ts_tables tables = pool_tables(&pool, 4, 20);
	u64 page = 77;

	(void)state;
	assert_null(ts_pt_leaf(&tables, 0, &page));
	ts_pt_map(&tables, 0x8040201000ULL, 0x1000, TS_4K, 3);
	assert_null(ts_pt_leaf(&tables, 0, &page));		 /* nothing in the root */
	assert_null(ts_pt_leaf(&tables, 0x8000000000ULL, &page)); /* in the pointer table */
	assert_null(ts_pt_leaf(&tables, 0x8040000000ULL, &page)); /* in the directory */
	assert_null(ts_pt_leaf(&tables, 0x8040200fffULL, &page)); /* in the page table */
	assert_null(ts_pt_leaf(&tables, 0x8040202000ULL, &page));
	assert_int_equal(page, 77);
	/* An entry without P is no leaf, whatever else it holds. */
	ts_pt_map(&tables, 0x8040202000ULL, 0x1000, TS_4K, 0x8000000000000102ULL);
	assert_null(ts_pt_leaf(&tables, 0x8040202000ULL, &page));
}

/*
 * An encryption bit in table_flags (AMD APM vol. 2, 7.10: one of the address bits, 47 or 51 on
 * known CPUs) is no part of the address that alloc gave, and reach has to get that address.
 */
static void test_encryption_bit(void **state)
{
	struct ts_tables tables = pool_tables(&pool, 4, 20);
	u64 *first, *second;

	(void)state;
	tables.table_flags = 0x23 | 1ULL << 47;
	first = ts_pt_map(&tables, 0x1000, 0x1000, TS_4K, 3 | 1ULL << 47);
	second = ts_pt_map(&tables, 0x2000, 0x2000, TS_4K, 3 | 1ULL << 47);
	assert_true(tables.root[0] == 0x0008800000003023ULL);
	assert_true(*first == 0x0000800000001003ULL);
	assert_ptr_equal(second, first + 1);
	assert_ptr_equal(ts_pt_leaf(&tables, 0x1000, NULL), first);
}

/* Bit 5 only: dirty (6) and all others stay. */
static void test_accessed(void **state)
{
	u64 entry[200], before[200], *leaf[200], random = 5, expected;
	u32 round, n, i;

	(void)state;
	for (round = 0; round < 500; round++) {
		n = random_below(&random, 201);
		for (i = 0; i < 200; i++) {
			leaf[i] = &entry[i];
			entry[i] = before[i] = random_u64(&random);
		}
		for (i = expected = 0; i < n; i++)
			expected += entry[i] >> 5 & 1;
		assert_int_equal(ts_accessed_count(leaf, n), expected);
		assert_memory_equal(entry, before, sizeof(entry));
		ts_accessed_clear(leaf, n);
		for (i = 0; i < 200; i++)
			assert_true(entry[i] ==
				    (i < n ? before[i] & 0xffffffffffffffdfULL : before[i]));
		assert_int_equal(ts_accessed_count(leaf, n), 0);
	}
}

static void test_accessed_by_hand(void **state)
{
	u64 entry[4] = { 0x8000000012345163ULL, 0x400001e3, 0x43, 0x7020 }, *leaf[4];
	u32 i;

	(void)state;
	for (i = 0; i < 4; i++)
		leaf[i] = &entry[3 - i];
	assert_int_equal(ts_accessed_count(leaf, 4), 3);
	assert_int_equal(ts_accessed_count(leaf, 2), 1);
	ts_accessed_clear(leaf, 4);
	assert_true(entry[0] == 0x8000000012345143ULL);
	assert_true(entry[1] == 0x400001c3);
	assert_true(entry[2] == 0x43);
	assert_true(entry[3] == 0x7000);
	entry[2] |= 0x20;
	assert_int_equal(ts_accessed_count(leaf, 4), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_index_fields),
		cmocka_unit_test(test_entries_4_levels),
		cmocka_unit_test(test_entries_5_levels),
		cmocka_unit_test(test_flags_pass),
		cmocka_unit_test(test_walker_agrees),
		cmocka_unit_test(test_misaligned),
		cmocka_unit_test(test_larger_leaf_in_the_way),
		cmocka_unit_test(test_out_of_tables),
		cmocka_unit_test(test_unmapped),
		cmocka_unit_test(test_encryption_bit),
		cmocka_unit_test(test_accessed),
		cmocka_unit_test(test_accessed_by_hand),
	};

	return cmocka_run_group_tests_name("pgtable", tests, NULL, NULL);
}
