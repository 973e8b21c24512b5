// SPDX-License-Identifier: GPL-2.0
/* CPU data files; their format stands in cpu_file.h. */
#include "cpu_file.h"

#include "encoding.h"
#include "record.h"
#include "util.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libinih as packaged holds 200 bytes a line and would cut a longer one in two. */
#define LINE_LIMIT 198

const char *const cpu_status_names[CPU_STATUSES] = { "declared", "measured", "unverified" };
const char *const cpu_tlb_names[TLBS] = {
	"l1d-4k", "l1d-2m", "l1d-1g", "l1d-store", "l1i-4k", "l1i-2m", "l2-4k", "l2-2m", "l2-1g",
	"l2i-4k", "l2i-2m",
};

/* State of one load. libinih does not tell line numbers to its handler: the reader below counts. */
struct loader {
	struct cpu_file *file;
	struct problem *problem;
	FILE *stream;
	int line, failed; /* failed: line of the first problem */
};

static char *next_line(char *buffer, int size, void *context)
{
	struct loader *loader = context;
	char *line = fgets(buffer, size, loader->stream);

	if (line && (int)strlen(line) >= LINE_LIMIT && !loader->failed) {
		loader->failed = loader->line + 1;
		problem(loader->problem, EXIT_INPUT, "%s:%d: line longer than %d characters",
			loader->file->path, loader->line + 1, LINE_LIMIT);
	}
	loader->line += line != NULL;
	return line;
}

/* Returns 0, which ends libinih's work. */
static int bad(struct loader *loader, const char *what, const char *word, const char *remedy)
{
	if (!loader->failed)
		problem(loader->problem, EXIT_INPUT, "%s:%d: %s \"%s\"; %s", loader->file->path,
			loader->line, what, word, remedy);
	loader->failed = loader->failed ?: loader->line;
	return 0;
}

/* ---- words ---- */

static char *trimmed(const char *text, size_t length)
{
	while (length && *text == ' ') {
		text++;
		length--;
	}
	while (length && text[length - 1] == ' ')
		length--;
	return xasprintf("%.*s", (int)length, text);
}

static int parse_number(const char *text, const char **end, u32 *number)
{
	char *stop;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	value = strtoul(text, &stop, 0);
	*end = stop;
	*number = value;
	return errno || value > 0xffffffff ? -EINVAL : 0;
}

static int find_word(const char *const *words, size_t count, const char *word)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(words[i], word))
			return i;
	return -ENOENT;
}

/* ---- [cpu] ---- */

static int set_text(struct loader *loader, char **text, const char *key, const char *value)
{
	if (*text)
		return bad(loader, "duplicate key", key, "give a key once");
	if (!*value)
		return bad(loader, "no value for", key, "write KEY = VALUE");
	*text = xstrdup(value);
	return 1;
}

static int set_family(struct loader *loader, const char *value)
{
	const char *end;

	if (loader->file->family)
		return bad(loader, "duplicate key", "family", "give a key once");
	if (parse_number(value, &end, &loader->file->family) || *end || !loader->file->family)
		return bad(loader, "family", value, "give the display family, e.g. 6 or 0x19");
	return 1;
}

/* "0x3c, 0x45-0x46" */
static int set_models(struct loader *loader, const char *value)
{
	struct cpu_file *file = loader->file;
	const char *at = value;
	u32 first, last;

	if (file->models)
		return bad(loader, "duplicate key", "models", "give a key once");
	for (;;) {
		at += strspn(at, " ");
		if (parse_number(at, &at, &first))
			return bad(loader, "models", value,
				   "give numbers and ranges, e.g. 0x3c, 0x45-0x46");
		last = first;
		if (*at == '-' && parse_number(at + 1, &at, &last))
			return bad(loader, "models", value, "a range is FIRST-LAST");
		if (last < first || last > 255)
			return bad(loader, "models", value,
				   "a model is 0 to 255, and a range goes upwards");
		if (file->models == MAX_MODELS)
			return bad(loader, "models", value, "more ranges than there is room for");
		file->model[file->models].first = first;
		file->model[file->models++].last = last;
		at += strspn(at, " ");
		if (!*at)
			return 1;
		if (*at++ != ',')
			return bad(loader, "models", value, "set commas between");
	}
}

