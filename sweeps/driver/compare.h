/* SPDX-License-Identifier: GPL-2.0 */
/* Two runs compared, case by case. */
#ifndef TS_COMPARE_H
#define TS_COMPARE_H

#include "difference.h"
#include "environment.h"
#include "judge.h"

#include <jansson.h>
#include <stdio.h>

/* One of the two runs. */
struct compared_run {
	const char *name; /* as it was named on the command line */
	struct rows rows;
	struct cells cells;
	json_t *json;
	const char *stamp;
	size_t *event; /* extra columns that are events: indices */
	size_t events;
};

/* One number of a case in both runs. */
struct compared {
	const struct outcome *a, *b;
	const char *measure;	/* cycles, refills, mix_refills, or the name of an event */
	double value[2];	/* medians over the repeats; NAN when not measured */
	size_t repeats[2];
	struct difference difference;
	const char *untold;	/* why nothing is told, or 0 */
};

struct comparison {
	struct compared_run run[2];
	struct compared *compared;
	size_t count;
	const struct outcome **only[2]; /* cases that the other run has not */
	size_t onlys[2];
	size_t changed, told;
};

#define COMPARE_CONFIDENCE 0.95
#define COMPARE_REPEATS 3	 /* fewer have no noise that could be told */
#define COMPARE_MARGIN 0.02	 /* of A: what other physical pages alone make of cycles and events */
#define COMPARE_TIMER_STEP 24.0 /* cycles: TSCs count in steps, 21 on a Zen 5 */

/* Fills event and events. */
void compare_find_events(struct compared_run *run);

/* Why the two are not comparable, as one line; 0 when they are. The caller frees. */
char *compare_obstacle(const struct comparison *comparison);

/* Fills compared, only, changed and told. Runs are there already. */
void compare_runs(struct comparison *comparison);
void compare_free(struct comparison *comparison);

void compare_print(FILE *out, const struct comparison *comparison);
/* Schema in the man page; the caller owns it. */
json_t *compare_json(const struct comparison *comparison);

#endif
