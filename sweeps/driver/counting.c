// SPDX-License-Identifier: GPL-2.0
/* Which events a run counts, by whom, and their columns. */
#include "counting.h"

#include "probe_cpu.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const count_source_names[COUNT_SOURCES + 1] = { "none",    "vpmu",	 "host",
							    "process", "module", 0 };

#define STANDARD "standard" /* --event: those of the CPU's data file */

/* ---- choice ---- */

struct chooser {
	struct counting *counting;
	const struct cpu_file *cpu; /* 0: none for this CPU */
	struct problem *problem;
};

static int add_event(void *context, const char *name)
{
	struct chooser *chooser = context;
	struct counting *counting = chooser->counting;
	struct event *event = &counting->event[counting->events];
	int by_pass = counting->source == COUNT_VPMU || counting->source == COUNT_MODULE;
	size_t i, most = by_pass ? TS_MAX_COUNTERS : MAX_EVENTS;

	if (counting->events == most)
		return problem(chooser->problem, EXIT_INPUT, "--event %s: more than %zu events",
			       name, most);
	if (event_find(chooser->cpu, name, event, chooser->problem))
		return -EINVAL;
	for (i = 0; i < counting->events; i++)
		if (!strcasecmp(counting->event[i].name, event->name))
			return problem(chooser->problem, EXIT_INPUT, "--event %s is given twice",
				       event->name);
	if (row_is_column(event->name))
		return problem(chooser->problem, EXIT_INPUT,
			       "--event %s: rows.csv has a column of that name; "
			       "give the event's encoding, rXXXX",
			       event->name);
	if (by_pass && !event->is_core)
		return problem(chooser->problem, EXIT_INPUT,
			       "--event %s: not an event of the core's PMU: only "
			       "the kernel counts it (--counters host, or --on user)",
			       event->name);
	counting->events++;
	return 0;
}

static int add_standard(struct chooser *chooser)
{
	if (!chooser->cpu || !chooser->cpu->standard.text)
		return problem(chooser->problem, EXIT_INPUT,
			       "there is no data file for this CPU, so it has no "
			       "standard events; name some with --event rXXXX");
	return cpu_names_each(&chooser->cpu->standard, add_event, chooser);
}

static int add_named(struct chooser *chooser, const struct count_request *request)
{
	size_t i;
	int result = 0;

	for (i = 0; i < request->events && !result; i++)
		result = strcmp(request->event[i], STANDARD) ? add_event(chooser, request->event[i])
							     : add_standard(chooser);
	return result;
}

static int choose_source(struct counting *counting, const struct count_request *request,
			 const char *target, u32 sources, int unasked, struct problem *p)
{
	char have[64] = "";
	int i;

	sources |= 1u << COUNT_NONE;
	for (i = 1; i < COUNT_SOURCES && !request->source; i++)
		if (sources & 1u << i && (unasked || request->events)) {
			counting->source = i;
			break;
		}
	for (i = COUNT_SOURCES - 1; i >= 0 && request->source; i--) {
		if (!(sources & 1u << i))
			continue;
		snprintf(have + strlen(have), sizeof(have) - strlen(have), "%s%s",
			 *have ? ", " : "", count_source_names[i]);
		if (!strcmp(request->source, count_source_names[i])) {
			counting->source = i;
			break;
		}
	}
	if (i < 0)
		return problem(p, EXIT_INPUT, "--counters %s: target %s has: %s", request->source,
			       target, have);
	if (request->events && counting->source == COUNT_NONE)
		return problem(p, EXIT_INPUT,
			       "--event %s: nobody to count it with %s; leave one of them out",
			       request->event[0],
			       request->source ? "--counters none" : "this target");
	if (request->source && counting->source != COUNT_NONE && !unasked && !request->events)
		return problem(p, EXIT_INPUT,
			       "--counters %s: target %s counts nothing unasked; name events with "
			       "--event",
			       request->source, target);
	return 0;
}

int counting_choose(struct counting *counting, const struct count_request *request,
		    const char *target, u32 sources, int unasked, struct problem *p)
{
	struct chooser chooser = { counting, NULL, p };
	struct cpu_identity identity;
	struct cpu_file file;
	int found, result;

	memset(counting, 0, sizeof(*counting));
	counting->asked = request->events != 0;
	result = choose_source(counting, request, target, sources, unasked, p);
	if (result || counting->source == COUNT_NONE)
		return result;
	found = probe_cpu(&identity)
			? -ENOENT
			: cpu_file_find(identity.vendor, identity.family, identity.model, &file, p);
	if (found == -EINVAL)
		return found;
	chooser.cpu = found ? NULL : &file;
	if (request->events)
		result = add_named(&chooser, request);
	else if (add_standard(&chooser))
		counting->why_not = xstrdup(p->text);
	if (!found)
		cpu_file_free(&file);
	return result;
}

void counting_free(struct counting *counting)
{
	size_t i;

	for (i = 0; i < MAX_EVENTS; i++)
		free(counting->check[i]);
	perf_group_close(&counting->group);
	free(counting->pmu);
	free(counting->watchdog);
	free(counting->why_not);
	memset(counting, 0, sizeof(*counting));
}

/* ---- columns ---- */

static size_t count_names(const char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
}

const char **counting_columns(const struct counting *counting, const char *const *extra)
{
	size_t first = count_names(extra), i;
	const char **columns = xcalloc(first + counting->events + 1, sizeof(char *));

	for (i = 0; i < first; i++)
		columns[i] = extra[i];
	for (i = 0; i < counting->events; i++)
		columns[first + i] = counting->event[i].name;
	return columns;
}

