// SPDX-License-Identifier: GPL-2.0
/* Expansion of a case into addresses. */
#include "expand.h"

/*
 * The mixed set keeps away from the working set's page numbers (modulo 64 and more): 4K pages by its address,
 * pieces of large pages by their number. Otherwise both would meet in the same TLB sets.
 */
#define MIX_SKEW 32

/*
 * Where offset=spread puts touch t inside its stride. The line is (t + t/64) mod 64: together with the 4K page
 * number (t mod 16 is what an L2 cache set takes from it) 1024 touches fall into 1024 different sets
 * of a cache that is indexed by address bits 6 to 15. In large pages with large strides the 4K piece
 * varies too, so that the pieces of a fractured page do not share one STLB set.
 */
static u64 spread(const struct ts_set *set, u64 t, u64 stride, u64 skew)
{
	u64 line = (t + t / 64) % 64;
	u64 piece = set->page == TS_4K || stride % ts_page_size(TS_2M) ? 0 : (t + skew) % 512;

	return piece * 4096 + line * TS_LINE;
}

static u64 touch_address(const struct ts_set *set, const struct ts_case *c, u64 t, u64 stride, u64 skew)
{
	return set->va + t * stride +
	       (c->offset == TS_OFFSET_SPREAD ? spread(set, t, stride, skew) : c->offset);
}

/* SplitMix64 (Steele, Lea, Flood 2014): a full-period generator with one word of state. */
static u64 random_next(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Fisher-Yates; the modulo's bias is below 2^-50 for these sizes. */
static void shuffle(u64 *touch, u64 n, u64 seed)
{
	u64 i, j, other;

	for (i = n; i-- > 1;) {
		j = random_next(&seed) % (i + 1);
		other = touch[i];
		touch[i] = touch[j];
		touch[j] = other;
	}
}

/* Does a 4K leaf of the set lie in [from, to)? */
static u8 leaf_within(const struct ts_set *set, u64 from, u64 to)
{
	u64 i;

	for (i = 0; i < set->leaves && set->va + i * set->step < to; i++)
		if (set->va + i * set->step >= from)
			return 1;
	return 0;
}

/* Address of the first page that an addressed op flushes; TS_CONFLICT if it would hit the set by mistake. */
static enum ts_status place_op(struct ts_expansion *e, u64 base, struct ts_error *error)
{
	const struct ts_case *c = &e->c;
	const struct ts_set *set = &e->set[0];
	u64 region = ts_page_size(TS_2M), end = set->va + (set->leaves - 1) * set->step +
						 ts_page_size(set->page);

	e->op_stride = ts_page_size(TS_4K);
	switch (c->at) {
	case TS_AT_IN_SET:
		if (c->count > set->leaves)
			return ts_fail(error, TS_CONFLICT, "count", "at=in-set: count <= leaves");
		e->op_va = set->va;
		e->op_stride = set->step;
		break;
	case TS_AT_SAME_2M: /* the last pages of the first region */
		e->op_va = set->va + region - c->count * ts_page_size(TS_4K);
		if (set->page == TS_4K && c->count > 511)
			return ts_fail(error, TS_CONFLICT, "count", "at=same-2m: count <= 511");
		if (set->page == TS_4K && leaf_within(set, e->op_va, set->va + region))
			return ts_fail(error, TS_CONFLICT, "at",
				       "at=same-2m: the set lies where those pages would be");
		break;
	case TS_AT_NEXT_2M:
		e->op_va = (end + region - 1) & ~(region - 1);
		break;
	case TS_AT_MAPPED:
		e->op_va = base + TS_VA_MAPPED;
		e->mapped_va = e->op_va;
		e->mapped = c->count;
		break;
	case TS_AT_FAR:
		e->op_va = base + TS_VA_FAR;
		break;
	case TS_AT_NONE:
		break;
	}
	return TS_OK;
}

static void place_set(struct ts_expansion *e, u32 i, u64 va, u64 page, u64 leaves, u64 stride)
{
	struct ts_set *set = &e->set[i];
	u64 size = ts_page_size(page);

	set->va = va;
	set->page = page;
	set->leaves = leaves;
	set->step = stride > size ? stride : size;
	set->must = ts_must(&e->c, i);
}

enum ts_status ts_place(const struct ts_case *c, u64 base, struct ts_expansion *e, struct ts_error *error)
{
	struct ts_expansion fresh = { .c = *c, .op_count = c->count };
	u64 mix_page = ts_mix_page(c->mix);

	*e = fresh;
	place_set(e, 0, base + TS_VA_SET, c->guest, c->leaves, c->stride);
	place_set(e, 1, base + TS_VA_MIX + (mix_page == TS_4K ? MIX_SKEW * 4096 : 0), mix_page,
		  ts_mix_leaves(c->mix), 0);
	if (e->set[0].leaves * e->set[0].step >= TS_VA_MIX ||
	    e->set[1].leaves * e->set[1].step >= TS_VA_MIX)
		return ts_fail(error, TS_CONFLICT, "leaves", "a working set spans less than 128 GiB");
	return place_op(e, base, error);
}

enum ts_status ts_expand(const struct ts_case *c, u64 base, u64 *touch, struct ts_expansion *e,
			 struct ts_error *error)
{
	enum ts_status status = ts_place(c, base, e, error);
	u64 t;

	if (status)
		return status;
	e->touch = touch;
	for (t = 0; t < c->touches; t++)
		touch[e->touches++] = touch_address(&e->set[0], c, t, c->stride, 0);
	for (t = 0; t < e->set[1].leaves; t++)
		touch[e->touches++] = touch_address(&e->set[1], c, t, e->set[1].step, MIX_SKEW);
	if (c->order == TS_CHASE)
		shuffle(touch, e->touches, c->seed);
	return TS_OK;
}
