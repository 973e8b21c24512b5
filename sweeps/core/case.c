// SPDX-License-Identifier: GPL-2.0
/* Cases as text both ways, their completion and checks. The table ts_keys[] drives all of it. */
#include "case.h"

const char *const ts_page_names[] = { "4k", "2m", "1g", 0 };
const char *const ts_phase_names[] = { "refill", "retouch", "both", "op", "access", 0 };
static const char *const at_names[] = { "none", "in-set", "same-2m", "next-2m", "mapped", "far", 0 };
static const char *const frames_names[] = { "contiguous", "scattered", 0 };
static const char *const order_names[] = { "sequential", "chase", 0 };
static const char *const access_names[] = { "read", "write", 0 };

#define WORDS(list) .kind = TS_KIND_WORD, .words = list
#define RANGE(low, high, std) .kind = TS_KIND_NUMBER, .min = low, .max = high, .standard = std

const struct ts_key ts_keys[TS_KEYS] = {
	[TS_KEY_OP] = { "op", .kind = TS_KIND_OP, .help = "flush operation (tlbscope list ops)" },
	[TS_KEY_AT] = { "at", WORDS(at_names), .standard = TS_AT_FAR,
			.help = "page that an addressed op flushes: of the set, in its 2M region, in the "
				"next one, mapped elsewhere, or never mapped" },
	[TS_KEY_COUNT] = { "count", RANGE(1, TS_MAX_COUNT, 1),
			   .help = "pages flushed one by one in each iteration" },
	[TS_KEY_GUEST] = { "guest", WORDS(ts_page_names), .help = "leaf size of the window" },
	[TS_KEY_GLOBAL] = { "global", RANGE(0, 1, 0),
			    .help = "1: leaves carry the global bit, CR4.PGE is on" },
	[TS_KEY_PCID] = { "pcid", RANGE(0, 1, 0),
			  .help = "1: CR4.PCIDE is on, the window has its own PCID" },
	[TS_KEY_LEAVES] = { "leaves", RANGE(1, TS_MAX_LEAVES, 16), .special = "fit",
			    .help = "leaf entries that map the working set; fit: as many as touches and "
				    "stride reach" },
	[TS_KEY_TOUCHES] = { "touches", RANGE(0, TS_MAX_TOUCHES, 0),
			     .help = "lines touched in each iteration; 0: one a leaf" },
	[TS_KEY_STRIDE] = { "stride", RANGE(0, 1ULL << 30, 0),
			    .help = "bytes between touches; 0: leaf size, or as far as touches fit" },
	[TS_KEY_OFFSET] = { "offset", RANGE(0, 4096 - TS_LINE, TS_OFFSET_SPREAD),
			    .special = "spread",
			    .help = "of each touch in its 4K piece; spread: vary line and piece, so that "
				    "neither cache sets nor TLB sets clash" },
	[TS_KEY_FRAMES] = { "frames", WORDS(frames_names),
			    .help = "scattered: no two leaves that follow each other are contiguous in "
				    "physical memory" },
	[TS_KEY_MIX] = { "mix", .kind = TS_KIND_MIX,
			 .help = "second working set measured beside the first, as PAGE:LEAVES" },
	[TS_KEY_ORDER] = { "order", WORDS(order_names), .standard = TS_CHASE,
			   .help = "chase: every load waits for the one before, in random order" },
	[TS_KEY_ACCESS] = { "access", WORDS(access_names), .help = "what a touch does" },
	[TS_KEY_PHASE] = { "phase", WORDS(ts_phase_names), .help = "what is measured" },
	[TS_KEY_REPEAT] = { "repeat", RANGE(1, 1000000, 1), .help = "number of this repetition" },
	[TS_KEY_ITERATIONS] = { "iterations", RANGE(1, 1ULL << 32, 200),
				.help = "of the loop in one row" },
	[TS_KEY_CODE] = { "code", RANGE(0, 1, 0),
			  .help = "1: the window is executable and code in every touched line has run; KVM's "
				  "nx_huge_pages maps such pages by 4K" },
	[TS_KEY_SEED] = { "seed", RANGE(0, ~0ULL, 1), .help = "of the random visiting order" },
};

