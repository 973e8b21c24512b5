/* SPDX-License-Identifier: GPL-2.0 */
/* What CPU this is, from CPUID and one MSR. */
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

/* Prints feature names with commas between, or "none". */
void cpu_put_features(struct ts_text *text, u32 features);

#endif
