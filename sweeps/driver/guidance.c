// SPDX-License-Identifier: GPL-2.0
/*
 * What to set on this machine. Each point says what it rests on: rows of the run (valid ones of hardware
 * only), or a published source, or that it was not measured here and what would measure it.
 */
#include "cell_text.h"
#include "report.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AMIT_2016 "N. Amit, kvm list, May 2016, thread \"x86: strange behavior of invlpg\" " \
		  "(sweeps/published/dtlb-misses-2016.csv)"
#define EUROSYS_2020 "Amit, Tai, Wei, \"Don't shoot down TLB shootdowns!\", EuroSys 2020, section 7"

/* ---- what the run tells ---- */

/* Does anything in it tell about hardware? */
static int is_hardware(const struct report_run *run)
{
	return !*run->stamp && run->rows.count;
}

static enum verdict verdict_on(const struct report_run *run, const char *host)
{
	const char *why;

	if (!is_hardware(run) || run->phase == TS_PHASES)
		return VERDICT_UNDECIDED;
	return cells_verdict(&run->rest, run->phase, host, &why);
}

static int is_fractured(enum verdict verdict)
{
	return verdict == VERDICT_LARGE_ONLY || verdict == VERDICT_WHOLE;
}

/* "F 1.00 for 2m pages on host pages of 4k (run X, rows 3, 7)". */
static char *cell_evidence(const struct report_run *run, const struct cell *cell)
{
	const struct outcome *parts[] = { cell->none, cell->selective, cell->full };
	char f[64], *rows = report_rows(parts, 3), *text;

	text_f(f, sizeof(f), cell);
	text = xasprintf("F %s for %s pages%s on host pages of %s (run %s, %s)", f,
			 ts_page_names[cell->key->c.guest], cell->key->c.code ? " with code in them" : "",
			 cell->key->host, run->label, rows);
	free(rows);
	return text;
}

/* Evidence of the verdict on a host page, both cells. */
static char *verdict_evidence(const struct report_run *run, const char *host)
{
	char *small = cell_evidence(run, cells_verdict_cell(&run->rest, run->phase, host, TS_4K));
	char *large = cell_evidence(run, cells_verdict_cell(&run->rest, run->phase, host, TS_2M));
	char *text = xasprintf("measured: %s; %s", small, large);

	free(small);
	free(large);
	return text;
}

/* What would measure the point, and what others published. */
static char *not_measured(const char *command, const char *published)
{
	return xasprintf("not measured here; `%s` on a physical machine measures it. Published: %s", command, published);
}

/* The answer of a reach run about large pages, with the curve it is about; REACH_NOT_TOLD without one. */
static enum reach_answer reach_says(const struct report_run *run, char **why)
{
	enum reach_answer answer;
	size_t i, j;

	for (i = 0; i < run->reach.count; i++)
		for (j = 0; j < run->reach.set[i].curves && !run->reach.set[i].emulated && !*run->stamp; j++) {
			if (!reach_asks(&run->reach.set[i].curve[j]))
				continue;
			answer = reach_answer(&run->reach.set[i], &run->reach.set[i].curve[j], why);
			if (answer != REACH_NOT_TOLD)
				return answer;
			free(*why);
		}
	*why = NULL;
	return REACH_NOT_TOLD;
}

/* ---- points ---- */

