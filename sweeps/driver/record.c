// SPDX-License-Identifier: GPL-2.0
/* Run directories. */
#include "record.h"

#include "protocol.h"
#include "util.h"
#include "version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *file_in(const struct record *record, const char *name)
{
	return xasprintf("%s/%s", record->dir, name);
}

/* A run directory needs a name of its own, of which a row is one line of a file. */
static int check_name(const char *dir, struct problem *p)
{
	if (dir[strcspn(dir, "\r\n\t")] || !record_is_plain(dir))
		return problem(p, EXIT_INPUT, "--out: control characters in the name, or not UTF-8; name another "
			       "directory");
	if (*dir && strspn(dir, "/") != strlen(dir))
		return 0;
	return problem(p, EXIT_INPUT, "--out \"%s\": name a directory", dir);
}

static void set_dir(struct record *record, const char *dir)
{
	const char *slash;
	size_t n = strlen(dir);

	memset(record, 0, sizeof(*record));
	record->lock = -1;
	record->dir = xstrdup(dir);
	while (n > 1 && record->dir[n - 1] == '/')
		record->dir[--n] = '\0';
	slash = strrchr(record->dir, '/');
	record->id = xstrdup(slash ? slash + 1 : record->dir);
}

/* Creates the folders above the last part. */
static void make_parents(const char *dir)
{
	char *path = xstrdup(dir), *slash = path;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(path, 0777);
		*slash = '/';
	}
	free(path);
}

static size_t count_names(const char *const *names)
{
	size_t n = 0;

	while (names && names[n])
		n++;
	return n;
}

char *record_standard_dir(const char *plan, const char *target)
{
	time_t now = time(NULL);
	struct tm local;
	char when[32];

	localtime_r(&now, &local);
	strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &local);
	return xasprintf("results/%s-%s-%s", plan, target, when);
}

int record_create(struct record *record, const char *dir, const char *const *extra,
		  struct problem *p)
{
	char *path;

	memset(record, 0, sizeof(*record));
	if (check_name(dir, p))
		return -EINVAL;
	set_dir(record, dir);
	make_parents(record->dir);
	if (mkdir(record->dir, 0777)) {
		int result = errno == EEXIST ?
			problem(p, EXIT_INPUT, "%s exists: nothing is overwritten; name another directory with "
				"--out (tlbscope run --resume DIR goes on with an unfinished run)",
				record->dir) :
			problem(p, EXIT_INPUT, "%s: cannot create the directory: %s; name another with "
				"--out DIR", record->dir, strerror(errno));

		record_close(record, 0);
		return result;
	}
	record->created = 1;
	record->json = json_object();
	path = file_in(record, "log.txt");
	record->log = fopen(path, "ae");
	free(path);
	path = file_in(record, "rows.csv");
	record->rows = record->log ? rows_create(path, extra, count_names(extra), p) : NULL;
	if (!record->log)
		problem(p, EXIT_INPUT, "%s/log.txt: %s", record->dir, strerror(errno));
	free(path);
	if (record->rows)
		return 0;
	record_close(record, 1);
	return -EINVAL;
}

int record_resume(struct record *record, const char *dir, struct rows *rows, struct problem *p)
{
	json_error_t error;
	char *path;
	int result;

	set_dir(record, dir);
	path = file_in(record, "run.json");
	record->json = json_load_file(path, 0, &error);
	if (!record->json) {
		result = problem(p, EXIT_INPUT, "%s: %s; only a directory that tlbscope run made can be resumed",
				 path, error.text);
		free(path);
		record_close(record, 0);
		return result;
	}
	free(path);
	path = file_in(record, "log.txt");
	record->log = fopen(path, "ae");
	result = record->log ? 0 : problem(p, EXIT_INPUT, "%s: %s", path, strerror(errno));
	free(path);
	path = file_in(record, "rows.csv");
	if (!result) {
		record->lock = rows_lock(path, p);
		result = record->lock < 0 ? -EINVAL : rows_read(path, rows, p);
	}
	free(path);
	if (result)
		record_close(record, 0);
	return result;
}

int record_continue(struct record *record, const struct rows *rows, const char *const *extra,
		    struct problem *p)
{
	record->rows = rows_continue(rows, record->lock, extra, count_names(extra), p);
	record->lock = -1;
	record->written = rows->count;
	return record->rows ? 0 : -EINVAL;
}

