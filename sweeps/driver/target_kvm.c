// SPDX-License-Identifier: GPL-2.0
/*
 * Target kvm: the guest image under KVM, one boot for each host page size. This is the experiment that the tool exists for.
 *
 * A row is evidence only if four things hold, and each is looked at, not assumed:
 * - the guest's RAM really has the host page asked for: smaps of QEMU, and KVM's own counts of the pages
 *   that it mapped (`backing`);
 * - there is a second stage of paging (`shadow` without EPT or NPT) on a CPU that KVM does not emulate
 *   (`emulated-cpu`, told by the time of a loop of two instructions);
 * - the KVM host is not a guest itself, whose own backing nobody sees (`nested`);
 * - the op itself stays in the guest (`op-exits`: SVM intercepts writes of CR4).
 */
#include "backing.h"
#include "guest.h"
#include "host_state.h"
#include "machine.h"
#include "target.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A native loop of two instructions takes 1 to 3 cycles an iteration, an emulated one thousands. */
#define EMULATED_CYCLES 100
/*
 * -cpu by who counts: the guest's own PMU has to be there, or away so that it takes no counters from the host's kernel.
 * fallback: without arch-capabilities (start()).
 */
static const char *const cpu_models[COUNT_SOURCES] = {
	[COUNT_NONE] = "host", [COUNT_VPMU] = "host,pmu=on", [COUNT_HOST] = "host,pmu=off",
};
static const char *const fallback_models[COUNT_SOURCES] = {
	[COUNT_NONE] = "host,-arch-capabilities",
	[COUNT_VPMU] = "host,pmu=on,-arch-capabilities",
	[COUNT_HOST] = "host,pmu=off,-arch-capabilities",
};
#define FIRST_REGION 512 /* 4K pages: the first 2M hold the legacy VGA hole and ROMs, always small */

enum { EXTRA_PAGES_4K, EXTRA_PAGES_2M, EXTRA_PAGES_1G, EXTRA_NX_SPLITS, EXTRA_BACKING, EXTRAS };
static const char *const extra_names[EXTRAS + 1] = {
	"pages_4k", "pages_2m", "pages_1g", "nx_lpage_splits", "backing", 0,
};

struct kvm {
	struct guest guest;
	struct counting *counting; /* the target's */
	struct backing backing;
	int up;		/* a guest runs, on this backing: */
	int gigabytes;	/* with memory for 1G leaves */
	u64 host;	/* enum plan_host */
	json_t *splits; /* run.json: what dirty logging did to KVM's 2M pages, one object a boot */
	struct ts_case none;	/* the last control without a flush, */
	json_int_t none_exits;	/* and its exits: what a row costs that has no op; -1 when unknown */
	int failed[PLAN_HOSTS][2]; /* a backing that could not be had (by gigabytes) is not tried twice */
	const char *cpu; /* -cpu */
	int cpu_retried, nested, shadow;
	char extra[EXTRAS][32];
	const char *extra_text[EXTRAS];
};

/* ---- what the host says ---- */

/* Without EPT and NPT KVM shadows the guest's tables: one stage only. Neither parameter: not known, so not trusted. */
static int is_shadow(void)
{
	char *ept = read_text("/sys/module/kvm_intel/parameters/ept");
	char *npt = read_text("/sys/module/kvm_amd/parameters/npt");
	const char *value = ept ? ept : npt;
	int nested_paging = value && (*value == 'Y' || *value == '1');

	free(ept);
	free(npt);
	return !nested_paging;
}

/* ---- KVM's statistics, by QMP (QEMU 7.1 and later) ---- */

/* Value of a statistic in one provider's list; -1 if it is not there. */
static json_int_t statistic(const json_t *list, const char *name)
{
	const char *found;
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		found = json_string_value(json_object_get(item, "name"));
		if (found && !strcmp(found, name) && json_is_integer(json_object_get(item, "value")))
			return json_integer_value(json_object_get(item, "value"));
	}
	return -1;
}

