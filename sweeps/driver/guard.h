/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A child process that kills a process group once this program is gone, however it died: it waits for the end of a pipe
 * of which only this program has the other end. It is a member of that group itself: so no other group can have that
 * number as long as it lives, and what kills the group kills it. It keeps nothing else open: no terminal, no lock.
 * What has left the group by then stays.
 */
#ifndef TS_GUARD_H
#define TS_GUARD_H

#include <sys/types.h>

struct guard {
	pid_t pid; /* 0: there is none */
	int life;  /* the other end of the pipe */
};

/* For the group of a child that was not waited for. 0, or a negative errno. */
int guard_start(struct guard *guard, pid_t group);

/* The guard alone; the group is the caller's to end before. Nothing for one that is all 0. */
void guard_end(struct guard *guard);

#endif
