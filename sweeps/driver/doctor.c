// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope doctor: what this machine can measure, what is missing, and the remedy. It prints what
 * the probe table finds, then what that means for each target, then the one command to type next.
 */
#include "command.h"
#include "probe_file.h"
#include "probe_target.h"
#include "util.h"
#include "version.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TS_QEMU
#define TS_QEMU "qemu-system-x86_64"
#endif

struct request {
	const char *root, *record, *target;
	struct options options;
	int json;
};

/* ---- what it means for a target ---- */

struct verdict {
	const struct target_ops *ops;
	const struct probe *lacks;    /* 0: it can run */
	const struct probe *reserved; /* 0: it would be chosen unasked */
	const struct finding *why;    /* of the one or the other */
	int refused;		      /* it starts, and ends with exit status 5 */
};

static struct verdict judge_target(const struct target_ops *ops, struct findings *findings)
{
	struct verdict v = { .ops = ops };
	size_t i;

	v.lacks = target_lacks(ops, findings, &v.why);
	if (v.lacks)
		return v;
	v.reserved = target_reservation(ops, findings, &v.why);
	for (i = 0; i < target_limit_count; i++)
		if (target_limits[i].weight == LIMIT_REFUSED &&
		    !strcmp(target_limits[i].target, ops->name))
			v.refused |= limit_holds(&target_limits[i], findings);
	return v;
}

static const char *runs_word(const struct verdict *v)
{
	if (v->lacks)
		return v->why->result == PROBE_UNKNOWN ? "unknown" : "no";
	return v->refused ? "no" : "yes";
}

/*
 * A plan that a target's reservation leaves unharmed (struct target_limit), or 0: evidence on hardware, if less of
 * it. On an emulated CPU nothing is.
 */
static const char *unharmed_plan(const struct verdict *v, struct findings *findings)
{
	const struct target_limit *limit = target_limits;
	const char *emulator = findings_get(findings, "bare-metal")->remedy_id;
	size_t i;

	for (i = 0; v->reserved && i < target_limit_count; i++, limit++)
		if (limit->plan && !strcmp(limit->target, v->ops->name) &&
		    !strcmp(limit->probe, v->reserved->id) && limit_holds(limit, findings))
			return strcmp(emulator, "bare-metal.emulator") ? limit->plan : NULL;
	return NULL;
}

/*
 * What to type for one target: a run when it can, else its remedy when that is one command. 0:
 * neither. A reservation is no obstacle for who asks for the target, nor for a plan that it leaves unharmed.
 */
static int command_for(const struct target_ops *ops, int asked_for, struct findings *findings,
		       char *text, size_t size)
{
	/* In a VM target kvm has no verdict, whatever is done about it. */
	int worth = asked_for || (ops == targets[0] &&
				  findings_get(findings, "bare-metal")->result != PROBE_PROBLEM);
	struct verdict v = judge_target(ops, findings);
	const char *plan = v.lacks || v.refused ? NULL : unharmed_plan(&v, findings);

	if (!v.lacks && (!v.reserved || plan || (asked_for && !v.refused)))
		return snprintf(text, size, "tlbscope run %s%s--on %s", plan ?: "", plan ? " " : "", ops->name);
	return worth && *v.why->command ? snprintf(text, size, "%s", v.why->command) : 0;
}

/*
 * The one command to type next: for the target that was named, else for the best that can be had;
 * in the end for one that runs without a verdict.
 */
static void next_command(const struct request *request, struct findings *findings, char *text,
			 size_t size)
{
	size_t i;

	if (request->target && command_for(target_find(request->target), 1, findings, text, size))
		return;
	for (i = 0; targets[i]; i++)
		if (command_for(targets[i], 0, findings, text, size))
			return;
	for (i = 0; targets[i]; i++) {
		struct verdict v = judge_target(targets[i], findings);

		if (!v.lacks && !v.refused) {
			snprintf(text, size, "tlbscope run --on %s", targets[i]->name);
			return;
		}
	}
	snprintf(text, size, "tlbscope list targets");
}

/* ---- for people ---- */

static int use_colours(void)
{
	const char *no = getenv("NO_COLOR"); /* no-color.org: present and not empty */

	return isatty(1) && !(no && *no);
}

/* A word in a colour (SGR number) and padded, on a terminal; padded elsewhere. */
static void print_word(const char *word, int width, int colour)
{
	if (use_colours())
		printf("\033[%dm%-*s\033[0m", colour, width, word);
	else
		printf("%-*s", width, word);
}

#define ID_COLUMN 10
#define TEXT_COLUMN 26

