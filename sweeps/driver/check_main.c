// SPDX-License-Identifier: GPL-2.0
/*
 * tlbscope-check: the user target in one file without dependencies, for machines where nothing can
 * be installed.
 *
 * Measures three windows (4K pages; 2M pages, all lines in one of them; 2M pages, one line in
 * each), prints one line, and says the same by its exit code, so that a fleet can be asked: 0
 * intact, 3 fractured, 4 undecided, 5 cannot run here, 2 wrong usage, 130 interrupted.
 */
#include "problem.h"
#include "user_host.h"
#include "util.h"
#include "verdict.h"
#include "version.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL, ONE, MANY, CELLS };
static const struct {
	const char *name, *what, *window;
} cells[CELLS] = {
	{ "4k", "4K pages", "guest=4k leaves=256" },
	{ "2m-one", "one 2M page", "guest=2m leaves=1 touches=256 stride=4k" },
	{ "2m-many", "many 2M pages", "guest=2m" },
};

enum { CONTROL, SELECTIVE, FULL, CONDITIONS };
static const char *const conditions[CONDITIONS] = {
	"op=mprotect-twin count=1", "op=mprotect count=1", "op=mprotect count=64",
};
static const char *const condition_names[CONDITIONS] = { "control", "selective", "full" };

struct report {
	struct user_result cell[CELLS][CONDITIONS];
	struct user_host host;
	enum verdict verdict;
	const char *because; /* of undecided */
};

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
}

/* 256 pages of 2M are half a gigabyte; a small machine gets fewer, down to 16. */
static int many_leaves(void)
{
	int leaves = 256;

	while (leaves > 16 && (u64)leaves << ts_page_shift(TS_2M) > user_memory_available() / 2)
		leaves /= 2;
	return leaves;
}

static void make_cases(size_t cell, struct ts_case *cases)
{
	struct ts_error error;
	char line[160], leaves[32] = "";
	int i;

	if (cell == MANY)
		snprintf(leaves, sizeof(leaves), " leaves=%d", many_leaves());
	for (i = 0; i < CONDITIONS; i++) {
		snprintf(line, sizeof(line), "phase=retouch at=mapped iterations=200 %s%s %s",
			 cells[cell].window, leaves, conditions[i]);
		if (ts_case_parse(line, &cases[i], &error))
			abort(); /* the tables above are wrong */
	}
}

static const char *reason(const struct user_result *result)
{
	return result->refusal.reason ?: result->reason;
}

static const struct interval *valid_f(const struct user_result *result)
{
	return result->has_f && !reason(result) ? &result->f : NULL;
}

/*
 * The window with many 2M pages decides: it loses 256 translations whatever the host's pages are.
 * The one with a single 2M page loses one if the host has a 2M page behind it, which cannot be seen
 * (no-contrast, and expected then); if it can be seen it must not contradict.
 */
static void judge(const struct user *user, struct report *report)
{
	const struct interval *small = valid_f(&report->cell[SMALL][SELECTIVE]);
	const struct interval *one = valid_f(&report->cell[ONE][SELECTIVE]);
	const struct interval *many = valid_f(&report->cell[MANY][SELECTIVE]);

	report->verdict = verdict_of(small, many);
	if (user->system.emulated)
		report->because = "emulated-cpu";
	else if (one && verdict_level(one) >= 0 && verdict_level(one) == !verdict_level(many))
		report->because = "contradiction";
	else if (report->cell[SMALL][SELECTIVE].class == TS_CLASS_FULL)
		report->because = reason(&report->cell[SMALL][SELECTIVE]) ?: "no-selective";
	else if (report->verdict == VERDICT_UNDECIDED)
		report->because = reason(&report->cell[SMALL][SELECTIVE]) ?:
				  reason(&report->cell[MANY][SELECTIVE]) ?: "between-the-bounds";
	if (report->because)
		report->verdict = VERDICT_UNDECIDED;
}

