// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU: which one CPUID declares, which register gets which value, and what happens when a
 * hypervisor lacks parts of what it declares.
 *
 * The registers are a fake bank that keeps what is written, counts accesses and faults on request.
 * What it has to see is typed here, as numbers, from the manuals' register layouts: Intel SDM
 * vol. 3, 20.2 (IA32_PERFEVTSELx 186H, IA32_PMCx C1H, IA32_A_PMCx 4C1H, IA32_PERF_GLOBAL_CTRL 38FH;
 * OS is bit 17, EN bit 22) and AMD APM vol. 2, 13.2 (C001_0000 and C001_0004; C001_0200 and
 * C001_0201 in turn; C000_0301; the same bits).
 */
#include "truth.h"

#include "pmu.h"

/* ---- the fake ---- */

struct leaf {
	u32 number, r[4]; /* EAX EBX ECX EDX */
};

#define MAX_MSRS 64
#define MAX_WRITES 64

struct bank {
	const struct leaf *leaves; /* ends with one that is all zero */
	u32 msr[MAX_MSRS], msrs;
	u64 value[MAX_MSRS];
	u32 missing;	  /* an MSR that faults, 0 for none */
	u32 forgets;	  /* an MSR that swallows what is written, 0 for none; ~0: all do */
	u32 accesses;	  /* MSR accesses and RDPMCs so far */
	u32 fault;	  /* number of the access that faults, from 1; 0 for none */
	u8 for_good;	  /* and all behind it */
	u8 no_rdpmc;
	struct {
		u32 msr;
		u64 value;
	} write[MAX_WRITES];
	u32 writes;
};

static void fake_cpuid(void *context, u32 number, u32 *r)
{
	const struct bank *bank = context;
	const struct leaf *leaf;

	memset(r, 0, 4 * sizeof(*r));
	for (leaf = bank->leaves; leaf->number || leaf->r[0]; leaf++)
		if (leaf->number == number)
			memcpy(r, leaf->r, sizeof(leaf->r));
}

static u8 faults(struct bank *bank, u32 msr)
{
	bank->accesses++;
	if (bank->fault && (bank->accesses == bank->fault ||
			    (bank->for_good && bank->accesses > bank->fault)))
		return 1;
	return msr && msr == bank->missing;
}

static u64 *cell(struct bank *bank, u32 msr)
{
	u32 i;

	for (i = 0; i < bank->msrs; i++)
		if (bank->msr[i] == msr)
			return &bank->value[i];
	assert_true(bank->msrs < MAX_MSRS);
	bank->msr[bank->msrs] = msr;
	bank->value[bank->msrs] = 0;
	return &bank->value[bank->msrs++];
}

static u8 fake_read(void *context, u32 msr, u64 *value)
{
	struct bank *bank = context;

	*value = 0;
	if (faults(bank, msr))
		return 0;
	*value = *cell(bank, msr);
	return 1;
}

static u8 fake_write(void *context, u32 msr, u64 value)
{
	struct bank *bank = context;

	if (faults(bank, msr))
		return 0;
	assert_true(bank->writes < MAX_WRITES);
	bank->write[bank->writes].msr = msr;
	bank->write[bank->writes++].value = value;
	if (bank->forgets != msr && bank->forgets != ~0U)
		*cell(bank, msr) = value;
	return 1;
}

static u8 fake_rdpmc(void *context, u32 index, u64 *value)
{
	struct bank *bank = context;

	*value = 0;
	assert_true(index < 8);
	return !faults(bank, 0) && !bank->no_rdpmc;
}

static struct ts_pmu_access access_to(struct bank *bank)
{
	return (struct ts_pmu_access){ bank, fake_cpuid, fake_read, fake_write, fake_rdpmc };
}

/* ---- CPUs ---- */

#define INTEL_VENDOR { 0, { 0x16, 0x756e6547, 0x6c65746e, 0x49656e69 } }
#define AMD_VENDOR { 0, { 0x10, 0x68747541, 0x444d4163, 0x69746e65 } }
#define PDCM 0x8000

/* EAX of leaf 0AH: bits of EBX, width, counters, version, a byte each. */
#define INTEL(name, signature, monitoring, missing)                                             \
	static const struct leaf name[] = { INTEL_VENDOR, { 1, { signature, 0, PDCM, 0 } },         \
					    { 10, { monitoring, missing, 0, 0 } }, { 0 } }
