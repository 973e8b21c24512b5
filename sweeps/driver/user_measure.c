// SPDX-License-Identifier: GPL-2.0
/*
 * Flush, then re-touch, timed from an ordinary process.
 *
 * In each round every condition of the cell has one turn: its pages are made ready, the working set
 * is touched until it is cached, the system call is made, and one pass over the set is timed. A
 * pass that got slower than behind the twin of the call shows what the flush has dropped. Why that
 * is valid:
 * - Twin and op enter the kernel by the same call, so that what the entry itself evicts cancels.
 * - Every load of a chase waits for the one before, so that a lost translation costs its whole
 *   latency.
 * - Conditions take turns within one process on one CPU over the same physical pages: levels differ
 *   by up to 1.8 times between processes, and they drift. The first turn moves on by one each
 *   round, so that none always follows the same time since the last tick.
 *
 * What can break it, and how it shows:
 * - The entry into the kernel drops user translations itself (PTI without PCID, and hypervisors
 *   that keep two page tables for a guest): control, selective and full are all slow, and what
 *   still differs between them is other work. The idle condition, no system call at all, tells:
 *   when the control has lost a third of what a full flush costs, the cell is no-contrast. So it is
 *   when the kernel says that it works this way.
 * - PTI with PCID but without INVPCID: the kernel turns a one-page flush into a full one:
 *   no-invpcid.
 * - A set beyond the TLB's capacity misses with or without a flush; a set that one entry maps (2M
 *   pages that the host did not fracture, 4K stride) loses one walk in all: no-contrast, both times
 *   rightly.
 * - A migration in the middle of a sample: seen, and the sample repeated; when it happens often,
 *   migrated.
 * - Another thread of the core (SMT) shares the TLB, and a busy host flushes it: noise, which
 *   shows in the interval.
 */
#include "user_measure.h"

#include "problem.h"
#include "user_window.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

const struct user_limits user_limits_standard = { .precision = 0.15, .seconds = 2.0 };

#define WARM_PASSES 3	  /* the second level of a TLB may be filled on the second miss only */
#define LEAST_ROUNDS 20	  /* below that a median says nothing, whatever the time limit */
#define MOST_ROUNDS 4096
#define RETRIES 3	  /* of a sample that was moved to another CPU */
#define LEAST_CONTRAST 0.25 /* of the control; real ones are 1 and more */
#define ENTRY_SHARE 0.35
#define MIGRATED_SHARE 0.05

struct condition {
	const struct ts_case *c;
	struct user_result *result;
	struct user_op op;
	u32 *cycles, *op_cycles; /* one for each round */
	int running;		 /* 0: refused */
};

struct cell {
	struct user *user;
	struct user_window window;
	struct condition *condition; /* the caller's cases and, last, the idle one */
	size_t conditions;
	size_t rounds, wanted, room;
	u64 migrated;
	struct ts_case idle_case;
	struct user_result idle_result;
};

void user_open(struct user *user)
{
	user->limits = user_limits_standard;
	user->group = NULL;
	user_system_look(&user->system);
	user_pin(&user->pin);
	user_trace_open(&user->trace);
}

void user_close(struct user *user)
{
	user_trace_close(&user->trace);
	user_unpin(&user->pin);
}

/* What this target cannot do, whatever the machine. */
static int check_case(const struct ts_case *c, struct user_refusal *refusal)
{
	if (!user_op_known(c->op))
		return user_refuse(refusal, "no-feature",
				   "op %s needs ring 0; remedy: mprotect, madvise or munmap",
				   ts_ops[c->op].name);
	if (c->phase != TS_RETOUCH)
		return user_refuse(refusal, "no-feature",
				   "phase %s needs ring 0; remedy: phase retouch",
				   ts_phase_names[c->phase]);
	if (ts_ops[c->op].addressed && c->at != TS_AT_MAPPED)
		return user_refuse(refusal, "no-feature",
				   "system calls flush pages of their own; remedy: at = mapped");
	if (c->global || c->pcid || c->frames != TS_CONTIGUOUS)
		return user_refuse(refusal, "no-feature",
				   "global, pcid and frames are the kernel's here; remedy: their "
				   "standard values");
	return 0;
}

/* --- Set-up ---------------------------------------------------------------------------------- */

