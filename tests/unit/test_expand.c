// SPDX-License-Identifier: GPL-2.0
/*
 * The expansion of a case: where the touches and the flushed pages lie.
 *
 * The truth is arithmetic on the description: the regions of the address space by hand, cache sets
 * by the address bits of a cache with 1024 sets of 64-byte lines, and what an op hits by comparing
 * the pages that it flushes with the pages of the leaves, one by one.
 */
#include "truth.h"

#include "expand.h"

#define BASE 0x0000200000000000ULL
#define GIB (1ULL << 30)

static u64 touch[TS_MAX_TOUCHES];

static struct ts_expansion expand(const struct ts_case *c)
{
	struct ts_expansion e;
	struct ts_error error;
	enum ts_status status = ts_expand(c, BASE, touch, &e, &error);

	if (status)
		fail_msg("%s: %s", ts_status_name(status), error.word);
	return e;
}

static struct ts_expansion expand_line(const char *line)
{
	struct ts_case c = case_of(line);

	return expand(&c);
}

static void assert_conflict(const char *line, const char *word)
{
	struct ts_case c = case_of(line);
	struct ts_expansion e;
	struct ts_error error;

	assert_int_equal(ts_expand(&c, BASE, touch, &e, &error), TS_CONFLICT);
	assert_string_equal(error.word, word);
}

static void test_addresses_by_hand(void **state)
{
	struct ts_expansion e;
	u64 t;

	(void)state;
	/* 2016: 50 touches, 4K apart, in one 2M page */
	e = expand_line("guest=2m leaves=1 touches=50 stride=4k offset=0 order=sequential");
	assert_int_equal(e.touches, 50);
	assert_ptr_equal(e.touch, touch);
	for (t = 0; t < 50; t++)
		assert_true(touch[t] == 0x200000000000ULL + t * 0x1000);
	assert_true(e.set[0].va == 0x200000000000ULL);
	assert_int_equal(e.set[0].page, TS_2M);
	assert_int_equal(e.set[0].leaves, 1);
	assert_int_equal(e.set[0].step, 0x200000);
	assert_int_equal(e.set[1].leaves, 0);
	/* a fixed offset, leaves two pages apart */
	e = expand_line("guest=4k leaves=3 stride=8k offset=0x1c0 order=sequential");
	assert_int_equal(e.touches, 3);
	assert_true(touch[0] == 0x2000000001c0ULL);
	assert_true(touch[1] == 0x2000000021c0ULL);
	assert_true(touch[2] == 0x2000000041c0ULL);
	assert_int_equal(e.set[0].step, 0x2000);
	/* the mixed set lies 128 GiB above and has one touch a leaf */
	e = expand_line("guest=4k leaves=1 offset=64 mix=2m:2 order=sequential");
	assert_int_equal(e.touches, 3);
	assert_true(touch[0] == 0x200000000040ULL);
	assert_true(touch[1] == 0x202000000040ULL);
	assert_true(touch[2] == 0x202000200040ULL);
	assert_true(e.set[1].va == 0x202000000000ULL);
	assert_int_equal(e.set[1].page, TS_2M);
	assert_int_equal(e.set[1].leaves, 2);
	assert_int_equal(e.set[1].step, 0x200000);
}

static void test_op_pages_by_hand(void **state)
{
	struct ts_expansion e;

	(void)state;
	e = expand_line("op=invlpg at=in-set guest=2m leaves=16 count=3");
	assert_true(e.op_va == 0x200000000000ULL);
	assert_int_equal(e.op_stride, 0x200000);
	assert_int_equal(e.op_count, 3);
	e = expand_line("op=invlpg at=same-2m guest=4k leaves=50 count=2");
	assert_true(e.op_va == 0x2000001fe000ULL);
	assert_int_equal(e.op_stride, 0x1000);
	e = expand_line("op=invlpg at=next-2m guest=4k leaves=50");
	assert_true(e.op_va == 0x200000200000ULL);
	e = expand_line("op=invlpg at=next-2m guest=4k leaves=512");
	assert_true(e.op_va == 0x200000200000ULL);
	e = expand_line("op=invlpg at=next-2m guest=4k leaves=513");
	assert_true(e.op_va == 0x200000400000ULL);
	e = expand_line("op=invlpg at=next-2m guest=2m leaves=16");
	assert_true(e.op_va == 0x200002000000ULL);
	e = expand_line("op=invlpg at=mapped count=4");
	assert_true(e.op_va == 0x204000038000ULL); /* 256 GiB and 56 pages */
	assert_true(e.mapped_va == 0x204000038000ULL);
	assert_int_equal(e.mapped, 4);
	e = expand_line("op=invlpg at=far");
	assert_true(e.op_va == 0x206000000000ULL); /* 384 GiB */
	assert_int_equal(e.mapped, 0);
	e = expand_line("op=cr3 at=mapped");
	assert_int_equal(e.mapped, 0);
	assert_int_equal(e.op_count, 1);
}