/* What a reason means to someone who does not know the words. */
static const char *explain(const struct user *user, const struct report *report)
{
	static const struct {
		const char *reason, *text;
	} texts[] = {
		{ "no-contrast",
		  "a full flush costs hardly more than a system call that flushes nothing" },
		{ "unstable",
		  "the timing varies too much; remedy: a larger --seconds, or a quieter machine" },
		{ "migrated",
		  "the process is moved between CPUs; remedy: run it under taskset" },
		{ "guest-page",
		  "the kernel changed the page sizes while measuring; remedy: run it again" },
		{ "no-invpcid",
		  "this kernel turns every one-page flush into a full one (PTI without INVPCID)" },
		{ "no-selective",
		  "this kernel flushes everything for a single page; remedy (root): echo 33 > "
		  "/sys/kernel/debug/x86/tlb_single_page_flush_ceiling" },
		{ "emulated-cpu", "QEMU's software CPU has no TLB of hardware" },
		{ "contradiction", "one 2M page and many of them gave opposite answers" },
		{ "between-the-bounds",
		  "the selective flush cost neither nothing nor what a full one costs" },
	};
	size_t i;

	for (i = 0; i < CELLS; i++)
		if (report->cell[i][SELECTIVE].refusal.reason == report->because)
			return report->cell[i][SELECTIVE].refusal.text;
	if (!strcmp(report->because, "no-contrast") &&
	    user->system.kernel == USER_KERNEL_ENTRY_FLUSHES)
		return "every system call empties the TLB here (PTI without PCID)";
	for (i = 0; i < TS_COUNT(texts); i++)
		if (!strcmp(texts[i].reason, report->because))
			return texts[i].text;
	return report->because;
}

static void print_text(const struct user *user, const struct report *report)
{
	size_t i;

	printf("%s: ", verdict_name(report->verdict));
	if (report->because)
		printf("%s; ", explain(user, report));
	else
		printf("%s ", verdict_sentence(report->verdict));
	printf("F");
	for (i = 0; i < CELLS; i++) {
		const struct user_result *result = &report->cell[i][SELECTIVE];

		printf("%s %s ", i ? "," : "", cells[i].what);
		if (valid_f(result))
			printf("%.2f [%.2f, %.2f]", result->f.value, result->f.low, result->f.high);
		else
			printf("not known (%s)", reason(result) ?: "not measured");
	}
	printf("; host page %s", report->host.host);
	if (report->host.regions)
		printf(" (%.0f%% of %llu regions act like 4K, %.0f%% like 2M)",
		       100 * report->host.share_4k, report->host.regions,
		       100 * report->host.share_2m);
	printf("\n");
}

/*
 * Everything printed comes from this program but for the CPU's name: no quote or control character
 * in JSON.
 */
static void print_json_text(const char *key, const char *text, const char *end)
{
	printf("\"%s\": \"", key);
	for (; *text; text++)
		putchar(*text < ' ' || *text == '"' || *text == '\\' ? ' ' : *text);
	printf("\"%s", end);
}

static void print_json_cell(const char *name, const struct user_result *result)
{
	const struct user_result *selective = &result[SELECTIVE];
	int i;

	printf("{");
	print_json_text("window", name, ", ");
	print_json_text("valid", reason(selective) ?: "ok", "");
	if (!selective->refusal.reason) {
		printf(", ");
		print_json_text("pages", selective->guest_how, ", ");
		print_json_text("flush", selective->flush_seen, ", ");
		printf("\"rounds\": %llu", selective->rounds);
		for (i = 0; i < CONDITIONS; i++)
			printf(", \"%s\": %.0f", condition_names[i], result[i].cycles);
		if (selective->has_f)
			printf(", \"f\": %.4f, \"f_low\": %.4f, \"f_high\": %.4f",
			       selective->f.value, selective->f.low, selective->f.high);
	}
	printf("}");
}