int record_is_plain(const char *text)
{
	const unsigned char *at;
	json_t *string;
	int beyond = 0;

	for (at = (const unsigned char *)text; *at; at++) {
		if ((*at < ' ' && !strchr("\t\n\r", *at)) || *at == 0x7f || (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
			return 0;
		beyond |= *at & 0x80;
	}
	string = beyond ? json_string(text) : NULL;
	json_decref(string);
	return !beyond || string;
}

#define SWEEP_BYTES (1 << 16) /* 19 keys with at most 32 values of 20 digits take 13 KB */

json_t *record_plan(const struct plan *plan)
{
	json_t *sections = json_array();
	char *line = xcalloc(1, SWEEP_BYTES);
	struct ts_text text;
	size_t i;

	for (i = 0; i < plan->sections; i++) {
		const struct section *section = &plan->section[i];

		ts_text_init(&text, line, SWEEP_BYTES);
		ts_sweep_print(&text, &section->sweep);
		json_array_append_new(sections,
				      json_pack("{s:s, s:s, s:i, s:i, s:i, s:s*}", "name", section->name,
						"sweep", line, "when", (int)section->when, "hosts",
						(int)section->hosts, "overridden",
						(int)section->overridden, "on", section->on));
	}
	free(line);
	return json_pack("{s:s, s:s, s:s, s:o}", "name", plan->name, "title", plan->title, "about",
			 plan->about, "sections", sections);
}

int record_load_plan(const json_t *json, struct plan *plan, struct problem *p)
{
	const char *name, *title, *about;
	struct ts_error error;
	json_t *list, *item;
	size_t i;

	memset(plan, 0, sizeof(*plan));
	if (json_unpack((json_t *)json, "{s:s, s:s, s:s, s:o}", "name", &name, "title", &title, "about",
			&about, "sections", &list))
		return problem(p, EXIT_INPUT, "run.json has no plan in it: only a directory that tlbscope run made can be "
			       "resumed");
	plan->name = xstrdup(name);
	plan->title = xstrdup(title);
	plan->about = xstrdup(about);
	plan->path = xstrdup("run.json");
	plan->section = xcalloc(json_array_size(list), sizeof(*plan->section));
	json_array_foreach(list, i, item) {
		struct section *section = &plan->section[plan->sections++];
		const char *sweep = "", *on = NULL;
		int when = 0, hosts = 0, overridden = 0;

		name = "";
		if (json_unpack(item, "{s:s, s:s, s:i, s:i, s:i, s?s}", "name", &name, "sweep", &sweep, "when",
			    &when, "hosts", &hosts, "overridden", &overridden, "on", &on)) {
			plan_free(plan);
			return problem(p, EXIT_INPUT, "run.json: section %zu of its plan cannot be read; start a new run", i + 1);
		}
		section->name = xstrdup(name);
		section->on = on ? xstrdup(on) : NULL;
		section->when = when;
		section->hosts = hosts;
		section->overridden = overridden;
		if (ts_sweep_parse(sweep, &section->sweep, &error)) {
			problem_core(p, "run.json: sweep", &error);
			plan_free(plan);
			return -EINVAL;
		}
	}
	return 0;
}

int record_save(struct record *record, struct problem *p)
{
	char *path = file_in(record, "run.json"), *fresh = file_in(record, "run.json.new");
	int failed = json_dump_file(record->json, fresh, JSON_INDENT(2)) || rename(fresh, path);

	if (failed)
		problem(p, EXIT_FAILED, "%s: cannot write: %s", path, strerror(errno));
	if (failed)
		unlink(fresh);
	record->saved = !failed;
	free(path);
	free(fresh);
	return failed ? -EINVAL : 0;
}

void record_close(struct record *record, int discard)
{
	static const char *const names[] = { "rows.csv", "log.txt", "run.json", "run.json.new" };
	size_t i;

	if (record->log)
		fclose(record->log);
	if (record->dir && record->lock >= 0)
		close(record->lock);
	rows_close(record->rows);
	if ((discard || !record->saved) && record->created && !record->written) {
		for (i = 0; i < TS_COUNT(names); i++) {
			char *path = file_in(record, names[i]);

			unlink(path);
			free(path);
		}
		rmdir(record->dir);
	}
	json_decref(record->json);
	free(record->dir);
	free(record->id);
	memset(record, 0, sizeof(*record));
}
