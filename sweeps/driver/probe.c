// SPDX-License-Identifier: GPL-2.0
/* The probe table, and how a probe is asked. */
#include "probe.h"

#include "probe_file.h"
#include "probe_looks.h"
#include "types.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *const probe_result_names[PROBE_RESULTS] = { "ok", "missing", "problem", "unknown" };

const char *const probe_theme_names[THEMES] = {
	"CPU and kernel", "KVM, for target kvm", "Memory", "Counters and tracing",
	"Host module, for target module", "Programs and files",
};

/* QEMU has a hundred libraries: on a slow or emulated machine its start alone takes seconds. */
#define QEMU_SECONDS 20

/* In the order of the output. An id never changes its meaning: scripts and reports name it. */
const struct probe probes[] = {
	{ "cpu", THEME_CPU, "which CPU this is", look_cpu, 0 },
	{ "cpu-file", THEME_CPU, "whether the sizes of its TLB are known here", look_cpu_file, 0 },
	{ "hybrid", THEME_CPU, "whether all cores are of one kind", look_hybrid, 0 },
	{ "bare-metal", THEME_CPU, "whether a hypervisor runs above this kernel",
	  look_bare_metal, 0 },
	{ "tsc", THEME_CPU, "whether the clock that counts cycles runs evenly", look_tsc, 0 },
	{ "smt", THEME_CPU, "whether a second thread shares each core and its TLB", look_smt, 0 },
	{ "isolated-cpus", THEME_CPU, "whether a CPU is kept free of other work",
	  look_isolated, 0 },
	{ "governor", THEME_CPU, "whether the CPU's frequency stays put", look_governor, 0 },
	{ "pti", THEME_CPU, "whether the kernel hides its page tables from programs (PTI)",
	  look_pti, 0 },
	{ "syscall-flush", THEME_CPU, "whether system calls themselves flush the TLB",
	  look_syscalls, 0 },

	{ "kvm", THEME_KVM, "KVM, which runs the guest image on the CPU itself", look_kvm, 0 },
	{ "kvm-native", THEME_KVM, "whether it really does, instead of emulating instructions",
	  look_kvm_native, 0 },
	{ "nested-paging", THEME_KVM, "the second page table in hardware (Intel EPT, AMD NPT)",
	  look_nested_paging, 0 },
	{ "nx-huge-pages", THEME_KVM, "whether KVM splits 2M pages that a guest executes",
	  look_nx_huge_pages, 0 },

	{ "memory", THEME_MEMORY, "free memory for the guest", look_memory, 0 },
	{ "pool-2m", THEME_MEMORY, "2M pages set aside for programs (hugetlb)", look_pool_2m, 0 },
	{ "pool-1g", THEME_MEMORY, "1G pages set aside for programs (hugetlb)", look_pool_1g, 0 },
	{ "thp", THEME_MEMORY, "2M pages that the kernel makes on request (THP)", look_thp, 0 },
	{ "mthp", THEME_MEMORY, "whether it also makes sizes between 4K and 2M unasked",
	  look_mthp, 0 },

	{ "pmu", THEME_COUNTERS, "the CPU's event counters (PMU)", look_pmu, 0 },
	{ "vpmu", THEME_COUNTERS, "whether KVM lends them to guests", look_vpmu, 0 },
	{ "perf-paranoid", THEME_COUNTERS, "whether this user may count events", look_paranoid, 0 },
	{ "nmi-watchdog", THEME_COUNTERS, "whether the kernel's watchdog occupies a counter",
	  look_nmi_watchdog, 0 },
	{ "tracefs", THEME_COUNTERS, "the kernel's own record of its TLB flushes",
	  look_tracefs, 0 },
	{ "ceiling", THEME_COUNTERS, "how many pages the kernel flushes singly", look_ceiling, 0 },

	{ "module", THEME_MODULE, "the host module, which runs the cases in this kernel",
	  look_module, 0 },
	{ "module-built", THEME_MODULE, "whether it has been compiled", look_module_built, 0 },
	{ "module-headers", THEME_MODULE, "what is needed to compile it", look_module_headers, 0 },
	{ "module-support", THEME_MODULE, "whether this kernel loads modules at all",
	  look_module_support, 0 },
	{ "lockdown", THEME_MODULE, "whether the kernel refuses modules without a signature",
	  look_lockdown, 0 },
	{ "secure-boot", THEME_MODULE, "whether the firmware starts signed kernels only",
	  look_secure_boot, 0 },

	{ "qemu", THEME_TOOLS, "QEMU, the machine that the guest image runs on", look_qemu,
	  QEMU_SECONDS },
	{ "guest-image", THEME_TOOLS, "the bare-metal guest image", look_image, 0 },
	{ "gnuplot", THEME_TOOLS, "gnuplot, which draws the pictures", look_gnuplot, 0 },
	{ "build-tools", THEME_TOOLS, "compiler and make, for image and module",
	  look_build_tools, 0 },
};
const size_t probe_count = TS_COUNT(probes);

const struct probe *probe_find(const char *id)
{
	size_t i;

	for (i = 0; i < probe_count; i++)
		if (!strcmp(probes[i].id, id))
			return &probes[i];
	return NULL;
}

