/* SPDX-License-Identifier: GPL-2.0 */
/* The guest image in a QEMU process: what the targets tcg and kvm have in common. */
#ifndef TS_GUEST_H
#define TS_GUEST_H

#include "link.h"
#include "qemu.h"
#include "target.h"

struct guest {
	struct qemu qemu;
	struct link link;
	struct hello hello;
	char *version; /* QEMU's */
	char *by_hand; /* command line for a person */
	int broken;    /* it died or hangs: do not wait for its end */
};

/* The vCPU's thread, by QMP; 0 when it is not known. */
int guest_vcpu_thread(struct guest *guest);

/* The run's counters for a guest that has started; side as for counting_link_open(). As target_ops.open(). */
int guest_count(struct guest *guest, const struct target *target, enum perf_side side,
		struct problem *problem);

/*
 * Starts QEMU (config->program and image come from the target's options) and waits for the guest's first
 * word. As target_ops.open(); nothing stays behind after a failure; guest->qemu.died
 * tells whether QEMU ended by itself.
 */
int guest_start(struct guest *guest, const struct target *target, struct qemu_config *config,
		struct problem *problem);

/* As target_ops.measure(). */
int guest_measure(struct guest *guest, struct counting *counting, const struct ts_case *c,
		  struct row *row, struct problem *problem);

/* Counts of a measured row that are slopes, by two more measurements. As target_ops.measure(). */
int guest_slope(struct guest *guest, struct counting *counting, struct row *row, struct problem *problem);

/* Says end, waits for marker and clean exit, frees everything. 0 or -EPIPE with *problem. */
int guest_end(struct guest *guest, struct problem *problem);

/* The guest's own words, QEMU's version and -cpu, for run.json. */
void guest_describe(const struct guest *guest, const char *cpu_model, json_t *run);

/* Memory for the plan's cases with 1G leaves, or for the others; as asked for, or what they need. */
u64 guest_memory(const struct target *target, int gigabytes);

#endif