/* The list of statistics of the VM or of its vCPU; 0 when QEMU has none. The caller owns *reply. */
static json_t *statistics(struct kvm *kvm, const char *target, json_t **reply)
{
	struct problem ignored;
	json_t *arguments = json_pack("{s:s}", "target", target), *item, *stats = NULL;
	size_t i;

	*reply = NULL;
	if (qemu_command(&kvm->guest.qemu, "query-stats", arguments, reply, &ignored))
		return NULL;
	json_array_foreach(*reply, i, item)
		if (!strcmp(json_string_value(json_object_get(item, "provider")) ?: "", "kvm"))
			stats = json_object_get(item, "stats");
	return stats;
}

/*
 * Exits of the vCPU that are not the harness's: port access (the protocol), the host's interrupts, signals. -1 when
 * unknown.
 */
static json_int_t op_exits(struct kvm *kvm)
{
	static const char *const others[] = { "io_exits", "mmio_exits", "irq_exits", "signal_exits",
					      "halt_exits", "nmi_window_exits", "irq_window_exits" };
	json_t *reply, *list = statistics(kvm, "vcpu", &reply);
	json_int_t exits = list ? statistic(list, "exits") : -1, other;
	size_t i;

	for (i = 0; exits >= 0 && i < TS_COUNT(others); i++) {
		other = statistic(list, others[i]);
		exits -= other > 0 ? other : 0;
	}
	json_decref(reply);
	return exits;
}

/* ---- verification of one row ---- */

static void set_extra(struct kvm *kvm, int which, json_int_t value)
{
	snprintf(kvm->extra[which], sizeof(kvm->extra[which]), "%lld", (long long)value);
	if (value < 0)
		kvm->extra[which][0] = '\0';
}

/* 2M pages that the sets of a case need at least; on a host of such pages KVM has mapped as many. */
static json_int_t regions(const struct ts_case *c)
{
	json_int_t n = c->guest == TS_2M ? (json_int_t)c->leaves : (json_int_t)(c->leaves + 511) / 512;

	return c->guest == TS_1G ? 1 : n;
}

/* Do KVM's page counts agree with the host page? Unknown counts do not. */
static int counts_agree(u64 host, const struct ts_case *c, json_int_t small, json_int_t large,
			json_int_t giant)
{
	if (small < 0 || large < 0)
		return 0;
	switch (host) {
	case PLAN_HOST_4K:
		return small > 0 && !large && giant <= 0;
	case PLAN_HOST_2M:
		if (c->code) /* nx_huge_pages splits what was executed: that is to be seen, not refused */
			return giant <= 0;
		return large >= regions(c) && giant <= 0 && small <= FIRST_REGION;
	case PLAN_HOST_2M_LOGGED:
		return small > 0 && !large && giant <= 0;
	}
	return giant > 0 && small <= FIRST_REGION;
}

static void verify(struct kvm *kvm, const struct ts_case *c, struct row *row)
{
	json_t *reply, *list = statistics(kvm, "vm", &reply);
	json_int_t small = list ? statistic(list, "pages_4k") : -1;
	json_int_t large = list ? statistic(list, "pages_2m") : -1;
	json_int_t giant = list ? statistic(list, "pages_1g") : -1;
	char seen[32] = "";
	int ok = backing_check(&kvm->backing, kvm->guest.qemu.pid, 1, seen, sizeof(seen)) == 1;

	set_extra(kvm, EXTRA_PAGES_4K, small);
	set_extra(kvm, EXTRA_PAGES_2M, large);
	set_extra(kvm, EXTRA_PAGES_1G, giant);
	set_extra(kvm, EXTRA_NX_SPLITS, list ? statistic(list, "nx_lpage_splits") : -1);
	snprintf(kvm->extra[EXTRA_BACKING], sizeof(kvm->extra[EXTRA_BACKING]), "%.15s:%.15s",
		 kvm->backing.how, seen);
	json_decref(reply);
	ok = ok && counts_agree(kvm->host, c, small, large, giant);
	row->host_how = ok ? "verified" : "asked";
	if (!ok)
		row_reason(row, "backing");
}

/* ---- boots ---- */

/*
 * The vCPU on the last CPU that we may use, QEMU's other threads on the rest: a main loop that runs on the vCPU's CPU
 * displaces its caches and TLB.
 */