static void guest_pages(const struct report_run *run, struct guidance_point *point)
{
	enum verdict verdict = verdict_on(run, "4k");
	char *why;
	enum reach_answer reach = reach_says(run, &why);

	point->topic = "Huge pages in the guest";
	if (is_fractured(verdict)) {
		point->advice = xstrdup("Use 2M pages in the guest only where the host backs its memory with 2M pages, "
					"too. Over 4K host pages the flush of one page drops the cached 2M translations.");
		point->evidence = verdict_evidence(run, "4k");
	} else if (verdict == VERDICT_INTACT) {
		point->advice = xstrdup("Use 2M pages in the guest as the workload wants them: here they survive the "
					"flush of other pages, over 4K host pages as well.");
		point->evidence = verdict_evidence(run, "4k");
	} else if (reach == REACH_PIECES) {
		point->advice = xstrdup("2M pages do not make the TLB reach farther in this VM as long as its host has "
					"4K pages behind them: ask for large host pages first. Whether a flush of one "
					"page drops them all was not measured.");
		point->evidence = xasprintf("measured (run %s, rows of phase retouch with op none): %s",
					    run->label, why);
	} else if (reach == REACH_ONE_ENTRY) {
		point->advice = xstrdup("Use 2M pages in the guest: each takes one entry of the TLB here.");
		point->evidence = xasprintf("measured (run %s, rows of phase retouch with op none): %s",
					    run->label, why);
	} else {
		point->advice = xstrdup("Use 2M pages in the guest where the host's are 2M, too; elsewhere measure "
					"first.");
		point->evidence = not_measured("tlbscope run fracture --on kvm",
					       "one INVLPG over 2M guest pages made 102.0 dTLB misses over 4K host "
					       "pages, 0.003 over 2M ones; " AMIT_2016);
	}
	if (!is_fractured(verdict) && reach != REACH_PIECES) /* else the next point comes first */
		point->snippet = "# kernel command line of the guest: 2M pages for who asks by madvise\n"
				 "transparent_hugepage=madvise\n";
	free(why);
}

static void host_pages(const struct report_run *run, struct guidance_point *point)
{
	enum verdict small = verdict_on(run, "4k"), large = verdict_on(run, "2m");
	char *evidence[2];

	point->topic = "Huge pages on the host";
	if (is_fractured(small)) {
		point->advice = xstrdup("Back guest memory with 2M pages, from a reserved pool when it must not depend "
					"on luck, and verify what came of it.");
		evidence[0] = verdict_evidence(run, "4k");
		evidence[1] = large == VERDICT_UNDECIDED ? xstrdup("host pages of 2m: not measured here") :
							   verdict_evidence(run, "2m");
		point->evidence = xasprintf("%s; %s", evidence[0], evidence[1]);
		free(evidence[0]);
		free(evidence[1]);
	} else if (small == VERDICT_INTACT) {
		point->advice = xstrdup("Flushes are no reason for 2M host pages on this CPU. Shorter page walks may be; "
					"they were not measured here.");
		point->evidence = verdict_evidence(run, "4k");
	} else {
		point->advice = xstrdup("Back the memory of guests that use 2M pages with 2M pages.");
		point->evidence = not_measured("tlbscope run fracture --on kvm",
					       "with 2M host pages one INVLPG cost 0.003 dTLB misses instead of 102.0; "
					       AMIT_2016 "; Intel called the drop expected: " EUROSYS_2020);
	}
	point->snippet = "# kernel command line of the host: a pool of 4096 pages of 2M, 8 GiB\n"
			 "hugepagesz=2M hugepages=4096\n\n"
			 "# QEMU (7.2): the guest's RAM out of the pool, had at the start or not at all\n"
			 "-machine memory-backend=ram -m 8G\n"
			 "-object memory-backend-memfd,id=ram,size=8G,hugetlb=on,hugetlbsize=2M,prealloc=on\n\n"
			 "# libvirt\n"
			 "<memoryBacking>\n  <hugepages>\n    <page size='2048' unit='KiB'/>\n  </hugepages>\n"
			 "</memoryBacking>\n\n"
			 "# what KVM has really mapped\n"
			 "grep . /sys/kernel/debug/kvm/*/pages_{4k,2m,1g}\n";
}

/* The valid 2m cell on a host page with code in its pages or not, or 0. */
static const struct cell *shatter_cell(const struct report_run *run, const char *host, u64 code)
{
	size_t i;

	for (i = 0; is_hardware(run) && i < run->rest.count; i++) {
		const struct cell *cell = &run->rest.cell[i];

		if (cell->key->c.phase == run->phase && cell->key->c.guest == TS_2M && !cell->key->c.mix &&
		    cell->key->c.code == code && !strcmp(cell->key->host, host) && !strcmp(cell->valid, "ok"))
			return cell;
	}
	return NULL;
}

