// SPDX-License-Identifier: GPL-2.0
/* Probes: the host module, from source to device, and what a kernel may have against it. */
#include "probe_looks.h"

#include "probe_file.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECURITYFS "/sys/kernel/security"
#define LOCKDOWN SECURITYFS "/lockdown"
/* The variable SecureBoot of the UEFI specification, under the GUID of its global variables. */
#define EFI "/sys/firmware/efi"
#define SECURE_BOOT EFI "/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"

static int is_release(const char *text)
{
	return *text && *text != '.' &&
	       !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_~")];
}

/* The kernel's release, which is part of a path. 0 or -errno. */
static int kernel_release(char *text, size_t size)
{
	int length = probe_read("/proc/sys/kernel/osrelease", text, size);

	if (length < 0)
		return length;
	return is_release(text) ? 0 : -EDOM;
}

/* Are the headers of the running kernel there? 1, 0, -errno. */
static int headers_there(char *release, size_t size)
{
	char path[160];
	int result = kernel_release(release, size);

	if (result)
		return result;
	snprintf(path, sizeof(path), "/lib/modules/%s/build/Makefile", release);
	return probe_exists(path);
}

/* What stands behind a word in a file of bytes, up to the next blank or NUL; empty when it is not there. */
static void find_behind(FILE *file, const char *word, char *text, size_t size)
{
	size_t at = 0, n = 0;
	int c;

	while (word[at] && (c = fgetc(file)) != EOF)
		at = c == word[at] ? at + 1 : c == *word;
	while (!word[at] && n < size - 1 && (c = fgetc(file)) != EOF && c && c != ' ')
		text[n++] = c;
	text[n] = '\0';
}

/* Does this program stand in the tree that it was built in, where the module can be made? */
static int is_in_tree(void)
{
	char *path = data_path("../../../host-module/Kbuild");
	int there = !access(path, F_OK);

	free(path);
	return there;
}

#define NO_SOURCES "no sources" /* none was built, and here none can be */

/* The release of the kernel that the module was built for (its vermagic); "yes" when it does not say. */
static int take_built(const void *context, char *text, size_t size)
{
	char *path = data_path("../../module/tlbscope.ko");
	FILE *file = fopen(path, "rbe");

	(void)context;
	snprintf(text, size, is_in_tree() ? "no" : NO_SOURCES);
	if (file) {
		find_behind(file, "vermagic=", text, size);
		if (!*text)
			snprintf(text, size, "yes");
		fclose(file);
	}
	free(path);
	return 0;
}

enum built { BUILT_NO, BUILT_NOWHERE, BUILT_YES, BUILT_FOR_OTHER, BUILT_UNKNOWN };

/* Is it there, and for the running kernel? Text: as take_built() has it. */
static enum built read_built(char *text, size_t size)
{
	char release[64];

	if (probe_observe("module-built", take_built, NULL, text, size))
		return BUILT_UNKNOWN;
	if (!strcmp(text, "no"))
		return BUILT_NO;
	if (!strcmp(text, NO_SOURCES))
		return BUILT_NOWHERE;
	if (!strcmp(text, "yes"))
		return BUILT_YES;
	if (!is_release(text) || kernel_release(release, sizeof(release)))
		return BUILT_UNKNOWN;
	return strcmp(text, release) ? BUILT_FOR_OTHER : BUILT_YES;
}

/* Does the kernel want signatures? What it says about it, or 0. */
static const char *wants_signature(void)
{
	char text[64];

	if (probe_read(LOCKDOWN, text, sizeof(text)) >= 0 &&
	    (strstr(text, "[integrity]") || strstr(text, "[confidentiality]")))
		return "kernel lockdown";
	if (probe_read("/sys/module/module/parameters/sig_enforce", text, sizeof(text)) >= 0 &&
	    *text == 'Y')
		return "module.sig_enforce";
	return NULL;
}

