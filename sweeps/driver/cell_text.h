/* SPDX-License-Identifier: GPL-2.0 */
/* Cells, ops and numbers in words. */
#ifndef TS_CELL_TEXT_H
#define TS_CELL_TEXT_H

#include "judge.h"

#include <stddef.h>

/* What the numbers of a phase are, for headings. */
const char *text_phase(u64 phase);

/* A median: whole, or with one digit behind the point; "-" when not measured. Returns text. */
const char *text_number(char *text, size_t size, double value);

/* "50 x 4k", "25 x 4k + 8 x 2m", "1 x 2m, 50 touches", and what is not standard. Caller frees. */
char *text_set(const struct ts_case *c);

/* "invlpg far", "cr3", "invlpg in-set x8". Caller frees. */
char *text_op(const struct outcome *outcome);

/* A value with its marks: ! not valid, ~ repeats differ; both sets of a mix as "1|0". */
void text_value(char *text, size_t size, const struct outcome *outcome);

/* F with its interval, ! when not valid, "-" when there is none. */
void text_f(char *text, size_t size, const struct cell *cell);

#endif