/* Runs one operation under the tracepoint and records what it flushed. */
static void verify_flush(struct cell *cell, struct condition *condition)
{
	struct user_result *result = condition->result;
	struct user_flushes seen;
	struct ts_text text;

	ts_text_init(&text, result->flush_seen, sizeof(result->flush_seen));
	if (user_op_prepare(&condition->op) || user_op_run(&condition->op) ||
	    user_op_prepare(&condition->op) || user_trace_start(&cell->user->trace) ||
	    user_op_run(&condition->op) || user_trace_stop(&cell->user->trace, &seen)) {
		ts_put(&text, "unverified");
		return;
	}
	result->class = seen.class;
	if (seen.class == TS_CLASS_SELECTIVE) {
		ts_put(&text, "pages:");
		ts_put_number(&text, seen.pages);
	} else {
		ts_put(&text, seen.class == TS_CLASS_FULL ? "full" : "nothing");
	}
}

/* The class by table and ceiling, then by the tracepoint where it can be read. */
static void classify(struct cell *cell, struct condition *condition)
{
	const struct user_system *system = &cell->user->system;
	struct user_result *result = condition->result;
	const struct ts_case *c = condition->c;

	result->class = ts_ops[c->op].class;
	if (c->op == TS_OP_NONE)
		return;
	if (result->class == TS_CLASS_SELECTIVE && c->count > system->ceiling)
		result->class = TS_CLASS_FULL;
	strcpy(result->flush_seen, "unverified");
	if (cell->user->trace.fd >= 0)
		verify_flush(cell, condition);
	if (result->class == TS_CLASS_SELECTIVE && system->kernel == USER_KERNEL_FLUSHES_PCID) {
		result->class = TS_CLASS_FULL;
		result->reason = "no-invpcid";
	}
	if (ts_ops[c->op].class == TS_CLASS_NONE && result->class != TS_CLASS_NONE)
		result->reason = "control-none";
}

static void start_condition(struct cell *cell, struct condition *condition)
{
	struct user_result *result = condition->result;
	int error = user_op_create(&condition->op, condition->c);

	if (!error)
		error = user_op_prepare(&condition->op) ?: user_op_run(&condition->op);
	if (error) {
		user_refuse(&result->refusal, "no-feature",
			    "op %s: %s; remedy: allow the system call, or raise the memory limit",
			    ts_ops[condition->c->op].name, strerror(-error));
		return;
	}
	condition->running = 1;
	condition->cycles = xcalloc(cell->room, sizeof(u32));
	condition->op_cycles = xcalloc(cell->room, sizeof(u32));
	result->op_va = (u64)(unsigned long)condition->op.page;
	classify(cell, condition);
}

/* --- Rounds ---------------------------------------------------------------------------------- */

