/* SPDX-License-Identifier: GPL-2.0 */
/* The CPU, by CPUID: this machine's, or the leaves recorded in a tree. */
#ifndef TS_PROBE_CPU_H
#define TS_PROBE_CPU_H

#include "types.h"

struct cpu_identity {
	char vendor[13];
	char brand[49];
	u32 family, model, stepping; /* display family and model, cpu_signature() */
	int guest;		     /* CPUID.1:ECX[31]: reserved for hypervisors, to say so */
	char hypervisor[13];	     /* signature, CPUID.40000000H; "" if there is none */
};

/* Who is it? 0, or -ENOENT when neither CPUID nor /proc/cpuinfo can be had. */
int probe_cpu(struct cpu_identity *cpu);

enum { EAX, EBX, ECX, EDX };
/* A leaf; what the CPU or the tree does not have is 0. Returns whether it is there. */
int probe_cpuid(u32 leaf, u32 subleaf, u32 reg[4]);

/* Is a word among the CPU flags of /proc/cpuinfo? 1, 0, or -errno. */
int probe_cpu_flag(const char *flag);

/*
 * Display family, model and stepping out of CPUID.1:EAX (SDM vol. 2, CPUID, "Version Information";
 * APM vol. 3, appendix E.3.2, Fn0000_0001).
 */
void cpu_signature(u32 eax, u32 *family, u32 *model, u32 *stepping);

#endif
