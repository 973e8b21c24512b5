/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sweep: lists of values for the keys of a case, and the cross product of them.
 *
 * As text: "op=none,invlpg,cr3 at=far,mapped guest=2m leaves=16 repeats=3". This is one section of
 * a plan file, and one command of the protocol, so that the guest can run a plan on its own.
 */
#ifndef TS_SWEEP_H
#define TS_SWEEP_H

#include "case.h"

#define TS_MAX_VALUES 32 /* values of one key in a sweep */
#define TS_MAX_REPEATS 10000

struct ts_axis {
	u32 n; /* 0: the key was not given */
	u64 value[TS_MAX_VALUES];
};

struct ts_sweep {
	struct ts_axis axis[TS_KEYS];
	u64 repeats;
};

void ts_sweep_init(struct ts_sweep *sweep);

/*
 * Replaces one axis by the comma-separated list[0..length); key is one of ts_keys[] or "repeats". A value stands
 * once; 0 of touches and stride and fit of leaves, which mean derived, stand alone (it could repeat another value).
 */
enum ts_status ts_sweep_set(struct ts_sweep *sweep, const char *key, u32 key_length,
			    const char *list, u32 length, struct ts_error *error);
enum ts_status ts_sweep_parse(const char *line, struct ts_sweep *sweep, struct ts_error *error);
void ts_sweep_print(struct ts_text *text, const struct ts_sweep *sweep);

/* Where a walk over the cross product stands. Start from {0}. */
struct ts_cursor {
	u64 next;
};

/*
 * The next case of one repetition, finished; 1 if there is one, 0 at the end, and -1 with *error
 * filled when the combination is contradictory (the walk can go on behind it). Order: op changes
 * fastest, then at and count, so that the controls of a cell run beside what they control; then the other
 * keys, the last of ts_keys[] first.
 */
int ts_sweep_next(const struct ts_sweep *sweep, struct ts_cursor *cursor, struct ts_case *c,
		  struct ts_error *error);

#endif