static int set_models_status(struct loader *loader, const char *value)
{
	int status = find_word(cpu_status_names, CPU_STATUSES, value);

	if (status < 0)
		return bad(loader, "models-status", value,
			   "it is declared, measured or unverified");
	loader->file->models_status = status;
	return 1;
}

static int set_cpu(struct loader *loader, const char *key, const char *value)
{
	struct cpu_file *file = loader->file;
	const struct {
		const char *key;
		char **text;
	} texts[] = { { "name", &file->name }, { "vendor", &file->vendor },
		      { "aliases", &file->aliases } };
	const struct {
		const char *key;
		int (*set)(struct loader *loader, const char *value);
	} others[] = { { "family", set_family }, { "models", set_models },
		       { "models-status", set_models_status } };
	size_t i;

	for (i = 0; i < TS_COUNT(texts); i++)
		if (!strcmp(key, texts[i].key))
			return set_text(loader, texts[i].text, key, value);
	for (i = 0; i < TS_COUNT(others); i++)
		if (!strcmp(key, others[i].key))
			return others[i].set(loader, value);
	return bad(loader, "unknown key", key,
		   "[cpu] has name, vendor, family, models, models-status, aliases");
}

/* ---- [tlb] ---- */

/* Cuts "VALUE | STATUS | SOURCE" up: status and source into *out; the value is returned, or 0. */
static char *cut_value(struct loader *loader, const char *text, struct cpu_value *out)
{
	const char *first = strchr(text, '|'), *second = first ? strchr(first + 1, '|') : NULL;
	char *status;
	int found;

	if (!second) {
		bad(loader, "value", text, "write VALUE | STATUS | SOURCE");
		return NULL;
	}
	status = trimmed(first + 1, second - first - 1);
	found = find_word(cpu_status_names, CPU_STATUSES, status);
	if (found < 0)
		bad(loader, "status", status, "it is declared, measured or unverified");
	free(status);
	if (found < 0)
		return NULL;
	out->source = trimmed(second + 1, strlen(second + 1));
	if (!*out->source) {
		bad(loader, "no source in", text, "say who says so");
		return NULL;
	}
	out->status = found;
	out->given = 1;
	return trimmed(text, first - text);
}

/* "64x4", "64xfull", "none" */
static int parse_geometry(const char *text, struct cpu_value *out)
{
	const char *at;

	if (!strcmp(text, "none"))
		return 0;
	if (parse_number(text, &at, &out->entries) || *at++ != 'x' || !out->entries)
		return -EINVAL;
	if (!strcmp(at, "full"))
		return 0;
	if (parse_number(at, &at, &out->ways) || *at || !out->ways || out->entries % out->ways)
		return -EINVAL;
	return 0;
}

static int set_tlb(struct loader *loader, const char *key, const char *value)
{
	struct cpu_file *file = loader->file;
	int shared = !strcmp(key, "l2-shared"), which = find_word(cpu_tlb_names, TLBS, key),
	    good = 1;
	struct cpu_value *out = which >= 0 ? &file->tlb[which] : NULL;
	char *text;

	if (!strcmp(key, "note"))
		return set_text(loader, &file->note, key, value);
	if (shared)
		out = &file->shared_value;
	if (!out)
		return bad(loader, "unknown key", key, "[tlb] has l1d-4k and so on (cpu_file.h), "
			   "l2-shared, note");
	if (out->given)
		return bad(loader, "duplicate key", key, "give a key once");
	text = cut_value(loader, value, out);
	if (!text)
		return 0;
	if (shared)
		file->shared = xstrdup(text);
	else if (parse_geometry(text, out))
		good = bad(loader, "geometry", text,
			   "write ENTRIESxWAYS (ways divide entries), ENTRIESxfull, "
			   "or none");
	free(text);
	return good;
}

