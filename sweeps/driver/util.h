/* SPDX-License-Identifier: GPL-2.0 */
/* Memory, strings, files and data paths for the driver. Memory that cannot be had ends the program. */
#ifndef TS_UTIL_H
#define TS_UTIL_H

#include <sched.h>
#include <stddef.h>
#include <stdio.h>

void *xcalloc(size_t n, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Contents of a small text file without the newline at its end, or 0. The caller frees. */
char *read_text(const char *path);

/* An argument for a shell; quotes only where it has to. Caller frees. */
char *shell_word(const char *argument);

/*
 * On a hybrid CPU leaves only the performance cores in a set, if there are any: the others have other TLBs and another
 * PMU. list: contents of /sys/devices/cpu_core/cpus, e.g. "0-7,16"; 0 to read it.
 */
void keep_performance_cores(cpu_set_t *set, const char *list);

/* Path of a data file (plans, plots, guest image): DIR-OF-PROGRAM/../share/tlbscope/NAME. Caller frees. */
char *data_path(const char *name);

/*
 * Prints a text and a line end, broken between words at 100 columns; the cursor stands at `column`, where the next
 * lines begin, too. A word that is longer than a line is cut in two.
 */
void print_hanging(FILE *out, int column, const char *text);
/* The same from the left edge. */
void print_wrapped(FILE *out, const char *text);

/* Monotonic seconds. */
double now_seconds(void);

/* UTC time as 2026-01-31T12:34:56Z; caller frees. */
char *time_text(void);

#endif
