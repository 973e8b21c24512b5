// SPDX-License-Identifier: GPL-2.0
/*
 * The journal: lines "PATH DIFFERENCE", in /run (gone after a boot, as the changes are). A lock on it tells a living
 * owner from a dead one. Differences rather than old values: someone else may have changed the same number
 * meanwhile.
 */
#include "host_state.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
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

/* Sum of the differences of a path in the journal; blots its lines out. */
static long sum_of(char *text, const char *path)
{
	size_t length = strlen(path);
	long sum = 0;
	char *line = text;

	while (line && *line) {
		if (!strncmp(line, path, length) && line[length] == ' ') {
			sum += strtol(line + length, NULL, 10);
			*line = '#';
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return sum;
}

/* Takes back what each path in the journal was changed by in all, and empties it. */
static void undo(void)
{
	char *text = read_text(JOURNAL), *line = text, *path;
	long now, sum;

	while (line && *line) {
		if (*line == '/') {
			path = strndup(line, strcspn(line, " "));
			sum = sum_of(text, path);
			if (!read_number(path, &now))
				write_number(path, now - sum);
			free(path);
		}
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

int host_state_open(struct problem *p)
{
	int result = take();

	if (result == -EBUSY)
		return problem(p, EXIT_FAILED, "another tlbscope is using the huge-page pool; wait until it "
			       "has ended");
	if (result)
		return problem(p, EXIT_FAILED, JOURNAL ": %s; changing the huge-page pool needs root",
			       strerror(-result));
	undo();
	return 0;
}

int host_state_set(const char *path, long number, long *got, struct problem *p)
{
	long old, now;
	char *line;
	int result = read_number(path, &old);

	if (result)
		return problem(p, EXIT_FAILED, "%s: %s", path, strerror(-result));
	line = xasprintf("%s %ld\n", path, number - old);
	if (write(journal, line, strlen(line)) != (ssize_t)strlen(line) || fsync(journal))
		result = problem(p, EXIT_FAILED, JOURNAL ": %s", strerror(errno));
	else if ((result = write_number(path, number)))
		result = problem(p, EXIT_FAILED, "%s: cannot write: %s", path, strerror(-result));
	free(line);
	if (result)
		return result;
	if (read_number(path, &now))
		now = number;
	if (now != number) { /* the kernel gave less: note the rest, so that the sum is what happened */
		line = xasprintf("%s %ld\n", path, now - number);
		if (write(journal, line, strlen(line)) < 0)
			perror("tlbscope: " JOURNAL);
		free(line);
	}
	if (got)
		*got = now;
	return 0;
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
