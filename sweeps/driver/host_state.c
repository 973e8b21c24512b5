// SPDX-License-Identifier: GPL-2.0
/*
 * The journal: two lines for each change, in /run (gone after a boot, as the changes are).
 *
 *   ? PATH OLD NEW     NEW is about to be written where OLD was read
 *   + PATH DIFFERENCE  it was written, and the number changed by DIFFERENCE (the kernel may give less)
 *
 * Differences are undone rather than old values put back: someone else may have changed the same number meanwhile.
 * A program that was killed between the two lines leaves only the first; what the number is then tells
 * whether and how far the write came. A lock on the file tells a living owner from a dead one.
 */
#include "host_state.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define JOURNAL "/run/tlbscope.restore"

static int journal = -1;

static int read_number(const char *path, long *number)
{
	char *text = read_text(path), *end;

	if (!text)
		return -errno;
	*number = strtol(text, &end, 10);
	end = end == text ? NULL : end;
	free(text);
	return end ? 0 : -EINVAL;
}

static int write_number(const char *path, long number)
{
	FILE *file = fopen(path, "we");

	if (!file)
		return -errno;
	fprintf(file, "%ld\n", number);
	return fclose(file) ? -errno : 0;
}

/* What the line starts with after its mark: PATH and a blank. Returns the text behind it, or NULL. */
static const char *behind_path(const char *line, const char *path)
{
	size_t length = strlen(path);

	return line[1] == ' ' && !strncmp(line + 2, path, length) && line[2 + length] == ' ' ?
		       line + 2 + length : NULL;
}

/* How far a number has come from old on its way to new: never beyond either. */
static long come_so_far(long old, long new, long now)
{
	if (new < old)
		return -come_so_far(-old, -new, -now);
	return now < old ? 0 : now > new ? new - old : now - old;
}

long host_state_change(const char *text, const char *path, long now)
{
	long sum = 0, old = 0, new = 0;
	const char *end, *rest;
	int pending = 0;

	for (; (end = strchr(text, '\n')) != NULL; text = end + 1) {
		rest = behind_path(text, path);
		if (!rest)
			continue;
		if (*text == '+') {
			sum += strtol(rest, NULL, 10);
			pending = 0;
		} else if (*text == '?' && sscanf(rest, "%ld %ld", &old, &new) == 2) {
			pending = 1;
		}
	}
	return sum + (pending ? come_so_far(old, new, now) : 0);
}

/* Is there no later intent for this path? */
static int last_of(const char *line, const char *path)
{
	for (line = strchr(line, '\n'); line && *++line; line = strchr(line, '\n'))
		if (*line == '?' && behind_path(line, path))
			return 0;
	return 1;
}

/* A line of the journal, on disk when this returns 0. */
static int __attribute__((format(printf, 2, 3))) note(struct problem *p, const char *format, ...)
{
	char *line = NULL;
	va_list args;
	int length, result = 0;

	va_start(args, format);
	length = vasprintf(&line, format, args);
	va_end(args);
	if (length < 0 || write(journal, line, length) != length || fsync(journal))
		result = problem(p, EXIT_FAILED, JOURNAL ": %s", strerror(errno));
	free(line);
	return result;
}

/* Writes `number` where `old` was read, between its two lines of the journal. *got (may be 0): read back. */
static int change(const char *path, long old, long number, long *got, struct problem *p)
{
	long now = number;
	int result = note(p, "? %s %ld %ld\n", path, old, number);

	if (result)
		return result;
	result = write_number(path, number);
	if (result)
		return problem(p, EXIT_FAILED, "%s: cannot write: %s", path, strerror(-result));
	read_number(path, &now);
	if (got)
		*got = now;
	return note(p, "+ %s %ld\n", path, now - old);
}

/*
 * Huge pages that a program still holds when the pool shrinks stay until it gives them back, and count until then. A QEMU
 * whose driver was killed is just about to.
 */
#define SETTLE_SECONDS 5.0

static void settle(const char *path, long number)
{
	double deadline = now_seconds() + SETTLE_SECONDS;
	long now;

	while (!read_number(path, &now) && now > number && now_seconds() < deadline)
		usleep(20000);
}

/* Takes back what each path in the journal was changed by in all (noted like any change), and empties it. */
static void undo(void)
{
	char *text = read_text(JOURNAL), *line = text, *path;
	struct problem ignored;
	long now, changed;

	while (line && *line) {
		path = line[0] == '?' && line[1] == ' ' ? strndup(line + 2, strcspn(line + 2, " \n")) : NULL;
		if (path && last_of(line, path) && !read_number(path, &now) &&
		    (changed = host_state_change(text, path, now)) &&
		    !change(path, now, now - changed, NULL, &ignored))
			settle(path, now - changed);
		free(path);
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	free(text);
	if (ftruncate(journal, 0))
		perror("tlbscope: " JOURNAL);
}

static int take(void)
{
	if (journal >= 0)
		return 0;
	journal = open(JOURNAL, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (journal < 0)
		return -errno;
	if (!flock(journal, LOCK_EX | LOCK_NB))
		return 0;
	close(journal);
	journal = -1;
	return -EBUSY;
}

void host_state_recover(void)
{
	char *left = read_text(JOURNAL);

	if (left && *left && !take()) {
		fprintf(stderr, "undoing what a tlbscope that was killed left of the host: %s\n", left);
		undo();
	}
	free(left);
}

int host_state_hold(struct problem *p)
{
	int fresh = journal < 0, result = take();

	if (result == -EBUSY)
		return problem(p, EXIT_FAILED, "another tlbscope has changed this host (huge-page pool, NMI "
			       "watchdog); wait until it has ended");
	if (result)
		return problem(p, EXIT_FAILED, JOURNAL ": %s; changing the host (huge-page pool, NMI watchdog) "
			       "needs root", strerror(-result));
	if (fresh)
		undo();
	return 0;
}

int host_state_open(struct problem *p)
{
	int result = host_state_hold(p);

	if (!result)
		undo();
	return result;
}

int host_state_set(const char *path, long number, long *got, struct problem *p)
{
	long old;
	int result = read_number(path, &old);

	if (result)
		return problem(p, EXIT_FAILED, "%s: %s", path, strerror(-result));
	return change(path, old, number, got, p);
}

void host_state_restore(void)
{
	if (journal < 0)
		return;
	undo();
	unlink(JOURNAL);
	close(journal);
	journal = -1;
}
