// SPDX-License-Identifier: GPL-2.0
/* One pinned group of perf events; why one, and why pinned, stands in perf_group.h. */
#include "perf_group.h"

#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- system calls ---- */

static int system_open(struct perf_event_attr *attr, pid_t thread, int group)
{
	int fd = syscall(SYS_perf_event_open, attr, thread, -1, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static ssize_t system_read(int fd, void *buffer, size_t size)
{
	ssize_t n = read(fd, buffer, size);

	return n < 0 ? -errno : n;
}

static int system_control(int fd, unsigned long request, unsigned long argument)
{
	return ioctl(fd, request, argument) < 0 ? -errno : 0;
}

static void system_close(int fd)
{
	close(fd);
}

const struct perf_ops perf_system = { system_open, system_read, system_control, system_close };

/* ---- open ---- */

/*
 * Context switches and migrations happen in the kernel, whoever caused them: leaving the kernel out
 * would count none (kernel/events/core.c, perf_exclude_event()).
 */
static int counts_in_kernel(const struct event *event)
{
	return event->type == PERF_TYPE_SOFTWARE &&
	       (event->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		event->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static struct perf_event_attr attributes(const struct event *event, int leader, enum perf_side side)
{
	struct perf_event_attr attr = {
		.type = event->type,
		.size = sizeof(attr),
		.config = event->config,
		.disabled = leader,
		.pinned = leader,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID,
		.exclude_host = side == PERF_GUEST,
		.exclude_guest = side == PERF_USER,
		.exclude_kernel = side == PERF_USER && !counts_in_kernel(event),
		.exclude_hv = side == PERF_USER,
	};

	return attr;
}

/* Why an event was refused, and the remedy. */
static int open_problem(int error, const struct event *event, size_t position, struct problem *p)
{
	static const struct {
		int error;
		const char *text;
	} known[] = {
		{ EACCES, "not allowed for this user; run as root, or as root: sysctl "
			  "kernel.perf_event_paranoid=1" },
		{ EPERM, "not allowed here (a container's seccomp filter or lockdown may forbid "
			 "perf_event_open); run as root outside of it" },
		{ ENOENT,
		  "this machine has no such counter (no PMU, or a VM without vPMU: give it -cpu "
		  "host,pmu=on and load kvm with enable_pmu=1)" },
		{ EOPNOTSUPP, "the PMU cannot count it like this" },
		{ EMFILE, "too many open files; raise the limit with ulimit -n" },
		{ EBUSY, "somebody else holds the PMU; end other profilers" },
		{ ESRCH, "the thread has ended" },
		{ ENOSYS, "this kernel has no perf_event_open" },
	};
	size_t i;

	for (i = 0; i < TS_COUNT(known); i++)
		if (known[i].error == -error)
			return problem(p, EXIT_FAILED, "event %s: %s", event->name, known[i].text);
	if (error == -EINVAL && position)
		return problem(p, EXIT_FAILED, "event %s: not together with the %zu before it: "
			       "there are fewer counters (the NMI watchdog may hold one), or these "
			       "share one; ask for fewer with --event", event->name, position);
	return problem(p, EXIT_FAILED, "event %s: perf_event_open: %s", event->name,
		       strerror(-error));
}

static int open_one(struct perf_group *group, const struct event *event, pid_t thread,
		    enum perf_side side)
{
	struct perf_event_attr attr = attributes(event, !group->open, side);
	int fd, result;

	if (*event->missing) {
		group->fd[group->events++] = -1;
		return 0;
	}
	do {
		fd = group->ops->open(&attr, thread, group->open ? group->leader : -1);
	} while (fd == -EINTR);
	if (fd < 0)
		return fd;
	if (!group->open++)
		group->leader = fd;
	group->fd[group->events] = fd;
	result = group->ops->control(fd, PERF_EVENT_IOC_ID,
				     (unsigned long)&group->id[group->events]);
	group->events++;
	return result;
}

int perf_group_open(struct perf_group *group, const struct perf_ops *ops,
		    const struct event *events, size_t n, pid_t thread, enum perf_side side,
		    struct problem *p)
{
	int result;
	size_t i;

	memset(group, 0, sizeof(*group));
	group->ops = ops;
	if (!n || n > MAX_EVENTS)
		return problem(p, EXIT_INPUT, "%zu events: 1 to %d can be counted", n, MAX_EVENTS);
	for (i = 0; i < n; i++) {
		result = open_one(group, &events[i], thread, side);
		if (result) {
			size_t before = group->open;

			perf_group_close(group);
			return open_problem(result, &events[i], before, p);
		}
	}
	return group->open ? 0 : problem(p, EXIT_FAILED, "%s", events[0].missing);
}

void perf_group_close(struct perf_group *group)
{
	while (group->events)
		if (group->fd[--group->events] >= 0)
			group->ops->close(group->fd[group->events]);
	group->open = 0;
}

/* ---- count ---- */

int perf_group_start(struct perf_group *group)
{
	int result;

	if (!group->open)
		return -ENODATA;
	do {
		result = group->ops->control(group->leader, PERF_EVENT_IOC_ENABLE,
					     PERF_IOC_FLAG_GROUP);
	} while (result == -EINTR);
	return result;
}

/* What read(2) gives with the read_format above. */
struct reading {
	u64 events, enabled, running;
	struct {
		u64 value, id;
	} entry[MAX_EVENTS];
};

static int sort_in(const struct perf_group *group, const struct reading *reading,
		   struct perf_counts *counts)
{
	size_t i, j;

	for (i = 0; i < group->events; i++) {
		counts->value[i] = 0;
		if (group->fd[i] < 0)
			continue;
		for (j = 0; j < group->open && reading->entry[j].id != group->id[i]; j++)
			;
		if (j == group->open)
			return -EIO;
		counts->value[i] = reading->entry[j].value;
	}
	return 0;
}

int perf_group_read(struct perf_group *group, struct perf_counts *counts)
{
	struct reading reading;
	ssize_t n;

	if (!group->open)
		return -ENODATA;
	do {
		n = group->ops->read(group->leader, &reading, sizeof(reading));
	} while (n == -EINTR);
	if (n < 0)
		return n;
	if (!n)
		return -ENODATA;
	if (n != (ssize_t)(24 + 16 * group->open) || reading.events != group->open)
		return -EIO;
	counts->enabled = reading.enabled;
	counts->running = reading.running;
	return sort_in(group, &reading, counts);
}

int perf_counts_between(const struct perf_counts *before, const struct perf_counts *after, size_t n,
			u64 *difference)
{
	size_t i;

	if (after->running == before->running)
		return -ENODATA;
	if (after->running - before->running != after->enabled - before->enabled)
		return -EAGAIN;
	for (i = 0; i < n; i++) {
		if (after->value[i] < before->value[i])
			return -EOVERFLOW;
		difference[i] = after->value[i] - before->value[i];
	}
	return 0;
}

const char *perf_reason(int error)
{
	return error == -EAGAIN	     ? PERF_REASON_SHARED
	       : error == -EOVERFLOW ? PERF_REASON_WRAPPED
				     : PERF_REASON_NONE;
}