/* Evidence of a cell and of the one that it is to be compared with; 0 unless both are there. */
static char *pair_evidence(const struct report_run *run, const struct cell *cell, const struct cell *plain)
{
	char *texts[2], *text;

	if (!cell || !plain)
		return NULL;
	texts[0] = cell_evidence(run, cell);
	texts[1] = cell_evidence(run, plain);
	text = xasprintf("measured: %s; beside it %s", texts[0], texts[1]);
	free(texts[0]);
	free(texts[1]);
	return text;
}

static void nx_huge_pages(const struct report_run *run, struct guidance_point *point)
{
	const struct cell *code = shatter_cell(run, "2m", 1);
	char *state = environment_text(run->json, "machine.kvm_nx_huge_pages");
	char *affected = environment_text(run->json, "machine.itlb_multihit");
	int in_vm = json_is_true(json_object_get(json_object_get(json_object_get(run->json, "machine"), "cpu"),
						 "hypervisor"));
	int splits;

	point->topic = "kvm.nx_huge_pages";
	point->evidence = pair_evidence(run, code, shatter_cell(run, "2m", 0));
	splits = point->evidence && verdict_level(&code->f) == 1;
	if (splits)
		point->advice = xstrdup("It splits 2M pages that hold code, and such pages fracture here. Turn it off "
					"where all guests are trusted, or where the CPU is not affected by iTLB multihit.");
	else
		point->advice = xasprintf("It makes KVM split 2M host pages that hold code. Turn it off only where the "
					  "CPU is not affected by iTLB multihit, or where all guests are trusted.%s%s%s%s%s",
					  state ? " This machine has it at " : "", state ?: "",
					  state && affected ? "; iTLB multihit: " : "", state && affected ? affected : "",
					  state && in_vm ? " (the setting of this VM's own kernel; its host's cannot be "
							   "seen)" : state ? "." : "");
	if (!point->evidence)
		point->evidence = not_measured("tlbscope run shatter --on kvm",
					       "the split is Linux commit b8e8c8303ff2; that it makes pages fracture: "
					       "N. Amit, 13 November 2019, Message-ID "
					       "DEF550EE-F476-48FB-A226-66D34503CF70@gmail.com");
	/* It is a protection: what turns it off stands here only where a run shows what it costs. */
	point->snippet = splits ? "# kernel command line of the host\nkvm.nx_huge_pages=off\n" :
				  "# what the host has; off gives up a protection\n"
				  "cat /sys/module/kvm/parameters/nx_huge_pages\n";
	free(state);
	free(affected);
}

static void dirty_logging(const struct report_run *run, struct guidance_point *point)
{
	const struct cell *logged = shatter_cell(run, "2m-logged", 0);

	point->topic = "Dirty logging and live migration";
	point->evidence = pair_evidence(run, logged, shatter_cell(run, "2m", 0));
	point->advice = xstrdup(point->evidence && verdict_level(&logged->f) == 0 ?
				"While writes are logged KVM maps 4K pages; on this CPU that does not make flushes of "
				"one page cost more." :
				"While writes are logged, as during a live migration, KVM maps 4K pages under a guest "
				"whose RAM is on 2M ones: keep that time short, and see afterwards that pages_2m comes "
				"back.");
	if (!point->evidence)
		point->evidence = not_measured("tlbscope run shatter --on kvm",
					       "that logging goes by 4K pages: Linux, arch/x86/kvm/mmu; "
					       "cloud-hypervisor, pull request 3090");
	point->snippet = "# KVM's count of 2M pages, before and after\ngrep . /sys/kernel/debug/kvm/*/pages_2m\n";
}

