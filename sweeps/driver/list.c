// SPDX-License-Identifier: GPL-2.0
/* tlbscope list: what there is, out of the tables that the program itself works with. */
#include "command.h"
#include "cpu_file.h"
#include "encoding.h"
#include "probe_cpu.h"
#include "protocol.h"
#include "target.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TS_QEMU
#define TS_QEMU "qemu-system-x86_64"
#endif

/* The targets that measure something of a plan unasked, then those that do only with --phase. */
static void print_targets(const struct plan *plan)
{
	const char *between = "";
	char *phases;
	size_t i;

	printf("%-10s on: ", "");
	for (i = 0; targets[i]; i++) {
		if (!plan_measures_on(plan, targets[i]->name, targets[i]->phases))
			continue;
		printf("%s%s", between, targets[i]->name);
		between = ", ";
	}
	for (i = 0; targets[i]; i++) {
		if (!plan_runs_on(plan, targets[i]->name) ||
		    plan_measures_on(plan, targets[i]->name, targets[i]->phases))
			continue;
		phases = plan_phases(plan, targets[i]->name);
		printf("%s%s only with --phase %s", *between ? "; " : "", targets[i]->name, phases);
		free(phases);
		between = "; ";
	}
	printf("\n");
}

static int list_plans(struct problem *p)
{
	char **names = plan_names(p);
	struct plan plan;
	int result = names ? 0 : -EINVAL;
	size_t i;

	for (i = 0; names && names[i]; i++) {
		if (!result)
			result = plan_load(names[i], &plan, p);
		if (!result) {
			printf("%-10s %s\n%-10s %s\n", names[i], plan.title, "", plan.about);
			print_targets(&plan);
			plan_free(&plan);
		}
		free(names[i]);
	}
	free(names);
	return result;
}

static int list_ops(struct problem *p)
{
	size_t i;

	(void)p;
	printf("%-18s %-10s %-9s %s\n", "op", "class", "target", "has to drop");
	for (i = 0; i < TS_OPS; i++) {
		printf("%-18s %-10s %-9s ", ts_ops[i].name, ts_class_names[ts_ops[i].class],
		       ts_ops[i].needs & TS_SYSCALLS ? "user" : ts_ops[i].needs & TS_RING0 ? "ring 0" : "all");
		print_hanging(stdout, 40, ts_ops[i].drops);
	}
	return 0;
}

static int list_axes(struct problem *p)
{
	char values[128];
	size_t t;
	u32 i;

	(void)p;
	for (i = 0; i < TS_KEYS; i++) {
		if (i == TS_KEY_REPEAT)
			continue; /* the run numbers them: see repeats */
		axis_values(i, values, sizeof(values));
		printf("%-11s %s\n%-11s values: %s\n", ts_keys[i].name, ts_keys[i].help, "", values);
	}
	/* Of a plan, not of a case. */
	printf("%-11s host pages, where the target chooses them:", "host");
	for (t = 0; targets[t]; t++)
		if (targets[t]->chooses_host)
			printf(" %s", targets[t]->name);
	printf("\n%-11s values:", "");
	for (i = 0; i < PLAN_HOSTS; i++)
		printf(" %s", plan_host_names[i]);
	printf("\n%-11s repetitions of the whole plan\n%-11s values: 1 to %d\n", "repeats", "",
	       TS_MAX_REPEATS);
	return 0;
}

static int list_targets(struct problem *p)
{
	size_t i;

	(void)p;
	for (i = 0; targets[i]; i++)
		printf("%-8s %s;\n%-8s %s\n", targets[i]->name, targets[i]->claims, "",
		       targets[i]->cannot);
	return 0;
}

static int list_probes(struct problem *p)
{
	const struct options options = { .qemu = TS_QEMU };
	struct finding f;
	size_t i;

	(void)p;
	for (i = 0; i < probe_count; i++) {
		probe_look(&probes[i], &options, &f);
		printf("%-14s %-8s %s: %s%s%s\n", probes[i].id, probe_result_names[f.result],
		       probes[i].what, f.seen, *f.remedy ? "; " : "", f.remedy);
	}
	return 0;
}

#define SOURCE_COLUMN 41

