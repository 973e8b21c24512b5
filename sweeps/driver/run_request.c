// SPDX-License-Identifier: GPL-2.0
#include "run_request.h"

#include "command.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef TS_QEMU
#define TS_QEMU "qemu-system-x86_64"
#endif

enum { OPT_ON = 1000, OPT_OUT, OPT_RESUME, OPT_QEMU, OPT_CPU, OPT_IMAGE, OPT_MEMORY, OPT_TIMEOUT,
       OPT_FRESH, OPT_COUNTERS, OPT_EVENT, OPT_HOST, OPT_REPEATS, OPT_KEY };

static u64 parse_memory(const char *text, struct argp_state *state)
{
	u64 bytes;

	if (ts_number(text, strlen(text), &bytes) || bytes < 64ULL << 20 || bytes > 1ULL << 46)
		argp_error(state, "--memory %s: give bytes, or a number with m or g, from 64m up", text);
	return bytes;
}

static double parse_seconds(const char *text, struct argp_state *state)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !(seconds > 0 && seconds <= 86400))
		argp_error(state, "--timeout %s: give seconds, up to 86400", text);
	return seconds;
}

static void add_override(struct request *request, const char *key, const char *list,
			 struct argp_state *state)
{
	int i;

	for (i = 0; i < request->overrides; i++)
		if (!strcmp(request->override[i].key, key))
			argp_error(state, "--%s is given twice; list its values with commas", key);
	request->override[request->overrides].key = key;
	request->override[request->overrides++].list = list;
}

static void add_event(struct request *request, const char *name, struct argp_state *state)
{
	struct count_request *count = &request->options.count;

	request->given |= 1u << (OPT_EVENT - OPT_ON);
	if (count->events == MAX_EVENTS)
		argp_error(state, "--event %s: more than %d events", name, MAX_EVENTS);
	count->event[count->events++] = name;
}

static const struct argp_option *run_options(void);

static const char *option_name(int key)
{
	const struct argp_option *option = run_options();

	while (option->key != key)
		option++;
	return option->name;
}

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	if (key >= OPT_ON && key < OPT_EVENT) {
		if (request->given & 1u << (key - OPT_ON))
			argp_error(state, "--%s is given twice", option_name(key));
		request->given |= 1u << (key - OPT_ON);
	}
	switch (key) {
	case OPT_ON: request->target = arg; return 0;
	case OPT_OUT: request->out = arg; return 0;
	case OPT_RESUME: request->resume = arg; return 0;
	case OPT_QEMU: request->options.qemu = arg; return 0;
	case OPT_CPU: request->options.cpu = arg; return 0;
	case OPT_IMAGE: request->options.guest_image = arg; return 0;
	case OPT_MEMORY: request->options.memory = parse_memory(arg, state); return 0;
	case OPT_TIMEOUT: request->options.timeout = parse_seconds(arg, state); return 0;
	case OPT_FRESH: request->options.fresh_boot = 1; return 0;
	case OPT_COUNTERS: request->options.count.source = arg; return 0;
	case OPT_EVENT: add_event(request, arg, state); return 0;
	case OPT_HOST: add_override(request, "host", arg, state); return 0;
	case OPT_REPEATS: add_override(request, "repeats", arg, state); return 0;
	case ARGP_KEY_ARG:
		if (request->plan)
			argp_error(state, "one plan at a time: %s and %s", request->plan, arg);
		request->plan = arg;
		return 0;
	}
	if (key < OPT_KEY || key >= OPT_KEY + TS_KEYS)
		return ARGP_ERR_UNKNOWN;
	add_override(request, ts_keys[key - OPT_KEY].name, arg, state);
	return 0;
}

