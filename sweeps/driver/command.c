// SPDX-License-Identifier: GPL-2.0
/* What the commands have in common. */
#include "command.h"

#include "row.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

char *run_dir(const char *run)
{
	struct stat info;
	char *dir = xstrdup(run), *slash;

	if (!stat(run, &info) && S_ISDIR(info.st_mode))
		return dir;
	slash = strrchr(dir, '/');
	if (!slash) {
		free(dir);
		return xstrdup(".");
	}
	slash[slash == dir] = '\0';
	return dir;
}

int run_rows(const char *run, int only_good, struct rows *rows, struct problem *p)
{
	char *path = rows_path(run);
	int result = rows_read_good(path, only_good, rows, p);

	if (!result && rows->table.left_out)
		fprintf(stderr, "tlbscope: %zu rows left out; the first: %s\n", rows->table.left_out,
			rows->table.left_out_why);
	if (!result && rows->table.unfinished)
		fprintf(stderr, "tlbscope: %s: its last line has no end (a killed run): left out; tlbscope run --resume "
			"goes on\n", path);
	free(path);
	return result;
}
