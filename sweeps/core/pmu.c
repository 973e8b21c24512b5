// SPDX-License-Identifier: GPL-2.0
/*
 * Three families of registers count the same way: a select register for each counter says what is counted (event,
 * unit mask, ring, enable) and the counter goes up. From Intel's version 2 and AMD's PerfMonV2 on, one more register
 * enables all at once.
 *
 *	Intel, SDM vol. 3, 20.2 (architectural performance monitoring) and vol. 4, table 2-2:
 *		IA32_PERFEVTSELx 186H+x   IA32_PMCx C1H+x   IA32_A_PMCx 4C1H+x   IA32_PERF_GLOBAL_CTRL 38FH
 *	AMD, APM vol. 2, 13.2: K7's four, PERF_CTL and PERF_CTR of PerfCtrExtCore, and PerfMonV2's
 *		C001_0000+x, C001_0004+x   C001_0200+2x, C001_0201+2x   PerfCntrGlobalCtl C000_0301
 *
 * A hypervisor may declare a PMU and lack parts of it, or declare none and swallow writes (KVM does with K7's
 * registers when enable_pmu is off). So nothing is believed that was not read back, and nothing counts as a counter
 * that has not counted a known number of instructions (ts_counters_check()).
 *
 * No interrupt is asked for, and the status registers are not touched: some hypervisors fault on them, and a wrap
 * shows in the counters themselves.
 */
#include "pmu.h"

#define LEAF_VENDOR 0
#define LEAF_FEATURES 1
#define LEAF_MONITORING 10
#define LEAF_EXTENDED 0x80000000
#define LEAF_EXTENDED_FEATURES 0x80000001
#define LEAF_MONITORING_V2 0x80000022
enum { EAX, EBX, ECX, EDX, REGISTERS };

#define HAS_PDCM(ecx) ((ecx) >> 15 & 1)		/* CPUID 1: IA32_PERF_CAPABILITIES exists */
#define HAS_EXT_CORE(ecx) ((ecx) >> 23 & 1)	/* CPUID 8000_0001: PerfCtrExtCore */
#define FULL_WIDTH_WRITE (1ULL << 13)		/* IA32_PERF_CAPABILITIES */
#define NO_INSTRUCTIONS_EVENT (1U << 1)		/* CPUID 0AH, EBX: set means missing */

#define MSR_PERF_CAPABILITIES 0x345
#define MSR_A_PMC0 0x4c1

/* Event select register: SDM vol. 3, figure 20-1; APM vol. 2, figure 13-6. */
#define SELECT_OS (1ULL << 17)
#define SELECT_ENABLE (1ULL << 22)
#define CONFIG_COMMON 0xff84ffffULL /* event, unit mask, edge (18), invert (23), counter mask (24-31) */
#define CONFIG_AMD (0xfULL << 32)   /* event bits 11:8 */

#define EVENT_INSTRUCTIONS 0xc0 /* INST_RETIRED.ANY_P (SDM vol. 3, table 20-1); PMCx0C0 on AMD */

#define MIN_WIDTH 32
#define AMD_WIDTH 48 /* APM vol. 2, 13.2.1 */

/*
 * Counters that every event of interest counts on. Intel: most walk events and all precise ones are bound to
 * counters 0 to 3 (the event lists' "Counter" field). AMD family 15h: 2:0 for the TLB events 45H and 46H
 * (BKDG of family 15h, PERF_CTL[5:0], table of restrictions).
 */
#define INTEL_USABLE 4
#define AMD_15H_USABLE 3

const char ts_pmu_remedy[] =
	"no event counters here: QEMU with -accel kvm -cpu host,pmu=on, on a host with kvm.enable_pmu=1 (or KVM's "
	"mediated vPMU) and a PMU of its own; QEMU's TCG has none; refills and cycles need none";