static void pin(struct kvm *kvm, FILE *log)
{
	cpu_set_t allowed, one;
	int last, thread;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return;
	one = allowed;
	keep_performance_cores(&one, NULL);
	for (last = CPU_SETSIZE - 1; !CPU_ISSET(last, &one); last--)
		;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	CPU_CLR(last, &allowed);
	thread = guest_vcpu_thread(&kvm->guest);
	if (thread && !sched_setaffinity(thread, sizeof(one), &one) &&
	    !sched_setaffinity(kvm->guest.qemu.pid, sizeof(allowed), &allowed))
		fprintf(log, "driver: vCPU thread %d on CPU %d, QEMU's others elsewhere\n", thread, last);
}

static int shut_down(struct kvm *kvm, struct problem *p)
{
	int result = 0;

	perf_group_close(&kvm->counting->group); /* of a thread that ends now */
	if (kvm->up)
		result = guest_end(&kvm->guest, p);
	kvm->up = 0;
	backing_free(&kvm->backing);
	return result;
}

/*
 * On some hosts -cpu host kills QEMU at once (a software KVM without MSR 10AH: "failed to set MSR 0x10a"); without
 * arch-capabilities it starts. The first death is in the log, the retry in run.json.
 */
static int start(struct kvm *kvm, struct target *target, struct problem *p)
{
	const char *more[] = { "-object", kvm->backing.object, 0 };
	struct qemu_config config = {
		.accel = "kvm", .cpu = kvm->cpu, .machine = "pc,memory-backend=ram",
		.memory = kvm->backing.memory, .more = more,
	};
	const char *fallback = fallback_models[target->counting->source];
	int result = guest_start(&kvm->guest, target, &config, p);

	if (result && kvm->guest.qemu.died && !target->options->cpu && !kvm->cpu_retried &&
	    strcmp(kvm->cpu, fallback)) {
		fprintf(target->log, "driver: QEMU with -cpu %s failed (%s); again with -cpu %s\n",
			kvm->cpu, p->text, fallback);
		kvm->cpu_retried = 1;
		kvm->cpu = config.cpu = fallback;
		result = guest_start(&kvm->guest, target, &config, p);
	}
	return result;
}

static json_int_t count_2m(struct kvm *kvm)
{
	json_t *reply, *list = statistics(kvm, "vm", &reply);
	json_int_t large = list ? statistic(list, "pages_2m") : -1;

	json_decref(reply);
	return large;
}

#define LOGGING_SECONDS 10.0 /* until all 2M pages are split; it goes on with what there is */

/*
 * Dirty logging as a live migration switches it on: one that goes nowhere and never ends, since it may send next to
 * nothing. The set of the first case is mapped before, so that KVM's 2M pages are there to be split.
 */
static int log_dirty(struct target *target, const struct ts_case *c, struct problem *p)
{
	struct kvm *kvm = target->state;
	struct ts_case first = *c;
	struct row ignored = { .valid = "ok" };
	json_int_t before, after;
	double deadline;
	int result;

	first.phase = TS_REFILL;
	first.iterations = 1;
	result = guest_measure(&kvm->guest, kvm->counting, &first, &ignored, p);
	if (result && result != -ENOTSUP)
		return result;
	before = after = count_2m(kvm);
	result = qemu_command(&kvm->guest.qemu, "migrate-set-parameters",
			      json_pack("{s:i}", "max-bandwidth", 4096), NULL, p) ?:
		 qemu_command(&kvm->guest.qemu, "migrate",
			      json_pack("{s:s}", "uri", "exec:cat >/dev/null"), NULL, p);
	if (result)
		return result;
	deadline = now_seconds() + LOGGING_SECONDS;
	while (now_seconds() < deadline && !interrupted && (after = count_2m(kvm)) > 0)
		usleep(50000);
	fprintf(target->log, "driver: dirty logging on: KVM's 2M pages %lld before, %lld after\n",
		(long long)before, (long long)after);
	json_array_append_new(kvm->splits, json_pack("{s:I, s:I}", "pages_2m_before", before,
						     "pages_2m_after", after));
	return 0;
}

/*
 * With 1G host pages the window has to lie above the first gigabyte: KVM's memory has holes there (VGA, ROMs), and it maps
 * no page across a hole. The image takes its frames from the top of RAM.
 */
#define LEAST_ON_1G (2ULL << 30)

