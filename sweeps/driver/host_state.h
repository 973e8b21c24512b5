/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Changes to the host that have to be undone: a journal of them is on disk before each change, so that the next
 * start can undo what a killed program left (huge-page pool, NMI watchdog).
 */
#ifndef TS_HOST_STATE_H
#define TS_HOST_STATE_H

#include "problem.h"

/*
 * Takes the journal for this process; undoes what a dead one left. 0; or a problem: no permission to keep one (not
 * root), or another tlbscope holds it.
 */
int host_state_open(struct problem *problem);

/* The same for a further change: what this process has changed stays. */
int host_state_hold(struct problem *problem);

/* Undoes what a dead program left, if there is anything and this process may; says so on stderr. */
void host_state_recover(void);

/*
 * Writes number to a sysctl or sysfs file, noting by how much that changed it. *got (may be 0) is the number that
 * is read back.
 */
int host_state_set(const char *path, long number, long *got, struct problem *problem);

/*
 * By how much a journal (its text) says that it changed the number in path, which is `now`. Counts whole lines
 * only, and of a change that was begun and not noted as done what can be seen in `now`.
 */
long host_state_change(const char *journal, const char *path, long now);

/* Undoes everything: takes each difference back from what the file holds now. Harmless without journal. */
void host_state_restore(void);

#endif