/* A line below a CPU, which the next lines of its source continue in their column. */
static void print_below(const char *name, const char *value, enum cpu_status status, const char *source)
{
	printf("    %-10s %-14s %-10s ", name, value, cpu_status_names[status]);
	print_hanging(stdout, SOURCE_COLUMN, source);
}

/* "64, 4 ways", "16, full", "none" */
static void print_tlb(const char *name, const struct cpu_value *value)
{
	char size[32] = "none";

	if (value->entries && value->ways)
		snprintf(size, sizeof(size), "%u, %u ways", value->entries, value->ways);
	else if (value->entries)
		snprintf(size, sizeof(size), "%u, full", value->entries);
	print_below(name, size, value->status, value->source);
}

static void print_cpu(const struct cpu_file *file)
{
	char *names = xasprintf("%s%s%s", file->name, file->aliases ? ": " : "", file->aliases ?: "");
	size_t i;

	printf("%-16s ", file->id);
	print_hanging(stdout, 17, names);
	free(names);
	printf("    %s, family %u, model", file->vendor, file->family);
	for (i = 0; i < file->models; i++) {
		printf("%s %u", i ? "," : "", file->model[i].first);
		if (file->model[i].last > file->model[i].first)
			printf("-%u", file->model[i].last);
	}
	printf("%s\n", file->models_status == CPU_UNVERIFIED ? " (unverified)" : "");
	for (i = 0; i < TLBS; i++)
		if (file->tlb[i].given)
			print_tlb(cpu_tlb_names[i], &file->tlb[i]);
	if (file->shared)
		print_below("l2-shared", file->shared, file->shared_value.status, file->shared_value.source);
	if (file->events)
		printf("    %zu events: tlbscope list events %s\n", file->events, file->id);
	if (file->note) {
		printf("    note: ");
		print_hanging(stdout, 10, file->note);
	}
}

static int list_cpus(struct problem *p)
{
	char **paths = cpu_file_paths(p);
	int result = paths ? 0 : -EINVAL;
	struct cpu_file file;
	size_t i;

	for (i = 0; paths && paths[i]; i++) {
		if (!result)
			result = cpu_file_load(paths[i], &file, p);
		if (!result) {
			print_cpu(&file);
			cpu_file_free(&file);
		}
		free(paths[i]);
	}
	free(paths);
	return result;
}

/* ---- events ---- */

/* Status and source stand above the events that have them in common. */
static void print_event(const struct cpu_file *file, size_t i)
{
	const struct cpu_event *event = &file->event[i], *before = i ? event - 1 : NULL;
	char encoding[64], *heading;

	if (!before || before->status != event->status || strcmp(before->source, event->source)) {
		heading = xasprintf("%s, %s:", cpu_status_names[event->status], event->source);
		print_wrapped(stdout, heading);
		free(heading);
	}
	printf("  %c%c %-48s %s\n", cpu_names_have(&file->standard, event->name) ? '*' : ' ',
	       cpu_names_have(&file->walks, event->name) ? 'w' : ' ', event->name,
	       encoding_print(event->config, encoding, sizeof(encoding)));
}

/* Events of one CPU: by the name of its file, or of this machine's CPU. */
static int list_events(const char *id, struct problem *p)
{
	struct cpu_identity cpu = { 0 };
	struct cpu_file file;
	size_t i;
	int result;

	if (id)
		result = cpu_file_open(id, &file, p);
	else
		result = probe_cpu(&cpu) ? -ENOENT :
					   cpu_file_find(cpu.vendor, cpu.family, cpu.model, &file, p);
	if (result == -ENOENT && id)
		return problem(p, EXIT_INPUT, "list events %s: no such CPU; tlbscope list cpus names them", id);
	if (result == -ENOENT)
		return problem(p, EXIT_INPUT, "list events: there is no data file for this CPU (%s, family %u, "
			       "model %u); name one of tlbscope list cpus; run --event rXXXX counts any "
			       "encoding", *cpu.brand ? cpu.brand : "unknown", cpu.family, cpu.model);
	if (result)
		return result;
	printf("%s: %s\n*: counted by run unasked; w: one for each load that misses the TLB (the self-check has "
	       "such loads)\n\n", file.id, file.name);
	for (i = 0; i < file.events; i++)
		print_event(&file, i);
	if (!file.events)
		printf("no events are known\n");
	cpu_file_free(&file);
	return 0;
}

