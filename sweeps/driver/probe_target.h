/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From probes to targets: which can run here, and what its rows can say. For doctor and run alike.
 */
#ifndef TS_PROBE_TARGET_H
#define TS_PROBE_TARGET_H

#include "probe.h"
#include "target.h"

/* What a finding means for a target that can run all the same. */
enum limit_weight {
	LIMIT_LESS,	  /* something is lost, not the verdict */
	LIMIT_NO_VERDICT, /* rows are kept, without a verdict: not chosen unless asked for */
	LIMIT_REFUSED,	  /* run would end with exit status 5 after its first row */
};

struct target_limit {
	const char *target, *probe;
	enum limit_weight weight;
	const char *text;
	const char *plan; /* one whose rows it leaves as good as they are, or 0 */
};
extern const struct target_limit target_limits[];
extern const size_t target_limit_count;

/* Findings of the whole table, each looked for when it is first asked for. */
struct findings;
struct findings *findings_new(const struct options *options);
const struct finding *findings_get(struct findings *findings, const char *id);
/* Looks at all probes at a time that ops asks for; 0: at all there are. */
void findings_look(struct findings *findings, const struct target_ops *ops);
void findings_free(struct findings *findings);

/* Does the limit hold here? Not when the probe could not tell. */
int limit_holds(const struct target_limit *limit, struct findings *findings);

/* The first probe that keeps a target from running, 0 if none; its finding in *finding. */
const struct probe *target_lacks(const struct target_ops *ops, struct findings *findings,
				 const struct finding **finding);

/* The same for what keeps it from being chosen unasked. */
const struct probe *target_reservation(const struct target_ops *ops, struct findings *findings,
				       const struct finding **finding);

/* Is a probe's finding needed to judge a target? */
int target_asks(const struct target_ops *ops, const char *id);

#endif
