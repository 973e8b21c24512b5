// SPDX-License-Identifier: GPL-2.0
/*
 * Target user: an ordinary process on the CPU at hand, where the kernel's own flushes are the ops
 * and time is the measure. Needs no privileges, no second machine and no counters, and sees what
 * the user's own programs see.
 *
 * user_ops.c says which system calls flush and why, user_measure.c why the timing is valid and what
 * can break it, user_host.c how the host's page size is inferred. This file fits them to the
 * driver.
 */
#include "target.h"

#include "counter_check.h"
#include "counting_perf.h"
#include "host_state.h"
#include "user_host.h"
#include "util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * guest_how      how the window's pages were had: 4k thp collapse hugetlb; "thp>mixed" if smaps
 *                said so afterwards
 * flush_seen     what the tracepoint tlb:tlb_flush saw of one call: pages:N full nothing;
 *                unverified without it
 * op_cycles      of the system call, median
 * f f_low f_high fracture index with its 95 % interval; empty for the references that it is made of
 * rounds         that the medians are over (iterations is the least number)
 * host_4k_share  of this process' 2M pages, how many act like 4K ones
 */
enum { GUEST_HOW, FLUSH_SEEN, OP_CYCLES, F, F_LOW, F_HIGH, ROUNDS, HOST_4K_SHARE, EXTRAS };
static const char *const extra_names[EXTRAS + 1] = {
	[GUEST_HOW] = "guest_how", [FLUSH_SEEN] = "flush_seen", [OP_CYCLES] = "op_cycles",
	[F] = "f", [F_LOW] = "f_low", [F_HIGH] = "f_high", [ROUNDS] = "rounds",
	[HOST_4K_SHARE] = "host_4k_share",
};

struct state {
	struct user user;
	struct user_host host;
	struct ts_case *cases; /* of the cell measured last */
	struct user_result *results;
	size_t count;
	char text[EXTRAS][32]; /* of the row handed out last */
	const char *extra[EXTRAS];
};

