// SPDX-License-Identifier: GPL-2.0
/* Small helpers of the driver. */
#include "util.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *require(void *memory)
{
	if (!memory) {
		fputs("tlbscope: out of memory\n", stderr);
		exit(1);
	}
	return memory;
}

void *xcalloc(size_t n, size_t size)
{
	return require(calloc(n ? n : 1, size));
}

void *xrealloc(void *old, size_t size)
{
	return require(realloc(old, size ? size : 1));
}

char *xstrdup(const char *text)
{
	return require(strdup(text));
}

char *xasprintf(const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	return require(length < 0 ? NULL : text);
}

char *shell_word(const char *argument)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-,=:+@%";
	char *word, *to;

	if (*argument && !argument[strspn(argument, plain)])
		return xstrdup(argument);
	word = to = xcalloc(1, 4 * strlen(argument) + 3);
	*to++ = '\'';
	for (; *argument; argument++)
		to = *argument == '\'' ? stpcpy(to, "'\\''") : (*to = *argument, to + 1);
	*to = '\'';
	return word;
}

char *read_text(const char *path)
{
	char *text = xcalloc(1, 65536);
	FILE *file = fopen(path, "r");
	size_t n;

	if (!file) {
		free(text);
		return NULL;
	}
	n = fread(text, 1, 65535, file);
	fclose(file);
	while (n && (text[n - 1] == '\n' || text[n - 1] == '\0'))
		text[--n] = '\0';
	return text;
}

void keep_performance_cores(cpu_set_t *set, const char *list)
{
	char *text = list ? xstrdup(list) : read_text("/sys/devices/cpu_core/cpus"), *at = text;
	cpu_set_t cores;
	long first, last;

	CPU_ZERO(&cores);
	while (at && *at >= '0' && *at <= '9') {
		first = last = strtol(at, &at, 10);
		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, &cores);
		at += *at == ',';
	}
	free(text);
	CPU_AND(&cores, &cores, set);
	if (CPU_COUNT(&cores))
		*set = cores;
}

char *data_path(const char *name)
{
	char self[PATH_MAX], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	return xasprintf("%s/../share/tlbscope/%s", self, name);
}

#define COLUMNS 100

void print_hanging(FILE *out, int column, const char *text)
{
	int room = COLUMNS - column, cut;

	while ((int)strlen(text) > room) {
		for (cut = room; cut && text[cut] != ' ';)
			cut--;
		cut = cut ? cut : room;
		fprintf(out, "%.*s\n%*s", cut, text, column, "");
		text += cut + (text[cut] == ' ');
	}
	fprintf(out, "%s\n", text);
}

void print_wrapped(FILE *out, const char *text)
{
	print_hanging(out, 0, text);
}

double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

char *time_text(void)
{
	char text[32];
	time_t now = time(NULL);
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return xstrdup(text);
}
