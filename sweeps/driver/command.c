// SPDX-License-Identifier: GPL-2.0
/* What the commands have in common. */
#include "command.h"

#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int report(const struct problem *problem)
{
	fprintf(stderr, "tlbscope: %s\n", problem->text);
	return problem->exit_code;
}

void parse_options(const struct argp *argp, int argc, char **argv, void *input)
{
	char *name = xasprintf("tlbscope %s", argv[0]);

	argv[0] = name;
	argp_err_exit_status = EXIT_INPUT;
	argp_parse(argp, argc, argv, 0, NULL, input);
	free(name);
}

char *rows_path(const char *run)
{
	struct stat info;

	if (!stat(run, &info) && S_ISDIR(info.st_mode))
		return xasprintf("%s/rows.csv", run);
	return xstrdup(run);
}
