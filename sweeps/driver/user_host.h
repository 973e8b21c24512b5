/* SPDX-License-Identifier: GPL-2.0 */
/* The splinter check: what size of page the host backs this machine's memory with, by timing. */
#ifndef TS_USER_HOST_H
#define TS_USER_HOST_H

#include "user_measure.h"

struct user_host {
	const char *host; /* 4k 2m none unknown */
	const char *why;  /* one clause; for host unknown: what was in the way */
	u64 regions;	  /* 2M pages of this process that were walked */
	double share_4k, share_2m, share_middle; /* of them, 0 to 1 */
	/* Cycles a line: from the cache alone, over 4K pages, and the median over the 2M pages. */
	double packed, small, large;
};

void user_host_look(const struct user *user, struct user_host *host);

/* Where a region's latency lies between the two references: TS_4K, TS_2M, or -1 in the middle. */
int user_host_class(double packed, double small, double latency);

#endif