const char **counting_texts(struct counting *counting, const char *const *extra,
			    const char *const *extra_texts)
{
	size_t first = count_names(extra), i;
	const char **texts = xcalloc(first + counting->events + 1, sizeof(char *));

	for (i = 0; i < first; i++)
		texts[i] = extra_texts ? extra_texts[i] : NULL;
	for (i = 0; i < counting->events; i++) {
		counting->text[i][0] = '\0';
		if (!isnan(counting->value[i]))
			snprintf(counting->text[i], sizeof(counting->text[i]), "%.4f",
				 counting->value[i]);
		texts[first + i] = counting->text[i];
	}
	return texts;
}

/* ---- a row ---- */

void counting_begin_row(struct counting *counting)
{
	size_t i;

	for (i = 0; i < MAX_EVENTS; i++)
		counting->value[i] = NAN;
}

int counting_wants(const struct counting *counting, const struct ts_case *c)
{
	if (counting->source == COUNT_NONE || counting->why_not || !counting->events)
		return 0;
	return counting->source == COUNT_PROCESS ? c->phase == TS_RETOUCH : c->phase > TS_RETOUCH;
}

static void write_log(const struct counting *counting, const char *text)
{
	if (!counting->log)
		return;
	fprintf(counting->log, "driver: counters: %s\n", text);
	fflush(counting->log);
}

static char *formatted(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		abort();
	return text;
}

void counting_log(const struct counting *counting, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = formatted(format, args);
	va_end(args);
	write_log(counting, text);
	free(text);
}

void counting_tell(const struct counting *counting, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = formatted(format, args);
	va_end(args);
	write_log(counting, text);
	if (counting->asked)
		fprintf(stderr, "counters: %s\n", text);
	free(text);
}

/* ": A, B": the events that are not known to be missing; the caller frees. */
static char *event_names(const struct counting *counting)
{
	char *names = xstrdup(""), *longer;
	size_t i;

	for (i = 0; i < counting->events; i++) {
		if (*counting->event[i].missing)
			continue;
		longer = xasprintf("%s%s%s", names, *names ? ", " : ": ", counting->event[i].name);
		free(names);
		names = longer;
	}
	return names;
}

void counting_give_up(struct counting *counting, const char *format, ...)
{
	va_list args;
	char *names;

	if (counting->why_not)
		return;
	va_start(args, format);
	counting->why_not = formatted(format, args);
	va_end(args);
	perf_group_close(&counting->group);
	names = event_names(counting);
	if (*names)
		counting_tell(counting, "no events are counted (%s%s): %s",
			      count_source_names[counting->source], names, counting->why_not);
	else /* each was told when it was found missing */
		counting_log(counting, "no events are counted (%s): %s",
			     count_source_names[counting->source], counting->why_not);
	free(names);
}

void counting_set(struct counting *counting, const double *counts, double iterations)
{
	size_t i;

	for (i = 0; i < counting->events; i++)
		counting->value[i] = counting->refused[i] || *counting->event[i].missing ?
					     NAN : counts[i] / iterations;
}

void counting_take(struct counting *counting, struct row *row)
{
	double counts[MAX_EVENTS];
	int lost = row->r.counts.n != counting->events;
	size_t i;

	if (!counting_wants(counting, &row->c))
		return;
	for (i = 0; i < counting->events; i++) {
		int gone = i >= row->r.counts.n || row->r.counts.lost[i];

		lost |= gone;
		counts[i] = gone ? NAN : row->r.counts.count[i];
	}
	counting_set(counting, counts, row->c.iterations);
	if (lost)
		row_reason(row, PERF_REASON_NONE);
}

/* ---- run.json ---- */

static json_t *number_in(const char *path)
{
	char *text = read_text(path), *end;
	json_int_t number = text ? strtoll(text, &end, 10) : 0;
	json_t *json = text && end != text ? json_integer(number) : json_null();

	free(text);
	return json;
}

/* What shares the PMU or the core with the run. */
static json_t *describe_surroundings(void)
{
	int hybrid = !access("/sys/bus/event_source/devices/cpu_core/type", F_OK);
	int plain = !access("/sys/bus/event_source/devices/cpu/type", F_OK);

	return json_pack("{s:s?, s:b, s:o, s:o, s:o}", "pmu",
			 hybrid	 ? "cpu_core"
			 : plain ? "cpu"
				 : NULL,
			 "hybrid", hybrid, "nmi_watchdog",
			 number_in("/proc/sys/kernel/nmi_watchdog"), "smt_active",
			 number_in("/sys/devices/system/cpu/smt/active"), "perf_event_paranoid",
			 number_in("/proc/sys/kernel/perf_event_paranoid"));
}

json_t *counting_describe(const struct counting *counting)
{
	json_t *list = json_array();
	char text[96];
	size_t i;

	for (i = 0; i < counting->events; i++) {
		const char *missing = counting->event[i].missing;

		json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:s?, s:b, s:s?}", "name",
					counting->event[i].name, "encoding",
					event_encoding(&counting->event[i], text, sizeof(text)),
					"from", counting->event[i].from, "self_check",
					counting->check[i], "refused", counting->refused[i],
					"missing", *missing ? missing : NULL));
	}
	return json_pack("{s:s, s:s?, s:s?, s:s?, s:o, s:o}", "source",
			 count_source_names[counting->source], "why_not", counting->why_not, "pmu",
			 counting->pmu, "watchdog", counting->watchdog, "events", list,
			 "surroundings", describe_surroundings());
}
