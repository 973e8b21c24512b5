// SPDX-License-Identifier: GPL-2.0
/* The self-check's loads in this process. */
#include "counter_check.h"
#include "counting_perf.h"
#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define APART 8UL /* pages from one touch to the next: no neighbours for AMD to keep in one entry \
		   */
#define PASSES 50
#define FRESH_PAGES 64UL
#define LOOP 1000000UL

/* A cycle of pointers through n lines, `stride` bytes apart, each in another line of its page. */
static void **chain(char *base, size_t n, size_t stride, size_t line)
{
	size_t i, next;

	for (i = 0; i < n; i++) {
		next = (i + 1) % n;
		*(void **)(base + i * stride + i % 64 * line) =
			base + next * stride + next % 64 * line;
	}
	return (void **)base;
}

static void **chase(void **at, size_t touches)
{
	while (touches--)
		at = *(void **volatile *)at;
	return at;
}

static char *map(size_t bytes)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	return memory;
}

/* Counts of one touch of a chain of n lines. */
static int count_chain(struct counting *counting, size_t n, size_t stride, size_t line,
		       double *counts)
{
	size_t bytes = n * stride + PAGE, i;
	char *memory = map(bytes);
	struct perf_counts before;
	void **at;
	int result;

	if (!memory)
		return -ENOTSUP;
	at = chase(chain(memory, n, stride, line), 2 * n);
	result = counting_start(counting, &before);
	if (!result) {
		at = chase(at, PASSES * n);
		result = counting_stop(counting, &before, counts);
	}
	for (i = 0; i < counting->events && !result; i++)
		counts[i] /= PASSES * n;
	munmap(memory, bytes);
	return at ? result : -EFAULT;
}

/* Built with a sanitizer it would touch that one's memory, too. */
static __attribute__((no_sanitize_address)) void touch_fresh(char *memory)
{
	size_t i;

	for (i = 0; i < FRESH_PAGES; i++)
		*(volatile char *)(memory + i * PAGE) = 1;
}

static int count_fresh(struct counting *counting, double *counts)
{
	char *memory = map(FRESH_PAGES * PAGE);
	struct perf_counts before;
	int result;
	size_t i;

	if (!memory)
		return -ENOTSUP;
	result = counting_start(counting, &before);
	if (!result) {
		touch_fresh(memory);
		result = counting_stop(counting, &before, counts);
	}
	for (i = 0; i < counting->events && !result; i++)
		counts[i] /= FRESH_PAGES;
	munmap(memory, FRESH_PAGES * PAGE);
	return result;
}

/* Two instructions, LOOP times; what stands around them is far below the tolerance. */
static int count_instructions(const struct counting *counting, double *ratio)
{
	struct counting own = { .source = COUNT_PROCESS, .events = 1, .log = counting->log };
	unsigned long n = LOOP;
	struct perf_counts before;
	struct problem p;
	int result;

	own.event[0] =
		(struct event){ "instructions", event_core_type(), EVENT_INSTRUCTIONS, 1, 0, "", "" };
	if (perf_group_open(&own.group, counting->group.ops, own.event, 1, 0, PERF_USER, &p))
		return -ENODATA;
	result = perf_group_start(&own.group) ?: counting_start(&own, &before);
	if (!result) {
		__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(n) : : "cc");
		result = counting_stop(&own, &before, ratio);
	}
	perf_group_close(&own.group);
	*ratio /= 2.0 * LOOP;
	return result;
}

int check_process(void *context, enum check_load load, double *counts)
{
	struct counting *counting = context;

	switch (load) {
	case CHECK_INSTRUCTIONS:
		return count_instructions(counting, counts);
	case CHECK_BEYOND:
		return count_chain(counting, CHECK_PAGES, APART * PAGE, 64, counts);
	case CHECK_ONE_PAGE:
		return count_chain(counting, 64, 64, 0, counts);
	default:
		return count_fresh(counting, counts);
	}
}