/* ts_field() takes the struct for an array: one u64 for each key. */
_Static_assert(sizeof(struct ts_case) == TS_KEYS * sizeof(u64), "ts_case and ts_keys differ");

void ts_case_init(struct ts_case *c)
{
	u32 key;

	for (key = 0; key < TS_KEYS; key++)
		*ts_field(c, key) = ts_keys[key].standard;
}

u32 ts_key_find(const char *name, u32 length)
{
	u32 key;

	for (key = 0; key < TS_KEYS; key++)
		if (ts_equal_n(name, length, ts_keys[key].name))
			break;
	return key;
}

static const char *word_of(u32 key, u64 value)
{
	return ts_keys[key].kind == TS_KIND_OP ? ts_ops[value].name : ts_keys[key].words[value];
}

static enum ts_status parse_word(u32 key, const char *text, u32 length, u64 *value,
				 struct ts_error *error)
{
	u64 i, n = TS_OPS;

	if (ts_keys[key].kind == TS_KIND_WORD)
		for (n = 0; ts_keys[key].words[n]; n++)
			;
	for (i = 0; i < n; i++) {
		if (ts_equal_n(text, length, word_of(key, i))) {
			*value = i;
			return TS_OK;
		}
	}
	return ts_fail_n(error, TS_UNKNOWN_VALUE, text, length, ts_keys[key].name);
}

static enum ts_status parse_number(u32 key, const char *text, u32 length, u64 *value,
				   struct ts_error *error)
{
	enum ts_status status;

	if (ts_keys[key].special && ts_equal_n(text, length, ts_keys[key].special)) {
		*value = ~0ULL;
		return TS_OK;
	}
	status = ts_number(text, length, value);
	if (status)
		return ts_fail_n(error, status, text, length, ts_keys[key].name);
	if (*value < ts_keys[key].min || *value > ts_keys[key].max)
		return ts_fail_n(error, TS_OUT_OF_RANGE, text, length, ts_keys[key].name);
	return TS_OK;
}

/* none, or PAGE:LEAVES, e.g. 2m:8 */
static enum ts_status parse_mix(const char *text, u32 length, u64 *value, struct ts_error *error)
{
	u64 page, leaves;

	if (ts_equal_n(text, length, "none")) {
		*value = 0;
		return TS_OK;
	}
	if (length < 4 || text[2] != ':' || parse_word(TS_KEY_GUEST, text, 2, &page, error))
		return ts_fail_n(error, TS_UNKNOWN_VALUE, text, length, "mix is none or PAGE:LEAVES");
	if (parse_number(TS_KEY_LEAVES, text + 3, length - 3, &leaves, error) ||
	    (leaves == TS_LEAVES_FIT &&
	     ts_fail(error, TS_BAD_NUMBER, text, "a mixed set says its leaves")))
		return ts_fail_n(error, error->status, text, length, "mix is none or PAGE:LEAVES");
	*value = ts_mix(page, leaves);
	return TS_OK;
}

enum ts_status ts_value_parse(u32 key, const char *text, u32 length, u64 *value,
			      struct ts_error *error)
{
	switch (ts_keys[key].kind) {
	case TS_KIND_WORD:
	case TS_KIND_OP:
		return parse_word(key, text, length, value, error);
	case TS_KIND_MIX:
		return parse_mix(text, length, value, error);
	case TS_KIND_NUMBER:
		break;
	}
	return parse_number(key, text, length, value, error);
}

void ts_value_print(struct ts_text *text, u32 key, u64 value)
{
	switch (ts_keys[key].kind) {
	case TS_KIND_WORD:
	case TS_KIND_OP:
		ts_put(text, word_of(key, value));
		return;
	case TS_KIND_MIX:
		if (!value) {
			ts_put(text, "none");
			return;
		}
		ts_put(text, ts_page_names[ts_mix_page(value)]);
		ts_put(text, ":");
		ts_put_number(text, ts_mix_leaves(value));
		return;
	case TS_KIND_NUMBER:
		break;
	}
	if (ts_keys[key].special && value == ~0ULL) {
		ts_put(text, ts_keys[key].special);
		return;
	}
	ts_put_number(text, value);
}