static u64 clock_now(void)
{
	u32 low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

static u32 narrow(u64 cycles)
{
	return cycles > 0xffffffff ? 0xffffffff : cycles;
}

/* One turn. Returns 0, 1 when it was moved to another CPU in between, or a negative errno. */
static int take_turn(struct cell *cell, struct condition *condition)
{
	u64 start, middle, cycles;
	int i, cpu, error = user_op_prepare(&condition->op);

	if (error)
		return error;
	for (i = 0; i < WARM_PASSES - 1; i++)
		user_window_pass(&cell->window);
	cpu = sched_getcpu();
	user_window_pass(&cell->window);
	start = clock_now();
	error = user_op_run(&condition->op);
	middle = clock_now();
	cycles = user_window_pass(&cell->window);
	if (error)
		return error;
	condition->op_cycles[cell->rounds] = narrow(middle - start);
	condition->cycles[cell->rounds] = narrow(cycles);
	return sched_getcpu() != cpu;
}

static int run_round(struct cell *cell)
{
	struct condition *condition;
	size_t i;
	int retry, result;

	for (i = 0; i < cell->conditions; i++) {
		condition = &cell->condition[(i + cell->rounds) % cell->conditions];
		if (!condition->running)
			continue;
		for (retry = 0, result = 1; result == 1 && retry < RETRIES; retry++)
			result = take_turn(cell, condition);
		if (result < 0)
			return result;
		cell->migrated += result;
	}
	cell->rounds++;
	return 0;
}

/* --- Counting -------------------------------------------------------------------------------- */

/* One turn, and what was counted from before the call to behind the pass added to sums. */
static int count_turn(struct cell *cell, struct condition *condition, u64 *sums)
{
	struct perf_group *group = cell->user->group;
	struct perf_counts before, after;
	u64 difference[MAX_EVENTS];
	int error = user_op_prepare(&condition->op), run_error;
	size_t i;

	for (i = 0; i < WARM_PASSES && !error; i++)
		user_window_pass(&cell->window);
	error = error ?: perf_group_read(group, &before);
	if (error)
		return error;
	run_error = user_op_run(&condition->op);
	user_window_pass(&cell->window);
	error = run_error ?: perf_group_read(group, &after) ?:
		perf_counts_between(&before, &after, group->events, difference);
	for (i = 0; i < group->events && !error; i++)
		sums[i] += difference[i];
	return error;
}

static int count_condition(struct cell *cell, struct condition *condition)
{
	u64 sums[MAX_EVENTS] = { 0 };
	int error = 0;
	size_t i;

	for (i = 0; i < cell->wanted && !error; i++)
		error = count_turn(cell, condition, sums);
	for (i = 0; i < cell->user->group->events && !error; i++)
		condition->result->counts[i] = (double)sums[i] / cell->wanted;
	return error;
}

/*
 * Events are counted in turns of their own, behind the timed ones, which the system calls that read the
 * counters would disturb. The call itself runs in the kernel and is not in the counts of PMU events
 * (exclude_kernel): they are the touches', and those of the few instructions around.
 */
static int count_events(struct cell *cell)
{
	size_t i;

	for (i = 0; i < cell->conditions && cell->user->group; i++) {
		struct condition *condition = &cell->condition[i];

		if (interrupted)
			return -EINTR;
		if (!condition->running)
			continue;
		condition->result->count_error = count_condition(cell, condition);
		condition->result->has_counts = !condition->result->count_error;
	}
	return 0;
}

/* --- Judging --------------------------------------------------------------------------------- */

/*
 * The running condition of a class and (op < TS_OPS) an op with the fewest pages; 0 if there is
 * none.
 */
static struct condition *fewest(struct cell *cell, u64 op, enum ts_class class)
{
	struct condition *best = NULL, *condition;
	size_t i;

	for (i = 0; i < cell->conditions; i++) {
		condition = &cell->condition[i];
		if (!condition->running || condition->result->class != class ||
		    condition->c->op == TS_OP_NONE || (op < TS_OPS && condition->c->op != op))
			continue;
		if (!best || condition->c->count < best->c->count)
			best = condition;
	}
	return best;
}

/* The op that a twin belongs to, or the op itself. */
static u64 family(u64 op)
{
	return ts_ops[op].class == TS_CLASS_NONE && op != TS_OP_NONE ? op - 1 : op;
}

static struct condition *idle(struct cell *cell)
{
	return &cell->condition[cell->conditions - 1];
}

static double median_of(const u32 *samples, size_t n)
{
	u32 *copy = xcalloc(n, sizeof(*copy)), median;

	memcpy(copy, samples, n * sizeof(*copy));
	median = statistics_median_u32(copy, n);
	free(copy);
	return median;
}

static int has_contrast(struct cell *cell, const struct condition *none,
			const struct condition *full, const struct interval *contrast)
{
	double x_none = median_of(none->cycles, cell->rounds);
	double x_full = median_of(full->cycles, cell->rounds);
	double x_idle = median_of(idle(cell)->cycles, cell->rounds);

	/* Known by the kernel's flags, whatever the medians happen to be. */
	if (cell->user->system.kernel == USER_KERNEL_ENTRY_FLUSHES)
		return 0;
	return contrast->low > 0 && contrast->value >= LEAST_CONTRAST * x_none &&
	       x_none - x_idle <= ENTRY_SHARE * (x_full - x_idle);
}

/* F of one condition and what it is worth; nothing for a reference, or when one is lacking. */
static void judge_f(struct cell *cell, struct condition *condition)
{
	u64 op = family(condition->c->op);
	struct condition *none = fewest(cell, user_op_twin(op), TS_CLASS_NONE);
	struct condition *full = fewest(cell, op, TS_CLASS_FULL);
	struct user_result *result = condition->result;
	struct interval contrast;

	none = none ?: idle(cell);
	full = full ?: fewest(cell, TS_OPS, TS_CLASS_FULL);
	if (result->reason || !full || condition == none || condition == full)
		return;
	fracture_interval(&(struct rounds){ condition->cycles, none->cycles, full->cycles,
					    cell->rounds },
			  condition->c->seed, &result->f, &contrast);
	result->has_f = !isnan(result->f.value) && has_contrast(cell, none, full, &contrast);
	if (!result->has_f)
		result->reason = "no-contrast";
	else if (result->f.high - result->f.low > cell->user->limits.precision)
		result->reason = "unstable";
}

static void clear_verdicts(struct cell *cell)
{
	struct user_result *result;
	size_t i;

	for (i = 0; i < cell->conditions; i++) {
		result = cell->condition[i].result;
		result->has_f = 0;
		if (result->reason && (!strcmp(result->reason, "no-contrast") ||
				       !strcmp(result->reason, "unstable")))
			result->reason = NULL;
	}
}

/* Fills in every F; 1 when all that have one are narrow enough, or more rounds would not help. */
static int judge(struct cell *cell)
{
	struct condition *condition;
	size_t i;
	int enough = 1;

	clear_verdicts(cell);
	for (i = 0; i < cell->conditions; i++) {
		condition = &cell->condition[i];
		if (!condition->running || condition->c->op == TS_OP_NONE)
			continue;
		judge_f(cell, condition);
		if (condition->result->reason && !strcmp(condition->result->reason, "unstable"))
			enough = 0;
	}
	return enough;
}

/*
 * Rounds until the intervals are narrow enough or the time is over. They are looked at after the
 * number of rounds that the case asks for, and then each time half as many have been added.
 */
static int run_rounds(struct cell *cell)
{
	double end = now_seconds() + cell->user->limits.seconds;
	size_t look = cell->wanted;
	int error;

	for (;;) {
		if (interrupted)
			return -EINTR;
		error = run_round(cell);
		if (error)
			return error;
		if (cell->rounds >= look) {
			if (judge(cell) || cell->rounds == cell->room)
				return 0;
			look = look + look / 2 < cell->room ? look + look / 2 : cell->room;
		}
		if (cell->rounds >= LEAST_ROUNDS && now_seconds() > end) {
			judge(cell);
			return 0;
		}
	}
}

/* --- The cell -------------------------------------------------------------------------------- */

static void finish(struct cell *cell)
{
	int changed = user_window_verify(&cell->window);
	int migrated = cell->migrated > MIGRATED_SHARE * cell->rounds * cell->conditions;
	struct user_result *result;
	size_t i;

	for (i = 0; i < cell->conditions; i++) {
		struct condition *condition = &cell->condition[i];

		if (!condition->running)
			continue;
		result = condition->result;
		result->rounds = cell->rounds;
		result->cycles = median_of(condition->cycles, cell->rounds);
		if (condition->c->op != TS_OP_NONE)
			result->op_cycles = median_of(condition->op_cycles, cell->rounds);
		memcpy(result->guest_how, cell->window.how, sizeof(result->guest_how));
		if (changed)
			result->reason = "guest-page";
		else if (migrated)
			result->reason = "migrated";
	}
}

/* Every case gets the same refusal: the window cannot be had, or a system call stopped working. */
static void refuse_all(struct user_result *result, size_t count,
		       const struct user_refusal *refusal)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!result[i].refusal.reason)
			result[i].refusal = *refusal;
}

