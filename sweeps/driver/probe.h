/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Probes: checks of this machine, each with a stable id, a result, what was seen, and the remedy.
 * `run` asks them which target can run; a refusal prints the first that is not ok.
 */
#ifndef TS_PROBE_H
#define TS_PROBE_H

#include <stddef.h>

struct options;

enum probe_result { PROBE_OK, PROBE_MISSING, PROBE_PROBLEM };

struct probe {
	const char *id;
	const char *what; /* one clause for someone who does not know the term */
	/* Looks; writes what it saw and, unless ok, the remedy. */
	enum probe_result (*look)(const struct options *options, char *seen, size_t seen_size,
				  char *remedy, size_t remedy_size);
};

extern const struct probe probes[];
extern const size_t probe_count;
const struct probe *probe_find(const char *id);

#endif
