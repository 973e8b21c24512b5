// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope import: a run directory out of what the guest image wrote to its serial port when it ran without
 * this program (another VMM, GRUB on bare metal). Rows carry every key of their case, so that the log alone is
 * enough.
 */
#include "command.h"
#include "declined.h"
#include "judge.h"
#include "link.h"
#include "protocol.h"
#include "record.h"
#include "util.h"
#include "version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct import {
	struct record record;
	struct hello hello;
	const char *target, *host;
	char *cpu;
	size_t line;
	size_t measured;	  /* rows since the guest's last start */
	unsigned long long ended; /* rows that its end line speaks of, plus 1; 0: there is none */
	size_t errors, declined_rows; /* errors: refusals that no row speaks of */
	struct declined declined;
	int broken; /* the last line breaks off and is left out */
	struct ts_case *cases; /* of the rows so far; those of earlier hello lines first, in order */
	size_t earlier, start; /* how many those are; the line of the last hello */
};

static int compare_cases(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ts_case));
}

/* A row behind a second hello may be of a case of its own, but no repetition: that is another run, or the same log twice. */
static int check_new_case(struct import *import, const struct ts_case *c, const char *path, struct problem *p)
{
	size_t n = import->record.written;

	if (import->earlier && bsearch(c, import->cases, import->earlier, sizeof(*c), compare_cases))
		return problem(p, EXIT_INPUT, "%s:%zu: the guest starts a second time and measures what stands before "
			       "already (line %zu); split the log there, and import one part", path, import->start,
			       import->line);
	if (!(n & (n + 1))) /* 0, 1, 3, 7, ...: full */
		import->cases = xrealloc(import->cases, 2 * (n + 1) * sizeof(*c));
	import->cases[n] = *c;
	return 0;
}

/* Did the guest end by itself, with a row for every case that it was asked for, measured or declined? */
static int is_complete(const struct import *import)
{
	return import->ended == import->measured + 1ULL && !import->errors;
}

/* What the CPUID signature above the guest says of target and host page; without one nothing is known of either. */
static void place(struct import *import)
{
	const char *above = hello_text(&import->hello, "hypervisor");
	static const struct {
		const char *signature, *target, *host;
	} known[] = {
		{ "none", "guest", "none" }, { "TCGTCGTCGTCG", "tcg", "none" }, { "KVMKVMKVM", "kvm", "unknown" },
	};
	size_t i;

	import->target = "guest";
	import->host = "unknown";
	for (i = 0; i < TS_COUNT(known); i++) {
		if (!strcmp(known[i].signature, above)) {
			import->target = known[i].target;
			import->host = known[i].host;
		}
	}
}

static int take_hello(struct import *import, const char *rest, struct problem *p)
{
	const char *brand;
	int result;

	hello_free(&import->hello);
	result = hello_parse(rest, &import->hello, p);
	if (result)
		return result;
	place(import);
	import->measured = import->ended = 0;
	import->start = import->line;
	import->earlier = import->record.written;
	if (import->earlier)
		qsort(import->cases, import->earlier, sizeof(*import->cases), compare_cases);
	brand = hello_text(&import->hello, "brand");
	free(import->cpu);
	import->cpu = xstrdup(brand);
	json_object_set(import->record.json, "guest", import->hello.keys);
	return 0;
}

/* A row without a result yet. */
static struct row new_row(const struct import *import)
{
	return (struct row){
		.run = import->record.id, .target = import->target, .accel = "none",
		.cpu = import->cpu, .host = import->host, .host_how = "", .valid = "ok",
		.sequence = import->record.written + 1,
	};
}

/*
 * Judges a row whose case is known and writes it. The signature is the guest's word, which a VMM can hide or forge
 * (QEMU: -cpu max,-hypervisor): what executed the row and what backed it cannot be checked afterwards.
 */
