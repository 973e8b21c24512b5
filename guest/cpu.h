/* SPDX-License-Identifier: GPL-2.0 */
/* What CPU this is, from CPUID and one MSR; instructions that a hypervisor may refuse. */
#ifndef CPU_H
#define CPU_H

#include "op.h"
#include "text.h"

struct cpu_info {
	char vendor[13];
	char hypervisor[13]; /* "none" without one */
	char brand[49];	     /* one word: blanks are underscores */
	u32 family, model, stepping;
	u8 has_microcode;
	u32 microcode;
	u32 features; /* enum ts_feature bits */
	u32 physical_bits;
	u64 loop_cycles; /* TSC cycles of one dec/jnz; thousands where ring 0 is emulated */
};

void cpu_detect(struct cpu_info *cpu);

/* RDMSR, WRMSR and RDPMC that may fault: 1, or 0 if they did (*value is 0 then). */
u8 cpu_read_msr(u32 msr, u64 *value);
u8 cpu_write_msr(u32 msr, u64 value);
u8 cpu_read_pmc(u32 index, u64 *value);

/* Prints feature names with commas between, or "none". */
void cpu_put_features(struct ts_text *text, u32 features);

#endif