/* ---- [events] ---- */

/* The next name of a list into name; 0 at its end. */
static const char *next_name(const char *at, char *name, size_t size)
{
	size_t length, n;

	at += strspn(at, " ,");
	length = strcspn(at, ",");
	for (n = length; n && at[n - 1] == ' ';)
		n--;
	snprintf(name, size, "%.*s", (int)n, at);
	return n ? at + length : NULL;
}

int cpu_names_each(const struct cpu_names *names, int (*each)(void *context, const char *name),
		   void *context)
{
	const char *at = names->text ?: "";
	char name[LINE_LIMIT];
	int result;

	while ((at = next_name(at, name, sizeof(name)))) {
		result = each(context, name);
		if (result)
			return result;
	}
	return 0;
}

static int is_name(void *context, const char *name)
{
	return !strcasecmp(context, name);
}

int cpu_names_have(const struct cpu_names *names, const char *name)
{
	return cpu_names_each(names, is_name, (char *)name);
}

const struct cpu_event *cpu_file_event(const struct cpu_file *file, const char *name)
{
	size_t i;

	for (i = 0; i < file->events; i++)
		if (!strcasecmp(file->event[i].name, name))
			return &file->event[i];
	return NULL;
}

static int add_event(struct loader *loader, const char *name, const char *value)
{
	struct cpu_file *file = loader->file;
	struct cpu_value cut = { 0 };
	struct cpu_event *event;
	char *text;
	u64 config;
	int good = 1;

	if (cpu_file_event(file, name))
		return bad(loader, "duplicate event", name, "give an event once");
	text = cut_value(loader, value, &cut);
	if (!text) {
		free(cut.source);
		return 0;
	}
	if (encoding_parse(text, &config))
		good = bad(loader, "encoding", text,
			   "write event=0xNN,umask=0xNN and perhaps cmask=, inv=, edge=");
	free(text);
	file->event = xrealloc(file->event, (file->events + 1) * sizeof(*event));
	event = &file->event[file->events++];
	*event = (struct cpu_event){ xstrdup(name), config, cut.status, cut.source };
	return good;
}

static int set_events(struct loader *loader, const char *key, const char *value)
{
	struct cpu_file *file = loader->file;
	const struct {
		const char *key;
		struct cpu_names *names;
	} lists[] = { { "libpfm", &file->libpfm }, { "default", &file->standard },
		      { "walks", &file->walks } };
	size_t i;

	for (i = 0; i < TS_COUNT(lists); i++) {
		if (strcmp(key, lists[i].key))
			continue;
		lists[i].names->line = loader->line;
		return set_text(loader, &lists[i].names->text, key, value);
	}
	return add_event(loader, key, value);
}

struct lookup {
	struct loader *loader;
	const struct cpu_names *names;
	int count;
};

static int check_name(void *context, const char *name)
{
	struct lookup *lookup = context;
	const struct cpu_file *file = lookup->loader->file;

	if (!cpu_file_event(file, name))
		return problem(lookup->loader->problem, EXIT_INPUT,
			       "%s:%d: no event \"%s\" in [events]", file->path,
			       lookup->names->line, name);
	if (++lookup->count > MAX_DEFAULT_EVENTS)
		return problem(lookup->loader->problem, EXIT_INPUT,
			       "%s:%d: more than %d events; there are no more counters",
			       file->path, lookup->names->line, MAX_DEFAULT_EVENTS);
	return 0;
}

/* The lists name events, which may stand behind them. */
static int check_events(struct loader *loader)
{
	const struct cpu_names *lists[] = { &loader->file->standard, &loader->file->walks };
	size_t i;

	for (i = 0; i < TS_COUNT(lists); i++) {
		struct lookup lookup = { loader, lists[i], 0 };

		if (cpu_names_each(lists[i], check_name, &lookup))
			return -EINVAL;
	}
	return 0;
}

