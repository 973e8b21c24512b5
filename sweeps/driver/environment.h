/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What surrounded a run, out of its run.json: one table of facts for reports and comparisons. A run.json may come from
 * another version or another machine: what is not there, or has another type, is absent.
 */
#ifndef TS_ENVIRONMENT_H
#define TS_ENVIRONMENT_H

#include "row.h"

#include <jansson.h>

struct environment_fact {
	const char *path;    /* keys with points between */
	const char *label;   /* for people */
	const char *matters; /* why a difference of it matters to a comparison; 0 when it does not */
};

/* Fact i of the table, or 0 beyond the last. */
const struct environment_fact *environment_fact(size_t i);

/* DIR/run.json as an object; 0 when there is none. What cannot be read is told on stderr. The caller owns it. */
json_t *environment_load(const char *dir);

/* The value at a path as text ("yes", "33", "1.5"), or 0 when it is absent. The caller frees. */
char *environment_text(const json_t *run, const char *path);

/*
 * The facts that matter, that both recorded, and that are not the same: "LABEL was OLD and is NEW, ..."; 0 when there
 * are none. The caller frees.
 */
char *environment_changes(const json_t *was, const json_t *is);

/*
 * Are rows of the plan missing? So run.json may say; or it says how many there were, and the file has fewer (cut, or its
 * last line torn). Nobody knows of rows without a run.json: 0.
 */
int environment_is_incomplete(const json_t *run, const struct rows *rows);

/* The number at a path; NAN when it is absent. */
double environment_number(const json_t *run, const char *path);

/* Ticks of the TSC a second (machine.tsc_hz); NAN when it is absent or no frequency that a TSC can have. */
double environment_tsc_hz(const json_t *run);

/*
 * What marks a run that is none of hardware, in pictures and pages: "" for one that is. run (may be 0) tells what the
 * rows cannot: that the machine itself was QEMU's software CPU.
 */
const char *environment_stamp(const struct rows *rows, const json_t *run);

#endif