static const struct family {
	const char *name;
	u32 select, counter, step, global; /* MSRs; step from one counter to the next */
	u64 config; /* bits that the user may set */
} families[] = {
	[TS_PMU_NONE] = { .name = "none" },
	[TS_PMU_INTEL] = { "intel-v", 0x186, 0xc1, 1, 0x38f, CONFIG_COMMON },
	[TS_PMU_AMD_K7] = { "amd-k7", 0xc0010000, 0xc0010004, 1, 0, CONFIG_COMMON | CONFIG_AMD },
	[TS_PMU_AMD_CORE] = { "amd-core", 0xc0010200, 0xc0010201, 2, 0, CONFIG_COMMON | CONFIG_AMD },
	[TS_PMU_AMD_V2] = { "amd-v2", 0xc0010200, 0xc0010201, 2, 0xc0000301, CONFIG_COMMON | CONFIG_AMD },
};

/* ---- what CPUID declares ---- */

/* A leaf beyond the last one of its range answers with the data of another: read it as zero. */
static void read_leaf(const struct ts_pmu_access *access, u32 leaf, u32 *r)
{
	access->cpuid(access->context, leaf & LEAF_EXTENDED, r);
	if (r[EAX] < leaf)
		r[EAX] = r[EBX] = r[ECX] = r[EDX] = 0;
	else
		access->cpuid(access->context, leaf, r);
}

/* "AuthenticAMD" or "HygonGenuine", by their first four letters. */
static u8 is_amd(const struct ts_pmu_access *access)
{
	u32 r[REGISTERS];

	access->cpuid(access->context, LEAF_VENDOR, r);
	return r[EBX] == 0x68747541 || r[EBX] == 0x6f677948;
}

static u32 family_of(const struct ts_pmu_access *access)
{
	u32 r[REGISTERS], base;

	read_leaf(access, LEAF_FEATURES, r);
	base = r[EAX] >> 8 & 15;
	return base + (base == 15 ? r[EAX] >> 20 & 255 : 0);
}

static void declare_amd(struct ts_pmu *pmu, const struct ts_pmu_access *access)
{
	u32 r[REGISTERS];

	pmu->kind = TS_PMU_AMD_K7;
	pmu->general = 4;
	read_leaf(access, LEAF_EXTENDED_FEATURES, r);
	if (HAS_EXT_CORE(r[ECX])) {
		pmu->kind = TS_PMU_AMD_CORE;
		pmu->general = 6;
	}
	read_leaf(access, LEAF_MONITORING_V2, r);
	if (r[EAX] & 1) {
		pmu->kind = TS_PMU_AMD_V2;
		pmu->general = r[EBX] & 15;
		pmu->global = 1;
	}
	pmu->width = AMD_WIDTH;
	pmu->instructions = 1;
	pmu->usable = pmu->general;
	if (family_of(access) == 0x15 && pmu->usable > AMD_15H_USABLE)
		pmu->usable = AMD_15H_USABLE;
}

static void declare_intel(struct ts_pmu *pmu, const struct ts_pmu_access *access)
{
	u32 r[REGISTERS];
	u64 capabilities;

	read_leaf(access, LEAF_MONITORING, r);
	pmu->version = r[EAX] & 255;
	if (!pmu->version)
		return;
	pmu->kind = TS_PMU_INTEL;
	pmu->general = r[EAX] >> 8 & 255;
	pmu->width = r[EAX] >> 16 & 255;
	pmu->global = pmu->version >= 2;
	/* EAX[31:24] is how many bits of EBX say something. */
	pmu->instructions = r[EAX] >> 24 > 1 && !(r[EBX] & NO_INSTRUCTIONS_EVENT);
	pmu->usable = pmu->general < INTEL_USABLE ? pmu->general : INTEL_USABLE;
	read_leaf(access, LEAF_FEATURES, r);
	if (HAS_PDCM(r[ECX]) && access->read &&
	    access->read(access->context, MSR_PERF_CAPABILITIES, &capabilities))
		pmu->full_width = !!(capabilities & FULL_WIDTH_WRITE);
}

/* ---- registers ---- */

