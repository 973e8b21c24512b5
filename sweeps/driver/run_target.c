// SPDX-License-Identifier: GPL-2.0
/* Which target a run is for, and what of its plan that target cannot carry out. */
#include "run_target.h"

#include "probe_target.h"

#include <stdio.h>
#include <string.h>

/* ---- choice ---- */

/* What keeps a target from running, as a problem; the remedy's id stands in brackets, as in doctor. */
static int lack_problem(const struct target_ops *ops, const struct probe *probe,
			const struct finding *f, struct problem *p)
{
	if (!probe)
		return 0;
	return problem(p, EXIT_INPUT, "target %s cannot run here: %s: %s%s%s%s%s%s", ops->name, probe->id,
		       f->seen, *f->remedy ? "; " : "", f->remedy, *f->remedy_id ? " [" : "",
		       f->remedy_id, *f->remedy_id ? "]" : "");
}

int run_check_target(const struct target_ops *ops, const struct options *options, struct problem *p)
{
	struct findings *findings = findings_new(options);
	const struct finding *finding;
	const struct probe *probe = target_lacks(ops, findings, &finding);
	int result = lack_problem(ops, probe, finding, p);

	findings_free(findings);
	return result;
}

int run_asks_ceiling(const struct plan *plan)
{
	return !strcmp(plan->name, "ceiling");
}

#define COST_PHASES (1u << TS_RETOUCH | 1u << TS_BOTH | 1u << TS_OP)

/* Has a target no times that could answer the plan? An emulator's are its own. */
static int lacks_times(const struct target_ops *ops, const struct plan *plan)
{
	return run_asks_ceiling(plan) && !(ops->phases & COST_PHASES);
}

/*
 * The first target that the plan is for, that lacks nothing, and that has a verdict to give; says why not those
 * before it. 0 with what the last one lacks as the problem.
 */
static const struct target_ops *best_target(const struct plan *plan, const struct options *options,
					    struct problem *p)
{
	struct findings *findings = findings_new(options);
	const struct target_ops *best = NULL, *declined = NULL;
	const struct finding *finding;
	const struct probe *probe;
	size_t i;

	problem(p, EXIT_INPUT, "plan %s is for no target of this program", plan->name);
	for (i = 0; targets[i] && !best; i++) {
		const struct plan_filter filter = { .target = targets[i]->name, .phases = targets[i]->phases };

		if (!plan_runs_on(plan, targets[i]->name))
			continue;
		if (declined)
			fprintf(stderr, "not on %s: %s\n", declined->name, strchr(p->text, ':') + 2);
		declined = targets[i];
		if (lacks_times(targets[i], plan)) {
			problem(p, EXIT_REFUSED, "target %s is all that is left, an emulator, and an emulator's cycles give no "
				"break-even; nothing was measured. What would help on the other targets stands above; --on %s "
				"tries the path, without an answer about hardware", targets[i]->name, targets[i]->name);
			continue;
		}
		if (!plan_measures_on(plan, targets[i]->name, targets[i]->phases)) {
			plan_nothing(plan, &filter, p);
			continue;
		}
		probe = target_lacks(targets[i], findings, &finding);
		if (!lack_problem(targets[i], probe, finding, p)) {
			probe = target_reservation(targets[i], findings, &finding);
			if (!probe)
				best = targets[i];
			else
				problem(p, EXIT_INPUT, "target %s is not taken unasked: %s: %s; %s [%s]; --on %s runs it all "
					"the same", targets[i]->name, probe->id, finding->seen, finding->remedy,
					finding->remedy_id, targets[i]->name);
		}
	}
	findings_free(findings);
	return best;
}

const struct target_ops *run_choose_target(const char *name, const struct plan *plan,
					   const struct options *options, struct problem *p)
{
	const struct target_ops *ops = name ? target_find(name) : best_target(plan, options, p);

	if (name && !ops)
		problem(p, EXIT_INPUT, "--on %s: no such target; tlbscope list targets names them", name);
	if (name)
		return ops && !run_check_target(ops, options, p) ? ops : NULL;
	if (ops)
		fprintf(stderr, "on target %s: %s\n", ops->name, ops->claims);
	return ops;
}

/* ---- what the target cannot carry out ---- */

void run_tell_host(const struct plan *plan, const struct target_ops *ops)
{
	const struct section *section = plan_host_section(plan, ops->name);

	if (section && !ops->chooses_host)
		fprintf(stderr, "%s:%d: [%s] host: not carried out, since target %s does not choose the host page; "
			"column host says what the rows have\n", plan->path, section->line, section->name,
			ops->name);
}

static const char *counted_phases(const struct counting *counting)
{
	return counting->source == COUNT_PROCESS ? "retouch" : "both, op and access";
}

int run_check_events(const struct counting *counting, const struct planned *list, size_t count, int tell,
			struct problem *p)
{
	size_t counted = 0, i;

	if (!counting->asked || counting->why_not)
		return 0;
	for (i = 0; i < count; i++)
		counted += counting_wants(counting, &list[i].c);
	if (!counted)
		return problem(p, EXIT_INPUT, "--event %s: events are counted in the rows of phase %s (source %s), "
			       "and this run has none; ask for them: --phase %s", counting->event[0].name,
			       counted_phases(counting), count_source_names[counting->source],
			       counting->source == COUNT_PROCESS ? "retouch" : "both,op,access");
	if (tell && counted < count)
		fprintf(stderr, "events are counted in %zu of %zu rows: those of phase %s\n", counted, count,
			counted_phases(counting));
	return 0;
}
