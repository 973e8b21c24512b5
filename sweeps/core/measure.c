// SPDX-License-Identifier: GPL-2.0
/*
 * The asm executor.
 *
 * Refill, the measure without a PMU: the walker sets the accessed bit of a leaf when it fetches it (SDM
 * vol. 3, 4.8); a TLB hit does not. So after touching the set (all leaves cached), clearing the bits by
 * plain stores (no flush: what is cached stays usable) and running the op, one more touch sets
 * exactly the bits of the leaves that the op dropped.
 *
 * What can break it, and what is done about it:
 * - a timer tick in an outer hypervisor flushes everything: the median over iterations, never a mean;
 * - for a large leaf 1 means at least one piece lost: a 2m window has 16 leaves or more, one touch each;
 * - an entry dropped from the L1 only is refilled by the STLB and does not show: refills count walks;
 * - speculation may walk early, but it can only set bits of leaves that had been lost already, and
 *   nothing around the window is present;
 * - setting the bit is a microcode assist on Intel CPUs: cycles of a refill pass are not reported.
 */
#include "measure.h"
#include "passes.h"
#include "stats.h"

/* The last 8 bytes of the first 4K piece: beside chain pointer and written word of line 63. */
#define MARKER_OFFSET 4088
#define MARKER_OLD 0x746c6273636f6c64ULL
#define MARKER_NEW 0x746c62736e657721ULL

static struct ts_pass pass_of(const struct ts_expansion *e, const struct ts_cpu *cpu,
			      struct ts_scratch *scratch)
{
	struct ts_pass pass = {
		.op_va = e->op_va,
		.op_stride = e->op_stride,
		.op_count = e->op_count,
		.cr3 = cpu->cr3,
		.cr4 = cpu->cr4,
		.scratch = scratch,
		.touch = e->c.order == TS_CHASE ? e->touch[0] : (u64)(unsigned long)e->touch,
		.touches = e->touches,
	};

	scratch->pcid = cpu->pcid;
	scratch->va = 0;
	scratch->counters = 0;
	return pass;
}

static u64 read_word(u64 va)
{
	return *(volatile u64 *)(unsigned long)va;
}

/* Drops everything by the strongest means that this CPU has, with the ops themselves. */
static void flush_all(const struct ts_pass *pass, u64 va)
{
	struct ts_pass flush = *pass;

	flush.iterations = 1;
	flush.op_va = va;
	flush.op_count = 1;
	ts_pass_op(TS_OP_CR3)(&flush);
	ts_pass_op(TS_OP_INVLPG)(&flush);
	if (pass->cr4 & 1ULL << 7)
		ts_pass_op(TS_OP_PGE)(&flush);
}

enum ts_twin ts_twin(const struct ts_window *window, const struct ts_cpu *cpu)
{
	const struct ts_expansion *e = window->e;
	volatile u64 *entry = window->leaf[0][0];
	u64 va = e->set[0].va, marker = va + MARKER_OFFSET, seen;
	u64 old = *entry;
	struct ts_scratch scratch;
	struct ts_pass pass = pass_of(e, cpu, &scratch);

	if (!window->twin_entry)
		return TS_TWIN_UNKNOWN;
	*entry = window->twin_entry;
	flush_all(&pass, va);
	*(volatile u64 *)(unsigned long)marker = MARKER_NEW;
	*entry = old;
	flush_all(&pass, va);
	*(volatile u64 *)(unsigned long)marker = MARKER_OLD; /* leaf 0 is cached with the old frame */
	*entry = window->twin_entry;
	pass.op_va = va;
	pass.op_count = 1;
	pass.iterations = 1;
	ts_pass_op(e->c.op)(&pass);
	seen = read_word(marker);
	*entry = old;
	flush_all(&pass, va);
	return seen == MARKER_NEW ? TS_TWIN_NEW : TS_TWIN_STALE;
}

/* Touches everything that has to be cached before the op: the mapped pages, then the set, twice. */
static void warm_up(const struct ts_expansion *e, const struct ts_pass *pass)
{
	ts_pass_fn *touch = ts_pass_retouch(TS_OP_NONE, e->c.order, e->c.access);
	u64 i;

	for (i = 0; i < e->mapped; i++)
		read_word(e->mapped_va + i * 4096);
	touch(pass);
	touch(pass);
}