/* On stderr, since the words themselves go into another command: what the guest has to be given. */
static void tell_memory(const struct plan *plan)
{
	u64 most[2] = { 0 }, bytes;
	size_t t;
	int large;

	for (t = 0; targets[t]; t++) {
		for (large = 0; large < 2 && targets[t]->takes & TAKES_QEMU; large++) {
			bytes = plan_memory(plan, targets[t]->name, large) + (1 << 20) - 1;
			most[large] = bytes > most[large] ? bytes : most[large];
		}
	}
	if (most[1] > most[0])
		fprintf(stderr, "the whole plan needs %llu MiB of guest memory (-m %lluM), without its 1g leaves %llu\n",
			most[1] >> 20, most[1] >> 20, most[0] >> 20);
	else
		fprintf(stderr, "the plan needs %llu MiB of guest memory (-m %lluM)\n", most[0] >> 20, most[0] >> 20);
}

/* A plan as the words behind the guest's kernel command line, for a start without the driver. */
static int list_cmdline(const char *name, struct problem *p)
{
	char line[2 * TS_MAX_LINE];
	struct ts_text text;
	struct plan plan;
	size_t i;

	if (plan_load(name, &plan, p))
		return -EINVAL;
	for (i = 0; i < plan.sections; i++) {
		if (plan.section[i].on && !strstr(plan.section[i].on, "tcg") &&
		    !strstr(plan.section[i].on, "kvm"))
			continue; /* not for the guest image */
		ts_text_init(&text, line, sizeof(line));
		ts_sweep_print(&text, &plan.section[i].sweep);
		printf("%ssweep %s", i ? " ; " : "", line);
	}
	printf("\n");
	tell_memory(&plan);
	plan_free(&plan);
	return 0;
}

static const struct {
	const char *name;
	int (*list)(struct problem *p);
} lists[] = {
	{ "plans", list_plans }, { "ops", list_ops }, { "axes", list_axes },
	{ "targets", list_targets }, { "probes", list_probes }, { "cpus", list_cpus },
};

/* Lists of one thing, whose name may or has to stand behind. */
static const struct {
	const char *name;
	int (*list)(const char *name, struct problem *p);
	int required;
} named_lists[] = { { "cmdline", list_cmdline, 1 }, { "events", list_events, 0 } };

struct list_request {
	const char *what, *name;
};

static int takes_name(const char *what)
{
	size_t i;

	for (i = 0; i < TS_COUNT(named_lists); i++)
		if (!strcmp(named_lists[i].name, what))
			return 1 + named_lists[i].required;
	return 0;
}

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	struct list_request *request = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (request->name || (request->what && !takes_name(request->what)))
			argp_error(state, "too many words");
		if (request->what)
			request->name = arg;
		else
			request->what = arg;
		return 0;
	case ARGP_KEY_END:
		if (!request->what || (takes_name(request->what) == 2 && !request->name))
			argp_error(state, "name what to list");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int command_list(int argc, char **argv)
{
	const struct argp argp = {
		.parser = parse_list,
		.args_doc = "plans|ops|axes|targets|probes|cpus\nevents [CPU]\ncmdline PLAN",
		.doc = "Lists what there is.\vcmdline prints a plan as words for the guest's kernel command line, "
		       "to run the image without this program.",
	};
	struct list_request request = { 0 };
	struct problem p = { 0 };
	size_t i;

	parse_options(&argp, argc, argv, &request);
	for (i = 0; i < TS_COUNT(named_lists); i++)
		if (!strcmp(named_lists[i].name, request.what))
			return named_lists[i].list(request.name, &p) ? report(&p) : EXIT_DONE;
	for (i = 0; i < TS_COUNT(lists); i++)
		if (!strcmp(lists[i].name, request.what))
			return lists[i].list(&p) ? report(&p) : EXIT_DONE;
	problem(&p, EXIT_INPUT, "list %s: there are plans, ops, axes, targets, probes, cpus, events and "
		"cmdline PLAN",
		request.what);
	return report(&p);
}
