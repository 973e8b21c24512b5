// SPDX-License-Identifier: GPL-2.0
/* What CPU this is (SDM vol. 2, CPUID; APM vol. 3, appendix E). */
#include "cpu.h"
#include "io.h"
#include "mem.h"

#define LEAF_VENDOR 0
#define LEAF_FEATURES 1
#define LEAF_STRUCTURED 7
#define LEAF_HYPERVISOR 0x40000000
#define LEAF_EXTENDED 0x80000000
#define LEAF_EXTENDED_FEATURES 0x80000001
#define LEAF_BRAND 0x80000002 /* and the two behind it */
#define LEAF_ADDRESS_SIZES 0x80000008

#define HYPERVISOR_PRESENT (1U << 31) /* CPUID.1:ECX; zero on every real CPU */

/* IA32_BIOS_SIGN_ID on Intel, PATCH_LEVEL on AMD: one number, the value in different halves. */
#define MSR_MICROCODE 0x8b

#define PROBE_LOOPS 1000
#define PROBE_TRIES 3

enum { EAX, EBX, ECX, EDX };

static const struct {
	u32 leaf, reg, bit, feature;
} features[] = {
	{ LEAF_FEATURES, EDX, 13, TS_PGE },
	{ LEAF_FEATURES, ECX, 17, TS_PCID },
	{ LEAF_STRUCTURED, EBX, 10, TS_INVPCID },
	{ LEAF_EXTENDED_FEATURES, EDX, 26, TS_GB_PAGES },
	{ LEAF_EXTENDED_FEATURES, EDX, 20, TS_NX },
};

/* A leaf beyond the last one of its range answers with the data of another: read it as zero. */
static struct cpuid leaf_or_zero(u32 leaf)
{
	struct cpuid none = { 0 };

	return cpuid(leaf & LEAF_EXTENDED, 0).eax >= leaf ? cpuid(leaf, 0) : none;
}

static u32 detect_features(void)
{
	u32 found = TS_RING0; /* where this image always runs */

	for (u32 i = 0; i < TS_COUNT(features); i++) {
		struct cpuid r = leaf_or_zero(features[i].leaf);
		const u32 regs[] = { r.eax, r.ebx, r.ecx, r.edx };

		if (regs[features[i].reg] >> features[i].bit & 1)
			found |= features[i].feature;
	}
	return found;
}

/*
 * Turns n bytes of CPUID text into one printable word: no blanks at its ends, underscores for
 * those inside and for what is not printable; "unknown" if nothing is left.
 */
static void make_word(char *word, u32 n)
{
	u32 from = 0, to = 0;

	word[n] = 0;
	while (word[from] == ' ')
		from++;
	for (; word[from]; from++)
		word[to++] = word[from] > ' ' && word[from] <= '~' ? word[from] : '_';
	while (to && word[to - 1] == '_')
		to--;
	word[to] = 0;
	if (!to)
		memcpy(word, "unknown", sizeof("unknown"));
}

static void detect_names(struct cpu_info *cpu)
{
	struct cpuid r = cpuid(LEAF_VENDOR, 0);
	const u32 vendor[] = { r.ebx, r.edx, r.ecx };

	memcpy(cpu->vendor, vendor, sizeof(vendor));
	make_word(cpu->vendor, 12);

	memcpy(cpu->hypervisor, "none", sizeof("none"));
	if (cpuid(LEAF_FEATURES, 0).ecx & HYPERVISOR_PRESENT) {
		r = cpuid(LEAF_HYPERVISOR, 0);
		memcpy(cpu->hypervisor, &r.ebx, 12);
		make_word(cpu->hypervisor, 12);
	}

	for (u32 i = 0; i < 3; i++) {
		r = leaf_or_zero(LEAF_BRAND + i);
		memcpy(cpu->brand + 16 * i, &r, 16);
	}
	make_word(cpu->brand, 48);
}