static u32 select_msr(const struct ts_pmu *pmu, u32 i)
{
	return families[pmu->kind].select + i * families[pmu->kind].step;
}

static u32 counter_msr(const struct ts_pmu *pmu, u32 i)
{
	return (pmu->full_width ? MSR_A_PMC0 : families[pmu->kind].counter) + i * families[pmu->kind].step;
}

static enum ts_status refused(u32 msr, const char *hint, struct ts_error *error)
{
	char word[24];
	struct ts_text text;

	ts_text_init(&text, word, sizeof(word));
	ts_put(&text, "msr-");
	ts_put_hex(&text, msr);
	return ts_fail(error, TS_BAD_COUNTER, word, hint);
}

static enum ts_status write_msr(const struct ts_pmu_access *access, u32 msr, u64 value,
				struct ts_error *error)
{
	if (access->write(access->context, msr, value))
		return TS_OK;
	return refused(msr, "the hypervisor declares this PMU and faults on a register of it: no counts here", error);
}

/* Writes a register that has to keep what was written. */
static enum ts_status set_msr(const struct ts_pmu_access *access, u32 msr, u64 value,
			      struct ts_error *error)
{
	enum ts_status status = write_msr(access, msr, value, error);
	u64 seen;

	if (status)
		return status;
	if (!access->read(access->context, msr, &seen))
		return refused(msr, "it can be written but not read: no counts here", error);
	if (seen != value)
		return refused(msr, "it does not keep what is written: the event is filtered, or there is no PMU",
			       error);
	return TS_OK;
}

static enum ts_status set_global(const struct ts_pmu *pmu, const struct ts_pmu_access *access, u64 value,
				 struct ts_error *error)
{
	return pmu->global ? set_msr(access, families[pmu->kind].global, value, error) : TS_OK;
}

static enum ts_status set_counters(const struct ts_pmu *pmu, const struct ts_pmu_access *access,
				   const struct ts_events *events, struct ts_error *error)
{
	enum ts_status status = TS_OK;
	u32 i;

	for (i = 0; i < events->n && !status; i++) {
		status = write_msr(access, select_msr(pmu, i), 0, error);
		if (!status)
			status = write_msr(access, counter_msr(pmu, i), 0, error);
		if (!status)
			status = set_msr(access, select_msr(pmu, i),
					 events->config[i] | SELECT_OS | SELECT_ENABLE, error);
	}
	return status;
}

static enum ts_status try_rdpmc(const struct ts_pmu_access *access, u32 n, struct ts_error *error)
{
	u64 value;
	u32 i;

	for (i = 0; i < n; i++)
		if (!access->rdpmc(access->context, i, &value))
			return ts_fail(error, TS_BAD_COUNTER, "rdpmc",
				       "the hypervisor faults on RDPMC: no counts here");
	return TS_OK;
}

void ts_pmu_stop(struct ts_pmu *pmu, const struct ts_pmu_access *access, struct ts_counters *counters)
{
	struct ts_error unused;
	u32 i;

	for (i = 0; i < pmu->used; i++)
		write_msr(access, select_msr(pmu, i), 0, &unused);
	if (pmu->used)
		set_global(pmu, access, 0, &unused);
	pmu->used = counters->n = counters->counting = 0;
}

enum ts_status ts_pmu_start(struct ts_pmu *pmu, const struct ts_pmu_access *access,
			    const struct ts_events *events, struct ts_counters *counters,
			    struct ts_error *error)
{
	enum ts_status status;
	u32 i;

	ts_pmu_stop(pmu, access, counters);
	pmu->used = events->n; /* what has to be stopped if anything fails */
	status = set_global(pmu, access, 0, error);
	if (!status)
		status = set_counters(pmu, access, events, error);
	if (!status)
		status = set_global(pmu, access, (1ULL << events->n) - 1, error);
	if (!status)
		status = try_rdpmc(access, events->n, error);
	if (status) {
		ts_pmu_stop(pmu, access, counters);
		return status;
	}
	counters->n = events->n;
	counters->width = pmu->width;
	counters->counting = 1;
	for (i = 0; i < events->n; i++)
		counters->index[i] = i;
	return TS_OK;
}

