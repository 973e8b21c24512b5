// SPDX-License-Identifier: GPL-2.0
/*
 * What CPU and kernel this is (SDM vol. 2, CPUID; APM vol. 3, appendix E), and whether the module
 * may be used here at all.
 *
 * CPUID is read directly: features that the kernel leaves unused (nopcid, for one) are there for
 * the cases, which switch them on and off themselves.
 */
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/utsname.h>
#include <asm/cpufeature.h>
#include <asm/pgtable.h>
#include <asm/processor.h>

#include "host.h"
#include "version.h"

#define LEAF_FEATURES 1
#define LEAF_STRUCTURED 7
#define LEAF_HYPERVISOR 0x40000000
#define LEAF_EXTENDED 0x80000000
#define LEAF_EXTENDED_FEATURES 0x80000001
#define HYPERVISOR_PRESENT (1U << 31) /* CPUID.1:ECX */

#define PROBE_LOOPS 1000
#define PROBE_TRIES 3

enum { EAX, EBX, ECX, EDX, REGISTERS };

static const struct {
	u32 leaf, reg, bit, feature;
} features[] = {
	{ LEAF_FEATURES, EDX, 13, TS_PGE },
	{ LEAF_FEATURES, ECX, 17, TS_PCID },
	{ LEAF_STRUCTURED, EBX, 10, TS_INVPCID },
	{ LEAF_EXTENDED_FEATURES, EDX, 26, TS_GB_PAGES },
	{ LEAF_EXTENDED_FEATURES, EDX, 20, TS_NX },
};

static void read_cpuid(u32 leaf, u32 *r)
{
	asm volatile("cpuid"
		     : "=a"(r[EAX]), "=b"(r[EBX]), "=c"(r[ECX]), "=d"(r[EDX])
		     : "a"(leaf), "c"(0));
}

/* A leaf beyond the last one of its range answers with the data of another: read it as zero. */
static void read_leaf(u32 leaf, u32 *r)
{
	read_cpuid(leaf & LEAF_EXTENDED, r);
	if (r[EAX] < leaf)
		memset(r, 0, REGISTERS * sizeof(*r));
	else
		read_cpuid(leaf, r);
}

const char *ts_machine_refusal(void)
{
	if (boot_cpu_has(X86_FEATURE_XENPV))
		return "a Xen PV guest cannot load a page-table root of its own";
	return NULL;
}

const char *ts_machine_pcid_conflict(void)
{
#ifdef X86_FEATURE_INVLPGB
	if (boot_cpu_has(X86_FEATURE_INVLPGB))
		return "this kernel flushes by INVLPGB and may have given the PCID to a process";
#endif
	return NULL;
}

void ts_machine_detect(struct ts_machine *machine)
{
	u32 r[REGISTERS], i;

	machine->features = TS_RING0;
	for (i = 0; i < TS_COUNT(features); i++) {
		read_leaf(features[i].leaf, r);
		if (r[features[i].reg] >> features[i].bit & 1)
			machine->features |= features[i].feature;
	}
	strscpy(machine->hypervisor, "none", sizeof(machine->hypervisor));
	read_leaf(LEAF_FEATURES, r);
	if (!(r[ECX] & HYPERVISOR_PRESENT))
		return;
	read_cpuid(LEAF_HYPERVISOR, r);
	memcpy(machine->hypervisor, &r[EBX], 12);
	machine->hypervisor[12] = 0;
}

void ts_machine_time(struct ts_machine *machine)
{
	u64 best = ~0ULL, n, start, cycles;
	u32 i;

	for (i = 0; i < PROBE_TRIES; i++) {
		n = PROBE_LOOPS;
		local_irq_disable();
		start = ts_read_tsc();
		asm volatile("1:\tdec %0\n\tjnz 1b" : "+r"(n) : : "cc");
		cycles = ts_read_tsc() - start;
		local_irq_enable();
		if (cycles < best)
			best = cycles;
	}
	machine->loop_cycles = (best + PROBE_LOOPS / 2) / PROBE_LOOPS;
}

/* A word of the hello line: no blanks, nothing unprintable; "unknown" for none. */
static void put_word(struct ts_text *text, const char *key, const char *value)
{
	char word[64];
	u32 n;

	strscpy(word, value, sizeof(word));
	strim(word);
	for (n = 0; word[n]; n++)
		if (word[n] <= ' ' || word[n] > '~')
			word[n] = '_';
	ts_put_key_word(text, key, n ? word : "unknown");
}

static void put_list(struct ts_text *text, const char *word, u8 *any)
{
	ts_put(text, *any ? "," : "");
	ts_put(text, word);
	*any = 1;
}

static void put_features(struct ts_text *text, u32 found)
{
	u8 any = 0;
	u32 i;

	ts_put_key_word(text, "features", "");
	for (i = 0; i < TS_FEATURES; i++)
		if (found & 1U << i)
			put_list(text, ts_feature_name(i), &any);
}

static u8 is_large(const void *address)
{
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)address, &level);

	return !pte || level != PG_LEVEL_4K;
}

/* Which parts of the harness a measured pass would meet on large pages; see root.c. */
static void put_large(struct ts_text *text, const struct ts_experiment *x)
{
	const struct {
		const char *name;
		const void *address;
	} parts[] = {
		{ "text", (const void *)ts_measure },
		{ "constants", ts_ops },
		{ "stack", &parts },
		{ "arrays", x->touch },
		{ "samples", x->samples },
	};
	u8 any = 0;
	u32 i;

	ts_put_key_word(text, "large", "");
	for (i = 0; i < TS_COUNT(parts); i++)
		/* The text is split in the private root. */
		if (is_large(parts[i].address) && (i || !x->root.copies))
			put_list(text, parts[i].name, &any);
	if (!any)
		ts_put(text, "none");
}

void ts_machine_hello(const struct ts_experiment *x, struct ts_text *text)
{
	const struct cpuinfo_x86 *cpu = &cpu_data(x->cpu);

	ts_put(text, "hello");
	ts_put_key_number(text, "protocol", TS_PROTOCOL);
	ts_put_key_word(text, "version", TS_VERSION);
	put_word(text, "vendor", cpu->x86_vendor_id);
	ts_put_key_number(text, "family", cpu->x86);
	ts_put_key_number(text, "model", cpu->x86_model);
	ts_put_key_number(text, "stepping", cpu->x86_stepping);
	if (cpu->microcode)
		ts_put_key_hex(text, "microcode", cpu->microcode);
	put_word(text, "hypervisor", x->machine.hypervisor);
	put_features(text, x->machine.features);
	ts_put_key_number(text, "memory", ts_pages_available());
	ts_put_key_number(text, "loop_cycles", x->machine.loop_cycles);
	ts_pmu_print_hello(text, &x->perf.pmu);
	put_word(text, "kernel", init_utsname()->release);
	ts_put_key_number(text, "cpu", x->cpu);
	ts_put_key_word(text, "smt_sibling",
			cpumask_weight(topology_sibling_cpumask(x->cpu)) > 1 ? "online" : "none");
	ts_put_key_word(text, "pti", boot_cpu_has(X86_FEATURE_PTI) ? "on" : "off");
	ts_put_key_word(text, "kernel_pcid", ts_read_cr4() & TS_CR4_PCIDE ? "on" : "off");
	ts_put_key_number(text, "levels", x->root.levels);
	put_large(text, x);
	put_word(text, "brand", cpu->x86_model_id);
}