INTEL(yonah, 0x6e8, 0x07280201, 0);	  /* version 1: two counters, 40 bits, no global register */
INTEL(merom, 0x6f6, 0x07280202, 0);	  /* version 2 */
INTEL(sandy, 0x206a7, 0x07300403, 0);	  /* version 3: 4 counters, 48 bits */
INTEL(skylake, 0x506e3, 0x07300404, 0);	  /* version 4 */
INTEL(icelake, 0x606a6, 0x08300805, 0);	  /* version 5: 8 counters, of which 4 take every event */
INTEL(crippled, 0x506e3, 0x07300404, 2);  /* without the event retired instructions */
INTEL(short_ebx, 0x506e3, 0x01300404, 0); /* EBX says nothing of it */
INTEL(odd_width, 0x506e3, 0x07100404, 0); /* 16 bits: no PMU that there ever was */
INTEL(no_counters, 0x506e3, 0x07300004, 0);
INTEL(no_pmu, 0x506e3, 0, 0);		  /* KVM with pmu=off */

/* Leaf 10 is there, but the last one is 7: what stands behind it belongs to another leaf. */
static const struct leaf short_leaves[] = {
	{ 0, { 7, 0x756e6547, 0x6c65746e, 0x49656e69 } }, { 10, { 0x07300404, 0, 0, 0 } }, { 0 }
};

#define AMD(name, signature, last, ecx, v2, v2_counters)                                        \
	static const struct leaf name[] = {                                                         \
		AMD_VENDOR, { 1, { signature, 0, 0, 0 } }, { 0x80000000, { last, 0, 0, 0 } },          \
		{ 0x80000001, { 0, 0, ecx, 0 } }, { 0x80000022, { v2, v2_counters, 0, 0 } }, { 0 } }
AMD(barcelona, 0x100f22, 0x8000001a, 0, 0, 0);		/* family 10h: K7's four */
AMD(bulldozer, 0x600f12, 0x8000001e, 0x800000, 0, 0);	/* family 15h */
AMD(zen3, 0xa20f10, 0x80000023, 0x800000, 0, 0);	/* family 19h */
AMD(zen4, 0xa60f12, 0x80000028, 0x800000, 1, 0x446);	/* PerfMonV2, 6 core counters */
AMD(zen3_short, 0xa20f10, 0x80000021, 0x800000, 1, 6);	/* 8000_0022 lies beyond the last leaf */

static void assert_pmu(const struct leaf *leaves, u64 capabilities, const char *hello,
		       const char *events, u32 instructions, u32 full_width)
{
	struct bank bank = { .leaves = leaves };
	struct ts_pmu_access access = access_to(&bank);
	struct ts_text text;
	struct ts_pmu pmu;
	char line[200];

	*cell(&bank, 0x345) = capabilities;
	ts_pmu_detect(&pmu, &access);
	ts_text_init(&text, line, sizeof(line));
	ts_pmu_print_hello(&text, &pmu);
	assert_string_equal(line, hello);
	ts_text_init(&text, line, sizeof(line));
	ts_pmu_print_events(&text, &pmu);
	assert_string_equal(line, events);
	assert_int_equal(pmu.instructions, instructions);
	assert_int_equal(pmu.full_width, full_width);
}

static void detects(void **state)
{
	static const char none[] = "events general=0 width=0 used=0 pmu=none";

	(void)state;
	assert_pmu(yonah, 0, " pmu=intel-v1 counters=2", "events general=2 width=40 used=0 pmu=intel-v1", 1, 0);
	assert_pmu(merom, 0x1fff, " pmu=intel-v2 counters=2", "events general=2 width=40 used=0 pmu=intel-v2", 1, 0);
	assert_pmu(sandy, 0x2000, " pmu=intel-v3 counters=4", "events general=4 width=48 used=0 pmu=intel-v3", 1, 1);
	assert_pmu(skylake, 0x33c5, " pmu=intel-v4 counters=4", "events general=4 width=48 used=0 pmu=intel-v4", 1, 1);
	assert_pmu(icelake, 0x2000, " pmu=intel-v5 counters=4", "events general=8 width=48 used=0 pmu=intel-v5", 1, 1);
	assert_pmu(crippled, 0, " pmu=intel-v4 counters=4", "events general=4 width=48 used=0 pmu=intel-v4", 0, 0);
	assert_pmu(short_ebx, 0, " pmu=intel-v4 counters=4", "events general=4 width=48 used=0 pmu=intel-v4", 0, 0);
	assert_pmu(barcelona, 0, " pmu=amd-k7 counters=4", "events general=4 width=48 used=0 pmu=amd-k7", 1, 0);
	assert_pmu(bulldozer, 0, " pmu=amd-core counters=3", "events general=6 width=48 used=0 pmu=amd-core", 1, 0);
	assert_pmu(zen3, 0, " pmu=amd-core counters=6", "events general=6 width=48 used=0 pmu=amd-core", 1, 0);
	assert_pmu(zen3_short, 0, " pmu=amd-core counters=6", "events general=6 width=48 used=0 pmu=amd-core", 1, 0);
	assert_pmu(zen4, 0, " pmu=amd-v2 counters=6", "events general=6 width=48 used=0 pmu=amd-v2", 1, 0);
	assert_pmu(no_pmu, 0, " pmu=none counters=0", none, 0, 0);
	assert_pmu(no_counters, 0, " pmu=none counters=0", none, 0, 0);
	assert_pmu(odd_width, 0, " pmu=none counters=0", none, 0, 0);
	assert_pmu(short_leaves, 0, " pmu=none counters=0", none, 0, 0);
}