static void log_line(const struct target *target, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void log_line(const struct target *target, const char *format, ...)
{
	va_list args;

	fputs("driver: user: ", target->log);
	va_start(args, format);
	vfprintf(target->log, format, args);
	va_end(args);
	fputc('\n', target->log);
	fflush(target->log);
}

static void log_system(const struct target *target, const struct state *state)
{
	const struct user *user = &state->user;

	if (user->pin.cpu >= 0)
		log_line(target, "pinned to CPU %d", user->pin.cpu);
	else
		log_line(target, "cannot be pinned to a CPU: %s; migrations are watched for",
			 strerror(user->pin.error));
	log_line(target, "tlb_single_page_flush_ceiling %llu (%s)", user->system.ceiling,
		 user->system.ceiling_read ? "read" : "assumed; root can read it");
	log_line(target, "tracepoint tlb:tlb_flush %s", user->trace.fd >= 0 ? "is read" :
		 "cannot be read, rows say unverified; remedy: run as root with tracefs mounted");
	if (user->system.kernel == USER_KERNEL_ENTRY_FLUSHES)
		log_line(target,
			 "the kernel uses PTI without PCID: every system call empties the TLB, so "
			 "that rows will say no-contrast");
	if (user->system.kernel == USER_KERNEL_FLUSHES_PCID)
		log_line(target,
			 "the kernel uses PTI and PCID without INVPCID: it turns every one-page "
			 "flush into a full one");
	log_line(target, "host page %s: %s", state->host.host, state->host.why);
}

/* Pinned first, so that a hybrid CPU's group is on the kind of core that it is meant for. */
static int open_counters(struct target *target, struct state *state)
{
	struct counting *counting = target->counting;
	int result;

	if (counting->source == COUNT_NONE)
		return 0;
	counting_open(counting, &perf_system, 0, PERF_USER);
	result = counter_check(counting, check_process, counting);
	state->user.group = counting->group.events ? &counting->group : NULL;
	return result;
}

static int user_target_open(struct target *target, struct problem *p)
{
	struct state *state = xcalloc(1, sizeof(*state));

	(void)p;
	host_state_recover();
	target->state = state;
	user_open(&state->user);
	user_host_look(&state->user, &state->host);
	target->cpu = xstrdup(state->user.system.cpu);
	target->accel = state->user.system.hypervisor ? "vm" : "native";
	target->features = TS_SYSCALLS | (state->user.system.gigabyte_pages ? TS_GB_PAGES : 0);
	log_system(target, state);
	return open_counters(target, state);
}

/* Each refusal stands in the log once, for the first case that it met. */
static void log_refusals(const struct target *target, const struct state *state)
{
	const char *text;
	size_t i;

	for (i = 0; i < state->count; i++) {
		text = state->results[i].refusal.text;
		if (state->results[i].refusal.reason &&
		    (!i || strcmp(text, state->results[i - 1].refusal.text)))
			log_line(target, "%s: %s", state->results[i].refusal.reason, text);
	}
}

static int user_target_begin_cell(struct target *target, const struct ts_case *cases,
				  size_t count, struct problem *p)
{
	struct state *state = target->state;
	int result;

	(void)p;
	free(state->cases);
	free(state->results);
	state->cases = xcalloc(count, sizeof(*cases));
	state->results = xcalloc(count, sizeof(*state->results));
	state->count = count;
	memcpy(state->cases, cases, count * sizeof(*cases));
	result = user_measure(&state->user, cases, count, state->results);
	if (result)
		state->count = 0; /* interrupted: nothing to hand out */
	log_refusals(target, state);
	return result;
}

static const struct user_result *find_result(const struct state *state, const struct ts_case *c)
{
	size_t i;

	for (i = 0; i < state->count; i++)
		if (!memcmp(&state->cases[i], c, sizeof(*c)))
			return &state->results[i];
	return NULL;
}

static void set_text(struct state *state, int column, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void set_text(struct state *state, int column, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(state->text[column], sizeof(state->text[column]), format, args);
	va_end(args);
}

static void fill_extras(struct state *state, const struct user_result *result, struct row *row)
{
	size_t i;

	memset(state->text, 0, sizeof(state->text));
	if (!result->refusal.reason) {
		set_text(state, GUEST_HOW, "%s", result->guest_how);
		set_text(state, FLUSH_SEEN, "%s", result->flush_seen);
		set_text(state, ROUNDS, "%llu", result->rounds);
	}
	if (result->op_cycles)
		set_text(state, OP_CYCLES, "%.0f", result->op_cycles);
	if (result->has_f) {
		set_text(state, F, "%.4f", result->f.value);
		set_text(state, F_LOW, "%.4f", result->f.low);
		set_text(state, F_HIGH, "%.4f", result->f.high);
	}
	if (state->host.regions)
		set_text(state, HOST_4K_SHARE, "%.3f", state->host.share_4k);
	for (i = 0; i < EXTRAS; i++)
		state->extra[i] = state->text[i];
	row->extra = state->extra;
}

static int user_target_measure(struct target *target, const struct ts_case *c, struct row *row,
			       struct problem *p)
{
	struct state *state = target->state;
	const struct user_result *result = find_result(state, c);
	int error;

	if (!result) {
		error = user_target_begin_cell(target, c, 1, p);
		if (error)
			return error;
		result = &state->results[0];
	}
	row->c = *c;
	row->host = state->host.host;
	row->host_how = strcmp(row->host, "none") ? "inferred" : "";
	fill_extras(state, result, row);
	if (result->refusal.reason) {
		row_reason(row, result->refusal.reason);
		problem(p, EXIT_FAILED, "%s", result->refusal.text);
		return -ENOTSUP;
	}
	row->class = result->class;
	row->op_va = result->op_va;
	row->r.has_cycles = 1;
	row->r.cycles = result->cycles;
	if (result->has_counts)
		counting_set(target->counting, result->counts, 1);
	else if (result->count_error)
		row_reason(row, perf_reason(result->count_error));
	if (result->reason)
		row_reason(row, result->reason);
	if (row_has_reason(row, "no-contrast") &&
	    state->user.system.kernel == USER_KERNEL_ENTRY_FLUSHES)
		row_reason(row, "syscall-flush"); /* why: it is no noise */
	if (state->user.system.emulated)
		row_reason(row, "emulated-cpu");
	return 0;
}

static int user_target_close(struct target *target, struct problem *p)
{
	struct state *state = target->state;

	(void)p;
	user_close(&state->user);
	counting_close(target->counting);
	host_state_restore();
	free(state->cases);
	free(state->results);
	free(state);
	free(target->cpu);
	target->cpu = NULL;
	target->state = NULL;
	return 0;
}

static json_t *describe_host(const struct user_host *host)
{
	json_t *object = json_pack("{s:s, s:s, s:I}", "page", host->host, "why", host->why,
				   "regions", (json_int_t)host->regions);

	if (host->regions)
		json_object_update_new(
			object,
			json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "share_4k", host->share_4k,
				  "share_2m", host->share_2m, "share_middle", host->share_middle,
				  "cycles_packed", host->packed, "cycles_4k_pages", host->small,
				  "cycles_2m_pages", host->large));
	return object;
}

static void user_target_describe(const struct target *target, json_t *run)
{
	static const char *const kernels[] = {
		[USER_KERNEL_FINE] = "as asked for",
		[USER_KERNEL_ENTRY_FLUSHES] = "everything at each system call (PTI without PCID)",
		[USER_KERNEL_FLUSHES_PCID] = "everything for each page (PTI without INVPCID)",
	};
	const struct state *state = target->state;
	const struct user_system *system = &state->user.system;

	json_object_set_new(
		run, "user",
		json_pack("{s:b, s:b, s:s, s:I, s:s, s:s, s:b, s:i, s:b, s:o}", "hypervisor",
			  system->hypervisor, "emulated", system->emulated, "kernel_flushes",
			  kernels[system->kernel], "ceiling", (json_int_t)system->ceiling,
			  "ceiling_how", system->ceiling_read ? "read" : "assumed", "thp",
			  system->thp, "thp_disabled_by_prctl", system->thp_disabled, "pinned_cpu",
			  state->user.pin.cpu, "tracepoint", state->user.trace.fd >= 0,
			  "host_check", describe_host(&state->host)));
}

static const char *const user_probes[] = { 0 };

static const char *const user_prefer[] = { "syscall-flush", 0 };

const struct target_ops target_user = {
	.name = "user",
	.claims = "cycles of this machine's CPU, as an ordinary process sees it",
	.cannot = "no choice of host pages: without counters a lost translation shows only as time, "
		  "and what backs this machine's memory is inferred from time as well",
	.probes = user_probes,
	.prefer = user_prefer,
	.phases = 1 << TS_RETOUCH,
	.counters = 1u << COUNT_PROCESS,
	.counts_unasked = 1,
	.extra = extra_names,
	.open = user_target_open,
	.begin_cell = user_target_begin_cell,
	.measure = user_target_measure,
	.close = user_target_close,
	.describe = user_target_describe,
};
