// SPDX-License-Identifier: GPL-2.0
/*
 * One case: pages for its window, the window in the private root, the measured passes, and
 * everything given back.
 *
 * All preparation runs as ordinary kernel code. Only what has to see the window at its addresses
 * runs on the private root: ts_measure(), in slices (root.c).
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "host.h"

int ts_experiment_init(struct ts_experiment *x)
{
	int result;

	ts_machine_detect(&x->machine);
	x->root.perf = &x->perf;
	result = ts_pages_init(&x->pages);
	return result ? result : ts_root_init(&x->root, x->machine.features);
}

void ts_experiment_destroy(struct ts_experiment *x)
{
	ts_perf_release(&x->perf);
	ts_pages_release(&x->pages);
	ts_pages_destroy(&x->pages);
	ts_root_destroy(&x->root);
}

/* Where the kernel has the line that the window has at va; NULL if nothing is mapped there. */
static u64 *line_of(const struct ts_tables *tables, u64 va)
{
	u64 page, *entry = ts_pt_leaf(tables, va, &page), inside, frame;

	if (!entry)
		return NULL;
	inside = ts_page_size(page) - 1;
	frame = *entry & TS_PTE_ADDR & ~tables->table_flags & ~inside;
	return phys_to_virt(frame + (va & inside));
}

/*
 * What ts_window_link() does, by the kernel's own addresses of the lines, so that interrupts stay
 * on: the chain of pointers through all touches. If no line was written twice, it is one cycle over
 * all.
 */
static enum ts_status link_lines(const struct ts_expansion *e, const struct ts_tables *tables,
				 struct ts_error *error)
{
	u64 i, *line;

	for (i = 0; i < e->touches; i++) {
		line = line_of(tables, e->touch[i]);
		if (!line)
			return ts_fail(error, TS_CONFLICT, "touches",
				       "a touch lies outside the set");
		*line = e->touch[(i + 1) % e->touches];
	}
	cond_resched();
	for (i = 0; i < e->touches; i++)
		if (*line_of(tables, e->touch[i]) != e->touch[(i + 1) % e->touches])
			return ts_fail(error, TS_CONFLICT, "touches", "two touches share a line");
	return TS_OK;
}

static void run_code(struct ts_experiment *x)
{
	ts_root_prepare(&x->root, x->e.c.pcid);
	ts_root_enter(&x->root);
	ts_window_run_code(&x->window, &x->root.cpu);
	ts_root_leave(&x->root);
}

static enum ts_status measure(struct ts_experiment *x, struct ts_error *error)
{
	struct ts_window window = { .e = &x->e, .leaf = { x->leaf[0], x->leaf[1] } };
	struct ts_tables tables = ts_root_tables(&x->root, &x->pages);
	struct ts_memory memory = ts_frames_of;
	enum ts_status status;

	memory.context = &x->pages;
	x->window = window;
	status = ts_window_map(&x->window, &tables, &memory, x->root.leaf_flags, error);
	if (!status)
		status = link_lines(&x->e, &tables, error);
	if (!status)
		status = ts_root_alias(&x->root, &x->pages, &x->window, error);
	if (status)
		return status;
	ts_session_breathe();
	if (x->e.c.code)
		run_code(x);
	ts_root_prepare(&x->root, x->e.c.pcid);
	ts_root_enter(&x->root);
	ts_measure(&x->window, &x->root.cpu, x->samples, &x->result);
	ts_root_leave(&x->root);
	ts_summarize(&x->e.c, x->samples, &x->result);
	ts_session_breathe();
	/* A bound thread is moved when its CPU goes offline, at a pause too. */
	if (raw_smp_processor_id() != x->cpu)
		return ts_fail(error, TS_NO_FEATURE, "cpu", "the CPU that was measured is offline");
	return TS_OK;
}

/* Refuses a case that needs what is missing here, naming the first thing. */
static enum ts_status check_features(const struct ts_experiment *x, const struct ts_case *c,
				     struct ts_error *error)
{
	u32 missing = ts_case_needs(c) & ~x->machine.features;
	const char *conflict = c->pcid ? ts_machine_pcid_conflict() : NULL;

	if (missing)
		return ts_fail(error, TS_NO_FEATURE, ts_feature_name(__builtin_ctz(missing)),
			       "this CPU, or the hypervisor above it, lacks what the case needs");
	return conflict ? ts_fail(error, TS_NO_FEATURE, "pcid", conflict) : TS_OK;
}

enum ts_status ts_experiment_run(struct ts_experiment *x, const struct ts_case *c,
				 struct ts_error *error)
{
	enum ts_status status = check_features(x, c, error);

	if (!status)
		status = ts_expand(c, TS_WINDOW_BASE, x->touch, &x->e, error);
	if (status)
		return status;
	ts_pages_start(&x->pages);
	status = measure(x, error);
	ts_root_clear(&x->root);
	ts_pages_release(&x->pages);
	return status;
}
