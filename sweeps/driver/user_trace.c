// SPDX-License-Identifier: GPL-2.0
/*
 * Reading tlb:tlb_flush (include/trace/events/tlb.h). Its field `pages` is the number of pages
 * flushed one by one, or -1 (TLB_FLUSH_ALL) for a full flush. It is fired where the flush is
 * carried out, in flush_tlb_func().
 */
#include "user_trace.h"

#include "util.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096UL
#define RING_PAGES 8UL /* some 500 records; one call makes a handful */
#define FULL (~0ULL)

static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

/* A file of the tracepoint, from wherever tracefs is mounted; 0 when it cannot be read. */
static char *read_event_file(const char *name)
{
	char path[128], *text = NULL;
	size_t i;

	for (i = 0; !text && i < TS_COUNT(roots); i++) {
		snprintf(path, sizeof(path), "%s/events/tlb/tlb_flush/%s", roots[i], name);
		text = read_text(path);
	}
	return text;
}

int user_trace_pages_offset(const char *format, unsigned int *offset)
{
	static const char field[] = "unsigned long pages;";
	const char *at = strstr(format, field);

	if (!at || sscanf(at + strlen(field), " offset:%u; size:8;", offset) != 1 ||
	    !strstr(at, "size:8;"))
		return -EINVAL;
	return 0;
}

static int open_event(u64 id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = id,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * PAGE,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int user_trace_open(struct user_trace *trace)
{
	char *id = read_event_file("id"), *format = read_event_file("format");
	int result = -EACCES;

	trace->fd = -1;
	if (id && format) {
		result = user_trace_pages_offset(format, &trace->pages_offset);
		if (!result) {
			trace->fd = open_event(strtoull(id, NULL, 10));
			result = trace->fd < 0 ? -errno : 0;
		}
	}
	free(id);
	free(format);
	if (result)
		return result;
	trace->ring_size = (1 + RING_PAGES) * PAGE;
	trace->ring = mmap(NULL, trace->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd,
			   0);
	if (trace->ring == MAP_FAILED) {
		result = -errno;
		close(trace->fd);
		trace->fd = -1;
	}
	return result;
}

void user_trace_close(struct user_trace *trace)
{
	if (trace->fd < 0)
		return;
	munmap(trace->ring, trace->ring_size);
	close(trace->fd);
	trace->fd = -1;
}

int user_trace_start(struct user_trace *trace)
{
	struct perf_event_mmap_page *head = trace->ring;

	head->data_tail = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
	return ioctl(trace->fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

/* Copies size bytes from a position of the ring, which may wrap. */
static void copy_out(const struct user_trace *trace, u64 at, void *to, size_t size)
{
	const char *data = (const char *)trace->ring + PAGE;
	char *bytes = to;
	size_t i;

	for (i = 0; i < size; i++)
		bytes[i] = data[(at + i) % (RING_PAGES * PAGE)];
}

static void count(struct user_flushes *flushes, u64 pages)
{
	enum ts_class class = pages == FULL ? TS_CLASS_FULL : TS_CLASS_SELECTIVE;

	flushes->events++;
	if (pages != FULL)
		flushes->pages += pages;
	if (class > flushes->class)
		flushes->class = class;
}

/* A sample is its header, the size of the raw record, and the record itself. */
int user_trace_stop(struct user_trace *trace, struct user_flushes *flushes)
{
	struct perf_event_mmap_page *head = trace->ring;
	struct perf_event_header header;
	u64 at, end, pages;

	memset(flushes, 0, sizeof(*flushes));
	if (ioctl(trace->fd, PERF_EVENT_IOC_DISABLE, 0))
		return -errno;
	end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
	for (at = head->data_tail; at < end; at += header.size) {
		copy_out(trace, at, &header, sizeof(header));
		if (header.type == PERF_RECORD_LOST)
			return -EOVERFLOW;
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		copy_out(trace, at + sizeof(header) + sizeof(u32) + trace->pages_offset, &pages,
			 sizeof(pages));
		count(flushes, pages);
	}
	__atomic_store_n(&head->data_tail, end, __ATOMIC_RELEASE);
	return 0;
}
