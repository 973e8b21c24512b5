// SPDX-License-Identifier: GPL-2.0
/* The reasons of column valid. */
#include "reason.h"

#include "row.h"

#include <stdio.h>
#include <string.h>

/* The most telling first: of several, the first one is told. */
static const struct reason reasons[] = {
	{ "control-missing", "no verdict: a control is missing (op none, a selective and a full flush)",
	  "run a plan that has op none, a selective and a full flush, like fracture" },
	{ "control-none", "no verdict: the control without a flush lost entries, so losses are not the flush's",
	  "use fewer leaves, or stop what else runs on the machine" },
	{ "control-full", "no verdict: a full flush did not empty the set, so the set was not all cached",
	  "use fewer leaves than the TLB holds" },
	{ "not-judged", "no verdict: column valid says nothing of these rows, so nobody has judged them",
	  "write ok or the reasons into column valid, or measure again" },
	{ "shadow", "no verdict: KVM uses shadow paging here, there is no second stage to look at",
	  "load kvm_intel with ept=1 or kvm_amd with npt=1" },
	{ "nested", "no verdict: the KVM host is a VM itself, the true host page cannot be seen",
	  "run on a physical machine" },
	{ "emulated-cpu", "no verdict: an emulated CPU", "run where the CPU is used directly" },
	{ "backing", "no verdict: the host page is not the one that was asked for, or was not verified",
	  "reserve a pool of huge pages, or allow THP; tlbscope doctor says how" },
	{ "twin", "no verdict: a flush was not seen to work", "report it: the CPU or the tool is at fault" },
	{ "op-exits", "no verdict: the flush leaves the guest, so the hypervisor has its part in it",
	  "compare ops that do not exit; column exits has the count" },
	{ "syscall-flush", "no verdict: every system call empties the TLB here (PTI without PCID), so the twin "
			   "without a flush loses everything too, and what differs is other work of the kernel",
	  "use the target module or kvm, or a kernel without PTI or with PCID" },
	{ "no-contrast", "no verdict: a full flush does not cost more than no flush by more than noise",
	  "use more leaves, or a quieter machine" },
	{ "unstable", "no verdict: the interval of F did not get narrow in time; try again on a quiet machine",
	  "stop what else runs on the machine" },
	{ "migrated", "no verdict: the process was moved to another CPU", "pin it: taskset -c N" },
	{ "no-huge-page", "no verdict: no huge pages of that size could be had; reserve a pool (2M: or allow THP, madvise)",
	  "reserve a pool of huge pages of that size, or, for 2M, allow THP (madvise)" },
	{ "no-memory", "no verdict: there was not enough memory for the working set", "use fewer leaves" },
	{ "guest-page", "no verdict: the pages of the window changed their size meanwhile",
	  "stop khugepaged and memory pressure, then measure again" },
	{ "no-invpcid", "no verdict: PTI without INVPCID, where the kernel flushes everything for one page", NULL },
	{ "no-feature", "no verdict: the CPU or the target lacks what the case needs",
	  "ask for ops, phases and pages that it has: tlbscope list ops, list targets, doctor" },
	{ "multiplexed", "no verdict: the counters were not counting all the time",
	  "free the counters (nmi_watchdog=0) or ask for fewer events" },
};

const struct reason *reason_at(size_t i)
{
	return i < TS_COUNT(reasons) ? &reasons[i] : NULL;
}

const struct reason *reason_find(const char *name)
{
	size_t i;

	for (i = 0; i < TS_COUNT(reasons); i++)
		if (!strcmp(reasons[i].name, name))
			return &reasons[i];
	return NULL;
}

/* The first of the table that is in a list joined by +; 0 when none is. */
static const struct reason *first_of(const char *list)
{
	struct row row = { .valid = "" };
	size_t i;

	snprintf(row.valid, sizeof(row.valid), "%s", list);
	for (i = 0; i < TS_COUNT(reasons); i++)
		if (row_has_reason(&row, reasons[i].name))
			return &reasons[i];
	return NULL;
}

const char *reason_sentence(const char *list)
{
	const struct reason *first = first_of(list);

	return first ? first->sentence : list;
}

const char *reason_remedy(const char *list)
{
	const struct reason *first = first_of(list);

	return first ? first->remedy : NULL;
}