/* ---- findings ---- */

static const struct remedy *find_remedy(const char *id)
{
	size_t i;

	for (i = 0; i < remedy_count; i++)
		if (!strcmp(remedies[i].id, id))
			return &remedies[i];
	return NULL;
}

/* Root needs no sudo, and may not have it. */
static void leave_out_sudo(char *command)
{
	static const char word[] = "sudo ";
	char *at;

	while ((at = strstr(command, word)))
		memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

void finding_set(struct finding *f, enum probe_result result, const char *remedy,
		 const char *format, ...)
{
	const struct remedy *found = remedy ? find_remedy(remedy) : NULL;
	va_list args;

	memset(f, 0, sizeof(*f));
	f->result = result;
	va_start(args, format);
	vsnprintf(f->seen, sizeof(f->seen), format, args);
	va_end(args);
	if (!found)
		return;
	snprintf(f->remedy_id, sizeof(f->remedy_id), "%s", found->id);
	snprintf(f->remedy, sizeof(f->remedy), "%s", found->text);
	snprintf(f->command, sizeof(f->command), "%s", found->command ?: "");
	if (probe_is_root())
		leave_out_sudo(f->command);
}

/* Puts value where the first '@' stands, and so on; what has no room is cut. */
static void replace(char *text, size_t size, const char *value)
{
	char *old = xstrdup(text);
	const char *at;
	size_t used = 0;

	for (at = old; *at && used < size - 1; at++) {
		if (*at == '@')
			used += snprintf(text + used, size - used, "%s", value);
		else
			text[used++] = *at;
	}
	text[used < size ? used : size - 1] = '\0';
	free(old);
}

void finding_fill(struct finding *f, const char *value)
{
	replace(f->remedy, sizeof(f->remedy), value);
	replace(f->command, sizeof(f->command), value);
}

void finding_unreadable(struct finding *f, const char *path, int error)
{
	finding_set(f, PROBE_UNKNOWN, "any.read", "%s: %s", path,
		    error == -EDOM ? "no number in it" :
		    error == -EINVAL ? "not a file with text" : strerror(-error));
}

/* ---- looking, in a process of its own ---- */

/* Nothing that it starts outlives it: it leads a group of its own, which is killed at the end. */
static void look_in_child(const struct probe *probe, const struct options *options, int out)
{
	struct finding f = { 0 };
	int nothing = open("/dev/null", O_RDONLY);
	const char *bytes = (const char *)&f;
	size_t done = 0;
	ssize_t n = 1;

	setpgid(0, 0);
	if (nothing >= 0)
		dup2(nothing, 0);
	finding_set(&f, PROBE_UNKNOWN, "any.report", "the probe says nothing");
	probe->look(options, &f);
	for (; n > 0 && done < sizeof(f); done += n > 0 ? n : 0)
		n = write(out, bytes + done, sizeof(f) - done);
	_exit(0);
}

/* Reads a finding until the deadline. Returns 0, -EPIPE: it died, -ETIMEDOUT. */
static int await_finding(const struct looking *looking, struct finding *f)
{
	struct pollfd fd = { .fd = looking->fd, .events = POLLIN };
	char *bytes = (char *)f;
	size_t done = 0;
	double left;
	ssize_t n;

	while (done < sizeof(*f)) {
		left = looking->deadline - now_seconds();
		if (poll(&fd, 1, left > 0 ? (int)(left * 1000) + 1 : 0) <= 0) {
			if (left <= 0)
				return -ETIMEDOUT;
			continue;
		}
		n = read(looking->fd, bytes + done, sizeof(*f) - done);
		if (n <= 0)
			return -EPIPE;
		done += n;
	}
	return 0;
}

void probe_start(const struct probe *probe, const struct options *options, struct looking *looking)
{
	int fd[2];

	*looking = (struct looking){ .pid = -1, .fd = -1, .deadline = now_seconds() };
	looking->deadline += probe->seconds > 0 ? probe->seconds : PROBE_SECONDS;
	if (pipe2(fd, O_CLOEXEC))
		return;
	fflush(NULL);
	looking->pid = fork();
	if (!looking->pid)
		look_in_child(probe, options, fd[1]);
	close(fd[1]);
	if (looking->pid < 0)
		close(fd[0]);
	else
		looking->fd = fd[0];
}

void probe_finish(const struct probe *probe, const struct options *options, struct looking *looking,
		  struct finding *f)
{
	int result;

	if (looking->fd < 0) { /* no room for a process: then without the time-out */
		probe->look(options, f);
		return;
	}
	result = await_finding(looking, f);
	close(looking->fd);
	kill(-looking->pid, SIGKILL);
	kill(looking->pid, SIGKILL);
	waitpid(looking->pid, NULL, 0);
	if (result)
		finding_set(f, PROBE_UNKNOWN, "any.report", "the probe %s",
			    result == -EPIPE ? "died" : "gave no answer in time");
}

void probe_look(const struct probe *probe, const struct options *options, struct finding *f)
{
	struct looking looking;

	probe_start(probe, options, &looking);
	probe_finish(probe, options, &looking, f);
}
