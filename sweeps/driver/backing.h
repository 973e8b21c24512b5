/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the guest's RAM sits on in the host: how QEMU is asked for it, where huge pages come from, and
 * whether it became true.
 */
#ifndef TS_BACKING_H
#define TS_BACKING_H

#include "problem.h"

#include <stdio.h>
#include <sys/types.h>

struct backing {
	u64 page;   /* enum ts_page that was asked for */
	u64 memory; /* bytes of guest RAM, a multiple of it */
	char how[32]; /* memfd, hugetlb, thp */
	char *object; /* -object argument */
};

/*
 * Chooses: 4k by memfd without huge pages, 2m by the hugetlb pool or else by THP, 1g by the hugetlb pool. A pool that is
 * too small is enlarged when this process may (see host_state.h). 0, or a problem that says asked, got and
 * remedy.
 */
int backing_choose(struct backing *backing, u64 page, u64 memory, FILE *log, struct problem *problem);
void backing_free(struct backing *backing);

/*
 * Looks into smaps of the process: 1 when all of the RAM that is there has the size asked for, 0 when not (what was
 * seen is in text), -errno when it cannot be read. touched: the guest has run, so there must be some.
 */
int backing_check(const struct backing *backing, pid_t pid, int touched, char *text, size_t size);

#endif
