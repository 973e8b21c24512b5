// SPDX-License-Identifier: GPL-2.0
/*
 * Target module: the cases in ring 0 of the running kernel, by the module tlbscope.ko behind
 * /dev/tlbscope. On a physical machine there is no second stage of paging: its rows (host page
 * none) are what the same CPU does without one. In a VM the second stage is the hypervisor's, and
 * nobody here sees its pages: host page unknown.
 *
 * The kernel around the experiment goes on living: between slices of half a millisecond other
 * work and interrupts have the CPU, whose SMT sibling shares TLB and caches at all times.
 * run.json has what the module says of that.
 */
#include "counting_link.h"
#include "protocol.h"
#include "target.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "/dev/tlbscope"
/* A native loop of two instructions takes 1 to 3 cycles an iteration, an emulated one thousands. */
#define EMULATED_CYCLES 100
#define TCG_SIGNATURE "TCGTCGTCGTCG" /* CPUID leaf 4000_0000H of QEMU's software CPU */

struct module {
	int fd;
	int failed; /* no answer to be expected any more */
	int in_vm, on_tcg, emulated;
	struct link link;
	struct hello hello;
	char input[2 * TS_MAX_LINE];
	size_t filled, used; /* of input: bytes read, and bytes of the line handed out last */
	cpu_set_t allowed; /* that the program may use, restored at the end */
	int moved;
};

/* ---- lines over the device ---- */

/*
 * Waits for events on the device until deadline: 0 (perhaps too early), -ETIMEDOUT or -EINTR. Short
 * waits: a signal that comes just before poll() is seen soon.
 */
static int wait_for(const struct module *module, short events, double deadline)
{
	struct pollfd fd = { .fd = module->fd, .events = events };
	double left = deadline - now_seconds();

	if (interrupted)
		return -EINTR;
	if (left <= 0)
		return -ETIMEDOUT;
	poll(&fd, 1, left > 0.2 ? 200 : (int)(left * 1000) + 1);
	return 0;
}

static int send_line(void *context, const char *line)
{
	struct module *module = context;
	double deadline = now_seconds() + module->link.timeout;
	char *bytes = xasprintf("%s\n", line);
	size_t done = 0, length = strlen(bytes);
	int result = 0;
	ssize_t n;

	while (done < length && !result) {
		n = write(module->fd, bytes + done, length - done);
		if (n > 0)
			done += n;
		else if (errno != EAGAIN && errno != EINTR)
			result = -EPIPE;
		else
			result = wait_for(module, POLLOUT, deadline);
	}
	free(bytes);
	return result;
}

/* Cuts the line off that was handed out before; the next one if it is complete, else 0. */
static char *cut_line(struct module *module)
{
	char *end;

	module->filled -= module->used;
	memmove(module->input, module->input + module->used, module->filled);
	module->used = 0;
	end = memchr(module->input, '\n', module->filled);
	if (!end)
		return NULL;
	*end = '\0';
	module->used = end + 1 - module->input;
	return module->input;
}

/*
 * The device ends its file when nothing is asked any more; for a driver that waits, that is a
 * death.
 */
static int receive_line(void *context, double seconds, const char **line)
{
	struct module *module = context;
	double deadline = now_seconds() + seconds;
	int result = 0;
	ssize_t n;

	while (!(*line = cut_line(module)) && !result) {
		if (module->filled == sizeof(module->input))
			return -EPIPE;
		n = read(module->fd, module->input + module->filled,
			 sizeof(module->input) - module->filled);
		if (n > 0)
			module->filled += n;
		else if (!n || (errno != EAGAIN && errno != EINTR))
			result = -EPIPE;
		else
			result = wait_for(module, POLLIN, deadline);
	}
	return result;
}

static int open_problem(int error, struct problem *p)
{
	if (error == EBUSY)
		return problem(p, EXIT_INPUT, DEVICE " is in use by another program; one at a "
			       "time: fuser " DEVICE " tells which");
	if (error == ENOMEM)
		return problem(p, EXIT_FAILED, "the module has no memory for a session; free some");
	if (error == EPERM)
		return problem(p, EXIT_INPUT, DEVICE " wants the capability CAP_SYS_RAWIO; run as "
			       "root");
	return problem(p, EXIT_FAILED, DEVICE " cannot be opened: %s; tlbscope doctor --target module, "
		       "or dmesg, may tell more",
		       strerror(error));
}

/* ---- start and end ---- */

/*
 * The module measures on the CPU on which it is opened: the last one that we may use. We then leave
 * that CPU to it.
 */
static void choose_cpu(struct module *module)
{
	cpu_set_t one;
	int last;

	if (sched_getaffinity(0, sizeof(module->allowed), &module->allowed) ||
	    CPU_COUNT(&module->allowed) < 2)
		return;
	one = module->allowed;
	keep_performance_cores(&one, NULL);
	for (last = CPU_SETSIZE - 1; !CPU_ISSET(last, &one); last--)
		;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	module->moved = !sched_setaffinity(0, sizeof(one), &one);
}

