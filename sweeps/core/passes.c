// SPDX-License-Identifier: GPL-2.0
/*
 * The measured passes, built from three parts: an op, fences, and touches.
 *
 * Registers: r8 CR3 value, r9 CR4 value, r10 start of the touches, r11 their number, r12 to r14 stride,
 * number and address of the pages that the op flushes, r15 scratch line, rbx iterations or start time;
 * rax, rcx, rdx, rsi and rdi are free.
 *
 * Fences. MFENCE drains the stores of a write pass; LFENCE then keeps RDTSC, and every load behind it, from
 * starting early (SDM vol. 2, RDTSC and LFENCE; on AMD LFENCE serialises when MSR C001_1029[1] is
 * set, as Linux sets it, and MFENCE waits for all older loads and stores in any case). Every phase has the
 * same fences, so that they cancel in differences. The 2016 loops had none around the accesses, which
 * let them overlap with the flush; that is why net values there could exceed the sum.
 *
 * Counters. The loops read those that the scratch area lists before their first and behind their last
 * reading of the clock, so that what is timed is the same with and without. RDPMC may start early like
 * RDTSC (SDM vol. 2, RDPMC), hence the LFENCE. What one reading costs stands in every pass alike, and is gone
 * in the difference of two passes (counters.c).
 */
#include "passes.h"

/* Parts: ops. Addressed ones run r13 times, r12 bytes apart. */
#define OP_none ""
#define OP_invlpg                    \
	"mov %%r14, %%rdi\n\t"       \
	"mov %%r13, %%rcx\n"         \
	"1:\tinvlpg (%%rdi)\n\t"     \
	"add %%r12, %%rdi\n\t"       \
	"dec %%rcx\n\t"              \
	"jnz 1b\n\t"
#define OP_invpcid_addr                    \
	"mov %%r14, %%rdi\n\t"             \
	"mov %%r13, %%rcx\n\t"             \
	"xor %%eax, %%eax\n"               \
	"1:\tmov %%rdi, 8(%%r15)\n\t"      \
	"invpcid (%%r15), %%rax\n\t"       \
	"add %%r12, %%rdi\n\t"             \
	"dec %%rcx\n\t"                    \
	"jnz 1b\n\t"
#define INVPCID(type) "mov $" #type ", %%eax\n\tinvpcid (%%r15), %%rax\n\t"
#define OP_invpcid_ctx INVPCID(1)
#define OP_invpcid_all INVPCID(2)
#define OP_invpcid_nonglobal INVPCID(3)
#define OP_cr3 "mov %%r8, %%cr3\n\t"
#define OP_cr3_keep                \
	"mov %%r8, %%rax\n\t"      \
	"bts $63, %%rax\n\t"       \
	"mov %%rax, %%cr3\n\t"
#define OP_pge                     \
	"mov %%r9, %%rax\n\t"      \
	"btr $7, %%rax\n\t"        \
	"mov %%rax, %%cr4\n\t"     \
	"mov %%r9, %%cr4\n\t"

/* Parts: touches. A write goes beside the chain pointer, into the same line. */
#define TOUCH_sequential_read            \
	"mov %%r10, %%rdi\n\t"           \
	"mov %%r11, %%rcx\n"             \
	"2:\tmov (%%rdi), %%rsi\n\t"     \
	"mov (%%rsi), %%rdx\n\t"         \
	"add $8, %%rdi\n\t"              \
	"dec %%rcx\n\t"                  \
	"jnz 2b\n\t"
#define TOUCH_sequential_write           \
	"mov %%r10, %%rdi\n\t"           \
	"mov %%r11, %%rcx\n"             \
	"2:\tmov (%%rdi), %%rsi\n\t"     \
	"mov %%rcx, 8(%%rsi)\n\t"        \
	"add $8, %%rdi\n\t"              \
	"dec %%rcx\n\t"                  \
	"jnz 2b\n\t"
#define TOUCH_chase_read                 \
	"mov %%r10, %%rsi\n\t"           \
	"mov %%r11, %%rcx\n"             \
	"2:\tmov (%%rsi), %%rsi\n\t"     \
	"dec %%rcx\n\t"                  \
	"jnz 2b\n\t"
#define TOUCH_chase_write                \
	"mov %%r10, %%rsi\n\t"           \
	"mov %%r11, %%rcx\n"             \
	"2:\tmov (%%rsi), %%rdi\n\t"     \
	"mov %%rcx, 8(%%rsi)\n\t"        \
	"mov %%rdi, %%rsi\n\t"           \
	"dec %%rcx\n\t"                  \
	"jnz 2b\n\t"

#define FENCE "mfence\n\tlfence\n\t"
#define CLOCK "rdtsc\n\tlfence\n\tshl $32, %%rdx\n\tor %%rdx, %%rax\n\t"

/* Counters, from the last listed to the first, into the array at offset `to` of the scratch area. */
#define COUNT(to)                                       \
	"mov 24(%%r15), %%rdi\n\t"                      \
	"test %%rdi, %%rdi\n\t"                         \
	"jz 5f\n\t"                                     \
	"lfence\n"                                      \
	"4:\tmov 28(%%r15,%%rdi,4), %%ecx\n\t"          \
	"rdpmc\n\t"                                     \
	"shl $32, %%rdx\n\t"                            \
	"or %%rdx, %%rax\n\t"                           \
	"mov %%rax, " #to "-8(%%r15,%%rdi,8)\n\t"       \
	"dec %%rdi\n\t"                                 \
	"jnz 4b\n"                                      \
	"5:\n\t"

/* COUNT() goes by these. */
#define AT(member) __builtin_offsetof(struct ts_scratch, member)
_Static_assert(AT(start) == 16 && AT(counters) == 24 && AT(index) == 32 && AT(begin) == 64 && AT(end) == 128,
	       "scratch area and passes differ");

