/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Event counters for passes that run in this process. RDPMC faults in user mode (CR4.PCE is 0), and the handler of
 * the signal answers in its place, with counters that go up by a rate for each iteration of a loop.
 */
#ifndef FAKE_PMC_H
#define FAKE_PMC_H

#include "truth.h"

#include <signal.h>
#include <ucontext.h>

#include "counters.h"

static struct {
	u32 index[TS_MAX_COUNTERS]; /* of counter i, for RDPMC */
	u64 value[TS_MAX_COUNTERS], rate[TS_MAX_COUNTERS], overhead;
	u64 running[TS_MAX_COUNTERS]; /* iterations of the pass that has begun */
	u32 reads, unknown;
	greg_t resume; /* where to go on instead, as from a fault; 0: answer */
} pmc;

static void answer_rdpmc(int signal, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	const u8 *at = (const u8 *)r[REG_RIP];
	u32 i;

	(void)info;
	if (at[0] != 0x0f || at[1] != 0x33) { /* no RDPMC: a crash as any other */
		sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		return;
	}
	if (pmc.resume) {
		r[REG_RIP] = pmc.resume;
		return;
	}
	for (i = 0; i < TS_MAX_COUNTERS && pmc.index[i] != (u32)r[REG_RCX]; i++)
		;
	if (i == TS_MAX_COUNTERS) {
		pmc.unknown++;
		i = 0;
	}
	/* The loops count RBX down: before them it is the number of iterations, behind them 0. */
	if (r[REG_RBX])
		pmc.running[i] = r[REG_RBX];
	else
		pmc.value[i] += pmc.rate[i] * pmc.running[i] + pmc.overhead;
	r[REG_RAX] = pmc.value[i] & 0xffffffff;
	r[REG_RDX] = pmc.value[i] >> 32;
	r[REG_RIP] += 2;
	pmc.reads++;
}

/* Within the test: cmocka has a handler of its own around it, which comes back behind it. */
static void handle(void)
{
	struct sigaction action = { .sa_sigaction = answer_rdpmc, .sa_flags = SA_SIGINFO };
	u32 i;

	memset(&pmc, 0, sizeof(pmc));
	for (i = 0; i < TS_MAX_COUNTERS; i++) {
		pmc.index[i] = i < 6 ? i : 0x40000000 + i - 6; /* two fixed ones */
		pmc.rate[i] = 100 + i;
		pmc.value[i] = 0xfffffff0ULL + i; /* goes through 2^32 */
	}
	pmc.overhead = 33;
	assert_return_code(sigaction(SIGSEGV, &action, NULL), 0);
	__asm__ volatile("rdpmc" : : "b"(1), "c"(0) : "rax", "rdx");
	if (!pmc.reads) {
		print_message("RDPMC is open to every process here: /sys/bus/event_source/devices/cpu/rdpmc\n");
		skip();
	}
	pmc.reads = 0;
}

#endif
