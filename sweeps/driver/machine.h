/* SPDX-License-Identifier: GPL-2.0 */
/* What a reader of run.json has to know about the machine that a run was made on. */
#ifndef TS_MACHINE_H
#define TS_MACHINE_H

#include <jansson.h>

/*
 * CPU, microcode, kernel, hypervisor above us, THP, KVM parameters, page-table isolation, huge pages. What
 * cannot be read is absent. No host name, no user, no address. The caller owns the object.
 */
json_t *machine_describe(void);

/* Is a word among the CPU flags of /proc/cpuinfo? */
int machine_has_flag(const char *flag);

/* Does a hypervisor run above this kernel? CPUID.1:ECX[31], as /proc/cpuinfo shows it. */
int machine_is_guest(void);

#endif
