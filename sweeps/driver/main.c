// SPDX-License-Identifier: GPL-2.0
/* tlbscope: the program and its commands. */
#include "command.h"
#include "util.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "run", command_run, "run a sweep and print its table" },
	{ "table", command_table, "print the fracture table of runs" },
	{ "plot", command_plot, "draw the pictures of a run" },
	{ "list", command_list, "plans, ops, axes, targets, probes" },
	{ "import", command_import, "make a run of a guest's serial log" },
};

static void usage(FILE *out)
{
	size_t i;

	fprintf(out, "usage: tlbscope COMMAND [OPTION...]\n\n"
		     "What a TLB flush really drops, and what it costs, under nested translation.\n\n");
	for (i = 0; i < TS_COUNT(commands); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\ntlbscope COMMAND --help tells more; man tlbscope has formats and exit codes.\n"
		     "Start with: tlbscope run\n");
}

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

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return EXIT_INPUT;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("tlbscope %s\n", TS_VERSION);
		return EXIT_DONE;
	}
	for (i = 0; i < TS_COUNT(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "tlbscope: no command \"%s\"; tlbscope --help names them\n", argv[1]);
	return EXIT_INPUT;
}