/* ---- which register gets which value ---- */

struct expected {
	u32 msr;
	u64 value;
};

/* The writes of starting the events and of stopping them, all of them in their order. */
static void assert_writes(const struct leaf *leaves, u64 capabilities, const struct ts_events *events,
			  const struct expected *expected, u32 n)
{
	struct bank bank = { .leaves = leaves };
	struct ts_pmu_access access = access_to(&bank);
	struct ts_counters counters;
	struct ts_error error;
	struct ts_pmu pmu;
	u32 i;

	*cell(&bank, 0x345) = capabilities;
	ts_pmu_detect(&pmu, &access);
	bank.writes = 0;
	assert_int_equal(ts_pmu_accepts(&pmu, events, &error), TS_OK);
	assert_int_equal(ts_pmu_start(&pmu, &access, events, &counters, &error), TS_OK);
	assert_int_equal(counters.n, events->n);
	assert_int_equal(counters.width, pmu.width);
	assert_int_equal(counters.counting, 1);
	assert_int_equal(pmu.used, events->n);
	for (i = 0; i < events->n; i++)
		assert_int_equal(counters.index[i], i); /* RDPMC numbers general counters from 0 */
	ts_pmu_stop(&pmu, &access, &counters);
	assert_int_equal(counters.n, 0);
	for (i = 0; i < n && i < bank.writes; i++)
		if (bank.write[i].msr != expected[i].msr || bank.write[i].value != expected[i].value)
			fail_msg("write %u: %#x = %#llx, expected %#x = %#llx", i, bank.write[i].msr,
				 bank.write[i].value, expected[i].msr, expected[i].value);
	assert_int_equal(bank.writes, n);
}

#define ASSERT_WRITES(leaves, capabilities, events, ...)                                        \
	do {                                                                                        \
		static const struct expected expected[] = { __VA_ARGS__ };                              \
		assert_writes(leaves, capabilities, &(struct ts_events)events, expected,                \
			      TS_COUNT(expected));                                                      \
	} while (0)
#define EVENTS(...) { sizeof((u64[]){ __VA_ARGS__ }) / sizeof(u64), { __VA_ARGS__ } }

