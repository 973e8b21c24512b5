/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the unit tests measure the core against, and what they feed it with.
 *
 * The page walker below is written from Intel SDM vol. 3, section 4.5 (tables 4-15 to 4-20 for the
 * bits, figures 4-8 to 4-10 for the index fields) and uses nothing of sweeps/core/pgtable: its
 * numbers are typed, not taken from there. Random numbers come from fixed seeds, so a failure
 * repeats.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "case.h"
#include "pgtable.h"

/* xorshift64* (Vigna 2016); the state must not be 0. */
static inline u64 random_u64(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static inline u64 random_below(u64 *state, u64 n)
{
	return (random_u64(state) >> 11) % n;
}

/* A copy in a block of exactly its size, so that the address sanitizer sees one byte too many. */
static inline char *exact_copy(const char *bytes, size_t length)
{
	char *copy = malloc(length + 1);

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	copy[length] = 0;
	return copy;
}

/* --- Memory for page tables ------------------------------------------------------------------- */

#define POOL_TABLES 256
/* The highest physical address bit there is (51) is set, and there is a gap after every table. */
#define POOL_BASE 0x0008000000000000ULL

struct pool {
	u64 table[POOL_TABLES][512];
	u32 used, limit;
};

static inline u64 pool_physical(u32 n)
{
	return POOL_BASE + (2 * (u64)n + 1) * 0x1000;
}

static inline u64 *pool_find(struct pool *pool, u64 physical)
{
	u64 n = (physical - POOL_BASE) / 0x2000;

	return n < pool->used && pool_physical(n) == physical ? pool->table[n] : NULL;
}

static inline u64 *pool_alloc(void *context, u64 *physical)
{
	struct pool *pool = context;

	if (pool->used == pool->limit)
		return NULL;
	*physical = pool_physical(pool->used);
	return memset(pool->table[pool->used++], 0, 0x1000);
}

static inline u64 *pool_reach(void *context, u64 physical)
{
	u64 *table = pool_find(context, physical);

	if (!table)
		fail_msg("reach: 0x%llx is no address that alloc gave", physical);
	return table;
}

/* Tables with an empty root; `more` further ones can be had. */
static inline struct ts_tables pool_tables(struct pool *pool, u32 levels, u32 more)
{
	struct ts_tables tables = {
		.context = pool,
		.alloc = pool_alloc,
		.reach = pool_reach,
		.levels = levels,
		.table_flags = 0x23, /* P = 1, W = 2, A = 0x20 */
	};
	u64 physical;

	pool->used = 0;
	pool->limit = more + 1;
	assert_true(pool->limit <= POOL_TABLES);
	tables.root = pool_alloc(pool, &physical);
	return tables;
}

/* --- The walker ------------------------------------------------------------------------------- */

enum walked { NOT_PRESENT, WALKED, RESERVED_BIT, NO_SUCH_TABLE };

struct walk {
	u64 *at;   /* the leaf entry */
	u64 pa;	   /* where va goes */
	u32 level; /* of the leaf: 0 is 4K, 1 is 2M, 2 is 1G */
	u8 writable, no_execute; /* over all levels */
};

static inline enum walked walk(struct pool *pool, const struct ts_tables *tables, u64 va,
			       struct walk *w)
{
	/* VA[20:12], [29:21], [38:30], [47:39], [56:48] */
	static const u32 low_bit[] = { 12, 21, 30, 39, 48 };
	u64 *table = tables->root, entry, inside;

	w->pa = 0;
	w->writable = 1;
	w->no_execute = 0;
	for (w->level = tables->levels - 1;; w->level--) {
		w->at = &table[va >> low_bit[w->level] & 0x1ff];
		entry = *w->at;
		if (!(entry & 1))
			return NOT_PRESENT;
		w->writable &= entry >> 1 & 1;
		w->no_execute |= entry >> 63;
		if (w->level > 2 && (entry & 0x80))
			return RESERVED_BIT;
		if (!w->level || (entry & 0x80))
			break;
		table = pool_find(pool, entry & 0x000ffffffffff000ULL);
		if (!table)
			return NO_SUCH_TABLE;
	}
	inside = (1ULL << low_bit[w->level]) - 1;
	/* In a large leaf bit 12 is PAT; those between it and the address are reserved. */
	if (w->level && (entry & inside & ~0x1fffULL))
		return RESERVED_BIT;
	w->pa = (entry & 0x000fffffffffffffULL & ~inside) | (va & inside);
	return WALKED;
}

/* --- Cases ------------------------------------------------------------------------------------ */

#define RING0_OPS 9 /* none to pge; the system calls come behind them */

/* Leaf sizes in bytes, by enum ts_page. */
static const u64 leaf_bytes[] = { 0x1000, 0x200000, 0x40000000 };

/* Touches and stride: left open; leaves with several touches; or leaves that lie apart. */
static inline void random_touches(u64 *state, struct ts_case *c)
{
	u64 size = leaf_bytes[c->guest], per_leaf;

	c->touches = c->stride = 0;
	switch (random_below(state, 3)) {
	case 0:
		per_leaf = 1ULL << random_below(state, 5);
		if (size / per_leaf < 0x1000)
			c->offset = 0;
		c->touches = c->leaves * per_leaf;
		c->stride = size / per_leaf;
		break;
	case 1:
		c->stride = size;
		if (c->guest == TS_4K)
			c->stride *= random_below(state, 2) ? 1ULL << random_below(state, 12) :
							      1 + random_below(state, 1000);
		if (c->guest == TS_2M)
			c->stride *= 1 + random_below(state, 16);
		break;
	}
}

/* A case that is valid by its construction, not yet completed by ts_case_finish(). */
static inline void random_case(u64 *state, struct ts_case *c)
{
	memset(c, 0, sizeof(*c));
	c->op = random_below(state, RING0_OPS);
	c->at = TS_AT_IN_SET + random_below(state, 5);
	c->guest = random_below(state, 3);
	c->leaves = 1 + random_below(state, 48);
	c->count = 1 + random_below(state, random_below(state, 4) ? 4 : 512);
	if (c->at == TS_AT_IN_SET && c->count > c->leaves)
		c->count = c->leaves;
	c->global = random_below(state, 2);
	c->pcid = c->op == TS_OP_CR3_KEEP || random_below(state, 2);
	c->offset = random_below(state, 2) ? TS_OFFSET_SPREAD : 64 * random_below(state, 64);
	random_touches(state, c);
	c->frames = c->guest != TS_1G && random_below(state, 2);
	if (random_below(state, 3) == 0)
		c->mix = random_below(state, 3) << 32 | (1 + random_below(state, 16));
	if (c->mix >> 32 == TS_1G) /* gigabytes are shared: never scattered */
		c->frames = TS_CONTIGUOUS;
	c->order = random_below(state, 2);
	c->access = random_below(state, 2);
	c->phase = random_below(state, 5);
	c->repeat = 1 + random_below(state, 1000000);
	c->iterations = 1 + random_below(state, c->phase <= TS_RETOUCH ? 65536 : 1ULL << 32);
	c->seed = random_u64(state) >> random_below(state, 64);
	c->code = random_below(state, 2);
}

/* The finished case of a line that must be right. */
static inline struct ts_case case_of(const char *line)
{
	struct ts_error error;
	struct ts_case c;
	enum ts_status status = ts_case_parse(line, &c, &error);

	if (status)
		fail_msg("%s: %s %s", line, ts_status_name(status), error.word);
	return c;
}

#endif
