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
	struct ts_text out;

	ts_text_init(&out, text, size);
	if (ts_keys[key].kind == TS_KIND_OP)
		ts_put(&out, "one of tlbscope list ops"); /* it has their classes, too */
	else
		ts_put_values(&out, key);
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
