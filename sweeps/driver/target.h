/* SPDX-License-Identifier: GPL-2.0 */
/* Targets: where a sweep runs. One struct target_ops each, in target_NAME.c; targets[] lists them. */
#ifndef TS_TARGET_H
#define TS_TARGET_H

#include "counting.h"
#include "plan.h"
#include "probe.h"
#include "row.h"

#include <jansson.h>
#include <stdio.h>

/* What the user asked for; shared by all targets. */
struct options {
	const char *qemu;    /* program, found in PATH when without slash */
	const char *cpu;     /* QEMU -cpu model; 0 for the target's standard */
	const char *guest_image; /* 0 for the installed one */
	u64 memory;	     /* bytes of guest RAM; 0 for what the plan needs */
	double timeout;	     /* seconds for one request */
	int fresh_boot;	     /* a boot of its own for each cell */
	struct count_request count;
};

struct target {
	const struct target_ops *ops;
	const struct options *options;
	const struct plan *plan;
	FILE *log;		 /* log.txt of the run */
	struct counting *counting; /* of events; the target fills in its values for each row */
	u32 features;		 /* enum ts_feature, known after open */
	char *cpu;		 /* CPU that the cases run on, for the CSV; known after open */
	const char *accel;	 /* CSV column accel */
	char *refusal;		 /* why nothing here can be trusted; set by open, 0 if it can */
	void *state;		 /* the target's own */
};

/* Options of run that only some targets can carry out. */
enum target_option { TAKES_QEMU = 1, TAKES_FRESH_BOOT = 2, TAKES_TIMEOUT = 4 };

struct target_ops {
	const char *name;
	const char *claims; /* one sentence: what its numbers are evidence of */
	const char *cannot; /* one sentence: what they are not */
	const char *const *probes; /* ids of the checks that have to be ok, 0 at the end */
	const char *const *prefer; /* more that have to be ok before it is chosen unasked (may be 0) */
	int chooses_host; /* the host page is an axis of its cases */
	u32 takes; /* enum target_option: the others are refused */
	u32 phases; /* 1 << enum ts_phase: those that can tell something here; others only if asked for */
	u32 counters; /* 1 << enum count_source: who can count events here, the lowest is its standard */
	int counts_unasked; /* takes the CPU's standard events when the user names none */
	const char *const *extra;  /* names of its extra CSV columns, 0 at the end (may be 0) */

	/* Starts whatever runs the cases and learns cpu and features. */
	int (*open)(struct target *target, struct problem *problem);
	/*
	 * Optional. Announces the cases of one cell (same phase and repeat, alike but for op, at and count) before
	 * they are measured one by one, for a target that has to measure them in turns: it does so here and
	 * hands the results out in measure(). Returns as measure() does.
	 */
	int (*begin_cell)(struct target *target, const struct ts_case *cases, size_t count,
			  struct problem *problem);
	/*
	 * Measures one case into row (c, r, op_va, host, host_how, extra and reasons; the caller fills the
	 * rest, and host with the page that is asked for). 0; -ENOTSUP: the target declined this case (reason in row->valid, in words
	 * with the remedy as the problem, no numbers);
	 * -EPIPE, -ETIMEDOUT: it died or hangs, the caller may open it again; -EINTR: interrupted.
	 */
	int (*measure)(struct target *target, const struct ts_case *c, struct row *row,
		       struct problem *problem);
	/* Ends it: cleanly if it can. Called after a failed measure too. */
	int (*close)(struct target *target, struct problem *problem);
	/* Adds what a reader has to know about it to run.json. */
	void (*describe)(const struct target *target, json_t *run);
};

/* In order of preference: the first whose probes are all ok is the standard. */
extern const struct target_ops *const targets[];
const struct target_ops *target_find(const char *name);

extern const struct target_ops target_kvm, target_module, target_user, target_tcg;

#endif