/* Family, model, stepping with their extensions: SDM vol. 2, CPUID, figure 3-6. */
static void detect_signature(struct cpu_info *cpu)
{
	u32 signature = cpuid(LEAF_FEATURES, 0).eax;
	u32 base = signature >> 8 & 15;

	cpu->family = base + (base == 15 ? signature >> 20 & 255 : 0);
	cpu->model = signature >> 4 & 15;
	if (base == 6 || base == 15)
		cpu->model |= signature >> 12 & 0xf0;
	cpu->stepping = signature & 15;
}

/*
 * All go on behind the instruction if it faults: an entry in .recover is a pair of addresses, where
 * the fault may happen and where to resume (exception.c).
 */
#define RECOVER(instruction)                                                         \
	"1:\t" instruction "\n\t"                                                    \
	"mov $1, %0\n"                                                               \
	"2:\n\t"                                                                     \
	".pushsection .recover, \"a\"\n\t"                                           \
	".quad 1b, 2b\n\t"                                                           \
	".popsection"

u8 cpu_read_msr(u32 msr, u64 *value)
{
	u32 ok = 0, low = 0, high = 0;

	asm volatile(RECOVER("rdmsr") : "+r"(ok), "+a"(low), "+d"(high) : "c"(msr));
	*value = (u64)high << 32 | low;
	return ok;
}

u8 cpu_write_msr(u32 msr, u64 value)
{
	u32 ok = 0;

	asm volatile(RECOVER("wrmsr")
		     : "+r"(ok)
		     : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32))
		     : "memory");
	return ok;
}

u8 cpu_read_pmc(u32 index, u64 *value)
{
	u32 ok = 0, low = 0, high = 0;

	asm volatile(RECOVER("rdpmc") : "+r"(ok), "+a"(low), "+d"(high) : "c"(index));
	*value = (u64)high << 32 | low;
	return ok;
}

/*
 * Intel wants the MSR cleared and CPUID 1 run before it shows the revision in its upper half (SDM
 * vol. 3, 9.11.7.1); AMD has it in the lower half at all times (BKDG, MSR0000_008B). Hypervisors
 * may refuse either access.
 */
static void detect_microcode(struct cpu_info *cpu)
{
	u8 intel = ts_equal(cpu->vendor, "GenuineIntel");
	u64 value;

	if (intel) {
		if (!cpu_write_msr(MSR_MICROCODE, 0))
			return;
		cpuid(LEAF_FEATURES, 0);
	}
	if (!cpu_read_msr(MSR_MICROCODE, &value))
		return;
	cpu->microcode = intel ? value >> 32 : value;
	cpu->has_microcode = cpu->microcode != 0;
}

/* The best of a few tries: one of them may be hit by a timer tick of an outer hypervisor. */
static u64 time_loop(void)
{
	u64 best = ~0ULL;

	for (u32 i = 0; i < PROBE_TRIES; i++) {
		u64 start = read_tsc(), n = PROBE_LOOPS, cycles;

		asm volatile("1:\tdec %0\n\tjnz 1b" : "+r"(n) : : "cc");
		cycles = read_tsc() - start;
		if (cycles < best)
			best = cycles;
	}
	return (best + PROBE_LOOPS / 2) / PROBE_LOOPS;
}

void cpu_detect(struct cpu_info *cpu)
{
	detect_names(cpu);
	detect_signature(cpu);
	detect_microcode(cpu);
	cpu->features = detect_features();
	/* 36 bits is what a CPU without the leaf has (SDM vol. 3, 4.1.4). */
	cpu->physical_bits = leaf_or_zero(LEAF_ADDRESS_SIZES).eax & 255;
	if (!cpu->physical_bits)
		cpu->physical_bits = 36;
	cpu->loop_cycles = time_loop();
}

void cpu_put_features(struct ts_text *text, u32 features)
{
	const char *comma = "";

	if (!features)
		ts_put(text, "none");
	for (u32 i = 0; i < TS_FEATURES; i++) {
		if (!(features & 1U << i))
			continue;
		ts_put(text, comma);
		ts_put(text, ts_feature_name(i));
		comma = ",";
	}
}