static void leave_cpu(struct module *module)
{
	cpu_set_t rest = module->allowed;
	int cpu = atoi(hello_text(&module->hello, "cpu"));

	if (!module->moved)
		return;
	if (module->hello.keys && cpu >= 0 && cpu < CPU_SETSIZE)
		CPU_CLR(cpu, &rest);
	sched_setaffinity(0, sizeof(rest), &rest);
}

static void module_free(struct module *module)
{
	hello_free(&module->hello);
	if (module->fd >= 0)
		close(module->fd);
	if (module->moved)
		sched_setaffinity(0, sizeof(module->allowed), &module->allowed);
	free(module);
}

/* What a failure of the link means here; its own words are about a guest image. */
static int hello_problem(int result, struct problem *p)
{
	if (result == -EPIPE || result == -ETIMEDOUT)
		return problem(p, EXIT_FAILED, "the module says nothing; see dmesg and log.txt");
	if (result == -EINVAL && p->exit_code == EXIT_INPUT)
		return problem(p, EXIT_INPUT, "the module that is loaded is of another version than "
			       "this program; rmmod tlbscope, make module, insmod "
			       "build/module/tlbscope.ko");
	return result;
}

static int module_close(struct target *target, struct problem *p)
{
	struct module *module = target->state;
	int result = module->failed ? 0 : link_end(&module->link);

	if (result)
		problem(p, EXIT_FAILED, "the module did not end cleanly; see dmesg and log.txt");
	module_free(module); /* ends a case that still runs */
	free(target->cpu);
	target->state = NULL;
	target->cpu = NULL;
	return result;
}

static int module_open(struct target *target, struct problem *p)
{
	struct module *module = xcalloc(1, sizeof(*module));
	const char *hypervisor;
	double loop;
	int result;

	choose_cpu(module);
	module->fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	result = module->fd < 0 ? open_problem(errno, p) : 0;
	module->link = (struct link){ module, send_line, receive_line, target->log,
				      target->options->timeout, "module", 1 };
	if (!result)
		result = hello_problem(link_hello(&module->link, &module->hello, p), p);
	if (result) {
		module_free(module);
		return result;
	}
	leave_cpu(module);
	hypervisor = hello_text(&module->hello, "hypervisor");
	module->in_vm = strcmp(hypervisor, "none") != 0;
	module->on_tcg = !strcmp(hypervisor, TCG_SIGNATURE);
	loop = strtod(hello_text(&module->hello, "loop_cycles"), NULL);
	module->emulated = loop >= EMULATED_CYCLES;
	target->state = module;
	target->accel = module->on_tcg ? "tcg" : module->in_vm ? "vm" : "native";
	target->features = module->hello.features;
	target->cpu = xstrdup(hello_text(&module->hello, "brand"));
	result = counting_link_open(target->counting, &module->link, &module->hello, 0, PERF_ALL);
	if (!result)
		return 0;
	module->failed = 1;
	module_close(target, p);
	return hello_problem(result, p);
}

/*
 * QEMU's soft TLB has exact refills (accel tcg tells whose they are); its cycles are the
 * emulator's.
 */
static int module_measure(struct target *target, const struct ts_case *c, struct row *row,
			  struct problem *p)
{
	struct module *module = target->state;
	int result;

	row->host = module->in_vm ? "unknown" : "none";
	row->host_how = "";
	if (module->emulated || (module->on_tcg && c->phase != TS_REFILL))
		row_reason(row, "emulated-cpu");
	result = counting_link_measure(target->counting, &module->link, c, row, p);
	module->failed = result && result != -ENOTSUP;
	if (result == -EINVAL && p->exit_code == EXIT_INPUT)
		return problem(p, EXIT_INPUT, "the window does not fit into half of the memory that "
			       "is available; ask for fewer leaves, or free memory (1g: a freshly "
			       "booted machine has whole gigabytes)");
	return result;
}

static void module_describe(const struct target *target, json_t *run)
{
	const struct module *module = target->state;

	json_object_set(run, "module", module->hello.keys);
}

static const char *const module_probes[] = { "module", 0 };

const struct target_ops target_module = {
	.name = "module",
	.claims = "refills and cycles of this CPU in ring 0 of the running kernel: on a physical "
		  "machine, what it does without nesting",
	.cannot = "no choice of host pages, and none that could be seen in a VM; the kernel's own "
		  "work shares the CPU",
	.probes = module_probes,
	.takes = TAKES_TIMEOUT,
	.phases = ~0u,
	.counters = 1u << COUNT_MODULE,
	.counts_unasked = 1,
	.open = module_open,
	.measure = module_measure,
	.close = module_close,
	.describe = module_describe,
};