/* Words with blanks between. */
static void put_word(struct ts_text *text, u32 *n, const char *word)
{
	ts_put(text, (*n)++ ? " " : "");
	ts_put(text, word);
}

void ts_put_values(struct ts_text *text, u32 key)
{
	const struct ts_key *k = &ts_keys[key];
	u32 i, n = 0;

	switch (k->kind) {
	case TS_KIND_WORD:
		for (i = 0; k->words[i]; i++)
			put_word(text, &n, k->words[i]);
		return;
	case TS_KIND_OP:
		for (i = 0; i < TS_OPS; i++)
			if (!(ts_ops[i].needs & TS_SYSCALLS)) /* who speaks the protocol has no system calls */
				put_word(text, &n, ts_ops[i].name);
		return;
	case TS_KIND_MIX:
		ts_put(text, "none or PAGE:LEAVES, e.g. 2m:8");
		return;
	case TS_KIND_NUMBER:
		break;
	}
	ts_put_number(text, k->min);
	ts_put(text, " to ");
	ts_put_number(text, k->max);
	ts_put(text, k->special ? ", or " : "");
	ts_put(text, k->special ? k->special : "");
}

enum ts_status ts_case_parse(const char *line, struct ts_case *c, struct ts_error *error)
{
	struct ts_pair pair;
	enum ts_status status;
	u32 seen = 0, key;

	ts_case_init(c);
	while ((status = ts_pair(&line, &pair, error)) == TS_OK) {
		key = ts_key_find(pair.key, pair.key_length);
		if (key == TS_KEYS)
			return ts_fail_n(error, TS_UNKNOWN_KEY, pair.key, pair.key_length,
					 "tlbscope list axes names them");
		if (seen & 1u << key)
			return ts_fail_n(error, TS_DUPLICATE_KEY, pair.key, pair.key_length,
					 "give a key once");
		seen |= 1u << key;
		status = ts_value_parse(key, pair.value, pair.value_length, ts_field(c, key), error);
		if (status)
			return status;
	}
	if (status != TS_EMPTY)
		return status;
	return ts_case_finish(c, error);
}

void ts_case_print(struct ts_text *text, const struct ts_case *c)
{
	u32 key;

	for (key = 0; key < TS_KEYS; key++) {
		if (key)
			ts_put(text, " ");
		ts_put(text, ts_keys[key].name);
		ts_put(text, "=");
		ts_value_print(text, key, ts_value(c, key));
	}
}

u8 ts_key_applies(const struct ts_case *c, u32 key)
{
	switch (key) {
	case TS_KEY_OP:
		return c->phase != TS_ACCESS;
	case TS_KEY_AT:
	case TS_KEY_COUNT:
		return c->phase != TS_ACCESS && ts_ops[c->op].addressed;
	case TS_KEY_ORDER:
	case TS_KEY_ACCESS:
		return c->phase != TS_OP;
	case TS_KEY_SEED:
		return c->phase != TS_OP && c->order == TS_CHASE;
	}
	return 1;
}

static enum ts_status conflict(struct ts_error *error, u32 key, const char *hint)
{
	return ts_fail(error, TS_CONFLICT, ts_keys[key].name, hint);
}

/* Touches and stride as the other keys leave them, and whether they touch exactly `leaves` leaves. */
static enum ts_status finish_touches(struct ts_case *c, struct ts_error *error)
{
	u64 size = ts_page_size(c->guest);
	u64 grain = c->offset == TS_OFFSET_SPREAD ? 4095 : TS_LINE - 1;

