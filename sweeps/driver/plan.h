/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Plans: the definition of a sweep in a file (INI, by libinih).
 *
 *   [plan]
 *   title = One line for headings
 *   about = One line that says what it shows
 *
 *   [NAME]                a section is one sweep: a list of values for each axis, and their product
 *   when = 1g             optional: the section is left out when the CPU lacks this feature
 *   on = tcg, kvm         optional: targets that run the section (all when absent)
 *   host = 4k, 2m         optional: host pages, where the target chooses them (4k, 2m, 1g when absent)
 *   op = none, invlpg, cr3
 *   guest = 2m
 *   repeats = 3
 */
#ifndef TS_PLAN_H
#define TS_PLAN_H

#include "problem.h"
#include "sweep.h"

#include <stddef.h>
#include <stdio.h>

/* Host pages that a target can be asked for. */
enum plan_host {
	PLAN_HOST_4K,
	PLAN_HOST_2M,
	PLAN_HOST_1G,
	PLAN_HOST_2M_LOGGED, /* RAM on 2M pages, with dirty logging on, as in a live migration */
	PLAN_HOSTS
};
extern const char *const plan_host_names[PLAN_HOSTS];

struct section {
	char *name;
	u32 when;     /* features (enum ts_feature) without which the section is left out */
	char *on;     /* targets that run it, comma-separated; 0 for all */
	u32 hosts;    /* 1 << enum plan_host; 0 for those that are plain pages */
	int line;     /* where it starts in the file, for messages */
	struct ts_sweep sweep;
	u32 overridden; /* keys (1 << enum ts_key_id) that came from the command line */
};

struct plan {
	char *name, *path, *title, *about;
	struct section *section;
	size_t sections;
};

/* NAME (a plan of the installation) or a path (anything with a slash or ending in .plan). */
int plan_load(const char *name, struct plan *plan, struct problem *problem);
void plan_free(struct plan *plan);

/*
 * An option --KEY LIST. guest selects the sections that have one of its values (replacing the axis in all
 * when none has); every other key, and host, replaces its axis in all sections.
 */
int plan_override(struct plan *plan, const char *key, const char *list, struct problem *problem);

/* One case to measure: section and finished case, repeat filled in. */
struct planned {
	const struct section *section;
	struct ts_case c;
	const char *host; /* asked for; 0 when the target does not choose it */
};

/* What of a plan a target runs. */
struct plan_filter {
	const char *target;
	u32 features; /* enum ts_feature */
	u32 phases;   /* 1 << enum ts_phase; others run only when an option asked for them */
	int chooses_host;
};

/* Is the section for the target, and within its features? Is the phase the target's, or asked for by an option? */
int plan_has_section(const struct section *section, const struct plan_filter *filter);
int plan_wants_phase(const struct section *section, const struct plan_filter *filter, u64 phase);

/* As ts_sweep_next(), and -1 as well for a case that cannot be laid out. */
int plan_next_case(const struct section *section, struct ts_cursor *cursor, struct ts_case *c, struct ts_error *error);

/*
 * All cases in the order in which they run: host page by host page (each is a guest of its own), repetition
 * by repetition, section by section.
 * A contradictory combination is a problem; if it comes from an overridden axis it is only counted in
 * *skipped. Sections that are not for this target, or whose `when` is not within the features, are left
 * out, and so are phases outside the filter's. -EINTR when `interrupted` was set. Caller frees *list.
 */
int plan_cases(const struct plan *plan, const struct plan_filter *filter, struct planned **list,
	       size_t *count, size_t *skipped, struct problem *problem);

/* What plan_cases() has skipped: for each section and reason a line, with its number and the first case. */
void plan_print_skipped(FILE *out, const struct plan *plan, const struct plan_filter *filter);

/* Is any section of the plan for a target of that name? */
int plan_runs_on(const struct plan *plan, const char *target);

/* Does one of them have a phase that the target measures (1 << enum ts_phase), or that was asked for? */
int plan_measures_on(const struct plan *plan, const char *target, u32 phases);

/* Phases of the sections for a target, with commas between, in this program's order; caller frees. */
char *plan_phases(const struct plan *plan, const char *target);

/* The first section for a target that lists host pages; 0 if none does. */
const struct section *plan_host_section(const struct plan *plan, const char *target);

/* That the plan has nothing for a target, why not, and what to do about it. */
int plan_nothing(const struct plan *plan, const struct plan_filter *filter, struct problem *problem);

/*
 * Bytes of guest memory that the plan's windows on a target need, for a guest image that starts them at 16 MiB: those of the cases
 * with 1G leaves, or those of the others; 0 if there are none.
 */
u64 plan_memory(const struct plan *plan, const char *target, int gigabytes);

/* Refuses a plan whose lists multiply to more combinations than anybody can wait for. */
int plan_check_size(const struct plan *plan, struct problem *problem);

/* Names of the installed plans, sorted, 0 at the end; caller frees names and array. */
char **plan_names(struct problem *problem);

#endif
