// SPDX-License-Identifier: GPL-2.0
/*
 * Requests of the line protocol (protocol.h).
 *
 * A refused case inside a sweep answers with its error and, behind that, the word `case` and its
 * keys, as an exception does: a log has to show what was left out.
 */
#include "session.h"
#include "console.h"
#include "exception.h"
#include "exit.h"
#include "io.h"
#include "memory.h"
#include "pmu.h"
#include "protocol.h"
#include "version.h"

/* Touched in every iteration, mostly in the first page: guest.lds says where they lie and why. */
#define PLACED(name) __attribute__((section(".bss." name), aligned(4096)))

static u64 *leaves[TS_MAX_LEAVES] PLACED("leaf");
static u64 *mix_leaves[TS_MAX_LEAVES] PLACED("mix_leaf");
static u64 touches[TS_MAX_TOUCHES] PLACED("touch");
static u32 samples[2 * TS_MAX_SAMPLES] PLACED("samples");
static struct ts_expansion expansion PLACED("expansion");

static const struct cpu_info *cpu;
static u64 rows; /* since the start, for the end line */
static char buffer[2 * TS_MAX_LINE];

void session_init(const struct cpu_info *info)
{
	cpu = info;
}

static struct ts_text new_text(void)
{
	struct ts_text text;

	ts_text_init(&text, buffer, sizeof(buffer));
	return text;
}

void session_hello(void)
{
	struct ts_text text = new_text();

	ts_put(&text, "hello");
	ts_put_key_number(&text, "protocol", TS_PROTOCOL);
	ts_put_key_word(&text, "version", TS_VERSION);
	ts_put_key_word(&text, "vendor", cpu->vendor);
	ts_put_key_number(&text, "family", cpu->family);
	ts_put_key_number(&text, "model", cpu->model);
	ts_put_key_number(&text, "stepping", cpu->stepping);
	if (cpu->has_microcode)
		ts_put_key_hex(&text, "microcode", cpu->microcode);
	ts_put_key_word(&text, "hypervisor", cpu->hypervisor);
	ts_put_key_word(&text, "features", "");
	cpu_put_features(&text, cpu->features);
	ts_put_key_number(&text, "memory", memory_bytes());
	ts_put_key_number(&text, "loop_cycles", cpu->loop_cycles);
	ts_pmu_print_hello(&text, &pmu);
	ts_put_key_word(&text, "brand", cpu->brand);
	console_reply(&text, buffer);
}

/* Refuses a case that needs what the CPU lacks, naming the first thing missing. */
static enum ts_status check_features(const struct ts_case *c, struct ts_error *error)
{
	u32 missing = ts_case_needs(c) & ~cpu->features;

	if (!missing)
		return TS_OK;
	return ts_fail(error, TS_NO_FEATURE, ts_feature_name(__builtin_ctz(missing)),
		       "this CPU, as the guest sees it, lacks what the case needs");
}

/* Maps the window of an expansion, measures in it, and leaves PCIDs off behind it. */
static enum ts_status measure(const struct ts_expansion *e, struct ts_result *result,
			      struct ts_error *error)
{
	struct ts_window window = { .e = e, .leaf = { leaves, mix_leaves } };
	struct ts_cpu how = { .counters = &pmu_counters };
	enum ts_status status;

	memory_new_window();
	status = ts_window_map(&window, &memory_tables, &memory_frames, memory_leaf_flags(), error);
	if (status)
		return status;
	how.pcid = memory_use_pcid(e->c.pcid);
	how.cr3 = read_cr3();
	how.cr4 = read_cr4();
	status = ts_window_link(&window, error);
	if (!status) {
		ts_window_run_code(&window, &how);
		ts_measure(&window, &how, samples, result);
		ts_summarize(&e->c, samples, result);
	}
	memory_use_pcid(0);
	return status;
}

static void put_case(struct ts_text *text, const struct ts_case *c)
{
	ts_put(text, " case ");
	ts_case_print(text, c);
}