static void print_check(const struct probe *probe, const struct finding *f)
{
	static const int colours[PROBE_RESULTS] = { 32, 33, 33, 36 };
	char *line = xasprintf("%s: %s", probe->what, f->seen);

	printf("  ");
	print_word(probe_result_names[f->result], ID_COLUMN - 2, colours[f->result]);
	printf("%-*s", TEXT_COLUMN - ID_COLUMN, probe->id);
	print_hanging(stdout, TEXT_COLUMN, line);
	free(line);
	if (f->result == PROBE_OK || !*f->remedy)
		return;
	line = xasprintf("-> %s [%s]", f->remedy, f->remedy_id);
	printf("%*s", TEXT_COLUMN, "");
	print_hanging(stdout, TEXT_COLUMN, line);
	free(line);
	if (*f->command) /* in one line, to be copied */
		printf("%*s$ %s\n", ID_COLUMN, "", f->command);
}

static int asked(const struct request *request, const char *id)
{
	return !request->target || target_asks(target_find(request->target), id);
}

static void print_checks(const struct request *request, struct findings *findings)
{
	size_t theme, i;
	int titled;

	for (theme = 0; theme < THEMES; theme++)
		for (i = titled = 0; i < probe_count; i++) {
			if (probes[i].theme != theme || !asked(request, probes[i].id))
				continue;
			if (!titled++)
				printf("%s\n", probe_theme_names[theme]);
			print_check(&probes[i], findings_get(findings, probes[i].id));
		}
}

static void print_limits(const struct target_ops *ops, struct findings *findings)
{
	size_t i;
	char *line;

	for (i = 0; i < target_limit_count; i++) {
		if (strcmp(target_limits[i].target, ops->name) ||
		    !limit_holds(&target_limits[i], findings))
			continue;
		line = xasprintf("%s [%s]", target_limits[i].text, target_limits[i].probe);
		printf("%*sbut: ", ID_COLUMN, "");
		print_hanging(stdout, ID_COLUMN + 5, line);
		free(line);
	}
}

static void print_target(const struct target_ops *ops, struct findings *findings)
{
	struct verdict v = judge_target(ops, findings);
	const char *runs = runs_word(&v);
	char *line;

	printf("  ");
	print_word(ops->name, ID_COLUMN - 2, *runs == 'y' ? 32 : 33);
	if (v.lacks) {
		line = xasprintf("%s: %s: %s [%s]", *runs == 'n' ? "cannot run" : "cannot be told",
				 v.lacks->id, v.why->seen, *v.why->remedy_id ? v.why->remedy_id :
				 v.lacks->id);
		print_hanging(stdout, ID_COLUMN, line);
		free(line);
		return;
	}
	line = xasprintf("%s; %s", v.refused ? "cannot be trusted" : v.reserved ?
			 "runs when asked for" : "runs", ops->claims);
	print_hanging(stdout, ID_COLUMN, line);
	free(line);
	print_limits(ops, findings);
}

static void print_text(const struct request *request, struct findings *findings)
{
	char next[200];
	size_t i;

	print_checks(request, findings);
	printf("Targets: where a sweep can run here, and what its numbers are evidence of\n");
	for (i = 0; targets[i]; i++)
		if (!request->target || !strcmp(request->target, targets[i]->name))
			print_target(targets[i], findings);
	next_command(request, findings, next, sizeof(next));
	printf("Next\n  %s\n", next);
}

/* ---- for programs ---- */

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *checks_json(const struct request *request, struct findings *findings)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < probe_count; i++) {
		const struct finding *f;

		if (!asked(request, probes[i].id))
			continue;
		f = findings_get(findings, probes[i].id);
		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "id", probes[i].id, "theme",
			probe_theme_names[probes[i].theme], "what", probes[i].what, "result",
			probe_result_names[f->result], "seen", f->seen, "remedy_id",
			text_or_null(f->remedy_id), "remedy", text_or_null(f->remedy), "command",
			text_or_null(f->command)));
	}
	return list;
}

static json_t *target_json(const struct target_ops *ops, struct findings *findings)
{
	static const char *const weights[] = { "less", "no-verdict", "refused" };
	struct verdict v = judge_target(ops, findings);
	json_t *limits = json_array();
	size_t i;

	for (i = 0; i < target_limit_count; i++)
		if (!strcmp(target_limits[i].target, ops->name) &&
		    limit_holds(&target_limits[i], findings))
			json_array_append_new(limits, json_pack("{s:s, s:s, s:s}", "check",
								target_limits[i].probe, "weight",
								weights[target_limits[i].weight],
								"text", target_limits[i].text));
	return json_pack("{s:s, s:s, s:b, s:s, s:s, s:s?, s:s?, s:o}", "name", ops->name, "runs",
			 runs_word(&v), "unasked", !v.lacks && !v.reserved, "claims", ops->claims,
			 "cannot", ops->cannot, "lacks", v.lacks ? v.lacks->id : NULL, "remedy_id",
			 v.lacks && *v.why->remedy_id ? v.why->remedy_id : NULL, "limits", limits);
}