static void test_conflicts(void **state)
{
	(void)state;
	assert_conflict("op=invlpg at=in-set leaves=4 count=5", "count");
	expand_line("op=invlpg at=in-set leaves=4 count=4");
	assert_conflict("op=invlpg at=same-2m guest=4k leaves=512", "at");
	expand_line("op=invlpg at=same-2m guest=4k leaves=511");
	assert_conflict("op=invlpg at=same-2m guest=4k leaves=500 count=13", "at");
	expand_line("op=invlpg at=same-2m guest=4k leaves=500 count=12");
	expand_line("op=invlpg at=same-2m guest=2m leaves=1 count=512");
	assert_conflict("op=invlpg at=same-2m guest=4k leaves=2 stride=2m count=512 offset=0",
			"count");
	assert_conflict("guest=1g leaves=128", "leaves");
	expand_line("guest=1g leaves=127");
	assert_conflict("guest=4k leaves=4 mix=1g:129", "leaves");
	assert_conflict("guest=2m leaves=129 stride=1g", "leaves");
}

/* --- Touches ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* Distinct values of (address >> low) & mask among n touches. */
static u32 distinct(const u64 *address, u32 n, u32 low, u64 mask)
{
	static u64 value[TS_MAX_TOUCHES];
	u32 i, count = 1;

	for (i = 0; i < n; i++)
		value[i] = address[i] >> low & mask;
	qsort(value, n, sizeof(value[0]), compare);
	for (i = 1; i < n; i++)
		count += value[i] != value[i - 1];
	return count;
}

/*
 * 1024 touches in 1024 sets of a cache indexed by address bits 6 to 15, each in a line of its own.
 */
static void test_spread_sets(void **state)
{
	static const char *const lines[] = {
		"guest=4k leaves=1024", "guest=2m leaves=1024", "guest=2m leaves=2 touches=1024",
		"guest=1g leaves=2 touches=1024",
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(lines); i++) {
		struct ts_expansion e = expand_line(lines[i]);

		assert_int_equal(e.touches, 1024);
		assert_int_equal(distinct(touch, 1024, 6, 0x3ff), 1024);
		assert_int_equal(distinct(touch, 1024, 6, ~0ULL), 1024);
	}
	/* 64 touches: every line of a page once, so that no set of a 64-set L1 clashes */
	expand_line("guest=4k leaves=64");
	assert_int_equal(distinct(touch, 64, 6, 0x3f), 64);
	/* large leaves: 512 different 4K pieces, so that those of a fractured set do not clash */
	expand_line("guest=2m leaves=512");
	assert_int_equal(distinct(touch, 512, 12, 0x1ff), 512);
	expand_line("guest=1g leaves=127");
	assert_int_equal(distinct(touch, 127, 12, 0x1ff), 127);
	/* both sets of the plan `mixed`: 33 page numbers that differ modulo 64 */
	expand_line("guest=4k leaves=25 mix=2m:8");
	assert_int_equal(distinct(touch, 33, 12, 0x3f), 33);
}

/* The leaf of a set that an address lies in, or -1: by looking at each. */
static int leaf_of(const struct ts_set *set, u64 va)
{
	u64 i;

	for (i = 0; i < set->leaves; i++)
		if (va >= set->va + i * set->step &&
		    va - set->va - i * set->step < leaf_bytes[set->page])
			return i;
	return -1;
}

/* Every touch begins a line inside a leaf, no two share a line, and every leaf is touched. */
static void check_touches(const struct ts_expansion *e)
{
	u32 seen[2][64] = { 0 }, s;
	u64 t, i;

	assert_int_equal(e->touches, e->c.touches + (e->c.mix & 0xffffffff));
	for (t = 0; t < e->touches; t++) {
		int leaf;

		s = touch[t] >= e->set[1].va;
		leaf = leaf_of(&e->set[s], touch[t]);
		if (leaf < 0)
			fail_msg("touch 0x%llx lies in no leaf", touch[t]);
		seen[s][leaf]++;
		assert_int_equal(touch[t] % 64, 0);
	}
	assert_int_equal(distinct(touch, e->touches, 6, ~0ULL), e->touches);
	for (s = 0; s < 2; s++)
		for (i = 0; i < e->set[s].leaves; i++)
			assert_true(seen[s][i] > 0);
	for (i = 0; i < e->set[1].leaves; i++)
		assert_int_equal(seen[1][i], 1);
}

