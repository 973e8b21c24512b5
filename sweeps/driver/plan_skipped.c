// SPDX-License-Identifier: GPL-2.0
/*
 * The combinations of a plan that contradict themselves because of an axis from the command line: which, and why, in a line
 * for each section and reason. Repetitions and host pages are not counted, since they do not change it.
 */
#include "plan.h"

#include "util.h"

#include <string.h>

#define REASONS 6 /* lines that are printed at most */

struct reason_left_out {
	struct ts_error error;
	struct ts_case first;
	size_t cases;
};

/* The axes whose values decide whether a case fits together, where the section lists them. */
static void put_axes(struct ts_text *text, const struct section *section, const struct ts_case *c)
{
	static const u32 keys[] = { TS_KEY_GUEST, TS_KEY_LEAVES, TS_KEY_TOUCHES, TS_KEY_STRIDE, TS_KEY_OFFSET, TS_KEY_FRAMES,
				    TS_KEY_MIX };
	size_t i;

	for (i = 0; i < TS_COUNT(keys); i++) {
		if (!section->sweep.axis[keys[i]].n)
			continue;
		ts_put(text, " ");
		ts_put(text, ts_keys[keys[i]].name);
		ts_put(text, "=");
		ts_value_print(text, keys[i], ts_value(c, keys[i]));
	}
}

static void note(struct reason_left_out *reason, size_t *n, const struct ts_error *error, const struct ts_case *c)
{
	size_t i;

	/* the core's hints are constants */
	for (i = 0; i < *n && (strcmp(reason[i].error.word, error->word) || reason[i].error.hint != error->hint);)
		i++;
	if (i == REASONS)
		return;
	if (i == *n)
		reason[(*n)++] = (struct reason_left_out){ *error, *c, 0 };
	reason[i].cases++;
}

/* One section; returns how many lines it took. */
static size_t print_section(FILE *out, const struct section *section, const struct plan_filter *filter, size_t room)
{
	struct reason_left_out reason[REASONS];
	struct ts_cursor cursor = { 0 };
	struct ts_error error;
	struct ts_case c;
	size_t n = 0, of = 0, i;
	char axes[512];
	int found;

	while ((found = plan_next_case(section, &cursor, &c, &error))) {
		if (!plan_wants_phase(section, filter, c.phase))
			continue;
		of++;
		if (found < 0)
			note(reason, &n, &error, &c);
	}
	for (i = 0; i < n && i < room; i++) {
		struct ts_text text;

		ts_text_init(&text, axes, sizeof(axes));
		put_axes(&text, section, &reason[i].first);
		fprintf(out, "[%s] %zu of %zu combinations left out: %s: %s (first:%s)\n", section->name, reason[i].cases, of,
			reason[i].error.word, reason[i].error.hint ?: "", axes);
	}
	return n;
}

void plan_print_skipped(FILE *out, const struct plan *plan, const struct plan_filter *filter)
{
	size_t i, lines = 0;

	for (i = 0; i < plan->sections; i++)
		if (plan_has_section(&plan->section[i], filter))
			lines += print_section(out, &plan->section[i], filter, lines < REASONS ? REASONS - lines : 0);
	if (lines > REASONS)
		fprintf(out, "and more combinations, for %zu other reasons\n", lines - REASONS);
}
