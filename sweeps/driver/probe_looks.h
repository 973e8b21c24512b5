/* SPDX-License-Identifier: GPL-2.0 */
/* The looks of the probe table: one function each, by theme in probe_look_THEME.c. */
#ifndef TS_PROBE_LOOKS_H
#define TS_PROBE_LOOKS_H

#include "probe.h"

#define LOOK(name) void look_##name(const struct options *options, struct finding *f)

/* CPU and kernel */
LOOK(cpu);
LOOK(cpu_file);
LOOK(hybrid);
LOOK(bare_metal);
LOOK(tsc);
LOOK(smt);
LOOK(isolated);
LOOK(governor);
LOOK(pti);
LOOK(syscalls);
/* KVM */
LOOK(kvm);
LOOK(kvm_native);
LOOK(nested_paging);
LOOK(nx_huge_pages);
/* memory */
LOOK(pool_2m);
LOOK(pool_1g);
LOOK(thp);
LOOK(mthp);
LOOK(memory);
/* counters and tracing */
LOOK(pmu);
LOOK(vpmu);
LOOK(paranoid);
LOOK(nmi_watchdog);
LOOK(tracefs);
LOOK(ceiling);
/* the host module */
LOOK(module);
LOOK(module_built);
LOOK(module_headers);
LOOK(module_support);
LOOK(lockdown);
LOOK(secure_boot);
/* programs */
LOOK(qemu);
LOOK(image);
LOOK(gnuplot);
LOOK(build_tools);

/*
 * Does KVM run guest code on the CPU? A VM of one vCPU counts down in a loop; *nanoseconds is what
 * a turn took. 0; -ETIMEDOUT: a turn takes so long that it was not waited for; or -errno.
 */
int kvm_time_loop(double *nanoseconds);

#endif