/*
 * 0 as long as modules can be loaded, -EPERM when until the next boot none is, or another -errno.
 */
static int modules_allowed(void)
{
	long long disabled;
	int result = probe_number("/proc/sys/kernel/modules_disabled", &disabled);

	return result ? result : disabled ? -EPERM : 0;
}

/* Was the kernel built without modules? Then nothing about ours is worth doing. */
static int loads_none(void)
{
	return modules_allowed() == -ENOENT && probe_exists("/proc/sys/kernel/osrelease") == 1;
}

static void not_loaded(struct finding *f)
{
	char release[64], built[64];
	enum built state = read_built(built, sizeof(built));

	if (modules_allowed() == -EPERM)
		finding_set(f, PROBE_MISSING, "module.reboot", "no /dev/tlbscope");
	else if (loads_none())
		finding_set(f, PROBE_MISSING, "module.kernel", "no /dev/tlbscope");
	else if (wants_signature())
		finding_set(f, PROBE_MISSING, "module.sign", "no /dev/tlbscope (%s)",
			    wants_signature());
	else if (state == BUILT_YES)
		finding_set(f, PROBE_MISSING, "module.load", "no /dev/tlbscope");
	else if (state == BUILT_NOWHERE)
		finding_set(f, PROBE_MISSING, "any.module-sources", "no /dev/tlbscope");
	else if (headers_there(release, sizeof(release)) == 0) {
		finding_set(f, PROBE_MISSING, "module.headers", "no /dev/tlbscope");
		finding_fill(f, release);
	} else
		finding_set(f, PROBE_MISSING, "module.make", "no /dev/tlbscope");
}

LOOK(module)
{
	int result = probe_device("/dev/tlbscope");

	(void)options;
	if (!result)
		finding_set(f, PROBE_OK, NULL, "/dev/tlbscope");
	else if (result == -EACCES)
		finding_set(f, PROBE_PROBLEM, "module.permission", "/dev/tlbscope: no permission");
	else if (result != -ENOENT && result != -ENOTDIR)
		finding_unreadable(f, "/dev/tlbscope", result);
	else if (probe_exists("/sys/module/tlbscope/initstate") == 1)
		finding_set(f, PROBE_PROBLEM, "module.node",
			    "the module is loaded, but there is no "
			    "/dev/tlbscope");
	else
		not_loaded(f);
}

LOOK(module_built)
{
	char built[64];

	(void)options;
	switch (read_built(built, sizeof(built))) {
	case BUILT_YES:
		finding_set(f, PROBE_OK, NULL, "build/module/tlbscope.ko");
		break;
	case BUILT_NO:
		finding_set(f, PROBE_MISSING, loads_none() ? "any.modules-first" : "module-built.make",
			    "no build/module/tlbscope.ko");
		break;
	case BUILT_NOWHERE:
		finding_set(f, PROBE_MISSING, loads_none() ? "any.modules-first" : "any.module-sources",
			    "not beside this program, which is installed");
		break;
	case BUILT_FOR_OTHER:
		finding_set(f, PROBE_PROBLEM, "module-built.other",
			    "build/module/tlbscope.ko is for kernel %s, which is not the running one", built);
		break;
	case BUILT_UNKNOWN:
		finding_set(f, PROBE_UNKNOWN, "any.report", "not recorded");
	}
}

/* A release that ends in a distribution's word has a package; others were built by hand. */
static int is_packaged(const char *release)
{
	static const char *const words[] = { "-amd64",	 "-generic", ".el",    ".fc",
					     "-cloud",	 "-aws",     "-azure", "-gcp",
					     "-default", "-arch",    "-lts",   "-pve" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(release, words[i]))
			return 1;
	return 0;
}