static void intel_registers(void **state)
{
	(void)state;
	/* Version 1: select and counter alone. 40H/0FH and, of the other counter, C0H. */
	ASSERT_WRITES(yonah, 0, EVENTS(0x0f40, 0xc0),
		      { 0x186, 0 }, { 0xc1, 0 }, { 0x186, 0x00420f40 },
		      { 0x187, 0 }, { 0xc2, 0 }, { 0x187, 0x004200c0 },
		      { 0x186, 0 }, { 0x187, 0 });
	/* Version 2: stopped by the global register while they are set. */
	ASSERT_WRITES(merom, 0, EVENTS(0x0208),
		      { 0x38f, 0 },
		      { 0x186, 0 }, { 0xc1, 0 }, { 0x186, 0x00420208 },
		      { 0x38f, 1 },
		      { 0x186, 0 }, { 0x38f, 0 });
	/* Version 3 without full-width writes: the old counter registers. Edge, invert, counter mask 10H. */
	ASSERT_WRITES(sandy, 0, EVENTS(0x10840149),
		      { 0x38f, 0 },
		      { 0x186, 0 }, { 0xc1, 0 }, { 0x186, 0x10c60149 },
		      { 0x38f, 1 },
		      { 0x186, 0 }, { 0x38f, 0 });
	/* Version 4 on Skylake: DTLB_LOAD_MISSES.WALK_COMPLETED, WALK_ACTIVE (mask 1), STLB_HIT, retired. */
	ASSERT_WRITES(skylake, 0x2000, EVENTS(0x0e08, 0x01001008, 0x2008, 0x11d0),
		      { 0x38f, 0 },
		      { 0x186, 0 }, { 0x4c1, 0 }, { 0x186, 0x00420e08 },
		      { 0x187, 0 }, { 0x4c2, 0 }, { 0x187, 0x01421008 },
		      { 0x188, 0 }, { 0x4c3, 0 }, { 0x188, 0x00422008 },
		      { 0x189, 0 }, { 0x4c4, 0 }, { 0x189, 0x004211d0 },
		      { 0x38f, 0xf },
		      { 0x186, 0 }, { 0x187, 0 }, { 0x188, 0 }, { 0x189, 0 }, { 0x38f, 0 });
	/* Version 5: three of them, 12H/0EH as on Golden Cove. */
	ASSERT_WRITES(icelake, 0x2000, EVENTS(0x0e12, 0x0e13, 0x0e11),
		      { 0x38f, 0 },
		      { 0x186, 0 }, { 0x4c1, 0 }, { 0x186, 0x00420e12 },
		      { 0x187, 0 }, { 0x4c2, 0 }, { 0x187, 0x00420e13 },
		      { 0x188, 0 }, { 0x4c3, 0 }, { 0x188, 0x00420e11 },
		      { 0x38f, 7 },
		      { 0x186, 0 }, { 0x187, 0 }, { 0x188, 0 }, { 0x38f, 0 });
}

static void amd_registers(void **state)
{
	(void)state;
	/* Family 10h: 46H/07H, 45H/07H, and 4DH on the third. */
	ASSERT_WRITES(barcelona, 0, EVENTS(0x0746, 0x0745, 0x014d),
		      { 0xc0010000, 0 }, { 0xc0010004, 0 }, { 0xc0010000, 0x00420746 },
		      { 0xc0010001, 0 }, { 0xc0010005, 0 }, { 0xc0010001, 0x00420745 },
		      { 0xc0010002, 0 }, { 0xc0010006, 0 }, { 0xc0010002, 0x0042014d },
		      { 0xc0010000, 0 }, { 0xc0010001, 0 }, { 0xc0010002, 0 });
	/* Family 15h: event 165H stands in bits 7:0 and 35:32. */
	ASSERT_WRITES(bulldozer, 0, EVENTS(0x100000765ULL),
		      { 0xc0010200, 0 }, { 0xc0010201, 0 }, { 0xc0010200, 0x100420765ULL },
		      { 0xc0010200, 0 });
	/* Zen 3: 45H/F0H, 45H/FFH, 78H/FFH; select and counter in turn. */
	ASSERT_WRITES(zen3, 0, EVENTS(0xf045, 0xff45, 0xff78),
		      { 0xc0010200, 0 }, { 0xc0010201, 0 }, { 0xc0010200, 0x0042f045 },
		      { 0xc0010202, 0 }, { 0xc0010203, 0 }, { 0xc0010202, 0x0042ff45 },
		      { 0xc0010204, 0 }, { 0xc0010205, 0 }, { 0xc0010204, 0x0042ff78 },
		      { 0xc0010200, 0 }, { 0xc0010202, 0 }, { 0xc0010204, 0 });
	/* Zen 4: the same between two writes of PerfCntrGlobalCtl. */
	ASSERT_WRITES(zen4, 0, EVENTS(0xf045, 0xff84),
		      { 0xc0000301, 0 },
		      { 0xc0010200, 0 }, { 0xc0010201, 0 }, { 0xc0010200, 0x0042f045 },
		      { 0xc0010202, 0 }, { 0xc0010203, 0 }, { 0xc0010202, 0x0042ff84 },
		      { 0xc0000301, 3 },
		      { 0xc0010200, 0 }, { 0xc0010202, 0 }, { 0xc0000301, 0 });
}

/* ---- what a hypervisor may lack ---- */

static const struct leaf *const cpus[] = { yonah, merom, sandy, skylake, icelake, barcelona,
					   bulldozer, zen3, zen4 };

