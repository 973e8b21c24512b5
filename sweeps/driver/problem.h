/* SPDX-License-Identifier: GPL-2.0 */
/* What went wrong, as one line for the user (what, why, remedy) and the exit code that goes with it. */
#ifndef TS_PROBLEM_H
#define TS_PROBLEM_H

#include "types.h"

/* Exit codes of the program; documented in the man page. */
enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,       /* something failed on the way; what was measured is kept */
	EXIT_INPUT = 2,	       /* bad option, plan or file, or something missing; nothing was changed */
	EXIT_FRACTURED = 3,    /* verdict: a selective flush costs what a full one costs */
	EXIT_UNDECIDED = 4,    /* measured, but no verdict can be given; the reason is printed */
	EXIT_REFUSED = 5,      /* the target cannot be trusted here; the reason is printed */
	EXIT_CHANGED = 6,      /* compare: something differs beyond noise */
	EXIT_INTERRUPTED = 130 /* Ctrl-C or SIGTERM; what was measured is kept */
};

struct problem {
	int exit_code;
	char text[1200];
};

/* Fills *problem and returns -EINVAL, so that a caller can return it. */
int problem(struct problem *problem, int exit_code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The same from a core error: WHERE: status "word": hint. */
int problem_core(struct problem *problem, const char *where, const struct ts_error *error);

/* What a key of a case can be, in words: "1 to 16384, or fit", "4k 2m 1g". */
void axis_values(u32 key, char *text, u32 size);

/* Set by SIGINT and SIGTERM; everything that waits looks at it. */
extern volatile int interrupted;

#endif
