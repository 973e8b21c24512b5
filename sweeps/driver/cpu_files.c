// SPDX-License-Identifier: GPL-2.0
/* The installed CPU data files: which there are, and which is a CPU's. */
#include "cpu_file.h"

#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int is_cpu_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".cpu");
}

char **cpu_file_paths(struct problem *p)
{
	char *folder = data_path("cpus"), **paths = NULL;
	struct dirent **entry;
	int i, n = scandir(folder, &entry, is_cpu_file, versionsort);

	if (n < 0) {
		problem(p, EXIT_FAILED, "%s: %s; reinstall tlbscope, or run it where it was built",
			folder, strerror(errno));
	} else {
		paths = xcalloc(n + 1, sizeof(char *));
		for (i = 0; i < n; i++) {
			paths[i] = xasprintf("%s/%s", folder, entry[i]->d_name);
			free(entry[i]);
		}
		free(entry);
	}
	free(folder);
	return paths;
}

static int is_for(const struct cpu_file *file, const char *vendor, u32 family, u32 model)
{
	size_t i;

	if (strcmp(file->vendor, vendor) || file->family != family)
		return 0;
	for (i = 0; i < file->models; i++)
		if (model >= file->model[i].first && model <= file->model[i].last)
			return 1;
	return 0;
}

int cpu_file_find(const char *vendor, u32 family, u32 model, struct cpu_file *file,
		  struct problem *p)
{
	char **paths = cpu_file_paths(p);
	int result = paths ? -ENOENT : -EINVAL;
	size_t i;

	for (i = 0; paths && paths[i]; i++) {
		if (result == -ENOENT && cpu_file_load(paths[i], file, p))
			result = -EINVAL;
		else if (result == -ENOENT && is_for(file, vendor, family, model))
			result = 0;
		else if (result == -ENOENT)
			cpu_file_free(file);
		free(paths[i]);
	}
	free(paths);
	return result;
}

int cpu_file_open(const char *id, struct cpu_file *file, struct problem *p)
{
	char **paths = cpu_file_paths(p), *end = xasprintf("/%s.cpu", id);
	int result = paths ? -ENOENT : -EINVAL;
	size_t i, length = strlen(end);

	for (i = 0; paths && paths[i]; i++) {
		size_t n = strlen(paths[i]);

		if (n > length && !strcasecmp(paths[i] + n - length, end))
			result = cpu_file_load(paths[i], file, p);
		free(paths[i]);
	}
	free(paths);
	free(end);
	return result;
}
