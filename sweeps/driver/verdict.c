// SPDX-License-Identifier: GPL-2.0
/* The verdict over the 4K and the 2M cell. */
#include "verdict.h"

#include <math.h>

static const struct {
	const char *name, *sentence;
} words[VERDICTS] = {
	[VERDICT_UNDECIDED] = {
		"undecided",
		"The measurement does not tell whether flushing one page costs other pages their "
		"cached translations.",
	},
	[VERDICT_INTACT] = {
		"intact",
		"Flushing one page leaves the cached translations of other pages alone, those of "
		"large pages included.",
	},
	[VERDICT_LARGE_ONLY] = {
		"large-only",
		"Flushing one unrelated page empties the cached translations of all large (2M) "
		"pages, as a full flush does; those of small (4K) pages survive.",
	},
	[VERDICT_WHOLE] = {
		"whole",
		"Flushing one unrelated page empties the whole TLB: it costs what a full flush "
		"costs, for small and large pages alike.",
	},
	[VERDICT_ODD] = {
		"odd",
		"Flushing one page empties the cached translations of small pages but not those "
		"of large ones; no known mechanism does that, so doubt the measurement first.",
	},
};

int verdict_level(const struct interval *f)
{
	if (!f || isnan(f->value) || f->low < VERDICT_LEAST || f->high > VERDICT_MOST)
		return -1;
	if (f->high <= VERDICT_INTACT_BELOW)
		return 0;
	return f->low >= VERDICT_LOST_ABOVE ? 1 : -1;
}

enum verdict verdict_of(const struct interval *f_4k, const struct interval *f_2m)
{
	int small = verdict_level(f_4k), large = verdict_level(f_2m);

	if (small < 0 || large < 0)
		return VERDICT_UNDECIDED;
	if (small)
		return large ? VERDICT_WHOLE : VERDICT_ODD;
	return large ? VERDICT_LARGE_ONLY : VERDICT_INTACT;
}

const char *verdict_name(enum verdict verdict)
{
	return words[verdict].name;
}

const char *verdict_sentence(enum verdict verdict)
{
	return words[verdict].sentence;
}
