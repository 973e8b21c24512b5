/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A case: one point of a sweep, as text both ways.
 *
 * Every field is a u64 and stands in the order of ts_keys[], so that one table parses, prints,
 * checks and documents all of them (the driver's options, plan files and CSV columns use it too).
 */
#ifndef TS_CASE_H
#define TS_CASE_H

#include "op.h"
#include "text.h"
#include "types.h"

enum ts_at { TS_AT_NONE, TS_AT_IN_SET, TS_AT_SAME_2M, TS_AT_NEXT_2M, TS_AT_MAPPED, TS_AT_FAR };
enum ts_frames { TS_CONTIGUOUS, TS_SCATTERED };
enum ts_order { TS_SEQUENTIAL, TS_CHASE, TS_ORDERS };
enum ts_access { TS_READ, TS_WRITE, TS_ACCESSES };
enum ts_phase { TS_REFILL, TS_RETOUCH, TS_BOTH, TS_OP, TS_ACCESS, TS_PHASES };

#define TS_OFFSET_SPREAD (~0ULL) /* offset=spread */
#define TS_LEAVES_FIT (~0ULL)	 /* leaves=fit: as many as touches * stride reach */
#define TS_MAX_LEAVES 16384	 /* twice 8192 lines, the longest sweep planned */
#define TS_MAX_TOUCHES 16384
#define TS_MAX_COUNT 512	 /* pages flushed one by one: one full page table */
#define TS_MAX_SAMPLES 65536	 /* iterations whose values are kept one by one (refill, retouch) */

struct ts_case {
	u64 op;	      /* enum ts_op_id */
	u64 at;	      /* enum ts_at; TS_AT_NONE for ops without an address */
	u64 count;    /* pages flushed one by one in each iteration */
	u64 guest;    /* enum ts_page: leaf size of the window */
	u64 global;   /* 1: leaves carry the global bit and CR4.PGE is on */
	u64 pcid;     /* 1: CR4.PCIDE is on and the window lives under its own PCID */
	u64 leaves;   /* leaf entries that map the working set; TS_LEAVES_FIT until derived */
	u64 touches;  /* lines touched in each iteration; 0 until derived: one a leaf */
	u64 stride;   /* bytes between touches; 0 until derived */
	u64 offset;   /* byte offset of each touch in its page, or TS_OFFSET_SPREAD */
	u64 frames;   /* enum ts_frames */
	u64 mix;      /* second working set: page << 32 | leaves; 0 for none */
	u64 order;    /* enum ts_order */
	u64 access;   /* enum ts_access */
	u64 phase;    /* enum ts_phase: what is measured */
	u64 repeat;   /* number of this repetition, from 1 */
	u64 iterations;
	u64 seed;     /* of the visiting order (chase) */
	u64 code;     /* 1: every touched line also holds code that has run (nx_huge_pages splits such pages) */
};

enum ts_key_id {
	TS_KEY_OP,
	TS_KEY_AT,
	TS_KEY_COUNT,
	TS_KEY_GUEST,
	TS_KEY_GLOBAL,
	TS_KEY_PCID,
	TS_KEY_LEAVES,
	TS_KEY_TOUCHES,
	TS_KEY_STRIDE,
	TS_KEY_OFFSET,
	TS_KEY_FRAMES,
	TS_KEY_MIX,
	TS_KEY_ORDER,
	TS_KEY_ACCESS,
	TS_KEY_PHASE,
	TS_KEY_REPEAT,
	TS_KEY_ITERATIONS,
	TS_KEY_SEED,
	TS_KEY_CODE,
	TS_KEYS
};

enum ts_kind {
	TS_KIND_WORD,	/* one of words[] */
	TS_KIND_OP,	/* a name in ts_ops[] */
	TS_KIND_NUMBER, /* min to max, or the word special, which stands for ~0 */
	TS_KIND_MIX,	/* none, or PAGE:LEAVES */
};

struct ts_key {
	const char *name;
	enum ts_kind kind;
	const char *const *words; /* TS_KIND_WORD: value i is words[i]; ends with 0 */
	const char *special;	  /* TS_KIND_NUMBER: a word that is taken too, or 0 */
	u64 min, max, standard;	  /* standard: value when the key is not given */
	const char *help;
};

extern const struct ts_key ts_keys[TS_KEYS];
extern const char *const ts_page_names[];
extern const char *const ts_phase_names[];

static inline u64 *ts_field(struct ts_case *c, u32 key)
{
	return (u64 *)c + key;
}

static inline u64 ts_value(const struct ts_case *c, u32 key)
{
	return ((const u64 *)c)[key];
}

static inline u64 ts_mix(u64 page, u64 leaves)
{
	return page << 32 | leaves;
}

static inline u64 ts_mix_page(u64 mix)
{
	return mix >> 32;
}

static inline u64 ts_mix_leaves(u64 mix)
{
	return mix & 0xffffffff;
}

/* All fields at their standard values. */
void ts_case_init(struct ts_case *c);

/* Number of the key called name[0..length), TS_KEYS if there is none. */
u32 ts_key_find(const char *name, u32 length);

/* Parses one value of a key; prints one. */
enum ts_status ts_value_parse(u32 key, const char *text, u32 length, u64 *value,
			      struct ts_error *error);
void ts_value_print(struct ts_text *text, u32 key, u64 value);

/* Prints what values a key takes; of op, those of targets that run in ring 0. */
void ts_put_values(struct ts_text *text, u32 key);

/*
 * Parses "key=value key=value ..." over the standard values, then completes and checks the
 * case as ts_case_finish() does.
 */
enum ts_status ts_case_parse(const char *line, struct ts_case *c, struct ts_error *error);

/* Prints all keys; the text parses back to the same case. */
void ts_case_print(struct ts_text *text, const struct ts_case *c);

/*
 * Derives what was left open (touches: one a leaf; stride: the leaf size, or as far apart as
 * touches fit; leaves=fit: as many as the touches reach), brings keys that do not apply to their neutral value (at, count of an op
 * without address; op of phase access) and refuses contradictions with TS_CONFLICT.
 */
enum ts_status ts_case_finish(struct ts_case *c, struct ts_error *error);

/*
 * Does the value of this key change what the (finished or raw) case does? A sweep visits only the
 * first value of a key that does not apply, so that no case is measured twice.
 */
u8 ts_key_applies(const struct ts_case *c, u32 key);

/* CPU features (enum ts_feature) that the case needs. */
u32 ts_case_needs(const struct ts_case *c);

/*
 * Leaves of the working set (set 0) or of the mixed one (set 1) that the op has to drop by the
 * architecture; see the sources in op.c.
 */
u64 ts_must(const struct ts_case *c, u32 set);

#endif