/*
 * Bodies. The loops keep their start time in the scratch line: rbx counts. What is timed starts a cache line,
 * whatever stands before it.
 */
#define RETOUCH(op, touch) op FENCE CLOCK "mov %%rax, %%rbx\n\t" touch FENCE CLOCK "sub %%rbx, %%rax\n"
#define LOOP(body)                                    \
	COUNT(64) ".p2align 6\n\t"                    \
	FENCE CLOCK "mov %%rax, 16(%%r15)\n"          \
	"3:\t" body                                   \
	"dec %%rbx\n\t"                               \
	"jnz 3b\n\t"                                  \
	FENCE CLOCK "sub 16(%%r15), %%rax\n\t"        \
	"mov %%rax, 16(%%r15)\n\t"                    \
	COUNT(128)                                    \
	"mov 16(%%r15), %%rax\n"

/*
 * One function around one pass. Not inlined and not cloned: its labels exist once. The alignment puts each pass
 * at the start of a cache line, so that all decode alike.
 */
#define PASS(name, body)                                                                          \
	static __attribute__((noinline, noclone)) u64 name(const struct ts_pass *pass)            \
	{                                                                                         \
		register u64 cr3 __asm__("r8") = pass->cr3;                                       \
		register u64 cr4 __asm__("r9") = pass->cr4;                                       \
		register u64 touch __asm__("r10") = pass->touch;                                  \
		register u64 touches __asm__("r11") = pass->touches;                              \
		register u64 op_stride __asm__("r12") = pass->op_stride;                          \
		register u64 op_count __asm__("r13") = pass->op_count;                            \
		register u64 op_va __asm__("r14") = pass->op_va;                                  \
		register struct ts_scratch *scratch __asm__("r15") = pass->scratch;               \
		u64 iterations = pass->iterations;                                                \
		u64 cycles;                                                                       \
                                                                                                  \
		__asm__ volatile(".p2align 6\n"                                                   \
				 "ts_begin_" #name ":\n\t" body "ts_end_" #name ":\n"             \
				 : "=&a"(cycles), "+b"(iterations)                                \
				 : "r"(cr3), "r"(cr4), "r"(touch), "r"(touches), "r"(op_stride),  \
				   "r"(op_count), "r"(op_va), "r"(scratch)                        \
				 : "rcx", "rdx", "rsi", "rdi", "memory", "cc");                   \
		return cycles;                                                                    \
	}

#define OP_PASSES(op)                                                             \
	PASS(op##_only, LOOP(OP_##op FENCE FENCE))                                \
	PASS(op##_retouch_sr, RETOUCH(OP_##op, TOUCH_sequential_read))            \
	PASS(op##_retouch_sw, RETOUCH(OP_##op, TOUCH_sequential_write))           \
	PASS(op##_retouch_cr, RETOUCH(OP_##op, TOUCH_chase_read))                 \
	PASS(op##_retouch_cw, RETOUCH(OP_##op, TOUCH_chase_write))                \
	PASS(op##_both_sr, LOOP(OP_##op FENCE TOUCH_sequential_read FENCE))       \
	PASS(op##_both_sw, LOOP(OP_##op FENCE TOUCH_sequential_write FENCE))      \
	PASS(op##_both_cr, LOOP(OP_##op FENCE TOUCH_chase_read FENCE))            \
	PASS(op##_both_cw, LOOP(OP_##op FENCE TOUCH_chase_write FENCE))

OP_PASSES(none)
OP_PASSES(invlpg)
OP_PASSES(invpcid_addr)
OP_PASSES(invpcid_ctx)
OP_PASSES(invpcid_nonglobal)
OP_PASSES(invpcid_all)
OP_PASSES(cr3)
OP_PASSES(cr3_keep)
OP_PASSES(pge)

struct op_passes {
	ts_pass_fn *only;
	ts_pass_fn *retouch[TS_ORDERS][TS_ACCESSES];
	ts_pass_fn *both[TS_ORDERS][TS_ACCESSES];
};

#define OP_ENTRY(op)                                                                      \
	{                                                                                 \
		.only = op##_only,                                                        \
		.retouch = { { op##_retouch_sr, op##_retouch_sw },                        \
			     { op##_retouch_cr, op##_retouch_cw } },                      \
		.both = { { op##_both_sr, op##_both_sw }, { op##_both_cr, op##_both_cw } }, \
	}

/* Ends with the last op of ring 0: those of target user need what no target with passes has (ts_case_needs()). */
static const struct op_passes passes[] = {
	[TS_OP_NONE] = OP_ENTRY(none),
	[TS_OP_INVLPG] = OP_ENTRY(invlpg),
	[TS_OP_INVPCID_ADDR] = OP_ENTRY(invpcid_addr),
	[TS_OP_INVPCID_CTX] = OP_ENTRY(invpcid_ctx),
	[TS_OP_INVPCID_NONGLOBAL] = OP_ENTRY(invpcid_nonglobal),
	[TS_OP_INVPCID_ALL] = OP_ENTRY(invpcid_all),
	[TS_OP_CR3] = OP_ENTRY(cr3),
	[TS_OP_CR3_KEEP] = OP_ENTRY(cr3_keep),
	[TS_OP_PGE] = OP_ENTRY(pge),
};

ts_pass_fn *ts_pass_retouch(u64 op, u64 order, u64 access)
{
	return passes[op].retouch[order][access];
}

ts_pass_fn *ts_pass_both(u64 op, u64 order, u64 access)
{
	return passes[op].both[order][access];
}

ts_pass_fn *ts_pass_op(u64 op)
{
	return passes[op].only;
}
