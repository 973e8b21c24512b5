/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counting events in a run: which ones, by whom, whether they are believed, and their CSV columns.
 *
 * source     who counts                                         what a number is
 * vpmu       the guest, with its own PMU, by RDPMC in the pass  an iteration of the loop
 * host       the host's kernel, the vCPU thread's guest mode    slope between N and 2N iterations
 * process    the host's kernel, this process                    an iteration: op and pass
 * module     the module, by RDPMC in the pass                   an iteration of the loop
 */
#ifndef TS_COUNTING_H
#define TS_COUNTING_H

#include "event.h"
#include "perf_group.h"
#include "row.h"

#include <jansson.h>
#include <stdio.h>

enum count_source { COUNT_NONE, COUNT_VPMU, COUNT_HOST, COUNT_PROCESS, COUNT_MODULE,
		    COUNT_SOURCES };
extern const char *const count_source_names[COUNT_SOURCES + 1];

/* What the user asked for. */
struct count_request {
	const char *source; /* 0: the target's standard */
	const char *event[MAX_EVENTS];
	size_t events;
};

struct counting {
	enum count_source source;
	struct event event[MAX_EVENTS];
	size_t events;
	char *check[MAX_EVENTS];  /* what the self-check saw; 0: not made */
	u8 refused[MAX_EVENTS];	  /* by the self-check: its column stays empty */
	int asked;		  /* events were named by the user, who is told what is not counted */
	int checked;		  /* the self-check is over */
	struct perf_group group;  /* of sources host and process */
	char *pmu;		  /* what the target said of its PMU; 0: nothing */
	char *why_not;		  /* nothing is counted: why, with the remedy; 0 otherwise */
	double value[MAX_EVENTS]; /* of the row measured last, per iteration; NAN: none */
	char text[MAX_EVENTS][32];
	char *watchdog; /* what was done about the NMI watchdog; 0: nothing */
	FILE *log;
};

/*
 * Chooses source and events before anything has started. sources: what the target can use, a bit
 * for each enum count_source, the lowest is its standard; unasked: it takes the CPU's standard
 * events when none are named.
 */
int counting_choose(struct counting *counting, const struct count_request *request,
		    const char *target, u32 sources, int unasked, struct problem *problem);
void counting_free(struct counting *counting);

/*
 * Names of the columns: those of the target, then the events, 0 at the end. The caller frees the
 * list.
 */
const char **counting_columns(const struct counting *counting, const char *const *extra);

/* Texts of a row's columns in that order. The caller frees the list, not the texts. */
const char **counting_texts(struct counting *counting, const char *const *extra,
			    const char *const *extra_texts);

/*
 * Is a case of a kind whose events are counted? The loops are, but for process: the retouch pass.
 */
int counting_wants(const struct counting *counting, const struct ts_case *c);

/* Before each row: nothing is counted yet. */
void counting_begin_row(struct counting *counting);

/* Takes the counts that came with a row's line (sources vpmu and module). */
void counting_take(struct counting *counting, struct row *row);

void counting_log(const struct counting *counting, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line for the log, and for the terminal when the user has named the events. */
void counting_tell(const struct counting *counting, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Gives up counting for the whole run; logged once, and told as counting_tell() does. */
void counting_give_up(struct counting *counting, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the values of the row: counts over so many iterations. */
void counting_set(struct counting *counting, const double *counts, double iterations);

/*
 * For run.json: source, events with encodings and what the self-check saw, the machine around them.
 */
json_t *counting_describe(const struct counting *counting);

#endif