/* Leaves of a set that contain a page which the op flushes. */
static u64 hits(const struct ts_expansion *e, u32 s)
{
	u8 hit[64] = { 0 };
	u64 i, count = 0;
	int leaf;

	for (i = 0; i < e->op_count; i++) {
		leaf = leaf_of(&e->set[s], e->op_va + i * e->op_stride);
		if (leaf >= 0)
			hit[leaf] = 1;
	}
	for (i = 0; i < TS_COUNT(hit); i++)
		count += hit[i];
	return count;
}

/* The op's pages are where `at` says, and its must is what they hit. Sources: see test_case.c. */
static void check_op(const struct ts_expansion *e)
{
	const struct ts_case *c = &e->c;
	u8 drops_global = c->op == TS_OP_INVLPG || c->op == TS_OP_INVPCID_ALL || c->op == TS_OP_PGE;
	u64 end = e->set[0].va + (c->leaves - 1) * e->set[0].step + leaf_bytes[c->guest], s, full;

	if (c->at == TS_AT_NONE) {
		full = c->op == TS_OP_CR3 || c->op == TS_OP_INVPCID_CTX || c->op == TS_OP_PGE ||
		       c->op == TS_OP_INVPCID_ALL || c->op == TS_OP_INVPCID_NONGLOBAL;
		full = full && (!c->global || drops_global);
		for (s = 0; s < 2; s++)
			assert_int_equal(e->set[s].must, full ? e->set[s].leaves : 0);
		return;
	}
	assert_int_equal(e->op_count, c->count);
	assert_int_equal(e->op_va % 4096, 0);
	assert_int_equal(e->op_stride % 4096, 0);
	for (s = 0; s < 2; s++)
		assert_int_equal(e->set[s].must, c->global && !drops_global ? 0 : hits(e, s));
	switch (c->at) {
	case TS_AT_IN_SET:
		assert_int_equal(hits(e, 0), c->count);
		break;
	case TS_AT_SAME_2M:
		assert_true(e->op_va >= BASE);
		assert_true(e->op_va + (c->count - 1) * e->op_stride < BASE + 0x200000);
		assert_int_equal(hits(e, 0), c->guest != TS_4K);
		break;
	case TS_AT_NEXT_2M: /* the first region behind the set */
		assert_true(e->op_va >= end && e->op_va - end < 0x200000);
		assert_int_equal(e->op_va % 0x200000, 0);
		assert_true((c->count - 1) * e->op_stride < 0x200000);
		assert_int_equal(hits(e, 0), 0);
		break;
	case TS_AT_MAPPED:
		assert_true(e->mapped_va == e->op_va);
		assert_int_equal(e->mapped, c->count);
		assert_int_equal(e->op_stride, 4096);
		assert_true(e->op_va >= BASE + 256 * GIB && e->op_va < BASE + 257 * GIB);
		break;
	case TS_AT_FAR:
		assert_true(e->op_va >= BASE + 384 * GIB && e->op_va < BASE + 511 * GIB);
		break;
	}
	assert_int_equal(e->mapped, c->at == TS_AT_MAPPED ? c->count : 0);
	assert_int_equal(hits(e, 1), 0);
}

/* May the expansion refuse this (valid) case? Only when pages of the op and the set would meet. */
static u8 may_refuse(const struct ts_case *c)
{
	u64 step = c->stride > 4096 ? c->stride : 4096, last = (c->leaves - 1) * step;

	if (c->at == TS_AT_SAME_2M && c->guest == TS_4K)
		return c->count > 511 ||
		       (step < 0x200000 && last + 4096 > 0x200000 - c->count * 4096);
	return 0;
}

static void test_random_cases(void **state)
{
	struct ts_expansion e, placed;
	enum ts_status status;
	struct ts_error error;
	struct ts_case c;
	u64 random = 21;
	u32 i, refused = 0;

	(void)state;
	for (i = 0; i < 4000; i++) {
		random_case(&random, &c);
		assert_int_equal(ts_case_finish(&c, &error), TS_OK);
		/* what is placed only, to see whether it fits, is what is expanded */
		status = ts_place(&c, BASE, &placed, &error);
		assert_int_equal(ts_expand(&c, BASE, touch, &e, &error), status);
		assert_memory_equal(placed.set, e.set, sizeof(e.set));
		assert_true(placed.op_va == e.op_va && placed.op_stride == e.op_stride && !placed.touches);
		if (status) {
			assert_true(may_refuse(&c));
			refused++;
			continue;
		}
		assert_memory_equal(&e.c, &c, sizeof(c));
		check_touches(&e);
		check_op(&e);
	}
	assert_true(refused < 400);
}

/*
 * 4K leaves 2M apart, the default offset: the touch of leaf i has to lie in the 4K that leaf i
 * maps.
 */
