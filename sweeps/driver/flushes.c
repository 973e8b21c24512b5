// SPDX-License-Identifier: GPL-2.0
/*
 * Reading a record of tlb:tlb_flush. Both writers end a line with the same words, which come from
 * the tracepoint's own format (include/trace/events/tlb.h):
 *
 *   TASK-PID [CPU] FLAGS SECONDS: tlb_flush: pages:N reason:TEXT (NUMBER)	tracefs
 *   TASK PID [CPU] SECONDS: tlb:tlb_flush: pages:N reason:TEXT (NUMBER)	perf script
 *
 * Other events, comments and call chains in between are passed over. The time is what stands before
 * the event's name, in seconds with a point; trace clocks that count something else have none.
 */
#include "flushes.h"

#include "record.h"
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOST (1ULL << 40)

static const char event_name[] = "tlb_flush: ";

struct reading {
	struct flushes *flushes;
	double first, last;
	int timeless; /* a line without a time in seconds */
};

static struct flush_sum *find_sum(struct flushes *flushes, long pages, long reason)
{
	struct flush_sum *sum;
	size_t i;

	for (i = 0; i < flushes->sums; i++)
		if (flushes->sum[i].pages == pages && flushes->sum[i].reason == reason)
			return &flushes->sum[i];
	flushes->sum = xrealloc(flushes->sum, (flushes->sums + 1) * sizeof(*sum));
	sum = &flushes->sum[flushes->sums++];
	memset(sum, 0, sizeof(*sum));
	sum->pages = pages;
	sum->reason = reason;
	return sum;
}

int flushes_counts(const struct flush_sum *sum)
{
	return sum->reason != FLUSHES_SEND_IPI;
}

/* The number at *at, moved behind it; 0 when there is none, or none that is a number of pages. */
static int take_number(const char **at, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(*at, &end, 10);
	if (end == *at || errno || *number < FLUSHES_FULL)
		return 0;
	*at = end;
	return 1;
}

/* Reasons are an enum of a handful (enum tlb_flush_reason). */
#define MOST_REASONS 64

/* "pages:N reason:TEXT (NUMBER)"; 0, or -EINVAL. */
static int read_fields(const char *at, struct flush_sum *one)
{
	const char *open;
	size_t length;

	if (strncmp(at, "pages:", 6))
		return -EINVAL;
	at += 6;
	if (!take_number(&at, &one->pages) || strncmp(at, " reason:", 8))
		return -EINVAL;
	at += 8;
	open = strrchr(at, '(');
	if (!open)
		return -EINVAL;
	length = open - at;
	while (length && at[length - 1] == ' ')
		length--;
	snprintf(one->text, sizeof(one->text), "%.*s", (int)length, at);
	if (!record_is_plain(one->text))
		return -EINVAL;
	if (one->pages > FLUSHES_MANY)
		one->pages = FLUSHES_MANY;
	at = open + 1;
	return take_number(&at, &one->reason) && one->reason >= 0 && one->reason < MOST_REASONS && *at == ')' ? 0 : -EINVAL;
}

/* The seconds before the event's name; NAN when there is no such number. */
static double read_time(const char *line, const char *event)
{
	const char *end = event, *start;
	char *rest;
	double seconds;

	if (end - line >= 4 && !strncmp(end - 4, "tlb:", 4))
		end -= 4;
	while (end > line && end[-1] == ' ')
		end--;
	if (end == line || *--end != ':')
		return NAN;
	for (start = end; start > line && (isdigit((unsigned char)start[-1]) || start[-1] == '.');)
		start--;
	if (!memchr(start, '.', end - start))
		return NAN;
	seconds = strtod(start, &rest);
	return rest == end && isfinite(seconds) ? seconds : NAN;
}

static void note_time(struct reading *reading, double seconds)
{
	if (isnan(seconds)) {
		reading->timeless = 1;
		return;
	}
	reading->first = fmin(reading->first, seconds);
	reading->last = fmax(reading->last, seconds);
}

/* "CPU:1 [LOST 1234 EVENTS]" of tracefs, wherever it stands in the line; a number that cannot be one counts as none. */
static u64 lost_events(const char *line)
{
	const char *at = strstr(line, "[LOST ");
	u64 lost = 0;

	return at && !ts_number(at + 6, strspn(at + 6, "0123456789"), &lost) && lost < MOST_LOST ? lost : 0;
}