LOOK(module_headers)
{
	char release[64];
	int there = headers_there(release, sizeof(release));

	(void)options;
	if (there < 0)
		finding_unreadable(f, "/proc/sys/kernel/osrelease", there);
	else if (there)
		finding_set(f, PROBE_OK, NULL, "headers of %s", release);
	else
		finding_set(f, PROBE_MISSING, loads_none() ? "any.modules-first" : is_packaged(release) ? "module-headers.install" :
			    "module-headers.kernel", "no headers of %s", release);
	finding_fill(f, release);
}

LOOK(module_support)
{
	int allowed = modules_allowed();

	(void)options;
	if (!allowed)
		finding_set(f, PROBE_OK, NULL, "it does");
	else if (allowed == -EPERM)
		finding_set(f, PROBE_PROBLEM, "module.reboot", "switched off until the next boot");
	else if (loads_none())
		finding_set(f, PROBE_MISSING, "module.kernel", "this kernel cannot");
	else
		finding_unreadable(f, "/proc/sys/kernel/modules_disabled", allowed);
}

/*
 * No file of lockdown: has this kernel none, or is only the file system not mounted that would hold it? Where it is, it
 * has lsm (since 4.17; whatever the kernel was built with).
 */
static void look_without_lockdown(struct finding *f)
{
	char text[4096];
	int mounted = probe_exists(SECURITYFS "/lsm"), known;

	known = mounted == 1 ? 0 : probe_read("/proc/filesystems", text, sizeof(text));
	if (mounted == 1 || (known >= 0 && !strstr(text, "securityfs")))
		finding_set(f, PROBE_OK, NULL, "this kernel has no lockdown");
	else
		finding_set(f, PROBE_UNKNOWN, "lockdown.mount", SECURITYFS " is not mounted");
}

/* LOCKDOWN_MODULE_SIGNATURE is part of integrity (include/linux/security.h). */
LOOK(lockdown)
{
	char text[64];
	int result = probe_read(LOCKDOWN, text, sizeof(text));
	const char *by = wants_signature();

	(void)options;
	if (by)
		finding_set(f, PROBE_PROBLEM, "lockdown.sign", "%s%s%s", by, result < 0 ? "" : ": ",
			    result < 0 ? "" : text);
	else if (result == -ENOENT && probe_exists("/sys/kernel") == 1)
		look_without_lockdown(f);
	else if (result < 0)
		finding_unreadable(f, LOCKDOWN, result);
	else if (strstr(text, "[none]"))
		finding_set(f, PROBE_OK, NULL, "lockdown: none");
	else
		finding_set(f, PROBE_UNKNOWN, "any.read", LOCKDOWN ": no word that is known");
}

/* "on", "off", or "no UEFI"; the variable is four bytes of attributes, then 1 for on. */
static int take_secure_boot(const void *context, char *text, size_t size)
{
	unsigned char bytes[5] = { 0 };
	FILE *file = fopen(SECURE_BOOT, "rbe");
	int error = errno;

	(void)context;
	if (!file && error != ENOENT)
		return -error;
	if (!file) {
		snprintf(text, size, "%s", access(EFI, F_OK) ? "no UEFI" : "off");
		return access("/sys/kernel", F_OK) ? -ENOENT : 0;
	}
	snprintf(text, size, "%s",
		 fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes) && bytes[4] ? "on" : "off");
	fclose(file);
	return 0;
}

LOOK(secure_boot)
{
	char text[16];
	int result = probe_observe("secure-boot", take_secure_boot, NULL, text, sizeof(text));

	(void)options;
	if (result)
		finding_set(f, PROBE_UNKNOWN, "any.read", "not known");
	else if (!strcmp(text, "off") || !strcmp(text, "no UEFI"))
		finding_set(f, PROBE_OK, NULL, "%s", text);
	else if (strcmp(text, "on"))
		finding_set(f, PROBE_UNKNOWN, "any.report", "no word that is known");
	else if (wants_signature())
		finding_set(f, PROBE_PROBLEM, "secure-boot.sign", "on, and the kernel acts on it");
	else
		finding_set(f, PROBE_OK, NULL, "on, but this kernel takes unsigned modules");
}
