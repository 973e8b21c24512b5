/* SPDX-License-Identifier: GPL-2.0 */
/* The reasons of column valid in words: one table for verdicts, tables and reports. */
#ifndef TS_REASON_H
#define TS_REASON_H

#include <stddef.h>

struct reason {
	const char *name;     /* as column valid has it */
	const char *sentence; /* why there is no verdict, as the end of one */
	const char *remedy;   /* what would make such rows valid; 0 when nothing on this machine does */
};

/* The reason called name, or 0. */
const struct reason *reason_find(const char *name);

/* Reason i of the table, in the order in which they are told; 0 beyond the last. */
const struct reason *reason_at(size_t i);

/* A sentence for the first reason of a list joined by +; the list itself when none is known. */
const char *reason_sentence(const char *list);
/* Its remedy; 0 when there is none. */
const char *reason_remedy(const char *list);

#endif