/* The break-even that was measured, for every host page; 0 when it was not. */
static int ceiling_measured(const struct report_run *run, struct guidance_point *point)
{
	const struct ceiling *c = &run->ceiling;
	char *next;
	int keep;
	size_t i;

	if (!is_hardware(run) || !c->advices)
		return 0;
	for (i = 0; i < c->advices; i++) {
		const struct ceiling_advice *advice = &c->advice[i];
		double value = ceiling_advised(c, advice, NULL, &keep);

		next = xasprintf("%s%sOn host pages of %s: %s %.0f.", point->advice ?: "", point->advice ? " " : "",
				 advice->host, keep ? "leave it at" : "set it to", value);
		free(point->advice);
		point->advice = next;
		next = xasprintf("%s%shost page %s, %zu working sets, against %s: the worst flush loses least at %.0f "
				 "(%.0f to %.0f), %.0f cycles, and %.0f at 33", point->evidence ?: "measured: ",
				 point->evidence ? "; " : "", advice->host, advice->sets,
				 ts_ops[advice->pair->full].name, advice->ceiling.value, advice->ceiling.low,
				 advice->ceiling.high, advice->loss, advice->loss_standard);
		free(point->evidence);
		point->evidence = next;
		if (!keep && !point->made)
			point->made = xasprintf("# until the next boot; tlbscope ceiling %s has it for every boot\n"
						"echo %.0f | sudo tee "
						"/sys/kernel/debug/x86/tlb_single_page_flush_ceiling\n",
						run->label, value);
	}
	next = xasprintf("%s (run %s; tlbscope ceiling prints the table over working sets). The local flush only; a record "
			 "of your own flushes, ceiling --flushes, replaces the worst one", point->evidence,
			 run->label);
	free(point->evidence);
	point->evidence = next;
	point->snippet = point->made;
	return 1;
}

static void ceiling(const struct report_run *run, struct guidance_point *point)
{
	char *value = environment_text(run->json, "user.ceiling"), *how = environment_text(run->json,
											   "user.ceiling_how");
	int declined;

	point->topic = "tlb_single_page_flush_ceiling";
	if (ceiling_measured(run, point)) {
		free(value);
		free(how);
		return;
	}
	declined = is_hardware(run) && report_question(run) == ASKS_CEILING && run->ceiling.refusal;
	point->advice = xasprintf("Leave it as it is%s.%s%s%s%s%s",
				  declined ? ": this run does not tell a better one" : " until it is measured",
				  value ? " The kernel here has " : "", value ?: "", value && how ? " (" : "",
				  value && how ? how : "", value ? how ? ")." : "." : "");
	if (declined)
		point->evidence = xasprintf("not told, though run %s measured it: %s", run->label,
					    run->ceiling.refusal);
	else
		point->evidence = not_measured("tlbscope run ceiling",
					       "33 since Linux commit a5102476a24b (2014), from one machine's kernel "
					       "build, without a VM; several selective flushes cost more than one full "
					       "flush in a fractured VM: " EUROSYS_2020);
	point->snippet = "# it does not outlive a reboot\n"
			 "cat /sys/kernel/debug/x86/tlb_single_page_flush_ceiling\n";
	free(value);
	free(how);
}

/* ---- cost ---- */

/* Can the cycles of the cell be reckoned with? */
static int has_cost(const struct report_run *run, const struct cell *cell)
{
	return is_hardware(run) && cell->key->c.phase == TS_RETOUCH && !cell->key->c.mix && cell->none &&
	       cell->selective && !isnan(cell->none->cycles) && !isnan(cell->selective->cycles) &&
	       !strcmp(cell->none->valid, "ok") && !strcmp(cell->selective->valid, "ok") &&
	       !strcmp(cell->valid, "ok");
}

/*
 * A core has TSC-rate cycles a second; a flush that makes the next pass over the set so many cycles longer takes
 * cycles * rate of them. The flush instruction itself is not in it.
 */
static void cost(const struct report_run *run, const struct report_options *options, struct guidance_point *point)
{
	double hz = environment_tsc_hz(run->json);
	char *text = xstrdup(""), *evidence = xstrdup(""), *next, *rows, *set;
	size_t i;

	point->topic = "What it costs";
	for (i = 0; i < run->rest.count && hz > 0; i++) {
		const struct cell *cell = &run->rest.cell[i];
		const struct outcome *parts[] = { cell->none, cell->selective };
		double cycles;

		if (!has_cost(run, cell))
			continue;
		cycles = cell->selective->cycles - cell->none->cycles;
		set = text_set(&cell->key->c);
		rows = report_rows(parts, 2);
		next = xasprintf("%s%s%s on host pages of %s: %.0f cycles a flush, %.2f %% of a core", text,
				 *text ? "; " : "", set, cell->key->host, cycles,
				 cycles * options->flush_rate / hz * 100);
		free(text);
		text = next;
		next = xasprintf("%s%s%s", evidence, *evidence ? "; " : "", rows);
		free(evidence);
		evidence = next;
		free(rows);
		free(set);
	}
	if (*text) {
		point->advice = xasprintf("What one selective flush adds to the next pass over the working set, at %.0f "
					  "flushes a second: %s. The flush instruction itself is not in it.",
					  options->flush_rate, text);
		point->evidence = xasprintf("measured: phase retouch, medians, selective less none; run %s, %s; TSC %.0f "
					    "Hz", run->label, evidence, hz);
	} else {
		point->advice = xasprintf("Cannot be told at %.0f flushes a second, nor at any other rate.",
					  options->flush_rate);
		point->evidence = xasprintf("not measured here: %s",
					    !(hz > 0) ? "run.json has no rate of the TSC that can be believed" :
							"no cell of phase retouch is valid");
	}
	free(text);
	free(evidence);
}

