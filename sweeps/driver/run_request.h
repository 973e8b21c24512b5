/* SPDX-License-Identifier: GPL-2.0 */
/* What the user asks tlbscope run for: on the command line, in run.json, and back. */
#ifndef TS_RUN_REQUEST_H
#define TS_RUN_REQUEST_H

#include "target.h"

#define MAX_OVERRIDES 64

struct request {
	const char *plan, *target, *out, *resume;
	struct options options;
	struct {
		const char *key, *list;
	} override[MAX_OVERRIDES];
	int overrides;
	u32 given; /* options that stood on the command line: 1 << enum of run_request.c */
};


/* Reads the command line; a wrong one ends the program. Texts stay argv's. */
void request_parse(struct request *request, int argc, char **argv);

/* Replaces the axes of the plan that were named. */
int request_override(const struct request *request, struct plan *plan, struct problem *problem);

/* An option that the target cannot carry out is refused: its rows would not be what was asked for. */
int request_check(const struct request *request, const struct target_ops *ops, struct problem *problem);

/* --resume together with an option that would make other rows than the run has is refused. */
int request_check_resume(const struct request *request, struct problem *problem);

/*
 * The command that makes such a run again, for run.json and reports: plan, target and what changes rows, with the
 * target named that was chosen. A plan file by its name alone: where it lay is nobody's business. Caller frees.
 */
char *request_command(const struct request *request, const struct target_ops *ops);

/* Options as run.json has them. */
json_t *request_describe(const struct options *options, enum count_source source);

/*
 * And out of it; what stands on the command line goes before. Texts stay those of json, which is brought up to date.
 * What is of another type than request_describe() gives it is a problem.
 */
int request_restore(struct request *request, json_t *json, struct problem *problem);

#endif