static u64 memory_on(const struct target *target, u64 page, int gigabytes)
{
	u64 need = guest_memory(target, gigabytes);

	return page == TS_1G && need < LEAST_ON_1G ? LEAST_ON_1G : need;
}

/* A guest on the host page and with the memory that a case wants; -ENOTSUP when there is no such backing. */
static int boot(struct target *target, u64 host, int gigabytes, struct problem *p)
{
	struct kvm *kvm = target->state;
	u64 page = host == PLAN_HOST_2M_LOGGED ? TS_2M : host;
	char seen[32] = "";
	int result;

	if (kvm->up && kvm->host == host && kvm->gigabytes == gigabytes)
		return 0;
	result = shut_down(kvm, p);
	if (result)
		return result;
	if (kvm->failed[host][gigabytes])
		return -ENOTSUP;
	if (backing_choose(&kvm->backing, page, memory_on(target, page, gigabytes), target->log, p)) {
		kvm->failed[host][gigabytes] = 1;
		fprintf(stderr, "\nhost page %s: %s; its rows are marked backing\n", plan_host_names[host],
			p->text);
		fprintf(target->log, "driver: host page %s: %s\n", plan_host_names[host], p->text);
		return -ENOTSUP;
	}
	kvm->host = host;
	kvm->gigabytes = gigabytes;
	result = start(kvm, target, p);
	if (result)
		return result;
	kvm->up = 1;
	pin(kvm, target->log);
	backing_check(&kvm->backing, kvm->guest.qemu.pid, 0, seen, sizeof(seen));
	fprintf(target->log, "driver: host page %s by %s, %llu MiB; before: %s\n", plan_host_names[host],
		kvm->backing.how, kvm->backing.memory >> 20, seen);
	return guest_count(&kvm->guest, target, PERF_GUEST, p);
}

/* ---- target_ops ---- */

static int kvm_close(struct target *target, struct problem *p)
{
	struct kvm *kvm = target->state;
	int result = shut_down(kvm, p);

	host_state_restore();
	json_decref(kvm->splits);
	free(kvm);
	free(target->cpu);
	target->state = NULL;
	target->cpu = NULL;
	return result;
}

static int kvm_open(struct target *target, struct problem *p)
{
	struct kvm *kvm = xcalloc(1, sizeof(*kvm));
	struct problem ignored;
	double loop;
	int result, i;

	host_state_recover();
	target->state = kvm;
	kvm->counting = target->counting;
	target->accel = "kvm";
	kvm->cpu = target->options->cpu ?: cpu_models[target->counting->source];
	kvm->nested = machine_is_guest();
	kvm->shadow = is_shadow();
	kvm->splits = json_array();
	for (i = 0; i < EXTRAS; i++)
		kvm->extra_text[i] = kvm->extra[i];
	result = boot(target, PLAN_HOST_4K, 0, p);
	if (result) {
		shut_down(kvm, &ignored);
		host_state_restore();
		json_decref(kvm->splits);
		free(kvm);
		target->state = NULL;
		return result;
	}
	target->features = kvm->guest.hello.features;
	target->cpu = xstrdup(hello_text(&kvm->guest.hello, "brand"));
	loop = strtod(hello_text(&kvm->guest.hello, "loop_cycles"), NULL);
	if (loop >= EMULATED_CYCLES)
		target->refusal = xasprintf("this KVM emulates ring 0 (%.0f cycles for a loop of two instructions, "
					    "1 to 3 on a CPU); run on a host whose KVM uses the CPU, or --on user",
					    loop);
	return 0;
}

/* --fresh-boot: flags in the CPU may outlive a cell, but not the guest's own tag in the TLB. */
static int kvm_begin_cell(struct target *target, const struct ts_case *cases, size_t count,
			  struct problem *p)
{
	(void)cases;
	(void)count;
	return target->options->fresh_boot ? shut_down(target->state, p) : 0;
}

/*
 * Exits that the op itself causes in an iteration: those of the row less those of the control without a flush in the
 * same cell (start of the row, ticks of the host). Without such a control they are not known.
 */
