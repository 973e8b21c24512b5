// SPDX-License-Identifier: GPL-2.0
/* Problems as text. */
#include "problem.h"

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

int problem_core(struct problem *p, const char *where, const struct ts_error *error)
{
	return problem(p, EXIT_INPUT, "%s: %s: \"%s\"%s%s%s", where, ts_status_name(error->status),
		       error->word, error->hint ? " (" : "", error->hint ? error->hint : "",
		       error->hint ? ")" : "");
}
