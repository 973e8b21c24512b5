/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes: checks of this machine, each with a stable id, a result, what was seen, and the remedy.
 * `doctor` prints them all; `run` asks them which target can run, and its refusal names the same
 * remedy.
 */
#ifndef TS_PROBE_H
#define TS_PROBE_H

#include <stddef.h>

struct options;

enum probe_result { PROBE_OK, PROBE_MISSING, PROBE_PROBLEM, PROBE_UNKNOWN, PROBE_RESULTS };
extern const char *const probe_result_names[PROBE_RESULTS];

enum probe_theme { THEME_CPU, THEME_KVM, THEME_MEMORY, THEME_COUNTERS, THEME_MODULE, THEME_TOOLS,
		   THEMES };
extern const char *const probe_theme_names[THEMES];

/* What a probe found. The last three are empty where there is nothing to be done. */
struct finding {
	enum probe_result result;
	char seen[256];
	char remedy_id[32];
	char remedy[400];
	char command[160]; /* the remedy as one command, where it is one */
};

struct probe {
	const char *id;
	enum probe_theme theme;
	const char *what; /* one clause for someone who does not know the term */
	void (*look)(const struct options *options, struct finding *finding);
	double seconds; /* that it may take; 0: PROBE_SECONDS */
};

extern const struct probe probes[];
extern const size_t probe_count;
const struct probe *probe_find(const char *id);

/*
 * Looks, in a process of its own: a probe that hangs or crashes (a stuck file, a program that does
 * not end) costs its seconds at most and is `unknown` then.
 */
#define PROBE_SECONDS 2.0
void probe_look(const struct probe *probe, const struct options *options, struct finding *finding);

/* The same in two steps, so that several can look at a time: programs take long to start. */
struct looking {
	int pid, fd; /* 0, -1 when there was no room for a process */
	double deadline;
};
void probe_start(const struct probe *probe, const struct options *options, struct looking *looking);
void probe_finish(const struct probe *probe, const struct options *options, struct looking *looking,
		  struct finding *finding);

/* A remedy. `@` in text and command stands for what finding_fill() puts there. */
struct remedy {
	const char *id; /* stable: PROBE.WORD, or any.WORD where several probes share it */
	const char *text;
	const char *command; /* 0 where no single command does it */
};
extern const struct remedy remedies[];
extern const size_t remedy_count;

/* For probes: result, remedy (its id, or 0) and what was seen. */
void finding_set(struct finding *finding, enum probe_result result, const char *remedy,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));
void finding_fill(struct finding *finding, const char *value);
/* `unknown`, for a file that cannot be read: -errno of probe_read(). */
void finding_unreadable(struct finding *finding, const char *path, int error);

#endif
