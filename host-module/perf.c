// SPDX-License-Identifier: GPL-2.0
/*
 * Event counters, by the kernel's perf: it owns the PMU, knows which event may stand on which counter, and shares
 * them with everyone else.
 *
 * Each event is a pinned counter of the thread's CPU, so that perf keeps it on the PMU or gives it up for good, and
 * never multiplexes it. It is read by RDPMC inside the measured pass. That is sound because
 * - a slice has interrupts off, so that perf cannot move the event to another counter in it (its NMI handler does
 *   not: these events have no period that could end);
 * - at the start of each slice, before the switch to the private root, ts_perf_refresh() looks whether every
 *   event is active on this CPU, and on which counter. A pass without that is not counted.
 * perf_event_read_local(), which would do the same, is not exported.
 */
#include <linux/perf_event.h>

#include "host.h"

#undef pr_fmt
#define pr_fmt(fmt) "tlbscope: " fmt

static void read_cpuid(void *context, u32 leaf, u32 *r)
{
	asm volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(0));
}

/* perf keeps event constraints itself, and its registers are not ours. */
static const struct ts_pmu_access by_cpuid = { .cpuid = read_cpuid };

static struct perf_event *new_event(int cpu, u64 config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = config,
		.pinned = 1,
		.exclude_user = 1,
	};

	return perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
}

void ts_perf_release(struct ts_perf *perf)
{
	while (perf->n)
		perf_event_release_kernel(perf->event[--perf->n]);
	perf->counters.n = perf->counters.counting = perf->pmu.used = 0;
}

void ts_perf_detect(struct ts_perf *perf, int cpu)
{
	struct ts_events one;
	struct perf_event *event;

	perf->cpu = cpu;
	ts_pmu_detect(&perf->pmu, &by_cpuid);
	perf->pmu.usable = min_t(u32, perf->pmu.general, TS_MAX_COUNTERS);
	ts_pmu_check_events(1, &one);
	event = new_event(cpu, one.config[0]);
	if (!IS_ERR(event)) {
		perf_event_release_kernel(event);
		return;
	}
	memset(&perf->pmu, 0, sizeof(perf->pmu));
	pr_info_once("no event counters: perf has no PMU on CPU %d (error %ld); refills and cycles need none\n",
		     cpu, PTR_ERR(event));
}

static enum ts_status refused(u64 config, long result, struct ts_error *error)
{
	struct ts_text text;
	char word[48];

	if (result == -ENOMEM)
		return ts_fail(error, TS_NO_MEMORY, "events", "fewer events");
	ts_text_init(&text, word, sizeof(word));
	ts_put_hex(&text, config);
	ts_put(&text, ":errno-");
	ts_put_number(&text, -result);
	return ts_fail(error, TS_BAD_COUNTER, word, "perf refuses this event on this CPU");
}

/* Opens all events, or none. */
static enum ts_status open_events(struct ts_perf *perf, const struct ts_events *events,
				  struct ts_error *error)
{
	struct perf_event *event;
	u64 config;

	perf->counters.width = perf->pmu.width;
	while (perf->n < events->n) {
		config = events->config[perf->n];
		event = ts_alloc_fails() ? ERR_PTR(-ENOMEM) : new_event(perf->cpu, config);
		if (IS_ERR(event)) {
			ts_perf_release(perf);
			return refused(config, PTR_ERR(event), error);
		}
		perf->event[perf->n++] = event;
	}
	perf->counters.n = perf->pmu.used = perf->n;
	local_irq_disable();
	ts_perf_refresh(perf);
	local_irq_enable();
	if (perf->counters.counting)
		return TS_OK;
	ts_perf_release(perf);
	return ts_fail(error, TS_BAD_COUNTER, "events",
		       "perf has no counter left for one of them: ask for fewer, stop other users of the PMU, or "
		       "write 0 to /proc/sys/kernel/nmi_watchdog");
}

void ts_perf_refresh(struct ts_perf *perf)
{
	const struct perf_event *event;
	u32 i;

	perf->counters.counting = perf->n > 0;
	for (i = 0; i < perf->n; i++) {
		event = perf->event[i];
		if (READ_ONCE(event->state) != PERF_EVENT_STATE_ACTIVE ||
		    READ_ONCE(event->oncpu) != smp_processor_id() || event->hw.idx < 0)
			perf->counters.counting = 0;
		perf->counters.index[i] = event->hw.event_base_rdpmc;
	}
}

/* RDPMC that may fault: 1, or 0 if it did. */
static u8 can_rdpmc(u32 index)
{
	u32 low = 0, high = 0;
	u8 ok = 0;

	asm volatile("1:\trdpmc\n\tmovb $1, %0\n2:\n" _ASM_EXTABLE(1b, 2b)
		     : "+q"(ok), "+a"(low), "+d"(high)
		     : "c"(index));
	return ok;
}

/* As many counters as events are wanted count instructions first. */
static enum ts_status self_check(struct ts_perf *perf, u32 n, struct ts_error *error)
{
	struct ts_events instructions;
	s64 seen = 0, expected = 0;
	enum ts_status status;
	u32 i, wrong = n;

	ts_pmu_check_events(n, &instructions);
	status = open_events(perf, &instructions, error);
	if (status)
		return status;
	local_irq_disable();
	ts_perf_refresh(perf);
	for (i = 0; i < n && can_rdpmc(perf->counters.index[i]); i++)
		;
	if (i == n)
		wrong = ts_counters_check(&perf->counters, &seen, &expected);
	local_irq_enable();
	ts_perf_release(perf);
	if (i < n)
		return ts_fail(error, TS_BAD_COUNTER, "rdpmc", "the hypervisor faults on RDPMC: no counts here");
	return wrong == n ? TS_OK : ts_pmu_bad_counter(wrong, seen, expected, error);
}

enum ts_status ts_perf_set(struct ts_perf *perf, const struct ts_events *events,
			       struct ts_error *error)
{
	enum ts_status status;

	ts_perf_release(perf);
	if (!events->n)
		return TS_OK;
	status = ts_pmu_accepts(&perf->pmu, events, error);
	if (!status && perf->pmu.instructions)
		status = self_check(perf, events->n, error);
	return status ? status : open_events(perf, events, error);
}
