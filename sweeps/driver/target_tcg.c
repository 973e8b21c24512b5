// SPDX-License-Identifier: GPL-2.0
/*
 * Target tcg: the guest image on QEMU's software CPU. Needs no privileges and no huge pages.
 *
 * What it measures is QEMU's soft TLB. That TLB keeps stale entries until they are flushed, so refills are
 * exact and the whole tool can be tried and tested on it; but it holds no large pages, imitates them by
 * remembering the area that they cover, and drops global entries at a CR3 write. So no row of it says
 * anything about hardware, and its cycles (marked emulated-cpu) are the emulator's. Events that are counted
 * on its vCPU's thread (--event page-faults) are QEMU's own.
 */
#include "counting_perf.h"
#include "guest.h"
#include "host_state.h"
#include "target.h"
#include "util.h"

#include <stdlib.h>

static int tcg_close(struct target *target, struct problem *p)
{
	int result = guest_end(target->state, p);

	counting_close(target->counting);
	host_state_restore();
	free(target->state);
	free(target->cpu);
	target->state = NULL;
	target->cpu = NULL;
	return result;
}

/* The argument of QEMU's -cpu. */
static const char *cpu_model(const struct target *target)
{
	return target->options->cpu ?: "max";
}

static int tcg_open(struct target *target, struct problem *p)
{
	struct guest *guest = xcalloc(1, sizeof(*guest));
	u64 most = guest_memory(target, 1), other = guest_memory(target, 0);
	struct qemu_config config = {
		.accel = "tcg",
		.cpu = cpu_model(target),
		.machine = "pc",
		.memory = most > other ? most : other, /* costs nothing until it is touched */
	};
	struct problem ignored;
	int result;

	host_state_recover();
	result = guest_start(guest, target, &config, p);

	if (result) {
		free(guest);
		return result;
	}
	target->state = guest;
	target->accel = "tcg";
	target->features = guest->hello.features;
	target->cpu = xasprintf("QEMU %s TCG %s", guest->version, config.cpu);
	result = guest_count(guest, target, PERF_ALL, p);
	if (result)
		tcg_close(target, &ignored);
	return result;
}

static int tcg_measure(struct target *target, const struct ts_case *c, struct row *row,
		       struct problem *p)
{
	struct guest *guest = target->state;

	row->host = "none";
	row->host_how = "";
	if (c->phase != TS_REFILL)
		row_reason(row, "emulated-cpu");
	return guest_measure(guest, target->counting, c, row, p) ?:
	       guest_slope(guest, target->counting, row, p);
}

static void tcg_describe(const struct target *target, json_t *run)
{
	guest_describe(target->state, cpu_model(target), run);
}

static const char *const tcg_probes[] = { "qemu", "guest-image", 0 };

const struct target_ops target_tcg = {
	.name = "tcg",
	.claims = "exact refills of QEMU's soft TLB, on any machine",
	.cannot = "says nothing about hardware: QEMU's TLB imitates large pages",
	.probes = tcg_probes,
	.takes = TAKES_QEMU | TAKES_TIMEOUT,
	.phases = 1u << TS_REFILL,
	.counters = 1u << COUNT_HOST,
	.open = tcg_open,
	.measure = tcg_measure,
	.close = tcg_close,
	.describe = tcg_describe,
};
