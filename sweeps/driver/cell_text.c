// SPDX-License-Identifier: GPL-2.0
/* Cells, ops and numbers in words: the same in tables, pictures and reports. */
#include "cell_text.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *text_phase(u64 phase)
{
	static const char *const what[TS_PHASES] = {
		[TS_REFILL] = "leaves refilled in one iteration (accessed bits that came back)",
		[TS_RETOUCH] = "TSC cycles of one pass over the working set after the flush",
		[TS_BOTH] = "TSC cycles of an iteration: flush and touches",
		[TS_OP] = "TSC cycles of an iteration: the flush alone",
		[TS_ACCESS] = "TSC cycles of an iteration: the touches alone",
	};

	return what[phase];
}

/* A median: whole, or with one digit behind the point; "-" when not measured. */
const char *text_number(char *text, size_t size, double value)
{
	if (isnan(value))
		snprintf(text, size, "-");
	else
		snprintf(text, size, value == floor(value) ? "%.0f" : "%.1f", value);
	return text;
}

/* "50 x 4k", "25 x 4k + 8 x 2m", "1 x 2m, 50 touches", and what is not standard. */
char *text_set(const struct ts_case *c)
{
	struct ts_case standard;
	char *text = xasprintf("%llu x %s", c->leaves, ts_page_names[c->guest]), *next, value[64];
	static const u8 told[] = { TS_KEY_GLOBAL, TS_KEY_PCID, TS_KEY_CODE, TS_KEY_OFFSET, TS_KEY_FRAMES,
				   TS_KEY_ORDER, TS_KEY_ACCESS };
	struct ts_text out;
	size_t i;

	ts_case_init(&standard);
	if (c->mix) {
		next = xasprintf("%s + %llu x %s", text, ts_mix_leaves(c->mix),
				 ts_page_names[ts_mix_page(c->mix)]);
		free(text);
		text = next;
	}
	if (c->touches != c->leaves) {
		next = xasprintf("%s, %llu touches", text, c->touches);
		free(text);
		text = next;
	}
	for (i = 0; i < TS_COUNT(told); i++) {
		u32 key = told[i];

		if (ts_value(c, key) == ts_value(&standard, key))
			continue;
		ts_text_init(&out, value, sizeof(value));
		ts_value_print(&out, key, ts_value(c, key));
		next = xasprintf("%s, %s%s%s", text,
				 ts_keys[key].kind == TS_KIND_WORD ? "" : ts_keys[key].name,
				 ts_keys[key].kind == TS_KIND_WORD ? "" : "=", value);
		free(text);
		text = next;
	}
	return text;
}

/* "invlpg far", "cr3", "invlpg in-set x8" */
char *text_op(const struct outcome *outcome)
{
	const struct ts_case *c = &outcome->row[0]->c;
	char at[32] = "", count[32] = "";
	struct ts_text out;

	if (c->at != TS_AT_NONE) {
		ts_text_init(&out, at, sizeof(at));
		ts_put(&out, " ");
		ts_value_print(&out, TS_KEY_AT, c->at);
	}
	if (c->count != 1)
		snprintf(count, sizeof(count), " x%llu", c->count);
	return xasprintf("%s%s%s", ts_ops[c->op].name, at, count);
}

/* A value with its marks: ! not valid, ~ repeats differ; both sets of a mix as "1|0". */
void text_value(char *text, size_t size, const struct outcome *outcome)
{
	char one[32], two[32];

	if (!outcome) {
		snprintf(text, size, "-");
		return;
	}
	text_number(one, sizeof(one), outcome_value(outcome));
	two[0] = '\0';
	if (!isnan(outcome->mix_refills))
		text_number(two, sizeof(two), outcome->mix_refills);
	snprintf(text, size, "%s%s%s%s%s", one, *two ? "|" : "", two,
		 outcome->repeats_differ ? "~" : "", strcmp(outcome->valid, "ok") ? "!" : "");
}

void text_f(char *text, size_t size, const struct cell *cell)
{
	const struct interval *f = &cell->f;
	const char *mark = strcmp(cell->valid, "ok") ? "!" : "";

	if (isnan(f->value))
		snprintf(text, size, "-");
	else if (f->low == f->high)
		snprintf(text, size, "%.2f%s", fabs(f->value) < 0.005 ? 0 : f->value, mark);
	else
		snprintf(text, size, "%.2f%s (%.2f to %.2f)", f->value, mark, f->low, f->high);
}
