/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verdict over two cells: what one selective flush of an unrelated page does to cached
 * translations of small (4K) and of large (2M) guest pages.
 */
#ifndef TS_VERDICT_H
#define TS_VERDICT_H

#include "statistics.h"

/*
 * F of a cell counts as 0 when its whole interval is below VERDICT_INTACT_BELOW, as 1 when its
 * whole interval is above VERDICT_LOST_ABOVE, and is undecided between them and outside of
 * VERDICT_LEAST..VERDICT_MOST. Each bound leaves room for what is no flush: the kernel's work in
 * the system call displaces some entries (F up to 0.15 with 32 pages), and after a full flush the
 * walker starts from colder tables than after a selective one, so that an emptied TLB shows as
 * little as 0.6. Beyond the outer bounds the call did something else than dropping translations.
 */
#define VERDICT_INTACT_BELOW 0.25
#define VERDICT_LOST_ABOVE 0.5
#define VERDICT_LEAST (-0.25)
#define VERDICT_MOST 1.5

enum verdict {
	VERDICT_UNDECIDED,
	VERDICT_INTACT,	    /* (0,0): both survive */
	VERDICT_LARGE_ONLY, /* (0,1): entries of large guest pages are dropped */
	VERDICT_WHOLE,	    /* (1,1): everything is dropped */
	VERDICT_ODD,	    /* (1,0): no known mechanism */
	VERDICTS
};

/* 0 or 1 as above, -1 for undecided; f may be 0 (not measured). */
int verdict_level(const struct interval *f);

/* Either may be 0: not measured, or not valid. */
enum verdict verdict_of(const struct interval *f_4k, const struct interval *f_2m);

const char *verdict_name(enum verdict verdict);	    /* one word, for tables and JSON */
const char *verdict_sentence(enum verdict verdict); /* for someone who does not know the terms */

#endif
