/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The driver's end of the line protocol: the same for a guest behind a serial port and for the module behind
 * its device.
 */
#ifndef TS_LINK_H
#define TS_LINK_H

#include "row.h"

#include <jansson.h>
#include <stdio.h>

struct link {
	void *context;
	int (*send)(void *context, const char *line); /* 0 or -EPIPE */
	/* The next line within seconds: 0, -ETIMEDOUT, -EPIPE, -EINTR. */
	int (*receive)(void *context, double seconds, const char **line);
	FILE *log;
	double timeout; /* seconds for an answer */
	const char *who;      /* in messages: "guest" or "module" */
	int declines_memory; /* a window that does not fit is a declined case, not the user's mistake */
};

/* What a target said of itself. */
struct hello {
	json_t *keys; /* every key=value of the line, as texts */
	u32 features; /* enum ts_feature */
};

/* Takes a hello line (without its first word) apart; refuses another protocol or version. */
int hello_parse(const char *rest, struct hello *hello, struct problem *problem);
const char *hello_text(const struct hello *hello, const char *key); /* "" if it was not said */
void hello_free(struct hello *hello);

/* What an error line says. */
struct refusal {
	char status[64];
	char words[512]; /* what was refused, and the hint */
	struct ts_case c;
	int has_case; /* it names the case that it is about, and that is one */
};

/* Takes an error line (without its first word) apart. */
void refusal_parse(const char *rest, struct refusal *refusal);

/* Is the case declined, as no-feature always and no-memory sometimes, so that a row says so? */
int refusal_is_declined(const struct refusal *refusal, int declines_memory);

/* Waits for the hello line. As target_ops.open(). */
int link_hello(struct link *link, struct hello *hello, struct problem *problem);

/* Sends one case and waits for its row. As target_ops.measure(). */
int link_measure(struct link *link, const struct ts_case *c, struct row *row,
		 struct problem *problem);

/*
 * Says which events are to be counted from now on; none for n 0. 0, with what the target said of its counters in
 * *pmu (the caller frees it); -ENOTSUP: it cannot count them, why is in *problem; or as target_ops.open().
 */
int link_events(struct link *link, const u64 *configs, size_t n, char **pmu, struct problem *problem);

/* Says end and waits for the end marker: 0, or why it did not come. */
int link_end(struct link *link);

#endif
