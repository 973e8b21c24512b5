// SPDX-License-Identifier: GPL-2.0
/* Probes: programs and files that targets need. */
#include "probe_looks.h"

#include "probe_file.h"
#include "qemu.h"
#include "target.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "VERSION", "old VERSION" or "none"; not the path, which may have a user's name in it. */
static int take_qemu(const void *context, char *text, size_t size)
{
	const struct options *options = context;
	struct problem ignored;
	char version[32] = "";
	int number = 0;

	if (!qemu_version(options->qemu, &number, version, sizeof(version), &ignored))
		snprintf(text, size, "%s", version);
	else if (number)
		snprintf(text, size, "old %s", version);
	else
		snprintf(text, size, "none");
	return 0;
}

LOOK(qemu)
{
	char text[64];

	if (probe_observe("qemu", take_qemu, options, text, sizeof(text)) || !*text)
		finding_set(f, PROBE_UNKNOWN, "any.report", "not recorded");
	else if (!strcmp(text, "none"))
		finding_set(f, PROBE_MISSING, "qemu.install", "%s cannot be started, or is no QEMU",
			    options->qemu);
	else if (!strncmp(text, "old ", 4))
		finding_set(f, PROBE_MISSING, "qemu.install", "%s (%s) is too old", text + 4,
			    options->qemu);
	else if (*text < '0' || *text > '9')
		finding_set(f, PROBE_UNKNOWN, "any.report", "no version: %.40s", text);
	else
		finding_set(f, PROBE_OK, NULL, "%s (%s)", text, options->qemu);
}

/* A 64-bit ELF file for x86-64 (ELF header: magic, class 2, machine 62), as the guest image is. */
static int take_image(const void *context, char *text, size_t size)
{
	unsigned char header[20] = { 0 };
	FILE *file = fopen(context, "rbe");
	size_t n = file ? fread(header, 1, sizeof(header), file) : 0;

	if (file)
		fclose(file);
	snprintf(text, size, "%s", n == sizeof(header) && !memcmp(header, "\177ELF\2", 5) &&
				   header[18] == 62 ? "yes" : "no");
	return 0;
}

LOOK(image)
{
	char *path = options->guest_image ? xstrdup(options->guest_image) :
					    data_path("tlbscope-guest.elf");
	char text[8];

	if (probe_observe("guest-image", take_image, path, text, sizeof(text)))
		finding_set(f, PROBE_UNKNOWN, "any.report", "not recorded");
	else if (!strcmp(text, "yes"))
		finding_set(f, PROBE_OK, NULL, "%s",
			    probe_file_replayed() ? "recorded as there" : path);
	else if (strcmp(text, "no"))
		finding_set(f, PROBE_UNKNOWN, "any.report", "no word that is known");
	else
		finding_set(f, PROBE_MISSING, "guest-image.make",
			    "%s is not there, or no guest image",
			    probe_file_replayed() ? "the file" : path);
	free(path);
}

static int take_gnuplot(const void *context, char *text, size_t size)
{
	FILE *out = popen("gnuplot --version 2>/dev/null", "r");

	(void)context;
	if (!out)
		return -errno;
	if (!fgets(text, size, out))
		snprintf(text, size, "none");
	pclose(out);
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

LOOK(gnuplot)
{
	char text[128];

	(void)options;
	if (probe_observe("gnuplot", take_gnuplot, NULL, text, sizeof(text)))
		finding_set(f, PROBE_UNKNOWN, "any.report", "not recorded");
	else if (!strcmp(text, "none"))
		finding_set(f, PROBE_MISSING, "gnuplot.install", "not found");
	else if (strncmp(text, "gnuplot ", 8))
		finding_set(f, PROBE_UNKNOWN, "any.report", "no version: %.40s", text);
	else
		finding_set(f, PROBE_OK, NULL, "%s", text);
}

static int in_path(const char *name)
{
	const char *at = getenv("PATH") ?: "/usr/bin:/bin";
	int found = 0;
	char *file;

	while (!found && *at) {
		file = xasprintf("%.*s/%s", (int)strcspn(at, ":"), at, name);
		found = !access(file, X_OK);
		free(file);
		at += strcspn(at, ":");
		at += *at == ':';
	}
	return found;
}

/* Names of what is missing, or "none". */
static int take_tools(const void *context, char *text, size_t size)
{
	static const char *const names[] = { "gcc", "ld", "make" };
	size_t i, used = 0;

	(void)context;
	for (i = 0; i < TS_COUNT(names); i++)
		if (!in_path(names[i]))
			used += snprintf(text + used, size - used, "%s%s", used ? " " : "",
					 names[i]);
	if (!used)
		snprintf(text, size, "none");
	return 0;
}

LOOK(build_tools)
{
	char text[64];

	(void)options;
	if (probe_observe("build-tools", take_tools, NULL, text, sizeof(text)))
		finding_set(f, PROBE_UNKNOWN, "any.report", "not recorded");
	else if (!strcmp(text, "none"))
		finding_set(f, PROBE_OK, NULL, "gcc, ld, make");
	else if (strspn(text, "gcldmake ") != strlen(text))
		finding_set(f, PROBE_UNKNOWN, "any.report", "no names of programs");
	else
		finding_set(f, PROBE_MISSING, "build-tools.install", "not in PATH: %s", text);
}