/* ---- the file ---- */

static int keep_other(struct loader *loader, const char *section, const char *key,
		      const char *value)
{
	struct cpu_file *file = loader->file;

	file->other = xrealloc(file->other, (file->others + 1) * sizeof(*file->other));
	file->other[file->others++] = (struct cpu_other){ xstrdup(section), xstrdup(key),
							  xstrdup(value), loader->line };
	return 1;
}

static int on_key(void *context, const char *section, const char *key, const char *value)
{
	struct loader *loader = context;

	if (loader->failed)
		return 0;
	if (!record_is_plain(section) || !record_is_plain(key) || !record_is_plain(value))
		return bad(loader, "not UTF-8, or control characters:", "?", "write the file in UTF-8");
	if (!*section)
		return bad(loader, "key before the first section", key, "start with [cpu]");
	if (!strcmp(section, "cpu"))
		return set_cpu(loader, key, value);
	if (!strcmp(section, "tlb"))
		return set_tlb(loader, key, value);
	if (!strcmp(section, "events"))
		return set_events(loader, key, value);
	return keep_other(loader, section, key, value);
}

static int check(struct loader *loader, int ini_line)
{
	struct cpu_file *file = loader->file;
	const char *lacks = !file->name	    ? "name"
			    : !file->vendor ? "vendor"
			    : !file->family ? "family"
			    : !file->models ? "models"
					    : NULL;

	if (loader->failed && (ini_line <= 0 || loader->failed <= ini_line))
		return -EINVAL;
	if (ini_line)
		return problem(loader->problem, EXIT_INPUT,
			       "%s:%d: neither [section] nor key = value", file->path, ini_line);
	if (lacks)
		return problem(loader->problem, EXIT_INPUT, "%s:%d: no %s in [cpu]", file->path,
			       loader->line, lacks);
	return check_events(loader);
}

int cpu_file_load(const char *path, struct cpu_file *file, struct problem *p)
{
	struct loader loader = { .file = file, .problem = p };
	const char *slash = strrchr(path, '/');
	int result;

	memset(file, 0, sizeof(*file));
	file->path = xstrdup(path);
	file->id = xstrdup(slash ? slash + 1 : path);
	if (strrchr(file->id, '.'))
		*strrchr(file->id, '.') = '\0';
	loader.stream = fopen(path, "re");
	if (!loader.stream) {
		result = problem(p, EXIT_INPUT, "%s: %s", path, strerror(errno));
	} else {
		result = ini_parse_stream(next_line, &loader, on_key, &loader);
		fclose(loader.stream);
		result = check(&loader, result);
	}
	if (result)
		cpu_file_free(file);
	return result;
}

void cpu_file_free(struct cpu_file *file)
{
	size_t i;

	for (i = 0; i < TLBS; i++)
		free(file->tlb[i].source);
	for (i = 0; i < file->others; i++) {
		free(file->other[i].section);
		free(file->other[i].key);
		free(file->other[i].value);
	}
	for (i = 0; i < file->events; i++) {
		free(file->event[i].name);
		free(file->event[i].source);
	}
	free(file->event);
	free(file->libpfm.text);
	free(file->standard.text);
	free(file->walks.text);
	free(file->other);
	free(file->shared_value.source);
	free(file->shared);
	free(file->path);
	free(file->id);
	free(file->name);
	free(file->vendor);
	free(file->aliases);
	free(file->note);
	memset(file, 0, sizeof(*file));
}

int cpu_file_values(const struct cpu_file *file, int *unverified)
{
	int i, count = file->shared_value.given;

	*unverified = count && file->shared_value.status == CPU_UNVERIFIED;
	for (i = 0; i < TLBS; i++) {
		count += file->tlb[i].given;
		*unverified += file->tlb[i].given && file->tlb[i].status == CPU_UNVERIFIED;
	}
	return count;
}