/* ---- all of them ---- */

static void build_points(const struct report_run *run, const struct report_options *options,
			 struct guidance_point point[GUIDANCE_POINTS])
{
	memset(point, 0, GUIDANCE_POINTS * sizeof(*point));
	guest_pages(run, &point[0]);
	host_pages(run, &point[1]);
	nx_huge_pages(run, &point[2]);
	dirty_logging(run, &point[3]);
	ceiling(run, &point[4]);
	cost(run, options, &point[5]);
}

static void free_points(struct guidance_point point[GUIDANCE_POINTS])
{
	size_t i;

	for (i = 0; i < GUIDANCE_POINTS; i++) {
		free(point[i].advice);
		free(point[i].evidence);
		free(point[i].made);
	}
}

int guidance_same_machine(const struct report_run *a, const struct report_run *b)
{
	static const char *const paths[] = {
		"machine.cpu.model_name", "machine.cpu.family", "machine.cpu.model", "machine.cpu.stepping",
		"machine.cpu.microcode", "machine.cpu.hypervisor_name", "machine.hypervisor_product",
		"machine.kernel.release",
	};
	int same = !strcmp(a->stamp, b->stamp) && !a->json == !b->json &&
		   (a->json || (a->rows.count && b->rows.count && !strcmp(a->rows.row->cpu, b->rows.row->cpu)));
	size_t i;

	for (i = 0; i < TS_COUNT(paths) && same; i++) {
		char *x = environment_text(a->json, paths[i]), *y = environment_text(b->json, paths[i]);

		same = !strcmp(x ?: "", y ?: "");
		free(x);
		free(y);
	}
	return same;
}

static int is_measured(const struct guidance_point *point)
{
	return !strncmp(point->evidence, "measured", strlen("measured"));
}

/* Takes over the points that the run measured and nobody before it. */
static void add_run(struct guidance *guidance, const struct report_run *run, const struct report_options *options)
{
	struct guidance_point point[GUIDANCE_POINTS], old;
	size_t i;

	build_points(run, options, point);
	for (i = 0; i < GUIDANCE_POINTS; i++) {
		if (is_measured(&guidance->point[i]) || !is_measured(&point[i]))
			continue;
		old = guidance->point[i];
		guidance->point[i] = point[i];
		point[i] = old;
	}
	free_points(point);
}

size_t guidance_build(const struct report_run *runs, size_t n, const struct report_options *options,
		      struct guidance **list)
{
	size_t i, j, machines = 0;

	*list = xcalloc(n, sizeof(**list));
	for (i = 0; i < n; i++) {
		for (j = 0; j < machines && !guidance_same_machine((*list)[j].run, &runs[i]);)
			j++;
		if (j < machines) {
			add_run(&(*list)[j], &runs[i], options);
			continue;
		}
		(*list)[machines].run = &runs[i];
		build_points(&runs[i], options, (*list)[machines++].point);
	}
	return machines;
}

const char guidance_idle[] = "Nothing to set follows from it. Measure on a physical machine: "
			     "tlbscope run fracture --on kvm.";

int guidance_is_idle(const struct guidance *guidance)
{
	return *guidance->run->stamp != '\0';
}

void guidance_free(struct guidance *list, size_t n)
{
	while (n)
		free_points(list[--n].point);
	free(list);
}