static int print_json(const struct request *request, struct findings *findings)
{
	json_t *list = json_array(), *all;
	char next[200];
	size_t i;

	for (i = 0; targets[i]; i++)
		if (!request->target || !strcmp(request->target, targets[i]->name))
			json_array_append_new(list, target_json(targets[i], findings));
	next_command(request, findings, next, sizeof(next));
	all = json_pack("{s:s, s:b, s:o, s:o, s:s}", "tlbscope", TS_VERSION, "recorded",
			request->root != NULL, "checks", checks_json(request, findings), "targets",
			list, "next", next);
	if (!all || json_dumpf(all, stdout, JSON_INDENT(1)))
		return -EIO;
	printf("\n");
	json_decref(all);
	return 0;
}

/* ---- the command ---- */

enum { OPT_JSON = 1000, OPT_TARGET, OPT_ROOT, OPT_RECORD, OPT_QEMU, OPT_IMAGE };

static error_t parse_doctor(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case OPT_JSON: request->json = 1; return 0;
	case OPT_TARGET: request->target = arg; return 0;
	case OPT_ROOT: request->root = arg; return 0;
	case OPT_RECORD: request->record = arg; return 0;
	case OPT_QEMU: request->options.qemu = arg; return 0;
	case OPT_IMAGE: request->options.guest_image = arg; return 0;
	case ARGP_KEY_ARG: argp_error(state, "no word is expected: %s", arg); return 0;
	case ARGP_KEY_END:
		if (request->root && request->record)
			argp_error(state, "--root and --record exclude each other");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_option doctor_options[] = {
	{ "json", OPT_JSON, 0, 0, "print JSON (man tlbscope has the schema)", 0 },
	{ "target", OPT_TARGET, "NAME", 0,
	  "only what this target needs; exit status 0 if it can run, 5 if "
	  "not",
	  0 },
	{ "root", OPT_ROOT, "DIR", 0, "look at a recorded machine instead of this one", 0 },
	{ "record", OPT_RECORD, "DIR", 0,
	  "make such a record of this machine: no host or user names, "
	  "addresses or serial numbers",
	  0 },
	{ "qemu", OPT_QEMU, "PATH", 0, "QEMU to look for", 0 },
	{ "image", OPT_IMAGE, "PATH", 0, "guest image to look for", 0 },
	{ 0 },
};

/* Where to look, and what for. 0 or a problem. */
static int prepare(const struct request *request, struct problem *p)
{
	int result;

	if (request->target && !target_find(request->target))
		return problem(p, EXIT_INPUT,
			       "--target %s: no such target; tlbscope list targets names them",
			       request->target);
	result = request->root ? probe_file_root(request->root) : 0;
	if (result)
		return problem(p, EXIT_INPUT, "--root %s: %s; give a directory that --record made",
			       request->root, strerror(-result));
	result = request->record ? probe_file_record(request->record) : 0;
	if (result)
		return problem(p, EXIT_INPUT,
			       "--record %s: %s; name a directory that does not exist yet",
			       request->record, strerror(-result));
	return 0;
}

int command_doctor(int argc, char **argv)
{
	const struct argp argp = {
		.options = doctor_options,
		.parser = parse_doctor,
		.doc = "Tells what this machine can measure, what is missing, and the remedy.",
	};
	struct request request = { .options = { .qemu = TS_QEMU, .timeout = 60 } };
	struct findings *findings;
	struct problem p = { 0 };
	int result = EXIT_DONE;

	parse_options(&argp, argc, argv, &request);
	if (prepare(&request, &p))
		return report(&p);
	findings = findings_new(&request.options);
	/* A record is whole, whatever is printed. */
	findings_look(findings,
		      request.target && !request.record ? target_find(request.target) : NULL);
	if (!request.json)
		print_text(&request, findings);
	else if (print_json(&request, findings))
		result = EXIT_FAILED;
	if (!result && request.target) {
		struct verdict v = judge_target(target_find(request.target), findings);

		result = strcmp(runs_word(&v), "yes") ? EXIT_REFUSED : EXIT_DONE;
	}
	findings_free(findings);
	if (request.record && !request.json)
		printf("Recorded in %s\n", request.record);
	return result;
}