static void print_json(const struct user *user, const struct report *report)
{
	const struct user_host *host = &report->host;
	size_t i;

	printf("{");
	print_json_text("version", TS_VERSION, ", ");
	print_json_text("cpu", user->system.cpu, ", ");
	print_json_text("verdict", verdict_name(report->verdict), ", ");
	print_json_text("sentence", report->because ? explain(user, report) :
						      verdict_sentence(report->verdict), ", ");
	if (report->because)
		print_json_text("reason", report->because, ", ");
	printf("\"cells\": [");
	for (i = 0; i < CELLS; i++) {
		printf("%s", i ? ", " : "");
		print_json_cell(cells[i].name, report->cell[i]);
	}
	printf("], \"host\": {");
	print_json_text("page", host->host, ", ");
	print_json_text("why", host->why, ", ");
	printf("\"regions\": %llu, \"share_4k\": %.3f, \"share_2m\": %.3f, \"share_middle\": %.3f, "
	       "\"packed\": %.2f, \"small\": %.2f, \"large\": %.2f}}\n",
	       host->regions, host->share_4k, host->share_2m, host->share_middle, host->packed,
	       host->small, host->large);
}

static int exit_code(const struct report *report)
{
	switch (report->verdict) {
	case VERDICT_INTACT:
		return EXIT_DONE;
	case VERDICT_LARGE_ONLY:
	case VERDICT_WHOLE:
		return EXIT_FRACTURED;
	default:
		break;
	}
	/* Without 4K or without 2M pages there was nothing to decide on. */
	if (report->cell[SMALL][SELECTIVE].refusal.reason ||
	    report->cell[MANY][SELECTIVE].refusal.reason)
		return EXIT_REFUSED;
	return EXIT_UNDECIDED;
}

static int usage(FILE *out, int code)
{
	fprintf(out,
		"Usage: tlbscope-check [--json] [--seconds N] [--help] [--version]\n"
		"Does flushing one page cost other pages their cached translations here?\n\n"
		"  --json        one JSON object instead of one line\n"
		"  --seconds N   at most N seconds for each of three windows (0.1 to 3600;\n"
		"                default %.0f)\n"
		"  --help        this text\n"
		"  --version     the version\n\n"
		"Exit status: 0 intact, 3 fractured, 4 undecided, 5 cannot run here, 2 wrong\n"
		"usage, 130 interrupted. Needs no privileges; as root it can also verify what was\n"
		"flushed.\n",
		user_limits_standard.seconds);
	return code;
}

/* -1: go on; else the exit code. */
static int parse(int argc, char **argv, int *json, double *seconds)
{
	static const struct option options[] = {
		{ "json", no_argument, 0, 'j' },
		{ "seconds", required_argument, 0, 's' },
		{ "help", no_argument, 0, 'h' },
		{ "version", no_argument, 0, 'v' },
		{ 0 }
	};
	char *end;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			*json = 1;
			break;
		case 's':
			*seconds = strtod(optarg, &end);
			if (end == optarg || *end || !(*seconds >= 0.1 && *seconds <= 3600)) {
				fprintf(stderr,
					"tlbscope-check: --seconds %s: a number from 0.1 to 3600 "
					"is wanted\n",
					optarg);
				return EXIT_INPUT;
			}
			break;
		case 'h':
			return usage(stdout, EXIT_DONE);
		case 'v':
			puts("tlbscope-check " TS_VERSION);
			return EXIT_DONE;
		default:
			return usage(stderr, EXIT_INPUT);
		}
	}
	return optind < argc ? usage(stderr, EXIT_INPUT) : -1;
}

static int measure(struct user *user, struct report *report)
{
	struct ts_case cases[CONDITIONS];
	size_t i;

	user_host_look(user, &report->host);
	for (i = 0; i < CELLS; i++) {
		make_cases(i, cases);
		if (interrupted || user_measure(user, cases, CONDITIONS, report->cell[i]))
			return -EINTR;
	}
	judge(user, report);
	return 0;
}

int main(int argc, char **argv)
{
	struct report report = { .verdict = VERDICT_UNDECIDED };
	double seconds = user_limits_standard.seconds;
	struct user user;
	int json = 0, code = parse(argc, argv, &json, &seconds);

	if (code >= 0)
		return code;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	user_open(&user);
	user.limits.seconds = seconds;
	code = measure(&user, &report);
	user_close(&user);
	if (code)
		return EXIT_INTERRUPTED;
	(json ? print_json : print_text)(&user, &report);
	return exit_code(&report);
}