/* Is any counter of the bank still enabled? */
static u8 still_counts(const struct bank *bank)
{
	u32 i;

	for (i = 0; i < bank->msrs; i++) {
		u32 msr = bank->msr[i];
		u8 is_select = (msr >= 0x186 && msr < 0x18e) || (msr >= 0xc0010000 && msr < 0xc0010004) ||
			       (msr >= 0xc0010200 && msr < 0xc001020c && !(msr & 1));

		if (is_select && bank->value[i] & 0x400000)
			return 1;
	}
	return 0;
}

/* Every access of starting two events faults once, alone and with all behind it. */
static void every_access_faults(void **state)
{
	static const struct ts_events events = EVENTS(0x0e08, 0xf045);
	u32 cpu, n, for_good, accesses;

	(void)state;
	for (cpu = 0; cpu < TS_COUNT(cpus); cpu++) {
		for (n = 0, accesses = 1; n <= accesses; n++) {
			for (for_good = 0; for_good < 2; for_good++) {
				struct bank bank = { .leaves = cpus[cpu] };
				struct ts_pmu_access access = access_to(&bank);
				struct ts_counters counters = { 0 };
				struct ts_error error = { 0 };
				enum ts_status status;
				struct ts_pmu pmu;

				ts_pmu_detect(&pmu, &access);
				assert_true(pmu.kind);
				bank.accesses = 0;
				bank.fault = n;
				bank.for_good = for_good;
				status = ts_pmu_start(&pmu, &access, &events, &counters, &error);
				if (!n) { /* no fault: how many there are */
					assert_int_equal(status, TS_OK);
					accesses = bank.accesses;
					continue;
				}
				assert_int_equal(status, TS_BAD_COUNTER);
				assert_true(error.word[0] && error.hint);
				assert_int_equal(pmu.used, 0);
				assert_int_equal(counters.n, 0);
				assert_int_equal(counters.counting, 0);
				if (!for_good)
					assert_false(still_counts(&bank));
			}
		}
		assert_true(accesses >= 2 * 4 + 2); /* 3 writes and a read for each, and RDPMCs */
	}
}

/* The same at detection: no PMU then, unless it was only the question for full-width writes. */
static void every_access_of_detection_faults(void **state)
{
	u32 cpu, n, accesses;

	(void)state;
	for (cpu = 0; cpu < TS_COUNT(cpus); cpu++) {
		for (n = 0, accesses = 1; n <= accesses; n++) {
			struct bank bank = { .leaves = cpus[cpu], .fault = n };
			struct ts_pmu_access access = access_to(&bank);
			struct ts_pmu pmu;
			u8 intel = cpus[cpu][0].r[1] == 0x756e6547;

			ts_pmu_detect(&pmu, &access);
			assert_false(still_counts(&bank));
			if (!n)
				accesses = bank.accesses - (pmu.global ? 3 : 1); /* those of stopping it again */
			if (!n || (intel && n == 1))
				assert_true(pmu.kind && !pmu.full_width);
			else
				assert_int_equal(pmu.kind, TS_PMU_NONE);
		}
	}
}

static void assert_no_pmu(struct bank bank)
{
	struct ts_pmu_access access = access_to(&bank);
	struct ts_pmu pmu;

	ts_pmu_detect(&pmu, &access);
	assert_int_equal(pmu.kind, TS_PMU_NONE);
	assert_int_equal(pmu.usable, 0);
	assert_int_equal(pmu.general, 0);
}

static void lacking(void **state)
{
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(cpus); i++) {
		assert_no_pmu((struct bank){ .leaves = cpus[i], .forgets = ~0U }); /* KVM, enable_pmu=0 */
		assert_no_pmu((struct bank){ .leaves = cpus[i], .no_rdpmc = 1 });
	}
	assert_no_pmu((struct bank){ .leaves = skylake, .missing = 0x38f });
	assert_no_pmu((struct bank){ .leaves = skylake, .forgets = 0x38f });
	assert_no_pmu((struct bank){ .leaves = zen4, .missing = 0xc0000301 });
	assert_no_pmu((struct bank){ .leaves = zen3, .missing = 0xc0010200 });
}