static void pause_between(const struct ts_cpu *cpu)
{
	if (cpu->pause)
		cpu->pause(cpu->context);
}

static void refill(const struct ts_window *window, const struct ts_cpu *cpu,
		   const struct ts_pass *pass, u32 *samples, struct ts_result *result)
{
	const struct ts_expansion *e = window->e;
	ts_pass_fn *measured = ts_pass_retouch(e->c.op, e->c.order, e->c.access);
	u32 *second = samples + TS_MAX_SAMPLES;
	u64 i;

	for (i = 0; i < e->c.iterations; i++) {
		pause_between(cpu);
		warm_up(e, pass);
		ts_accessed_clear(window->leaf[0], e->set[0].leaves);
		ts_accessed_clear(window->leaf[1], e->set[1].leaves);
		measured(pass);
		samples[i] = ts_accessed_count(window->leaf[0], e->set[0].leaves);
		second[i] = ts_accessed_count(window->leaf[1], e->set[1].leaves);
	}
	result->has_refills = 1;
	result->has_mix = e->set[1].leaves > 0;
}

static void retouch(const struct ts_window *window, const struct ts_cpu *cpu,
		    const struct ts_pass *pass, u32 *samples, struct ts_result *result)
{
	const struct ts_expansion *e = window->e;
	ts_pass_fn *measured = ts_pass_retouch(e->c.op, e->c.order, e->c.access);
	u64 i, cycles;

	for (i = 0; i < e->c.iterations; i++) {
		pause_between(cpu);
		warm_up(e, pass);
		cycles = measured(pass);
		samples[i] = cycles > 0xffffffff ? 0xffffffff : cycles;
	}
	result->has_cycles = 1;
}

/* The loops of 2016: one reading of clock and counters around all iterations of a chunk. */
static void loop(const struct ts_window *window, const struct ts_cpu *cpu, struct ts_pass *pass,
		 struct ts_result *result)
{
	const struct ts_expansion *e = window->e;
	u64 phase = e->c.phase, left = e->c.iterations, total = 0;
	ts_pass_fn *measured = phase == TS_OP ? ts_pass_op(e->c.op) :
						ts_pass_both(e->c.op, e->c.order, e->c.access);

	ts_counts_init(&result->counts, cpu->counters);
	warm_up(e, pass);
	while (left) {
		pause_between(cpu);
		pass->iterations = cpu->chunk && cpu->chunk < left ? cpu->chunk : left;
		total += result->counts.n ? ts_count(measured, pass, cpu->counters, &result->counts) :
					    measured(pass);
		left -= pass->iterations;
	}
	result->has_cycles = 1;
	result->cycles = total / e->c.iterations;
}

void ts_measure(const struct ts_window *window, const struct ts_cpu *cpu, u32 *samples,
		struct ts_result *result)
{
	struct ts_scratch scratch;
	struct ts_pass pass = pass_of(window->e, cpu, &scratch);
	struct ts_result fresh = { 0 };

	*result = fresh;
	result->twin = ts_twin(window, cpu);
	switch (window->e->c.phase) {
	case TS_REFILL:
		refill(window, cpu, &pass, samples, result);
		break;
	case TS_RETOUCH:
		retouch(window, cpu, &pass, samples, result);
		break;
	default:
		loop(window, cpu, &pass, result);
	}
}

/* Iterations in which a set's refills differ from their median. */
static u64 count_off(const u32 *samples, u64 n, u64 median)
{
	u64 i, off = 0;

	for (i = 0; i < n; i++)
		off += samples[i] != median;
	return off;
}

void ts_summarize(const struct ts_case *c, u32 *samples, struct ts_result *result)
{
	u32 *second = samples + TS_MAX_SAMPLES;
	u64 n = c->iterations, off;

	if (c->phase == TS_RETOUCH)
		result->cycles = ts_median(samples, n);
	if (!result->has_refills)
		return;
	result->refills = ts_median(samples, n);
	result->off_median = count_off(samples, n, result->refills);
	if (!result->has_mix)
		return;
	result->mix_refills = ts_median(second, n);
	off = count_off(second, n, result->mix_refills);
	if (off > result->off_median)
		result->off_median = off;
}
