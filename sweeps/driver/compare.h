/* SPDX-License-Identifier: GPL-2.0 */
/* Two runs compared, case by case. */
#ifndef TS_COMPARE_H
#define TS_COMPARE_H

#include "difference.h"
#include "environment.h"
#include "judge.h"

#include <jansson.h>
#include <stdio.h>

/* One of the two sides: a run, or several of an unchanged machine, whose rows are looked at as one. */
struct compared_side {
	size_t runs;
	const char **name;  /* of each run, as it was named on the command line */
	struct rows *part;  /* its rows */
	json_t **json;	    /* its run.json, or 0 */
	struct rows rows;   /* all of them; texts are the parts', columns those of the first */
	struct cells cells;
	const char *stamp;
	size_t *event; /* extra columns that are events: indices */
	size_t events;
};

/* One number of a case on both sides. */
struct compared {
	const struct outcome *a, *b;
	const char *measure;	/* cycles, refills, mix_refills, or the name of an event */
	double value[2];	/* medians over the repeats, or over the runs' medians; NAN when not measured */
	size_t repeats[2];	/* how many values that is: repeats of one run, or runs */
	struct difference difference;
	int apart; /* not changed, but farther apart than the repeats of each run are */
	const char *untold;	/* why nothing is told, or 0 */
};

struct comparison {
	struct compared_side side[2];
	struct compared *compared;
	size_t count;
	const struct outcome **only[2]; /* cases that the other side has not */
	size_t onlys[2];
	size_t changed, apart, told;
};

#define COMPARE_CONFIDENCE 0.95
#define COMPARE_REPEATS 3	 /* of repeats or runs: fewer have no noise that could be told */
#define COMPARE_MARGIN 0.02	 /* of A: what other physical pages alone make of cycles and events */
#define COMPARE_TIMER_STEP 24.0 /* cycles: TSCs count in steps, 21 on a Zen 5 */

/* Puts the rows of all parts together and fills what follows from them. A side without rows has no cells. */
void compare_join(struct compared_side *side);

/* Why the runs of a side cannot be looked at as one, as one line; 0 when they can. The caller frees. */
char *compare_side_obstacle(const struct compared_side *side);

/* Why the two are not comparable, as one line; 0 when they are. The caller frees. */
char *compare_obstacle(const struct comparison *comparison);

/* Fills compared, only, changed, apart and told. The sides are there already. */
void compare_runs(struct comparison *comparison);
void compare_free(struct comparison *comparison);

void compare_print(FILE *out, const struct comparison *comparison);
/* Schema in the man page; the caller owns it. */
json_t *compare_json(const struct comparison *comparison);

#endif