static int put_row(struct import *import, struct row *row, const char *path, struct problem *p)
{
	int result = check_new_case(import, &row->c, path, p);

	if (result)
		return result;
	row->class = ts_ops[row->c.op].class;
	if (!strcmp(import->target, "tcg")) {
		row->accel = "tcg";
		if (row->c.phase != TS_REFILL)
			row_reason(row, "emulated-cpu");
	} else {
		row->accel = !strcmp(import->target, "kvm") ? "kvm" : "none";
		row_reason(row, "backing");
	}
	if (row->r.twin == TS_TWIN_STALE && judge_twin_must_be_new(&row->c))
		row_reason(row, "twin");
	judge_row(row);
	import->record.written++;
	return rows_append(import->record.rows, row, p);
}

static int take_row(struct import *import, const char *rest, const char *path, struct problem *p)
{
	struct row row = new_row(import);
	struct ts_error error;
	char *where;

	if (!import->hello.keys)
		return problem(p, EXIT_INPUT, "%s:%zu: a row before the hello line; the log has to start "
			       "with the guest's first word", path, import->line);
	if (ts_row_parse(rest, &row.c, &row.r, &row.op_va, &error)) {
		where = xasprintf("%s:%zu", path, import->line);
		problem_core(p, where, &error);
		free(where);
		return -EINVAL;
	}
	import->measured++;
	return put_row(import, &row, path, p);
}

/* What the guest refused; a case that it declined becomes a row that says so, as in a run. */
static int take_error(struct import *import, const char *rest, const char *path, struct problem *p)
{
	struct row row = new_row(import);
	struct refusal refusal;

	refusal_parse(rest, &refusal);
	declined_note(&import->declined, refusal.status, refusal.words);
	if (!import->hello.keys || !refusal.has_case || !refusal_is_declined(&refusal, 1)) {
		import->errors++;
		return 0;
	}
	import->declined_rows++;
	row.c = refusal.c;
	row_reason(&row, refusal.status);
	return put_row(import, &row, path, p);
}

/* One line of the log; firmware and log lines are passed over. */
static int take_line(struct import *import, const char *line, const char *path, struct problem *p)
{
	fprintf(import->record.log, "import: %s\n", line);
	if (!strncmp(line, "hello ", 6))
		return take_hello(import, line + 5, p);
	if (!strncmp(line, "row ", 4))
		return take_row(import, line + 3, path, p);
	if (!strncmp(line, "error ", 6))
		return take_error(import, line + 5, path, p);
	if (!strncmp(line, "end rows=", 9))
		import->ended = strtoull(line + 9, NULL, 10) + 1;
	return 0;
}

static int is_last_line(FILE *file)
{
	int c = getc(file);

	ungetc(c, file); /* of EOF: nothing */
	return c == EOF;
}

/* Is it a line of the protocol, which holds printable ASCII and tabs (protocol.h)? Others are anybody's. */
static int is_protocol(const char *line)
{
	static const char *const words[] = { "hello ", "row ", "error ", "end " };
	size_t i;

	for (i = 0; i < TS_COUNT(words); i++)
		if (!strncmp(line, words[i], strlen(words[i])))
			return 1;
	return 0;
}

/* A byte that the guest never writes cuts a number short (NUL, carriage return), or is one for the terminal (ESC). */
static int check_bytes(const struct import *import, const char *line, size_t length, const char *path,
		       struct problem *p)
{
	size_t i;

	for (i = 0; i < length && is_protocol(line); i++)
		if (line[i] != '\t' && (line[i] < ' ' || line[i] > '~'))
			return problem(p, EXIT_INPUT, "%s:%zu: byte 0x%02x in a line of the guest's, which are printable "
				       "ASCII: the log is damaged; keep the serial port's bytes as they come", path,
				       import->line, (unsigned char)line[i]);
	return 0;
}

/*
 * A line with its end. Where the log stops before the guest did, its last line may break off: without an end, or
 * ended by what kept the log, as a row that cannot be read. It is left out then; elsewhere a bad row is an error.
 */
static int take_whole_line(struct import *import, char *line, size_t length, int is_last, const char *path,
			   struct problem *p)
{
	int has_end = line[length - 1] == '\n', is_row = !strncmp(line, "row ", 4), result;

	length -= has_end;
	length -= length && line[length - 1] == '\r';
	line[length] = '\0';
	if (!has_end && !import->ended) {
		import->broken = 1;
		return 0;
	}
	result = check_bytes(import, line, length, path, p) ?: take_line(import, line, path, p);
	if (!result || !is_last || !is_row || import->ended || !import->record.written)
		return result;
	import->broken = 1;
	return 0;
}

