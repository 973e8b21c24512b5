// SPDX-License-Identifier: GPL-2.0
#include "run_progress.h"

#include "util.h"

#include <stdio.h>

/* ", about N s left" once there is something to reckon from. */
static const char *time_left(const struct progress *progress, char *text, size_t size)
{
	size_t fresh = progress->done - progress->first;

	text[0] = '\0';
	if (fresh)
		snprintf(text, size, ", about %.0f s left",
			 (now_seconds() - progress->start) / fresh * (progress->total - progress->done));
	return text;
}

void show_progress(struct progress *progress, const struct planned *next)
{
	double now = now_seconds();
	char left[48];
	int fresh = next && (next->section != progress->section || next->c.repeat != progress->repeat);

	if (next) {
		progress->section = next->section;
		progress->repeat = next->c.repeat;
	}
	if (progress->terminal) {
		if (next && now - progress->last < 0.1 && progress->done > progress->first)
			return;
		progress->last = now;
		fprintf(stderr, "\r\033[K");
		if (next)
			fprintf(stderr, "%zu of %zu rows, [%s] repetition %llu%s", progress->done,
				progress->total, next->section->name, next->c.repeat,
				time_left(progress, left, sizeof(left)));
	} else if (fresh && (progress->done == progress->first || now - progress->last > 2)) {
		progress->last = now;
		fprintf(stderr, "%zu of %zu rows, [%s] repetition %llu%s\n", progress->done, progress->total,
			next->section->name, next->c.repeat, time_left(progress, left, sizeof(left)));
	}
}
