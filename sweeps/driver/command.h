/* SPDX-License-Identifier: GPL-2.0 */
/* The program's commands: each parses its own options (argp) and returns an exit code. */
#ifndef TS_COMMAND_H
#define TS_COMMAND_H

#include "problem.h"

#include <argp.h>
#include <stddef.h>

int command_doctor(int argc, char **argv);
int command_run(int argc, char **argv);
int command_table(int argc, char **argv);
int command_ceiling(int argc, char **argv);
int command_plot(int argc, char **argv);
int command_report(int argc, char **argv);
int command_compare(int argc, char **argv);
int command_list(int argc, char **argv);
int command_import(int argc, char **argv);

/* Prints "tlbscope: TEXT" and returns the problem's exit code. */
int report(const struct problem *problem);

/* argp_parse with this program's conventions: a bad option is exit code 2. */
void parse_options(const struct argp *argp, int argc, char **argv, void *input);

/* Path of rows.csv for a run directory or a file; caller frees. */
char *rows_path(const char *run);
/* Directory of a run that is named by it or by its rows.csv; caller frees. */
char *run_dir(const char *run);

struct rows;
/* The rows of a run; with only_good bad ones are left out, and how many that were is told on stderr. */
int run_rows(const char *run, int only_good, struct rows *rows, struct problem *problem);

/* The option for only_good, the same for every command that reads rows. */
enum { OPT_SKIP_BAD_ROWS = 0x200 };
#define OPTION_SKIP_BAD_ROWS                                                                     \
	{ "skip-bad-rows", OPT_SKIP_BAD_ROWS, 0, 0, "leave rows out that cannot be read, and say how many", 0 }

#endif
