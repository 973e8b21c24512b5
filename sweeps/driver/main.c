// SPDX-License-Identifier: GPL-2.0
/* tlbscope: the program and its commands. */
#include "command.h"
#include "record.h"
#include "version.h"

#include <signal.h>
#include <stdio.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "doctor", command_doctor, "what this machine can measure, and what is missing" },
	{ "run", command_run, "run a sweep and print its table" },
	{ "table", command_table, "print the fracture table of runs" },
	{ "ceiling", command_ceiling, "break-even of single and full flushes, and the kernel's ceiling" },
	{ "plot", command_plot, "draw the pictures of a run" },
	{ "report", command_report, "write report.html and guidance.md of runs" },
	{ "compare", command_compare, "what differs between two runs, or several of each, beyond noise" },
	{ "list", command_list, "plans, ops, axes, targets, probes, cpus, events, cmdline" },
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
		     "Start with: tlbscope doctor\n");
}

/* A closed standard descriptor would be given to the next file opened, and messages would go into it. */
static void open_standard_files(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= 2);
	if (fd > 2)
		close(fd);
}

/* What was printed and did not arrive is a failure too. */
static int check_output(int exit_code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return exit_code;
	fprintf(stderr, "tlbscope: cannot write to standard output\n");
	return exit_code == EXIT_DONE ? EXIT_FAILED : exit_code;
}

/* What is typed comes to stand in JSON and reports, which are UTF-8. */
static int check_arguments(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (record_is_plain(argv[i]))
			continue;
		fprintf(stderr, "tlbscope: argument %d is not UTF-8, or has control characters: run.json cannot hold "
			"it; give files and directories another name\n", i);
		return EXIT_INPUT;
	}
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	size_t i;

	open_standard_files();
	signal(SIGXFSZ, SIG_IGN); /* a limit of file sizes is an error of write(2) with a message */
	if (check_arguments(argc, argv))
		return EXIT_INPUT;

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
			return check_output(commands[i].run(argc - 1, argv + 1));
	fprintf(stderr, "tlbscope: no command \"%s\"; tlbscope --help names them\n", argv[1]);
	return EXIT_INPUT;
}