static void test_small_leaves_far_apart(void **state)
{
	struct ts_expansion e = expand_line("guest=4k leaves=16 stride=2m");

	(void)state;
	check_touches(&e);
	e = expand_line("guest=4k leaves=4 stride=1g");
	check_touches(&e);
}

/* A working set that fills all of its 128 GiB: the next 2M region is not the mixed set's. */
static void test_next_2m_at_the_end(void **state)
{
	static const char *const lines[] = {
		"op=invlpg at=next-2m guest=1g leaves=128 mix=2m:8",
		"op=invlpg at=next-2m guest=1g leaves=128 mix=4k:8 count=64",
	};
	struct ts_expansion e;
	struct ts_error error;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(lines); i++) {
		struct ts_case c = case_of(lines[i]);

		if (!ts_expand(&c, BASE, touch, &e, &error))
			assert_int_equal(hits(&e, 1), 0);
		else
			assert_int_equal(error.status, TS_CONFLICT);
	}
}

/* --- Order ------------------------------------------------------------------------------------ */

static void test_chase_is_a_permutation(void **state)
{
	static u64 plain[TS_MAX_TOUCHES], first[TS_MAX_TOUCHES];
	struct ts_error error;
	struct ts_case c;
	u64 random = 31, n, t;
	u32 i;

	(void)state;
	for (i = 0; i < 500; i++) {
		random_case(&random, &c);
		c.at = TS_AT_FAR;
		c.order = TS_SEQUENTIAL;
		assert_int_equal(ts_case_finish(&c, &error), TS_OK);
		n = expand(&c).touches;
		memcpy(plain, touch, n * sizeof(u64));
		for (t = 1; t < n; t++)
			assert_true(plain[t - 1] < plain[t]);
		c.order = TS_CHASE;
		assert_int_equal(expand(&c).touches, n);
		memcpy(first, touch, n * sizeof(u64));
		expand(&c);
		assert_memory_equal(touch, first, n * sizeof(u64)); /* the seed alone decides */
		c.seed++;
		expand(&c);
		if (n > 20)
			assert_memory_not_equal(touch, first, n * sizeof(u64));
		qsort(first, n, sizeof(u64), compare);
		qsort(plain, n, sizeof(u64), compare);
		assert_memory_equal(first, plain, n * sizeof(u64));
	}
}

/*
 * SplitMix64's published first outputs for seed 1234567, and Fisher-Yates from the end by hand:
 * guest, module and model have to visit in the same order for the same seed, today and in later
 * versions.
 */
static void test_chase_by_hand(void **state)
{
	static const u64 published[] = { 6457827717110365317ULL, 3203168211198807973ULL,
					 9817491932198370423ULL, 4593380528125082431ULL,
					 16408922859458223821ULL };
	u64 place[6] = { 0, 1, 2, 3, 4, 5 }, swap, i, j;

	(void)state;
	for (i = 5; i > 0; i--) {
		j = published[5 - i] % (i + 1);
		swap = place[i];
		place[i] = place[j];
		place[j] = swap;
	}
	expand_line("guest=4k leaves=6 offset=0 order=chase seed=1234567");
	for (i = 0; i < 6; i++)
		assert_true(touch[i] == BASE + place[i] * 4096);
}

/* All 24 orders of four touches are equally likely: chi-square, 23 degrees, 1 in 10^6 is 70.5. */
static void test_chase_is_uniform(void **state)
{
	struct ts_case c = case_of("guest=4k leaves=4 offset=0 order=chase");
	u32 count[256] = { 0 }, i, code, orders = 0;
	double chi = 0, expected = 24000 / 24.0;

	(void)state;
	for (c.seed = 0; c.seed < 24000; c.seed++) {
		expand(&c);
		for (i = code = 0; i < 4; i++)
			code = code * 4 + (touch[i] - BASE) / 4096;
		count[code]++;
	}
	for (code = 0; code < 256; code++) {
		if (!count[code])
			continue;
		orders++;
		chi += (count[code] - expected) * (count[code] - expected) / expected;
	}
	assert_int_equal(orders, 24);
	assert_true(chi < 70.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses_by_hand),
		cmocka_unit_test(test_op_pages_by_hand),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_spread_sets),
		cmocka_unit_test(test_random_cases),
		cmocka_unit_test(test_small_leaves_far_apart),
		cmocka_unit_test(test_next_2m_at_the_end),
		cmocka_unit_test(test_chase_is_a_permutation),
		cmocka_unit_test(test_chase_by_hand),
		cmocka_unit_test(test_chase_is_uniform),
	};

	return cmocka_run_group_tests_name("expand", tests, NULL, NULL);
}