/* Answers a case with a row or an error. Returns the number of rows: 1 or 0. */
static u32 run_case(const struct ts_case *c)
{
	struct ts_expansion *e = &expansion;
	struct ts_text text = new_text();
	struct ts_result result;
	struct ts_error error;
	enum ts_status status;

	exception_case(c);
	status = check_features(c, &error);
	if (!status)
		status = ts_expand(c, WINDOW_BASE, touches, e, &error);
	if (!status)
		status = measure(e, &result, &error);
	if (status) {
		ts_error_print(&text, &error);
		put_case(&text, c);
	} else {
		ts_row_print(&text, e, &result);
	}
	exception_case(0);
	console_reply(&text, buffer);
	return !status;
}

static void refuse(const struct ts_error *error, const struct ts_case *c)
{
	struct ts_text text = new_text();

	ts_error_print(&text, error);
	if (c)
		put_case(&text, c);
	console_reply(&text, buffer);
}

static void say_count(const char *word, u64 count)
{
	struct ts_text text = new_text();

	ts_put(&text, word);
	ts_put_key_number(&text, "rows", count);
	console_reply(&text, buffer);
}

static enum ts_status answer_case(const char *rest, struct ts_error *error)
{
	struct ts_case c;
	enum ts_status status = ts_case_parse(rest, &c, error);

	if (!status)
		rows += run_case(&c);
	return status;
}

/* The old events end in any case: behind an error, no row may carry counts of what was asked before. */
static enum ts_status answer_events(const char *rest, struct ts_error *error)
{
	struct ts_events events = { 0 };
	struct ts_text text = new_text();
	enum ts_status status;

	pmu_set_events(&events, error);
	status = ts_events_parse(rest, &events, error);
	if (!status)
		status = pmu_set_events(&events, error);
	if (status)
		return status;
	ts_pmu_print_events(&text, &pmu);
	console_reply(&text, buffer);
	return TS_OK;
}

/* All repetitions; within each, the cells in the order of the sweep. */
static enum ts_status answer_sweep(const char *rest, struct ts_error *error)
{
	static struct ts_sweep sweep; /* some KiB: too much for the stack */
	enum ts_status status = ts_sweep_parse(rest, &sweep, error);
	u64 before = rows;
	struct ts_case c;
	int found;

	if (status)
		return status;
	for (u64 repeat = 1; repeat <= sweep.repeats; repeat++) {
		struct ts_cursor cursor = { 0 };

		while ((found = ts_sweep_next(&sweep, &cursor, &c, error)) != 0) {
			c.repeat = repeat;
			if (found > 0)
				rows += run_case(&c);
			else
				refuse(error, &c);
		}
	}
	say_count("done", rows - before);
	return TS_OK;
}

/* Answers one request; blank lines are no requests. Returns TS_OK, or why it was refused. */
static enum ts_status answer(const char *line)
{
	enum ts_command command;
	struct ts_error error;
	enum ts_status status = ts_command(line, &command, &line, &error);

	if (status == TS_EMPTY)
		return TS_OK;
	if (!status) {
		switch (command) {
		case TS_CMD_HELLO:
			session_hello();
			break;
		case TS_CMD_CASE:
			status = answer_case(line, &error);
			break;
		case TS_CMD_SWEEP:
			status = answer_sweep(line, &error);
			break;
		case TS_CMD_EVENTS:
			status = answer_events(line, &error);
			break;
		case TS_CMD_END:
			say_count("end", rows);
			exit_image(0);
		case TS_COMMANDS:
			break;
		}
	}
	if (status)
		refuse(&error, 0);
	return status;
}

void session_run_plan(char *plan)
{
	u8 refused = 0;

	while (*plan) {
		char *request = plan;

		while (*plan && *plan != ';')
			plan++;
		if (*plan)
			*plan++ = 0;
		refused |= answer(request) != TS_OK;
	}
	say_count("end", rows);
	exit_image(refused);
}

void session_serve(void)
{
	static struct ts_line line;
	struct ts_error error;
	char byte;

	ts_line_init(&line);
	for (;;) {
		while (!console_read(&byte))
			pause();
		if (!ts_line_feed(&line, byte))
			continue;
		if (!line.status) {
			answer(line.buffer);
			continue;
		}
		ts_fail(&error, line.status, "line",
			"a line is printable ASCII, at most 1023 bytes");
		refuse(&error, 0);
	}
}
