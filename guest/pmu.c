// SPDX-License-Identifier: GPL-2.0
/*
 * The PMU: sweeps/core/pmu.c with this CPU's instructions. Each of them may fault: there are hypervisors that
 * declare a PMU and refuse some of its registers.
 */
#include "pmu.h"
#include "console.h"
#include "cpu.h"
#include "io.h"

struct ts_pmu pmu;
struct ts_counters pmu_counters;

static void access_cpuid(void *context, u32 leaf, u32 *r)
{
	struct cpuid c = cpuid(leaf, 0);

	(void)context;
	r[0] = c.eax;
	r[1] = c.ebx;
	r[2] = c.ecx;
	r[3] = c.edx;
}

static u8 access_read(void *context, u32 msr, u64 *value)
{
	(void)context;
	return cpu_read_msr(msr, value);
}

static u8 access_write(void *context, u32 msr, u64 value)
{
	(void)context;
	return cpu_write_msr(msr, value);
}

static u8 access_rdpmc(void *context, u32 index, u64 *value)
{
	(void)context;
	return cpu_read_pmc(index, value);
}

static const struct ts_pmu_access access = {
	.cpuid = access_cpuid, .read = access_read, .write = access_write, .rdpmc = access_rdpmc,
};

void pmu_init(void)
{
	ts_pmu_detect(&pmu, &access);
	if (!pmu.kind)
		console_log(ts_pmu_remedy, 0, 0);
}

/* The counters that n events are to have count instructions first. */
static enum ts_status self_check(u32 n, struct ts_error *error)
{
	struct ts_events instructions;
	enum ts_status status;
	s64 seen, expected;
	u32 wrong;

	ts_pmu_check_events(n, &instructions);
	status = ts_pmu_start(&pmu, &access, &instructions, &pmu_counters, error);
	if (status)
		return status;
	wrong = ts_counters_check(&pmu_counters, &seen, &expected);
	ts_pmu_stop(&pmu, &access, &pmu_counters);
	return wrong == n ? TS_OK : ts_pmu_bad_counter(wrong, seen, expected, error);
}

enum ts_status pmu_set_events(const struct ts_events *events, struct ts_error *error)
{
	enum ts_status status;

	ts_pmu_stop(&pmu, &access, &pmu_counters);
	if (!events->n)
		return TS_OK;
	status = ts_pmu_accepts(&pmu, events, error);
	if (!status && pmu.instructions)
		status = self_check(events->n, error);
	return status ? status : ts_pmu_start(&pmu, &access, events, &pmu_counters, error);
}