static int take_file(struct import *import, const char *path, struct problem *p)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t size = 0;
	ssize_t length;
	int result = 0;

	if (!file)
		return problem(p, EXIT_INPUT, "%s: %s", path, strerror(errno));
	while (!result && (length = getline(&line, &size, file)) > 0) {
		import->line++;
		result = take_whole_line(import, line, length, is_last_line(file), path, p);
	}
	free(line);
	fclose(file);
	if (!result && !import->record.written)
		result = problem(p, EXIT_INPUT, "%s: no row of tlbscope's guest in it; name what the guest wrote to its "
				 "serial port", path);
	return result;
}

/* Before a directory is made: can the log be read at all? */
static int check_log(const char *path, struct problem *p)
{
	if (!access(path, R_OK))
		return 0;
	return problem(p, EXIT_INPUT, "%s: %s; name what the guest wrote to its serial port", path,
		       strerror(errno));
}

static int save(struct import *import, const char *path, struct problem *p)
{
	json_t *json = import->record.json;
	char *now = time_text();

	json_object_set_new(json, "tlbscope", json_string(TS_VERSION));
	json_object_set_new(json, "imported", json_string(now));
	json_object_set_new(json, "source", json_string(path));
	json_object_set_new(json, "target", json_string(import->target));
	json_object_set_new(json, "cpu", json_string(import->cpu));
	json_object_set_new(json, "complete", json_boolean(is_complete(import)));
	json_object_set_new(json, "rows", json_integer(import->record.written));
	free(now);
	return record_save(&import->record, p);
}

/* What came of it. */
static void tell(const struct import *import, const char *path, const char *dir)
{
	if (import->broken)
		fprintf(stderr, "tlbscope: %s:%zu: the last line breaks off and is left out\n", path, import->line);
	printf("%zu rows", import->record.written);
	if (import->declined_rows)
		printf(", %zu of them declined", import->declined_rows);
	if (!import->ended)
		printf("; the log has no end marker: it may be cut off");
	else if (import->ended != import->measured + 1ULL)
		printf("; the guest ended after %llu rows that it measured, and %zu are in the log",
		       import->ended - 1, import->measured);
	printf("\n");
	declined_print(stdout, &import->declined);
	if (!is_complete(import))
		printf("Not complete: cases that the guest was asked for have no row.\n");
	if (strcmp(import->target, "tcg"))
		printf("No verdict will follow: imported, so that what executed the rows is not verified.\n");
	printf("results: %s\n", dir);
}

struct import_request {
	const char *log, *out;
};

static error_t parse_import(int key, char *arg, struct argp_state *state)
{
	struct import_request *request = state->input;

	switch (key) {
	case 'o':
		request->out = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (request->log)
			argp_error(state, "one log at a time");
		request->log = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name the guest's serial log");
	}
	return ARGP_ERR_UNKNOWN;
}

int command_import(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "out", 'o', "DIR", 0, "run directory; standard: results/import-log-TIME", 0 },
		{ 0 },
	};
	const struct argp argp = { .options = options, .parser = parse_import, .args_doc = "LOG",
				   .doc = "Makes a run of the serial log of a guest image that ran on its own." };
	struct import_request request = { 0 };
	struct import import = { .target = "guest", .host = "unknown" };
	struct problem p = { 0 };
	char *dir;
	int result;

	parse_options(&argp, argc, argv, &request);
	dir = request.out ? xstrdup(request.out) : record_standard_dir("import", "log");
	result = check_log(request.log, &p) ?: record_create(&import.record, dir, NULL, &p) ?: take_file(&import, request.log, &p) ?:
		 save(&import, request.log, &p);
	if (!result) {
		tell(&import, request.log, dir);
	} else {
		import.record.written = 0; /* nothing of a log that cannot be read stays */
	}
	record_close(&import.record, result);
	hello_free(&import.hello);
	declined_free(&import.declined);
	free(import.cases);
	free(import.cpu);
	free(dir);
	return result ? report(&p) : EXIT_DONE;
}