void ts_pmu_detect(struct ts_pmu *pmu, const struct ts_pmu_access *access)
{
	struct ts_pmu none = { 0 };
	struct ts_counters counters;
	struct ts_events events;
	struct ts_error error;

	*pmu = none;
	if (is_amd(access))
		declare_amd(pmu, access);
	else
		declare_intel(pmu, access);
	if (!pmu->general || pmu->width < MIN_WIDTH || pmu->width > 64)
		*pmu = none;
	if (pmu->usable > TS_MAX_COUNTERS)
		pmu->usable = TS_MAX_COUNTERS;
	if (!pmu->kind || !access->write)
		return;
	ts_pmu_check_events(1, &events);
	if (ts_pmu_start(pmu, access, &events, &counters, &error))
		*pmu = none;
	else
		ts_pmu_stop(pmu, access, &counters);
}

/* ---- events ---- */

void ts_pmu_check_events(u32 n, struct ts_events *events)
{
	u32 i;

	events->n = n;
	for (i = 0; i < n; i++)
		events->config[i] = EVENT_INSTRUCTIONS;
}

static enum ts_status refused_event(u64 config, const char *hint, struct ts_error *error)
{
	char word[24];
	struct ts_text text;

	ts_text_init(&text, word, sizeof(word));
	ts_put_hex(&text, config);
	return ts_fail(error, TS_OUT_OF_RANGE, word, hint);
}

enum ts_status ts_pmu_accepts(const struct ts_pmu *pmu, const struct ts_events *events,
			      struct ts_error *error)
{
	u32 i;

	if (!pmu->kind)
		return ts_fail(error, TS_NO_FEATURE, "pmu", ts_pmu_remedy);
	if (events->n > pmu->usable)
		return ts_fail(error, TS_OUT_OF_RANGE, "events",
			       "more than there are counters: ask in several lines (hello says counters=N)");
	for (i = 0; i < events->n; i++) {
		if (events->config[i] & ~(CONFIG_COMMON | CONFIG_AMD))
			return refused_event(events->config[i],
					     "bits 0-15, 18, 23-31 and 32-35 say what is counted; the others are not yours",
					     error);
		if (events->config[i] & ~families[pmu->kind].config)
			return refused_event(events->config[i], "bits 32-35 are AMD's, this is no AMD CPU", error);
	}
	return TS_OK;
}

enum ts_status ts_pmu_bad_counter(u32 counter, s64 seen, s64 expected, struct ts_error *error)
{
	char word[48];
	struct ts_text text;

	ts_text_init(&text, word, sizeof(word));
	ts_put(&text, "counter-");
	ts_put_number(&text, counter);
	ts_put(&text, ":");
	ts_put_signed(&text, seen);
	ts_put(&text, "-instead-of-");
	ts_put_signed(&text, expected);
	return ts_fail(error, TS_BAD_COUNTER, word,
		       "it does not count instructions as they were executed: nothing that it counts can be "
		       "trusted; look for another user of the PMU, on the host too");
}

/* ---- answers ---- */

static void put_name(struct ts_text *text, const struct ts_pmu *pmu)
{
	ts_put_key_word(text, "pmu", families[pmu->kind].name);
	if (pmu->kind == TS_PMU_INTEL)
		ts_put_number(text, pmu->version);
}

void ts_pmu_print_hello(struct ts_text *text, const struct ts_pmu *pmu)
{
	put_name(text, pmu);
	ts_put_key_number(text, "counters", pmu->usable);
}

void ts_pmu_print_events(struct ts_text *text, const struct ts_pmu *pmu)
{
	ts_put(text, "events");
	ts_put_key_number(text, "general", pmu->general);
	ts_put_key_number(text, "width", pmu->width);
	ts_put_key_number(text, "used", pmu->used);
	put_name(text, pmu);
}
