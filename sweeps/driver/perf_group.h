/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events counted by the kernel for one thread, as one group.
 *
 * Why one pinned group: all events of a group are on the PMU together or not at all, so that their
 * counts belong to the same time; and a pinned group is never put off for others (multiplexed),
 * whose counts would have to be extrapolated. If there are not enough counters it goes into an
 * error state instead, and read(2) gives 0 bytes (perf_event_open(2), "pinned"): an error here,
 * never a count of 0. time_running below time_enabled means that it did not count all the time: an
 * error as well.
 *
 * What can break it: a hypervisor whose vPMU counts other than it should; counter_check.c looks for
 * that.
 */
#ifndef TS_PERF_GROUP_H
#define TS_PERF_GROUP_H

#include "event.h"

#include <linux/perf_event.h>
#include <sys/types.h>

/*
 * System calls, so that a test can put its own in place. Each returns a negative errno on failure.
 */
struct perf_ops {
	int (*open)(struct perf_event_attr *attr, pid_t thread, int group);
	ssize_t (*read)(int fd, void *buffer, size_t size);
	int (*control)(int fd, unsigned long request, unsigned long argument);
	void (*close)(int fd);
};
extern const struct perf_ops perf_system;

/* Whose counts are wanted. */
enum perf_side {
	PERF_USER,  /* what the thread does itself, its system calls left out */
	PERF_GUEST, /* the thread is a vCPU: what its guest does */
	PERF_ALL    /* all that the thread does (a software CPU) */
};

/* Why a group has no counts; the reasons of column valid. */
#define PERF_REASON_NONE "no-counter"
#define PERF_REASON_SHARED "multiplexed"
#define PERF_REASON_WRAPPED "counter-overflow"

struct perf_group {
	const struct perf_ops *ops;
	int fd[MAX_EVENTS]; /* -1: a missing event, not in the group */
	u64 id[MAX_EVENTS];
	size_t events; /* asked for */
	size_t open;   /* of them in the group */
	int leader;    /* the first of these */
};

struct perf_counts {
	u64 value[MAX_EVENTS]; /* in the order of the events; of a missing one 0, which means nothing */
	u64 enabled, running;  /* nanoseconds */
};

/*
 * Opens a stopped group for a thread (0: the calling one) of all events but those that are missing.
 * A problem tells what is in the way and what to do about it; nothing stays open then.
 */
int perf_group_open(struct perf_group *group, const struct perf_ops *ops,
		    const struct event *events, size_t n, pid_t thread, enum perf_side side,
		    struct problem *problem);
void perf_group_close(struct perf_group *group);

/*
 * Starts it, once: from then on it counts, and what lies between two readings is their difference.
 * (Stopping and starting again is nothing to rely on: on Linux 6.18 a task-clock that does not lead
 * its group stands still afterwards, with time_running as long as time_enabled.) 0, or a negative
 * errno.
 */
int perf_group_start(struct perf_group *group);

/*
 * The counts since it was started. 0; -ENODATA: it has lost its counters; another negative errno.
 */
int perf_group_read(struct perf_group *group, struct perf_counts *counts);

/*
 * Counts between two readings, into difference. 0; -ENODATA: the group never ran meanwhile;
 * -EAGAIN: it did not run all the time; -EOVERFLOW: a counter went backwards, which only a wrapped
 * one can.
 */
int perf_counts_between(const struct perf_counts *before, const struct perf_counts *after, size_t n,
			u64 *difference);

/* The reason, for column valid, of what the last two return. */
const char *perf_reason(int error);

#endif