static void count_exits(struct kvm *kvm, const struct ts_case *c, json_int_t exits, struct row *row)
{
	u64 n = row->r.counts.n ? 3 * c->iterations + 1 : c->iterations; /* counters.c, ts_count() */
	struct ts_case like = *c;

	like.op = TS_OP_NONE;
	like.at = TS_AT_NONE;
	like.count = 1;
	if (c->op == TS_OP_NONE) {
		kvm->none = *c;
		kvm->none_exits = exits;
	}
	if (exits < 0 || kvm->none_exits < 0 || memcmp(&like, &kvm->none, sizeof(like)))
		return;
	row->has_exits = 1;
	row->exits = exits > kvm->none_exits ?
			     llround((double)(exits - kvm->none_exits) / n) :
			     0;
	if (row->exits)
		row_reason(row, "op-exits");
}

/*
 * KVM maps a page of the guest at its first touch, by an exit of its own. The control, from which the exits of the ops
 * are told, must not have those: its window is used once before.
 */
static int map_window(struct kvm *kvm, const struct ts_case *c, struct problem *p)
{
	struct ts_case once = *c;
	struct row ignored = { .valid = "ok" };
	int result;

	once.iterations = 1;
	result = guest_measure(&kvm->guest, kvm->counting, &once, &ignored, p);
	return result == -ENOTSUP ? 0 : result;
}

static int kvm_measure(struct target *target, const struct ts_case *c, struct row *row,
		       struct problem *p)
{
	struct kvm *kvm = target->state;
	u64 host = PLAN_HOST_4K;
	json_int_t before, after;
	int result, was_up;

	while (strcmp(plan_host_names[host], row->host))
		host++;
	row->host_how = "asked";
	was_up = kvm->up && kvm->host == host && kvm->gigabytes == !!(ts_case_needs(c) & TS_GB_PAGES);
	result = boot(target, host, !!(ts_case_needs(c) & TS_GB_PAGES), p);
	if (!result && !was_up && host == PLAN_HOST_2M_LOGGED)
		result = log_dirty(target, c, p);
	if (result) {
		if (result == -ENOTSUP)
			row_reason(row, "backing");
		return result;
	}
	result = c->op == TS_OP_NONE ? map_window(kvm, c, p) : 0;
	if (result)
		return result;
	before = op_exits(kvm);
	result = guest_measure(&kvm->guest, kvm->counting, c, row, p);
	if (result)
		return result;
	after = op_exits(kvm);
	count_exits(kvm, c, before >= 0 && after >= before ? after - before : -1, row);
	verify(kvm, c, row);
	row->extra = kvm->extra_text;
	if (kvm->nested)
		row_reason(row, "nested");
	if (kvm->shadow)
		row_reason(row, "shadow");
	if (strtod(hello_text(&kvm->guest.hello, "loop_cycles"), NULL) >= EMULATED_CYCLES)
		row_reason(row, "emulated-cpu");
	return guest_slope(&kvm->guest, kvm->counting, row, p);
}

static void kvm_describe(const struct target *target, json_t *run)
{
	const struct kvm *kvm = target->state;

	guest_describe(&kvm->guest, kvm->cpu, run);
	json_object_set_new(run, "kvm", json_pack("{s:b, s:b, s:b, s:O}", "nested", kvm->nested, "shadow",
						  kvm->shadow, "cpu_retried", kvm->cpu_retried, "dirty_logging",
						  kvm->splits));
}

static const char *const kvm_prefer[] = { "bare-metal", 0 };
static const char *const kvm_probes[] = { "kvm", "qemu", "guest-image", 0 };

const struct target_ops target_kvm = {
	.name = "kvm",
	.claims = "refills and cycles of this CPU over verified host pages: the whole experiment",
	.cannot = "no verdict inside a VM (nested), without EPT or NPT (shadow), or on an emulating KVM",
	.probes = kvm_probes,
	.prefer = kvm_prefer,
	.extra = extra_names,
	.chooses_host = 1,
	.takes = TAKES_QEMU | TAKES_FRESH_BOOT | TAKES_TIMEOUT,
	.phases = ~0u,
	.counters = 1u << COUNT_VPMU | 1u << COUNT_HOST,
	.counts_unasked = 1,
	.open = kvm_open,
	.begin_cell = kvm_begin_cell,
	.measure = kvm_measure,
	.close = kvm_close,
	.describe = kvm_describe,
};