/* The fixed options, and one for each axis of a case. */
static const struct argp_option *run_options(void)
{
	static const struct argp_option fixed[] = {
		{ 0, 0, 0, 0, "Where:", 1 },
		{ "on", OPT_ON, "TARGET", 0, "target (tlbscope list targets); standard: the best that "
					     "this machine has", 1 },
		{ "out", OPT_OUT, "DIR", 0, "run directory; standard: results/PLAN-TARGET-TIME", 1 },
		{ "resume", OPT_RESUME, "DIR", 0, "go on with a run that was stopped", 1 },
		{ "qemu", OPT_QEMU, "PATH", 0, "QEMU to use", 1 },
		{ "cpu", OPT_CPU, "MODEL", 0, "QEMU's -cpu", 1 },
		{ "image", OPT_IMAGE, "PATH", 0, "guest image to use", 1 },
		{ "memory", OPT_MEMORY, "SIZE", 0, "guest memory, e.g. 4g; standard: what the plan needs", 1 },
		{ "timeout", OPT_TIMEOUT, "SECONDS", 0, "for one row (60)", 1 },
		{ "fresh-boot", OPT_FRESH, 0, 0, "a boot of its own for each cell (target kvm)", 1 },
		{ 0, 0, 0, 0, "Events to be counted:", 2 },
		{ "counters", OPT_COUNTERS, "WHO", 0, "who counts: none, or on target kvm vpmu (the guest; standard) or "
						      "host (the kernel, per vCPU)", 2 },
		{ "event", OPT_EVENT, "NAME", 0, "an event of tlbscope list events, of libpfm4, or rXXXX, in place of the "
						 "CPU's standard ones (those: standard); may be repeated", 2 },
		{ 0, 0, 0, 0, "Axes of the plan; LIST is values with commas between. guest selects the "
			      "sections that have it, the others replace their axis in all sections:", 3 },
		{ "host", OPT_HOST, "LIST", 0, "host pages, where the target chooses them: 4k,2m,1g,2m-logged", 3 },
		{ "repeats", OPT_REPEATS, "N", 0, "repetitions of the whole plan", 3 },
	};
	static struct argp_option all[TS_COUNT(fixed) + TS_KEYS + 1];
	u32 key, n = TS_COUNT(fixed);

	memcpy(all, fixed, sizeof(fixed));
	for (key = 0; key < TS_KEYS; key++) {
		if (key == TS_KEY_REPEAT)
			continue;
		all[n++] = (struct argp_option){ ts_keys[key].name, OPT_KEY + (int)key, "LIST", 0,
						 ts_keys[key].help, 3 };
	}
	return all;
}

void request_parse(struct request *request, int argc, char **argv)
{
	const struct argp argp = {
		.options = run_options(),
		.parser = parse_run,
		.args_doc = "[PLAN]",
		.doc = "Runs a sweep and prints its table.\vPLAN is one of tlbscope list plans, or a file "
		       "(a name with a slash, or ending in .plan); standard: fracture.",
	};

	*request = (struct request){ .options = { .qemu = TS_QEMU, .timeout = 60 } };
	parse_options(&argp, argc, argv, request);
}

int request_override(const struct request *request, struct plan *plan, struct problem *p)
{
	int i, result = 0;

	for (i = 0; i < request->overrides && !result; i++)
		result = plan_override(plan, request->override[i].key, request->override[i].list, p);
	return result;
}

int request_check(const struct request *request, const struct target_ops *ops, struct problem *p)
{
	static const struct {
		int key;
		u32 needs;
		const char *why;
	} bound[] = {
		{ OPT_QEMU, TAKES_QEMU, "runs no QEMU" },   { OPT_CPU, TAKES_QEMU, "runs no QEMU" },
		{ OPT_IMAGE, TAKES_QEMU, "runs no QEMU" },  { OPT_MEMORY, TAKES_QEMU, "runs no QEMU" },
		{ OPT_FRESH, TAKES_FRESH_BOOT, "boots nothing for each cell" },
		{ OPT_TIMEOUT, TAKES_TIMEOUT, "measures in this process and waits for nobody" },
	};
	size_t i;

	for (i = 0; i < TS_COUNT(bound); i++)
		if (request->given & 1u << (bound[i].key - OPT_ON) && !(ops->takes & bound[i].needs))
			return problem(p, EXIT_INPUT, "--%s: target %s %s; leave it out, or name another "
				       "target with --on", option_name(bound[i].key), ops->name, bound[i].why);
	for (i = 0; i < (size_t)request->overrides; i++)
		if (!strcmp(request->override[i].key, "host") && !ops->chooses_host)
			return problem(p, EXIT_INPUT, "--host %s: target %s does not choose the host page; "
				       "leave it out, or use --on kvm", request->override[i].list, ops->name);
	return 0;
}

int request_check_resume(const struct request *request, struct problem *p)
{
	u32 allowed = 1u << (OPT_RESUME - OPT_ON) | 1u << (OPT_TIMEOUT - OPT_ON);

	if (!request->plan && !request->overrides && !(request->given & ~allowed))
		return 0;
	return problem(p, EXIT_INPUT, "--resume goes on with plan, target and options of the run; only "
		       "--timeout can be changed; leave the others out, or start a new run");
}

/* text, which is freed, with an option behind it; caller frees. */
static char *with_option(char *text, const char *name, const char *value)
{
	char *word = shell_word(value), *next = xasprintf("%s --%s %s", text, name, word);

	free(word);
	free(text);
	return next;
}

