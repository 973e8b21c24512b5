// SPDX-License-Identifier: GPL-2.0
/* Events by name. */
#include "event.h"

#include "encoding.h"
#include "util.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>
#include <string.h>

#define SOURCES "/sys/bus/event_source/devices/"

u32 event_core_type(void)
{
	char *type = read_text(SOURCES "cpu_core/type");
	u32 number = type ? strtoul(type, NULL, 10) : PERF_TYPE_RAW;

	free(type);
	return number;
}

static int set_core(struct event *event, const char *name, u64 config)
{
	snprintf(event->name, sizeof(event->name), "%s", name);
	event->type = event_core_type();
	event->config = config & ENCODING_BITS;
	event->is_core = 1;
	return 0;
}

/* rXXXX as perf has it: hexadecimal config. 0, or -ENOENT when it is no such name. */
static int find_raw(const char *name, struct event *event, struct problem *p)
{
	char *end;
	u64 config;

	if (*name != 'r' || !name[1] || name[1 + strspn(name + 1, "0123456789abcdefABCDEF")])
		return -ENOENT;
	errno = 0;
	config = strtoull(name + 1, &end, 16);
	if (errno || config & ~ENCODING_BITS)
		return problem(p, EXIT_INPUT,
			       "--event %s: bits beyond event, umask, edge, inv and cmask; "
			       "give rXXXX as for perf, e.g. r0e08",
			       name);
	snprintf(event->from, sizeof(event->from), "raw");
	return set_core(event, name, config);
}

/* The columns of a CSV file and the words of a protocol have no blanks or commas. */
static int find_libpfm(const char *name, struct event *event, struct problem *p)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg) };
	int result = pfm_initialize();

	if (result == PFM_SUCCESS)
		result = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT,
						   &arg);
	if (result != PFM_SUCCESS)
		return problem(
			p, EXIT_INPUT,
			"--event %s: neither the CPU's data file nor libpfm4 has it for "
			"this CPU (%s); tlbscope list events shows names, rXXXX takes any encoding",
			name, pfm_strerror(result));
	if (attr.type == PERF_TYPE_RAW)
		set_core(event, name, attr.config);
	snprintf(event->name, sizeof(event->name), "%s", name);
	if (attr.type != PERF_TYPE_RAW) {
		event->type = attr.type;
		event->config = attr.config;
	}
	snprintf(event->from, sizeof(event->from), "libpfm4");
	return 0;
}

int event_find(const struct cpu_file *cpu, const char *name, struct event *event, struct problem *p)
{
	const struct cpu_event *known = cpu ? cpu_file_event(cpu, name) : NULL;
	int result;

	memset(event, 0, sizeof(*event));
	if (strlen(name) >= sizeof(event->name) || name[strcspn(name, " ,\"\t\r\n")] || !*name)
		return problem(p, EXIT_INPUT,
			       "--event \"%s\": one event, without blanks and commas; the option "
			       "may be repeated",
			       name);
	if (known) {
		event->is_walk = cpu_names_have(&cpu->walks, known->name);
		snprintf(event->from, sizeof(event->from), "%s (%s)", cpu->id,
			 cpu_status_names[known->status]);
		return set_core(event, known->name, known->config);
	}
	result = find_raw(name, event, p);
	return result == -ENOENT ? find_libpfm(name, event, p) : result;
}

const char *event_encoding(const struct event *event, char *text, size_t size)
{
	if (event->is_core)
		return encoding_print(event->config, text, size);
	snprintf(text, size, "type=%u,config=0x%llx", event->type, event->config);
	return text;
}
