// SPDX-License-Identifier: GPL-2.0
/*
 * Files for probes. Nothing here can block for long: only regular files are read, and never more
 * than the caller has room for. A file system that hangs all the same is probe_look()'s business.
 */
#include "probe_file.h"

#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *root;   /* tree to read from; 0: this machine */
static const char *record; /* tree to write to; 0: none */

int probe_file_root(const char *dir)
{
	struct stat info;

	if (stat(dir, &info))
		return -errno;
	if (!S_ISDIR(info.st_mode))
		return -ENOTDIR;
	root = dir;
	return 0;
}

int probe_file_replayed(void)
{
	return root != NULL;
}

int probe_file_record(const char *dir)
{
	if (mkdir(dir, 0777))
		return -errno;
	record = dir;
	return 0;
}

/* Makes the directories that lead to a path. */
static void make_way(char *path)
{
	char *slash;

	for (slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
}

/* /proc/cpuinfo repeats itself for every CPU, and only the first is looked at. */
static size_t worth_keeping(const char *path, const char *text)
{
	const char *end = strcmp(path, "/proc/cpuinfo") ? NULL : strstr(text, "\n\n");

	return end ? (size_t)(end - text) : strlen(text);
}

/* A failure shows as a file that the tree lacks. */
static void keep(const char *path, const char *text)
{
	size_t length = worth_keeping(path, text);
	char *copy;
	FILE *file;

	if (!record)
		return;
	copy = xasprintf("%s%s", record, path);
	make_way(copy);
	file = fopen(copy, "we");
	if (file) {
		fprintf(file, "%.*s%s", (int)length, text, length ? "\n" : "");
		fclose(file);
	}
	free(copy);
}

static char *in_root(const char *path)
{
	return root ? xasprintf("%s%s", root, path) : xstrdup(path);
}

/* A link in a tree that somebody sent could lead out of it. */
static int open_file(const char *path)
{
	char *name = in_root(path);
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (root ? O_NOFOLLOW : 0));
	int error = errno;
	struct stat info;

	free(name);
	if (fd < 0)
		return -error;
	if (fstat(fd, &info) || !S_ISREG(info.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static void clean(char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (text[i] != '\n' && text[i] != '\t' && (text[i] < ' ' || text[i] > '~'))
			text[i] = '?';
}

int probe_read(const char *path, char *text, size_t size)
{
	size_t length = 0;
	ssize_t n = 0;
	int fd = open_file(path), error;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	while (length < size - 1 && (n = read(fd, text + length, size - 1 - length)) > 0)
		length += n;
	error = errno;
	close(fd);
	if (n < 0)
		return -error;
	clean(text, length);
	while (length && text[length - 1] == '\n')
		length--;
	text[length] = '\0';
	keep(path, text);
	return length;
}

int probe_number(const char *path, long long *number)
{
	char text[32], *end;
	int result = probe_read(path, text, sizeof(text));

	if (result < 0)
		return result;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return end == text || errno || (*end && *end != '\n' && *end != ' ') ? -EDOM : 0;
}

/*
 * Notes that a path is there, without a word of what is in it; a copy of its text stays. A folder
 * gets a file, since git and others keep no empty ones.
 */
static void keep_presence(const char *path, int folder)
{
	char *copy = record ? xasprintf("%s%s%s", record, path, folder ? "/.present" : "") : NULL;
	int fd;

	if (!copy)
		return;
	make_way(copy);
	fd = open(copy, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	free(copy);
}

int probe_exists(const char *path)
{
	char *name = in_root(path);
	struct stat info;
	int result = stat(name, &info) ? -errno : 1;

	free(name);
	if (result == 1)
		keep_presence(path, S_ISDIR(info.st_mode));
	return result == -ENOENT || result == -ENOTDIR ? 0 : result;
}

int probe_device(const char *path)
{
	char word[16];
	int result;

	if (!root) {
		result = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) ? -errno : 0;
		if (!result || result == -EACCES || result == -EPERM)
			keep(path, result ? "denied" : "ok");
		return result == -EPERM ? -EACCES : result;
	}
	result = probe_read(path, word, sizeof(word));
	if (result < 0)
		return result;
	return !strcmp(word, "ok") ? 0 : !strcmp(word, "denied") ? -EACCES : -EINVAL;
}

int probe_observe(const char *name, int (*take)(const void *context, char *text, size_t size),
		  const void *context, char *text, size_t size)
{
	char path[64];
	int result;

	snprintf(path, sizeof(path), "/tlbscope/%s", name);
	if (root) {
		result = probe_read(path, text, size);
		return result < 0 ? result : 0;
	}
	text[0] = '\0';
	result = take(context, text, size);
	if (result)
		return result;
	clean(text, strlen(text));
	keep(path, text);
	return 0;
}

static int take_root(const void *context, char *text, size_t size)
{
	(void)context;
	snprintf(text, size, "%s", geteuid() ? "no" : "yes");
	return 0;
}

int probe_is_root(void)
{
	char text[8];

	return !probe_observe("root", take_root, NULL, text, sizeof(text)) && !strcmp(text, "yes");
}