/*
 * One line without its end; -ENODATA at the end of the file, -E2BIG when it is longer than any of a trace, so that what
 * is no text does not fill the memory.
 */
static ssize_t next_line(FILE *file, char *line, size_t size)
{
	size_t n = 0;
	int c;

	while ((c = getc(file)) != EOF && c != '\n') {
		if (n + 1 == size)
			return -E2BIG;
		line[n++] = c;
	}
	line[n] = '\0';
	return c == EOF && !n ? -ENODATA : (ssize_t)n;
}

static int read_line(struct reading *reading, const char *line, size_t number, struct problem *p)
{
	struct flushes *flushes = reading->flushes;
	const char *event = strstr(line, event_name);
	struct flush_sum one = { 0 }, *sum;

	if (*line == '#' || !event) {
		flushes->lost += *line == '#' ? 0 : lost_events(line);
		return 0;
	}
	if (read_fields(event + strlen(event_name), &one))
		return problem(p, EXIT_INPUT, "%s:%zu: not \"pages:N reason:TEXT (NUMBER)\" behind tlb_flush; the "
			       "line is cut off, or not from tracefs or perf script", flushes->path, number);
	note_time(reading, read_time(line, event));
	sum = find_sum(flushes, one.pages, one.reason);
	memcpy(sum->text, one.text, sizeof(sum->text));
	sum->count++;
	if (!flushes_counts(&one))
		return 0;
	flushes->lines++;
	if (one.pages > flushes->most)
		flushes->most = one.pages;
	return 0;
}

static int compare_sums(const void *a, const void *b)
{
	const struct flush_sum *x = a, *y = b;

	if (x->reason != y->reason)
		return x->reason < y->reason ? -1 : 1;
	return (x->pages > y->pages) - (x->pages < y->pages);
}

#define LEAST_SECONDS 1e-3 /* less is no time to tell a rate from */

static int finish(struct reading *reading, struct problem *p)
{
	struct flushes *flushes = reading->flushes;
	double seconds = reading->last - reading->first;

	if (!flushes->lines)
		return problem(p, EXIT_INPUT, "%s: no tlb_flush event in it; record some with: perf record -a -e "
			       "tlb:tlb_flush sleep 10; perf script >FILE", flushes->path);
	qsort(flushes->sum, flushes->sums, sizeof(*flushes->sum), compare_sums);
	flushes->seconds = !reading->timeless && seconds >= LEAST_SECONDS ? seconds : NAN;
	return 0;
}

int flushes_read_stream(FILE *file, const char *path, struct flushes *flushes, struct problem *p)
{
	struct reading reading = { .flushes = flushes, .first = INFINITY, .last = -INFINITY };
	char line[4096];
	size_t number = 0;
	ssize_t length = 0;
	int result = 0;

	memset(flushes, 0, sizeof(*flushes));
	flushes->path = xstrdup(path);
	while (!result && (length = next_line(file, line, sizeof(line))) >= 0) {
		number++;
		if (memchr(line, '\0', length))
			result = problem(p, EXIT_INPUT, "%s:%zu: a zero byte: not text; perf.data is read by perf "
					 "script first", path, number);
		else
			result = read_line(&reading, line, number, p);
	}
	if (length == -E2BIG)
		result = problem(p, EXIT_INPUT, "%s:%zu: a line of more than %zu characters: not a trace", path,
				 number + 1, sizeof(line) - 1);
	if (!result && ferror(file))
		result = problem(p, EXIT_INPUT, "%s: cannot read: %s", path, strerror(errno));
	result = result ?: finish(&reading, p);
	if (result)
		flushes_free(flushes);
	return result;
}

int flushes_read(const char *path, struct flushes *flushes, struct problem *p)
{
	FILE *file = fopen(path, "re");
	int result;

	memset(flushes, 0, sizeof(*flushes));
	if (!file)
		return problem(p, EXIT_INPUT, "--flushes %s: %s", path, strerror(errno));
	result = flushes_read_stream(file, path, flushes, p);
	fclose(file);
	return result;
}

void flushes_free(struct flushes *flushes)
{
	free(flushes->path);
	free(flushes->sum);
	memset(flushes, 0, sizeof(*flushes));
}
