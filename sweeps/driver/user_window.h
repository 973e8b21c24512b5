/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window of the user target: the addresses of a case's expansion, mapped into this process with
 * the page size asked for, verified in smaps, and linked into a chain.
 */
#ifndef TS_USER_WINDOW_H
#define TS_USER_WINDOW_H

#include "expand.h"
#include "user_system.h"

struct user_set {
	void *start;
	size_t size;
	const char *means; /* how the pages were had: 4k thp collapse hugetlb */
	const char *want;  /* what smaps has to say: 4k 2m 1g */
};

struct user_window {
	struct ts_expansion e;
	u64 *touch;
	void *area; /* reserved address space around both sets */
	size_t area_size;
	struct user_set set[2]; /* size 0: not there */
	char how[32];		/* means of both sets: "4k", "4k+thp"; changed later: "thp>mixed" */
};

/*
 * Maps and links the window of a case whose phase, order and so on have been checked. 0; -ENOTSUP
 * with *refusal filled. Its pages are resident afterwards.
 */
int user_window_map(struct user_window *window, const struct ts_case *c,
		    struct user_refusal *refusal);

/* Looks at smaps again: 0, or -EIO when a page size has changed (window->how then says to what). */
int user_window_verify(struct user_window *window);

void user_window_unmap(struct user_window *window);

/*
 * Touches every line once in the case's order with its access and returns the TSC cycles of that:
 * the same touches and fences as the core's retouch pass, at CPL 3.
 */
u64 user_window_pass(const struct user_window *window);

/* A read chase alone: follows the pointers from the first line, and returns TSC cycles. */
u64 user_chase(const void *first, u64 touches);

#endif
