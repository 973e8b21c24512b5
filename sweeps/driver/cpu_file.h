/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One data file for each microarchitecture: sweeps/cpus/ID.cpu, an INI file.
 *
 *     [cpu]
 *     name = Zen 4                      for people
 *     vendor = AuthenticAMD             CPUID.0
 *     family = 25                       display family; decimal or 0x
 *     models = 0x10-0x1f, 0x61          display models: numbers and ranges, at most MAX_MODELS
 *     models-status = unverified        optional: where the list of models is not certain
 *     aliases = Genoa, Raphael          optional: names of products and dies
 *
 *     [tlb]
 *     KEY = VALUE | STATUS | SOURCE     each key at most once; what is not known is left out
 *     l2-shared = WORDS | STATUS | SOURCE
 *     note = TEXT                       optional
 *
 * KEY names a TLB and the page size it holds: l1d (loads and stores), l1d-store (stores only, where
 * they have their own), l1i, l2 (data, or both), l2i (code, where it has its own); 4k 2m 1g. VALUE
 * is ENTRIESxWAYS, ENTRIESxfull when fully associative, or none when pages of that size are not
 * held, or are held in pieces. l2-shared lists the sizes that share one array. STATUS is declared
 * (the CPU's CPUID or its maker's manual says so), measured (somebody found it by experiment), or
 * unverified. SOURCE says who. Other sections (costs) are kept, key by key, for those who know
 * them; an unknown key in [cpu] or [tlb] is an error.
 *
 *     [events]
 *     libpfm = skx, clx                 optional: libpfm4's PMUs for these CPUs
 *     default = EVENT, EVENT            what a run counts unasked, at most MAX_DEFAULT_EVENTS
 *     walks = EVENT, EVENT              those that count a walk for each load that misses the TLB
 *     EVENT = ENCODING | STATUS | SOURCE
 *
 * EVENT is the maker's own name (for AMD as Linux spells it), ENCODING as in encoding.h. default fits
 * the fewest counters that such a CPU shows: 4 with Hyper-Threading, 4 in a guest of AMD's without
 * the extended ones. walks is what the self-check of counters has a known load for.
 */
#ifndef TS_CPU_FILE_H
#define TS_CPU_FILE_H

#include "problem.h"

#include <stddef.h>

#define MAX_MODELS 16
#define MAX_DEFAULT_EVENTS 4

enum cpu_status { CPU_DECLARED, CPU_MEASURED, CPU_UNVERIFIED, CPU_STATUSES };
extern const char *const cpu_status_names[CPU_STATUSES];

enum cpu_tlb { TLB_L1D_4K, TLB_L1D_2M, TLB_L1D_1G, TLB_L1D_STORE, TLB_L1I_4K, TLB_L1I_2M, TLB_L2_4K,
	       TLB_L2_2M, TLB_L2_1G, TLB_L2I_4K, TLB_L2I_2M, TLBS };
extern const char *const cpu_tlb_names[TLBS];

struct cpu_value {
	int given;
	u32 entries; /* 0: none */
	u32 ways;    /* 0: fully associative, or no entries */
	enum cpu_status status;
	char *source;
};

struct cpu_event {
	char *name;
	u64 config; /* encoding.h */
	enum cpu_status status;
	char *source;
};

/* Names with commas between, as the file has them, and the line; 0 when not given. */
struct cpu_names {
	char *text;
	int line;
};

struct cpu_other {
	char *section, *key, *value;
	int line;
};

struct cpu_file {
	char *path, *id; /* id: the file's name without folder and ending */
	char *name, *vendor, *aliases, *note;
	u32 family;
	struct {
		u32 first, last;
	} model[MAX_MODELS];
	size_t models;
	enum cpu_status models_status;
	struct cpu_value tlb[TLBS];
	char *shared; /* l2-shared: its words */
	struct cpu_value shared_value; /* its status and source */
	struct cpu_event *event;
	size_t events;
	struct cpu_names libpfm, standard, walks; /* standard: the key default */
	struct cpu_other *other;
	size_t others;
};

/* Calls each(context, name) for every name of a list until it returns nonzero, and returns that. */
int cpu_names_each(const struct cpu_names *names, int (*each)(void *context, const char *name),
		   void *context);

/* An event by name, in any case; 0 when the file has none of it. */
const struct cpu_event *cpu_file_event(const struct cpu_file *file, const char *name);

/* Is a name one of a list, in any case? */
int cpu_names_have(const struct cpu_names *names, const char *name);

/* Reads a file; a problem says file:line. The caller frees what was read. */
int cpu_file_load(const char *path, struct cpu_file *file, struct problem *problem);
void cpu_file_free(struct cpu_file *file);

/* The file of a CPU. 0; -ENOENT: there is none; -EINVAL: *problem. */
int cpu_file_find(const char *vendor, u32 family, u32 model, struct cpu_file *file,
		  struct problem *problem);

/* Paths of all installed files, sorted, 0 at the end; 0 with *problem. The caller frees all. */
char **cpu_file_paths(struct problem *problem);

/* The installed file of that name (skylake). 0; -ENOENT: there is none; -EINVAL: *problem. */
int cpu_file_open(const char *id, struct cpu_file *file, struct problem *problem);

/* How many values a file has, and how many of them are unverified. */
int cpu_file_values(const struct cpu_file *file, int *unverified);

#endif
