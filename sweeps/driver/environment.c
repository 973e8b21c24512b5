// SPDX-License-Identifier: GPL-2.0
/* What surrounded a run. */
#include "environment.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct environment_fact facts[] = {
	{ "machine.cpu.model_name", "CPU, as the kernel names it", "another CPU has another TLB" },
	{ "machine.cpu.family", "CPU family", "another CPU has another TLB" },
	{ "machine.cpu.model", "CPU model", "another CPU has another TLB" },
	{ "machine.cpu.stepping", "CPU stepping", "steppings differ in errata" },
	{ "machine.cpu.microcode", "microcode", "microcode may change what a flush drops and costs" },
	{ "machine.cpu.hypervisor", "runs in a VM", "there the host page is the hypervisor's" },
	{ "machine.cpu.hypervisor_name", "hypervisor, as CPUID names it", "another hypervisor backs memory in another way" },
	{ "machine.hypervisor_product", "machine", "another machine" },
	{ "machine.tsc_hz", "TSC ticks a second", NULL },
	{ "machine.smt_active", "SMT active", "a sibling shares the TLB" },
	{ "machine.kernel.release", "kernel", "kernels differ in how they flush" },
	{ "machine.meltdown", "Meltdown (page-table isolation)",
	  "with it, but without PCID, every system call empties the TLB" },
	{ "machine.itlb_multihit", "iTLB multihit", "decides whether KVM splits pages that hold code" },
	{ "machine.kvm_nx_huge_pages", "kvm.nx_huge_pages", "splits large host pages that hold code" },
	{ "machine.kvm_ept", "kvm_intel.ept", "without it there is no second stage" },
	{ "machine.kvm_npt", "kvm_amd.npt", "without it there is no second stage" },
	{ "machine.thp_enabled", "transparent huge pages", "decide about page sizes on both sides" },
	{ "machine.thp_defrag", "THP defrag", "decides whether large pages are had" },
	{ "machine.huge_pages_2m", "pool of 2M pages", NULL },
	{ "machine.huge_pages_1g", "pool of 1G pages", NULL },
	{ "machine.clocksource", "clock source", NULL },
	{ "qemu.version", "QEMU", "versions back and emulate memory in different ways" },
	{ "qemu.cpu_model", "QEMU's -cpu", "decides which flushes there are" },
	{ "guest.features", "features of the guest's CPU", "decide which flushes there are" },
	{ "kvm.nested", "KVM host is a VM", "then the true host page cannot be seen" },
	{ "kvm.shadow", "KVM by shadow paging", "then there is no second stage" },
	{ "user.kernel_flushes", "the kernel flushes", "decides whether there is anything to measure" },
	{ "user.ceiling", "tlb_single_page_flush_ceiling", "decides what a system call flushes" },
	{ "user.ceiling_how", "how the ceiling is known", NULL },
	{ "tlbscope", "tlbscope", "another version may measure in another way" },
};

const struct environment_fact *environment_fact(size_t i)
{
	return i < TS_COUNT(facts) ? &facts[i] : NULL;
}

json_t *environment_load(const char *dir)
{
	char *path = xasprintf("%s/run.json", dir);
	json_error_t error;
	json_t *run = NULL;

	if (!access(path, F_OK)) {
		run = json_load_file(path, 0, &error);
		if (!run)
			fprintf(stderr, "tlbscope: %s:%d: %s; what it says is left out\n", path, error.line,
				error.text);
	}
	free(path);
	return run;
}

static const json_t *at_path(const json_t *run, const char *path)
{
	char *copy = xstrdup(path), *save = NULL, *word;

	for (word = strtok_r(copy, ".", &save); word && run; word = strtok_r(NULL, ".", &save))
		run = json_object_get(run, word); /* 0 for what is no object */
	free(copy);
	return run;
}

char *environment_text(const json_t *run, const char *path)
{
	const json_t *value = at_path(run, path);

	if (json_is_string(value))
		return xstrdup(json_string_value(value));
	if (json_is_integer(value))
		return xasprintf("%lld", (long long)json_integer_value(value));
	if (json_is_real(value))
		return xasprintf(fabs(json_real_value(value)) >= 1000 ? "%.0f" : "%g", json_real_value(value));
	return json_is_boolean(value) ? xstrdup(json_is_true(value) ? "yes" : "no") : NULL;
}

char *environment_changes(const json_t *was, const json_t *is)
{
	char *changes = NULL, *longer;
	size_t i;

	for (i = 0; i < TS_COUNT(facts); i++) {
		char *old = environment_text(was, facts[i].path), *new = environment_text(is, facts[i].path);

		if (facts[i].matters && old && new && strcmp(old, new)) {
			longer = xasprintf("%s%s%s was \"%s\" and is \"%s\"", changes ?: "", changes ? ", " : "",
					   facts[i].label, old, new);
			free(changes);
			changes = longer;
		}
		free(old);
		free(new);
	}
	return changes;
}

int environment_is_incomplete(const json_t *run, const struct rows *rows)
{
	json_int_t there = rows->count + rows->table.left_out; /* what cannot be read is there */

	return json_is_false(json_object_get(run, "complete")) ||
	       there < json_integer_value(json_object_get(run, "rows"));
}

double environment_number(const json_t *run, const char *path)
{
	const json_t *value = at_path(run, path);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* A TSC ticks at the base clock of its CPU, 0.1 GHz is below and 100 GHz beyond all that there are. */
#define LEAST_TSC_HZ 1e8
#define MOST_TSC_HZ 1e11

double environment_tsc_hz(const json_t *run)
{
	double hz = environment_number(run, "machine.tsc_hz");

	return hz >= LEAST_TSC_HZ && hz <= MOST_TSC_HZ ? hz : NAN;
}

const char *environment_stamp(const struct rows *rows, const json_t *run)
{
	const json_t *name = at_path(run, "machine.cpu.hypervisor_name");
	size_t i;

	for (i = 0; i < rows->count; i++) {
		if (!strcmp(rows->row[i].target, "tcg") || !strcmp(rows->row[i].accel, "tcg"))
			return "QEMU's soft TLB, not hardware";
		if (!strcmp(rows->row[i].target, "model"))
			return "a model's predictions, not measured";
	}
	/* CPUID.40000000H of QEMU's TCG: whatever ran there ran on an emulated CPU. */
	if (json_is_string(name) && !strcmp(json_string_value(name), "TCGTCGTCGTCG"))
		return "in a VM on QEMU's software CPU, not hardware";
	return "";
}
