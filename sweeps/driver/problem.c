// SPDX-License-Identifier: GPL-2.0
/* Problems as text. */
#include "problem.h"

#include "case.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

volatile int interrupted;

int problem(struct problem *problem, int exit_code, const char *format, ...)
{
	va_list args;

	problem->exit_code = exit_code;
	va_start(args, format);
	vsnprintf(problem->text, sizeof(problem->text), format, args);
	va_end(args);
	return -EINVAL;
}

void axis_values(u32 key, char *text, u32 size)
{
	const struct ts_key *k = &ts_keys[key];
	struct ts_text out;
	u32 i;

	ts_text_init(&out, text, size);
	switch (k->kind) {
	case TS_KIND_WORD:
		for (i = 0; k->words[i]; i++) {
			ts_put(&out, i ? " " : "");
			ts_put(&out, k->words[i]);
		}
		break;
	case TS_KIND_OP:
		ts_put(&out, "one of tlbscope list ops");
		break;
	case TS_KIND_MIX:
		ts_put(&out, "none or PAGE:LEAVES, e.g. 2m:8");
		break;
	case TS_KIND_NUMBER:
		ts_put_number(&out, k->min);
		ts_put(&out, " to ");
		ts_put_number(&out, k->max);
		ts_put(&out, k->special ? ", or " : "");
		ts_put(&out, k->special ? k->special : "");
		break;
	}
}

int problem_core(struct problem *p, const char *where, const struct ts_error *error)
{
	u32 key = error->hint ? ts_key_find(error->hint, ts_length(error->hint)) : TS_KEYS;
	char values[128];

	if (key < TS_KEYS) { /* the hint of a bad value is its key */
		axis_values(key, values, sizeof(values));
		return problem(p, EXIT_INPUT, "%s: %s: \"%s\"; %s is %s", where,
			       ts_status_name(error->status), error->word, error->hint, values);
	}
	return problem(p, EXIT_INPUT, "%s: %s: \"%s\"%s%s%s", where, ts_status_name(error->status),
		       error->word, error->hint ? " (" : "", error->hint ? error->hint : "",
		       error->hint ? ")" : "");
}
