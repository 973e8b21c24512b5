/* SPDX-License-Identifier: GPL-2.0 */
/* Cases that a target declined: each different reason once, with its words and the number of rows. */
#ifndef TS_DECLINED_H
#define TS_DECLINED_H

#include <stddef.h>
#include <stdio.h>

#define DECLINED_TEXTS 8 /* different words that are told; log.txt has all */

struct declined {
	struct {
		char *text; /* reason and words */
		size_t rows;
	} reason[DECLINED_TEXTS];
	size_t reasons, others; /* others: rows of reasons for which there was no room */
};

/* One row more; without words it is in nobody's way and is not told. */
void declined_note(struct declined *declined, const char *reason, const char *words);

/* A line for each reason. */
void declined_print(FILE *out, const struct declined *declined);
void declined_free(struct declined *declined);

#endif