	if (c->leaves == TS_LEAVES_FIT) {
		if (!c->touches || !c->stride)
			return conflict(error, TS_KEY_LEAVES, "leaves=fit needs touches and stride");
		c->leaves = c->stride > size ? c->touches : (c->touches - 1) * c->stride / size + 1;
		if (c->leaves > TS_MAX_LEAVES)
			return conflict(error, TS_KEY_LEAVES, "at most 16384 leaves");
	}
	if (!c->touches)
		c->touches = c->leaves;
	if (c->touches < c->leaves)
		return conflict(error, TS_KEY_TOUCHES, "every leaf is touched: touches >= leaves");
	if (!c->stride)
		c->stride = c->touches == c->leaves ? size : size * c->leaves / c->touches & ~grain;
	if (!c->stride && c->offset == TS_OFFSET_SPREAD)
		return conflict(error, TS_KEY_OFFSET, "several touches in a 4K page need offset=0");
	if (!c->stride || c->stride % TS_LINE)
		return conflict(error, TS_KEY_STRIDE, "stride is a multiple of 64 bytes");
	if (c->offset == TS_OFFSET_SPREAD && c->stride % 4096)
		return conflict(error, TS_KEY_OFFSET, "offset=spread needs a stride of whole 4K pages");
	if (c->offset != TS_OFFSET_SPREAD &&
	    (c->offset % TS_LINE || (c->stride % 4096 && c->offset)))
		return conflict(error, TS_KEY_OFFSET,
				"offset is a multiple of 64, and 0 with strides below 4K");
	if (c->stride > size)
		return c->stride % size == 0 && c->touches == c->leaves ?
			       TS_OK :
			       conflict(error, TS_KEY_STRIDE,
					"a stride beyond the leaf size is a multiple of it, with one "
					"touch a leaf");
	if ((c->touches - 1) * c->stride / size + 1 != c->leaves)
		return conflict(error, TS_KEY_STRIDE,
				"touches * stride has to reach the last of leaves and no further");
	return TS_OK;
}

enum ts_status ts_case_finish(struct ts_case *c, struct ts_error *error)
{
	enum ts_status status;

	if (c->phase == TS_ACCESS)
		c->op = TS_OP_NONE;
	if (!ts_key_applies(c, TS_KEY_AT)) {
		c->at = TS_AT_NONE;
		c->count = 1;
	} else if (c->at == TS_AT_NONE) {
		return conflict(error, TS_KEY_AT, "this op needs a page to flush");
	}
	if (ts_ops[c->op].needs_pcid && !c->pcid)
		return conflict(error, TS_KEY_PCID, "this op is defined only with pcid=1");
	if (c->phase <= TS_RETOUCH && c->iterations > TS_MAX_SAMPLES)
		return conflict(error, TS_KEY_ITERATIONS,
				"refill and retouch keep every iteration: at most 65536");
	status = finish_touches(c, error);
	if (status)
		return status;
	if (c->mix && c->touches + ts_mix_leaves(c->mix) > TS_MAX_TOUCHES)
		return conflict(error, TS_KEY_MIX, "both sets together have too many touches");
	if (ts_case_needs(c) & TS_GB_PAGES && c->frames == TS_SCATTERED)
		return conflict(error, TS_KEY_FRAMES, "1g leaves share the gigabytes that there are");
	return TS_OK;
}

u32 ts_case_needs(const struct ts_case *c)
{
	u32 needs = ts_ops[c->op].needs;

	if (c->global)
		needs |= TS_PGE;
	if (c->pcid)
		needs |= TS_PCID;
	if (c->guest == TS_1G || (c->mix && ts_mix_page(c->mix) == TS_1G))
		needs |= TS_GB_PAGES;
	return needs;
}

/*
 * Full flushes drop all leaves, global ones only if the op says so. An addressed op drops the
 * pages that it names: in-set, one leaf for each page flushed; same-2m, the leaf around it when
 * leaves are large (SDM 4.10.4.2: one INVLPG drops all of a large page), none of the 4K ones.
 */
u64 ts_must(const struct ts_case *c, u32 set)
{
	const struct ts_op *op = &ts_ops[c->op];
	u64 leaves = set ? ts_mix_leaves(c->mix) : c->leaves;

	if (op->class == TS_CLASS_NONE || (c->global && !op->drops_global))
		return 0;
	if (op->class == TS_CLASS_FULL)
		return leaves;
	if (set)
		return 0;
	if (c->at == TS_AT_IN_SET)
		return c->count < leaves ? c->count : leaves;
	return c->at == TS_AT_SAME_2M && c->guest != TS_4K;
}