static void set_up(struct cell *cell, const struct ts_case *cases, size_t count,
		   struct user_result *result)
{
	size_t i;

	cell->idle_case = cases[0];
	cell->idle_case.op = TS_OP_NONE;
	cell->conditions = count + 1;
	cell->condition = xcalloc(cell->conditions, sizeof(*cell->condition));
	cell->wanted = cases[0].iterations > LEAST_ROUNDS ? cases[0].iterations : LEAST_ROUNDS;
	cell->room = cell->wanted > MOST_ROUNDS ? cell->wanted : MOST_ROUNDS;
	for (i = 0; i < cell->conditions; i++) {
		cell->condition[i].c = i < count ? &cases[i] : &cell->idle_case;
		cell->condition[i].result = i < count ? &result[i] : &cell->idle_result;
		if (!cell->condition[i].result->refusal.reason)
			start_condition(cell, &cell->condition[i]);
	}
}

static void tear_down(struct cell *cell)
{
	size_t i;

	for (i = 0; i < cell->conditions; i++) {
		user_op_destroy(&cell->condition[i].op);
		free(cell->condition[i].cycles);
		free(cell->condition[i].op_cycles);
	}
	free(cell->condition);
	user_window_unmap(&cell->window);
}

int user_measure(struct user *user, const struct ts_case *cases, size_t count,
		 struct user_result *result)
{
	struct cell cell = { .user = user };
	struct user_refusal refusal = { 0 };
	size_t i, refused = 0;
	int error;

	memset(result, 0, count * sizeof(*result));
	for (i = 0; i < count; i++)
		refused += !!check_case(&cases[i], &result[i].refusal);
	if (refused == count)
		return 0;
	if (user_window_map(&cell.window, &cases[0], &refusal)) {
		refuse_all(result, count, &refusal);
		return 0;
	}
	set_up(&cell, cases, count, result);
	error = run_rounds(&cell) ?: count_events(&cell);
	if (!error) {
		finish(&cell);
	} else if (error != -EINTR) {
		user_refuse(&refusal, "no-feature", "a system call stopped working: %s",
			    strerror(-error));
		refuse_all(result, count, &refusal);
	}
	tear_down(&cell);
	return error == -EINTR ? error : 0;
}