/* An event filter of the host: the select register of the second event reads 0. */
static void filtered_event(void **state)
{
	static const struct ts_events events = EVENTS(0x0e08, 0x0e49);
	struct bank bank = { .leaves = skylake, .forgets = 0x187 };
	struct ts_pmu_access access = access_to(&bank);
	struct ts_counters counters = { 0 };
	struct ts_error error;
	struct ts_pmu pmu;

	(void)state;
	ts_pmu_detect(&pmu, &access);
	assert_int_equal(pmu.kind, TS_PMU_INTEL);
	assert_int_equal(ts_pmu_start(&pmu, &access, &events, &counters, &error), TS_BAD_COUNTER);
	assert_string_equal(error.word, "msr-0x187");
	assert_int_equal(counters.n, 0);
	assert_false(still_counts(&bank));
}

/* Without rights to the registers (module): what CPUID declares, and nothing is touched. */
static void by_cpuid_alone(void **state)
{
	struct bank bank = { .leaves = skylake };
	struct ts_pmu_access access = { .context = &bank, .cpuid = fake_cpuid };
	struct ts_pmu pmu;

	(void)state;
	ts_pmu_detect(&pmu, &access);
	assert_int_equal(pmu.kind, TS_PMU_INTEL);
	assert_int_equal(pmu.general, 4);
	assert_int_equal(bank.accesses, 0);
}

/* ---- which events are accepted ---- */

static void assert_accepts(const struct leaf *leaves, struct ts_events events, enum ts_status status,
			   const char *word)
{
	struct bank bank = { .leaves = leaves };
	struct ts_pmu_access access = access_to(&bank);
	struct ts_error error = { 0 };
	struct ts_pmu pmu;

	ts_pmu_detect(&pmu, &access);
	assert_int_equal(ts_pmu_accepts(&pmu, &events, &error), status);
	assert_string_equal(error.word, word);
	assert_true(!status || error.hint);
}

static void accepts(void **state)
{
	u32 bit;

	(void)state;
	assert_accepts(skylake, (struct ts_events)EVENTS(1, 2, 3, 4), TS_OK, "");
	assert_accepts(skylake, (struct ts_events)EVENTS(1, 2, 3, 4, 5), TS_OUT_OF_RANGE, "events");
	assert_accepts(icelake, (struct ts_events)EVENTS(1, 2, 3, 4, 5), TS_OUT_OF_RANGE, "events");
	assert_accepts(bulldozer, (struct ts_events)EVENTS(1, 2, 3, 4), TS_OUT_OF_RANGE, "events");
	assert_accepts(zen4, (struct ts_events)EVENTS(1, 2, 3, 4, 5, 6), TS_OK, "");
	assert_accepts(no_pmu, (struct ts_events)EVENTS(0x3c), TS_NO_FEATURE, "pmu");
	assert_accepts(skylake, (struct ts_events)EVENTS(0xc0, 0x100000065ULL), TS_OUT_OF_RANGE, "0x100000065");
	assert_accepts(zen3, (struct ts_events)EVENTS(0x100000065ULL), TS_OK, "");
	/* USR 16, OS 17, PC 19, INT 20, ANY 21, EN 22 are not the user's; beyond 35 there is nothing. */
	for (bit = 0; bit < 64; bit++) {
		u8 ok = bit <= 15 || bit == 18 || (bit >= 23 && bit <= 31), amd = bit >= 32 && bit <= 35;
		char word[32];

		snprintf(word, sizeof(word), "0x%llx", 1ULL << bit);
		assert_accepts(skylake, (struct ts_events){ 1, { 1ULL << bit } },
			       ok ? TS_OK : TS_OUT_OF_RANGE, ok ? "" : word);
		assert_accepts(zen3, (struct ts_events){ 1, { 1ULL << bit } },
			       ok || amd ? TS_OK : TS_OUT_OF_RANGE, ok || amd ? "" : word);
	}
}

static void bad_counter_has_figures(void **state)
{
	struct ts_error error;

	(void)state;
	assert_int_equal(ts_pmu_bad_counter(3, -17, 6000, &error), TS_BAD_COUNTER);
	assert_string_equal(error.word, "counter-3:-17-instead-of-6000");
	ts_pmu_bad_counter(7, -9223372036854775807LL, 6000, &error);
	assert_string_equal(error.word, "counter-7:-9223372036854775807-instead-of-6000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detects),
		cmocka_unit_test(intel_registers),
		cmocka_unit_test(amd_registers),
		cmocka_unit_test(every_access_faults),
		cmocka_unit_test(every_access_of_detection_faults),
		cmocka_unit_test(lacking),
		cmocka_unit_test(filtered_event),
		cmocka_unit_test(by_cpuid_alone),
		cmocka_unit_test(accepts),
		cmocka_unit_test(bad_counter_has_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
