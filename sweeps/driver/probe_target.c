// SPDX-License-Identifier: GPL-2.0
/* What the findings mean for the targets. */
#include "probe_target.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

/* Beside what a target's own lists demand (struct target_ops, probes and prefer). */
const struct target_limit target_limits[] = {
	{ "kvm", "kvm-native", LIMIT_REFUSED,
	  "KVM emulates ring 0: rows say emulated-cpu, no verdict", NULL },
	{ "kvm", "nested-paging", LIMIT_NO_VERDICT,
	  "one stage of paging only: rows say shadow, no "
	  "verdict", NULL },
	{ "kvm", "bare-metal", LIMIT_NO_VERDICT,
	  "the true host page is out of sight: rows say nested, no "
	  "verdict", NULL },
	{ "kvm", "hybrid", LIMIT_LESS, "the vCPU may sit on either kind of core", NULL },
	{ "kvm", "tsc", LIMIT_LESS, "refills count, cycles do not", NULL },
	{ "kvm", "memory", LIMIT_LESS, "the guest's memory may not fit", NULL },
	{ "kvm", "pool-2m", LIMIT_LESS,
	  "2M host pages have to come from THP, or root enlarges the pool", NULL },
	{ "kvm", "pool-1g", LIMIT_LESS, "no host pages of 1G, unless root can enlarge the pool", NULL },
	{ "kvm", "nx-huge-pages", LIMIT_LESS,
	  "cases with code in the window see their 2M pages split", NULL },
	{ "module", "bare-metal", LIMIT_LESS,
	  "host page unknown: it shows what one stage of paging and "
	  "some second one do together", NULL },
	{ "module", "hybrid", LIMIT_LESS, "the module may sit on either kind of core", NULL },
	{ "module", "tsc", LIMIT_LESS, "refills count, cycles do not", NULL },
	{ "module", "pti", LIMIT_LESS, "a write of CR3 drops kernel pages as well", NULL },
	{ "user", "syscall-flush", LIMIT_NO_VERDICT,
	  "full and selective flush look the same: no-contrast; plan reach, without a flush, is not touched by it",
	  "reach" },
	{ "user", "tracefs", LIMIT_LESS, "what each call flushes is not verified: flush_seen says so", NULL },
	{ "user", "bare-metal", LIMIT_LESS, "what backs the memory is inferred from time", NULL },
	{ "user", "hybrid", LIMIT_LESS, "the process may sit on either kind of core", NULL },
	{ "user", "tsc", LIMIT_LESS, "all that it has is cycles, and the clock is in doubt", NULL },
	{ "user", "thp", LIMIT_LESS, "no 2M pages on request: the 2M half needs the pool", NULL },
	{ "user", "memory", LIMIT_LESS, "the window may not fit", NULL },
};
const size_t target_limit_count = TS_COUNT(target_limits);

/* ---- findings, each looked for once ---- */

struct findings {
	const struct options *options;
	struct finding *of; /* as many as there are probes */
	unsigned char *looked;
};

struct findings *findings_new(const struct options *options)
{
	struct findings *findings = xcalloc(1, sizeof(*findings));

	findings->options = options;
	findings->of = xcalloc(probe_count, sizeof(*findings->of));
	findings->looked = xcalloc(probe_count, 1);
	return findings;
}

const struct finding *findings_get(struct findings *findings, const char *id)
{
	const struct probe *probe = probe_find(id);
	size_t i;

	if (!probe)
		return NULL;
	i = probe - probes;
	if (!findings->looked[i])
		probe_look(probe, findings->options, &findings->of[i]);
	findings->looked[i] = 1;
	return &findings->of[i];
}

void findings_look(struct findings *findings, const struct target_ops *ops)
{
	struct looking *looking = xcalloc(probe_count, sizeof(*looking));
	size_t i;

	for (i = 0; i < probe_count; i++)
		if (!ops || target_asks(ops, probes[i].id))
			probe_start(&probes[i], findings->options, &looking[i]);
	for (i = 0; i < probe_count; i++) {
		if (ops && !target_asks(ops, probes[i].id))
			continue;
		probe_finish(&probes[i], findings->options, &looking[i], &findings->of[i]);
		findings->looked[i] = 1;
	}
	free(looking);
}

void findings_free(struct findings *findings)
{
	free(findings->of);
	free(findings->looked);
	free(findings);
}

/* ---- targets ---- */

int limit_holds(const struct target_limit *limit, struct findings *findings)
{
	enum probe_result result = findings_get(findings, limit->probe)->result;

	return result == PROBE_MISSING || result == PROBE_PROBLEM;
}

/* The first of some ids that is not ok. */
static const struct probe *first_bad(const char *const *id, struct findings *findings,
				     const struct finding **finding)
{
	for (; id && *id; id++) {
		*finding = findings_get(findings, *id);
		if ((*finding)->result != PROBE_OK)
			return probe_find(*id);
	}
	*finding = NULL;
	return NULL;
}

const struct probe *target_lacks(const struct target_ops *ops, struct findings *findings,
				 const struct finding **finding)
{
	return first_bad(ops->probes, findings, finding);
}

const struct probe *target_reservation(const struct target_ops *ops, struct findings *findings,
				       const struct finding **finding)
{
	const struct probe *found = first_bad(ops->prefer, findings, finding);
	size_t i;

	for (i = 0; !found && i < target_limit_count; i++) {
		const struct target_limit *limit = &target_limits[i];

		if (strcmp(limit->target, ops->name) || limit->weight == LIMIT_LESS ||
		    !limit_holds(limit, findings))
			continue;
		found = probe_find(limit->probe);
		*finding = findings_get(findings, limit->probe);
	}
	return found;
}

static int in_list(const char *const *list, const char *id)
{
	for (; list && *list; list++)
		if (!strcmp(*list, id))
			return 1;
	return 0;
}

int target_asks(const struct target_ops *ops, const char *id)
{
	size_t i;

	for (i = 0; i < target_limit_count; i++)
		if (!strcmp(target_limits[i].target, ops->name) &&
		    !strcmp(target_limits[i].probe, id))
			return 1;
	return in_list(ops->probes, id) || in_list(ops->prefer, id);
}
