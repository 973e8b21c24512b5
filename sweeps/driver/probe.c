// SPDX-License-Identifier: GPL-2.0
/* The probe table. */
#include "probe.h"

#include "machine.h"
#include "qemu.h"
#include "target.h"
#include "target_module.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum probe_result look_qemu(const struct options *options, char *seen, size_t seen_size,
				   char *remedy, size_t remedy_size)
{
	struct problem p;
	char version[32];
	int number;

	if (!qemu_version(options->qemu, &number, version, sizeof(version), &p)) {
		snprintf(seen, seen_size, "%s (%s)", version, options->qemu);
		return PROBE_OK;
	}
	snprintf(seen, seen_size, "%.*s", (int)strcspn(p.text, ";"), p.text);
	snprintf(remedy, remedy_size, "install qemu-system-x86 (7.2 or newer), or name one with --qemu PATH");
	return PROBE_MISSING;
}

/* A 64-bit ELF file for x86-64 (ELF header: magic, class 2, machine 62), as the guest image is. */
static int is_guest_image(const char *path)
{
	unsigned char header[20] = { 0 };
	FILE *file = fopen(path, "rbe");
	size_t n = file ? fread(header, 1, sizeof(header), file) : 0;

	if (file)
		fclose(file);
	return n == sizeof(header) && !memcmp(header, "\177ELF\2", 5) && header[18] == 62;
}

static enum probe_result look_image(const struct options *options, char *seen, size_t seen_size,
				    char *remedy, size_t remedy_size)
{
	char *path = options->guest_image ? xstrdup(options->guest_image) :
					    data_path("tlbscope-guest.elf");
	int found = is_guest_image(path);

	snprintf(seen, seen_size, "%s%s", path, found ? "" : " is not there, or no guest image");
	snprintf(remedy, remedy_size, "--image: make guest builds it, --image PATH names another");
	free(path);
	return found ? PROBE_OK : PROBE_MISSING;
}

static enum probe_result look_kvm(const struct options *options, char *seen, size_t seen_size,
				  char *remedy, size_t remedy_size)
{
	(void)options;
	if (!access("/dev/kvm", R_OK | W_OK)) {
		snprintf(seen, seen_size, "/dev/kvm");
		return PROBE_OK;
	}
	if (errno == EACCES) {
		snprintf(seen, seen_size, "/dev/kvm: no permission");
		snprintf(remedy, remedy_size, "add your user to the group of /dev/kvm (usermod -aG kvm USER) and log in "
					      "again, or run as root");
		return PROBE_PROBLEM;
	}
	snprintf(seen, seen_size, "no /dev/kvm");
	snprintf(remedy, remedy_size, "modprobe kvm_intel or kvm_amd; if that fails, switch on virtualization in the "
				      "firmware, or nested virtualization on the host above; or --on user");
	return PROBE_MISSING;
}

static enum probe_result look_bare_metal(const struct options *options, char *seen, size_t seen_size,
					 char *remedy, size_t remedy_size)
{
	(void)options;
	if (!machine_is_guest()) {
		snprintf(seen, seen_size, "no hypervisor above this kernel");
		return PROBE_OK;
	}
	snprintf(seen, seen_size, "this machine is a VM itself");
	snprintf(remedy, remedy_size, "run on a physical machine; in a VM the true host page cannot be seen");
	return PROBE_PROBLEM;
}

static enum probe_result look_syscalls(const struct options *options, char *seen, size_t seen_size,
				       char *remedy, size_t remedy_size)
{
	(void)options;
	if (!machine_has_flag("pti") || machine_has_flag("pcid")) {
		snprintf(seen, seen_size, "system calls leave the TLB alone");
		return PROBE_OK;
	}
	snprintf(seen, seen_size, "every system call empties the TLB (PTI without PCID)");
	snprintf(remedy, remedy_size, "measure on a CPU or VM type with PCID; --on user shows what can be seen");
	return PROBE_PROBLEM;
}

static enum probe_result look_gnuplot(const struct options *options, char *seen, size_t seen_size,
				      char *remedy, size_t remedy_size)
{
	char line[128] = "";
	FILE *out = popen("gnuplot --version 2>/dev/null", "r");

	(void)options;
	if (out) {
		if (!fgets(line, sizeof(line), out))
			line[0] = '\0';
		pclose(out);
	}
	line[strcspn(line, "\n")] = '\0';
	snprintf(seen, seen_size, "%s", *line ? line : "not found");
	snprintf(remedy, remedy_size, "install gnuplot-nox; without it there are no pictures");
	return *line ? PROBE_OK : PROBE_MISSING;
}

const struct probe probes[] = {
	{ "qemu", "QEMU, the machine that the guest image runs on", look_qemu },
	{ "guest-image", "the bare-metal guest image", look_image },
	{ "kvm", "KVM, which runs the guest image on the CPU itself", look_kvm },
	{ "module", "the host module, which runs the cases in this kernel", module_look },
	{ "bare-metal", "whether a hypervisor runs above this kernel", look_bare_metal },
	{ "syscall-flush", "whether system calls themselves flush the TLB", look_syscalls },
	{ "gnuplot", "gnuplot, which draws the pictures", look_gnuplot },
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