char *request_command(const struct request *request, const struct target_ops *ops)
{
	const char *slash = request->plan ? strrchr(request->plan, '/') : NULL;
	const struct options *o = &request->options;
	char *plan = shell_word(slash ?: request->plan ?: "fracture"), *memory;
	char *text = xasprintf("tlbscope run %s%s --on %s", slash ? "." : "", plan, ops->name);
	size_t i;

	free(plan);
	for (i = 0; i < (size_t)request->overrides; i++)
		text = with_option(text, request->override[i].key, request->override[i].list);
	if (o->count.source)
		text = with_option(text, "counters", o->count.source);
	for (i = 0; i < o->count.events; i++)
		text = with_option(text, "event", o->count.event[i]);
	if (o->cpu)
		text = with_option(text, "cpu", o->cpu);
	if (o->memory) {
		memory = xasprintf("%llum", o->memory >> 20);
		text = with_option(text, "memory", memory);
		free(memory);
	}
	if (!o->fresh_boot)
		return text;
	plan = xasprintf("%s --fresh-boot", text);
	free(text);
	return plan;
}

json_t *request_describe(const struct options *o, enum count_source source)
{
	json_t *events = json_array();
	size_t i;

	for (i = 0; i < o->count.events; i++)
		json_array_append_new(events, json_string(o->count.event[i]));
	return json_pack("{s:s, s:s*, s:s*, s:I, s:f, s:b, s:s, s:o}", "qemu", o->qemu, "cpu", o->cpu, "image",
			 o->guest_image, "memory", (json_int_t)o->memory, "timeout", o->timeout,
			 "fresh_boot", o->fresh_boot, "counters", count_source_names[source], "events",
			 events);
}

/* Options that were left out have their standard; those of a wrong type would get it without a word. */
static int check_options(const char *dir, const json_t *json, struct problem *p)
{
	static const struct {
		const char *key, *what;
		json_type type, or_type;
	} known[] = {
		{ "qemu", "a text", JSON_STRING, JSON_STRING },	     { "cpu", "a text", JSON_STRING, JSON_STRING },
		{ "image", "a text", JSON_STRING, JSON_STRING },     { "counters", "a text", JSON_STRING, JSON_STRING },
		{ "memory", "a whole number, 0 or more", JSON_INTEGER, JSON_INTEGER },
		{ "timeout", "a number, 0 or more", JSON_REAL, JSON_INTEGER },  { "fresh_boot", "true or false", JSON_TRUE, JSON_FALSE },
		{ "events", "a list of texts", JSON_ARRAY, JSON_ARRAY },
	};
	json_t *value, *event;
	size_t i, j;

	if (!json_is_object(json))
		return problem(p, EXIT_INPUT, "%s/run.json: options: not an object; mend it, or start a new run", dir);
	for (i = 0; i < TS_COUNT(known); i++) {
		int bad = 0;

		value = json_object_get(json, known[i].key);
		json_array_foreach(value, j, event)
			bad |= !json_is_string(event) || j == MAX_EVENTS;
		if (bad || (value && json_typeof(value) != known[i].type && json_typeof(value) != known[i].or_type) ||
		    (json_is_number(value) && json_number_value(value) < 0))
			return problem(p, EXIT_INPUT, "%s/run.json: options: %s: not %s; mend it, or start a new run", dir,
				       known[i].key, known[i].what);
	}
	return 0;
}

int request_restore(struct request *request, json_t *json, struct problem *p)
{
	struct options *options = &request->options;
	double timeout = options->timeout;
	const char *qemu = NULL, *cpu = NULL, *image = NULL;
	json_t *events = json_object_get(json, "events"), *event;
	json_int_t memory = 0;
	size_t i;

	if (check_options(request->resume, json, p))
		return -EINVAL;
	options->count.source = json_string_value(json_object_get(json, "counters")) ?: "none";
	json_array_foreach(events, i, event)
		options->count.event[options->count.events++] = json_string_value(event);

	json_unpack(json, "{s?s, s?s, s?s, s?I, s?F, s?b}", "qemu", &qemu, "cpu", &cpu, "image",
		    &image, "memory", &memory, "timeout", &options->timeout, "fresh_boot",
		    &options->fresh_boot);
	options->qemu = qemu ?: options->qemu;
	options->cpu = cpu;
	options->guest_image = image;
	options->memory = memory;
	if (request->given & 1u << (OPT_TIMEOUT - OPT_ON))
		options->timeout = timeout;
	json_object_set_new(json, "timeout", json_real(options->timeout));
	return 0;
}
