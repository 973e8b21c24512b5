// SPDX-License-Identifier: GPL-2.0
/* Plan files, and the list of cases that a plan stands for. */
#include "plan.h"

#include "expand.h"
#include "record.h"
#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_LIMIT 198 /* libinih as packaged holds 200 bytes a line and would cut a longer one in two */

/* State of one load. libinih does not tell line numbers to its handler: the reader below counts. */
struct loader {
	struct plan *plan;
	struct problem *problem;
	FILE *file;
	int line, failed; /* failed: line of the first problem */
	u64 seen; /* keys of the current section: 1 << enum ts_key_id, and the three below */
};
#define SEEN_REPEATS (1ULL << 40)
#define SEEN_WHEN (1ULL << 41)
#define SEEN_ON (1ULL << 42)
#define SEEN_HOST (1ULL << 43)

static char *next_line(char *buffer, int size, void *context)
{
	struct loader *loader = context;
	char *line;

	memset(buffer, ' ', size); /* so that the last NUL is the one that fgets() puts behind the line */
	line = fgets(buffer, size, loader->file);
	if (line && (char *)memrchr(line, '\0', size) != line + strlen(line) && !loader->failed) {
		loader->failed = loader->line + 1;
		problem(loader->problem, EXIT_INPUT, "%s:%d: a NUL byte; a plan is a text in UTF-8, write it anew",
			loader->plan->path, loader->line + 1);
	}
	if (line && (int)strlen(line) >= LINE_LIMIT && !loader->failed) {
		loader->failed = loader->line + 1;
		problem(loader->problem, EXIT_INPUT, "%s:%d: line longer than %d characters; use a "
			"second section", loader->plan->path, loader->line + 1, LINE_LIMIT);
	}
	loader->line += line != NULL;
	return line;
}

static int bad_line(struct loader *loader, const char *what, const char *word, const char *remedy)
{
	if (!loader->failed)
		problem(loader->problem, EXIT_INPUT, "%s:%d: %s \"%s\"; %s", loader->plan->path,
			loader->line, what, word, remedy);
	loader->failed = loader->failed ?: loader->line;
	return 0;
}

static struct section *add_section(struct plan *plan, const char *name, int line)
{
	struct section *section;

	plan->section = xrealloc(plan->section, (plan->sections + 1) * sizeof(*section));
	section = &plan->section[plan->sections++];
	memset(section, 0, sizeof(*section));
	section->name = xstrdup(name);
	section->line = line;
	ts_sweep_init(&section->sweep);
	return section;
}

/* The section called name; a new one unless it was the last (a name stands once). */
static struct section *enter_section(struct loader *loader, const char *name)
{
	struct plan *plan = loader->plan;
	size_t i;

	if (plan->sections && !strcmp(plan->section[plan->sections - 1].name, name))
		return &plan->section[plan->sections - 1];
	for (i = 0; i < plan->sections; i++) {
		if (!strcmp(plan->section[i].name, name)) {
			bad_line(loader, "second section", name, "give each section a name of its own");
			return NULL;
		}
	}
	loader->seen = 0;
	return add_section(plan, name, loader->line);
}

/* The list without the blanks around its commas; 0 when a blank stands inside a value. Caller frees. */
static char *squeeze(const char *text)
{
	char *out = xstrdup(text), *to = out;
	size_t blanks;

	for (; *text; text++) {
		blanks = strspn(text, " \t");
		text += blanks;
		if (!*text)
			break;
		if (blanks && to > out && to[-1] != ',' && *text != ',') {
			free(out);
			return NULL;
		}
		*to++ = *text;
	}
	*to = '\0';
	return out;
}

static int set_plan_key(struct loader *loader, const char *name, const char *value)
{
	struct plan *plan = loader->plan;
	char **text = !strcmp(name, "title") ? &plan->title : !strcmp(name, "about") ? &plan->about : NULL;

	if (!text)
		return bad_line(loader, "unknown key in [plan]", name, "known are title and about");
	if (*text)
		return bad_line(loader, "duplicate key", name, "give a key once");
	*text = xstrdup(value);
	return 1;
}

static int set_when(struct loader *loader, struct section *section, const char *value)
{
	u32 i;

	for (i = 0; ts_feature_name(i); i++) {
		if (!strcmp(ts_feature_name(i), value)) {
			section->when |= 1u << i;
			return 1;
		}
	}
	return bad_line(loader, "unknown feature", value, "known are pge, pcid, invpcid, 1g, nx");
}

static int set_axis(struct loader *loader, struct section *section, const char *name,
		    const char *list)
{
	struct ts_error error;
	char *where;

	if (!ts_sweep_set(&section->sweep, name, strlen(name), list, strlen(list), &error))
		return 1;
	where = xasprintf("%s:%d: %s", loader->plan->path, loader->line, name);
	if (!loader->failed)
		problem_core(loader->problem, where, &error);
	loader->failed = loader->failed ?: loader->line;
	free(where);
	return 0;
}

static u64 seen_bit(const char *name)
{
	if (!strcmp(name, "when"))
		return SEEN_WHEN;
	if (!strcmp(name, "on"))
		return SEEN_ON;
	if (!strcmp(name, "host"))
		return SEEN_HOST;
	return !strcmp(name, "repeats") ? SEEN_REPEATS : 1ULL << ts_key_find(name, strlen(name));
}

/* All that there can be: a plan may name one that this build does not have. */
static const char *const target_names[] = { "kvm", "module", "user", "tcg", "model", 0 };

static int set_on(struct loader *loader, struct section *section, const char *list)
{
	const char *at = list;
	size_t n, i;

	for (; *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		for (i = 0; target_names[i] && !ts_equal_n(at, n, target_names[i]); i++)
			;
		if (!target_names[i])
			return bad_line(loader, "no such target in", list,
					"targets are kvm, module, user, tcg and model");
	}
	section->on = xstrdup(list);
	return 1;
}

const char *const plan_host_names[PLAN_HOSTS] = { "4k", "2m", "1g", "2m-logged" };

/* Mask (1 << enum plan_host) of a comma-separated list; 0 with the wrong word in *error. */
static u32 host_pages(const char *list, struct ts_error *error)
{
	u32 mask = 0, i;
	size_t n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		for (i = 0; i < PLAN_HOSTS && !ts_equal_n(list, n, plan_host_names[i]); i++)
			;
		if (i == PLAN_HOSTS) {
			ts_fail_n(error, TS_UNKNOWN_VALUE, list, n, "host pages are 4k, 2m, 1g and 2m-logged");
			return 0;
		}
		mask |= 1u << i;
	}
	if (!mask)
		ts_fail(error, TS_MISSING_VALUE, "host", "host pages are 4k, 2m, 1g and 2m-logged");
	return mask;
}

static int set_host(struct loader *loader, struct section *section, const char *list)
{
	struct ts_error error;

	section->hosts = host_pages(list, &error);
	return section->hosts ? 1 : bad_line(loader, "host:", error.word, error.hint);
}

/* libinih's callback; its result does not stop the parser, loader->failed keeps the first problem. */
static int on_key(void *context, const char *section_name, const char *name, const char *value)
{
	struct loader *loader = context;
	struct section *section;
	char *list;
	int ok;

	if (loader->failed)
		return 0;
	if (!record_is_plain(section_name) || !record_is_plain(name) || !record_is_plain(value))
		return bad_line(loader, "not UTF-8, or control characters:", "?", "write the file in UTF-8");
	if (!*section_name)
		return bad_line(loader, "key before the first section", name, "start with [plan]");
	if (!strcmp(section_name, "plan"))
		return set_plan_key(loader, name, value);
	section = enter_section(loader, section_name);
	if (!section)
		return 0;
	if (loader->seen & seen_bit(name) & ~(1ULL << TS_KEYS)) /* that bit: unknown keys */
		return bad_line(loader, "duplicate key", name, "give a key once");
	loader->seen |= seen_bit(name);
	list = squeeze(value);
	if (!list)
		return bad_line(loader, "a blank inside a value:", value, "list values with commas between");
	if (!strcmp(name, "when")) {
		ok = set_when(loader, section, list);
	} else if (!strcmp(name, "host")) {
		ok = set_host(loader, section, list);
	} else if (!strcmp(name, "on")) {
		ok = set_on(loader, section, list);
	} else {
		ok = set_axis(loader, section, name, list);
	}
	free(list);
	return ok;
}

static char *plan_path(const char *name)
{
	size_t length = strlen(name);
	char *file, *path;

	if (strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".plan")))
		return xstrdup(name);
	file = xasprintf("plans/%s.plan", name);
	path = data_path(file);
	free(file);
	return path;
}

/* The name that a run directory carries: the file's, without folder and ending. */
static char *plan_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = xstrdup(slash ? slash + 1 : path), *dot = strrchr(name, '.');

	if (dot)
		*dot = '\0';
	return name;
}

static int check_plan(struct loader *loader, int ini_line)
{
	struct plan *plan = loader->plan;

	if (loader->failed && (ini_line <= 0 || loader->failed <= ini_line))
		return -EINVAL;
	if (ini_line)
		return problem(loader->problem, EXIT_INPUT, "%s:%d: neither [section] nor key = list",
			       plan->path, ini_line);
	if (!plan->sections)
		return problem(loader->problem, EXIT_INPUT, "%s: no section with axes in it; see "
			       "tlbscope list plans", plan->path);
	if (!plan->title)
		plan->title = xstrdup(plan->name);
	if (!plan->about)
		plan->about = xstrdup("");
	return 0;
}

int plan_load(const char *name, struct plan *plan, struct problem *p)
{
	struct loader loader = { .plan = plan, .problem = p };
	int result;

	memset(plan, 0, sizeof(*plan));
	plan->path = plan_path(name);
	plan->name = plan_name(plan->path);
	loader.file = fopen(plan->path, "r");
	if (!loader.file) {
		problem(p, EXIT_INPUT, "plan %s: %s: %s; tlbscope list plans names those there are%s",
			name, plan->path, strerror(errno),
			!access(name, R_OK) ? ", and a file is named with a slash: ./" : "");
		plan_free(plan);
		return -EINVAL;
	}
	result = ini_parse_stream(next_line, &loader, on_key, &loader);
	fclose(loader.file);
	result = check_plan(&loader, result);
	if (result)
		plan_free(plan);
	return result;
}

void plan_free(struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->sections; i++) {
		free(plan->section[i].name);
		free(plan->section[i].on);
	}
	free(plan->section);
	free(plan->name);
	free(plan->path);
	free(plan->title);
	free(plan->about);
	memset(plan, 0, sizeof(*plan));
}

/* ---- overrides ---- */

static int lists_any(const struct ts_axis *axis, const struct ts_axis *wanted)
{
	u32 i, j;

	for (i = 0; i < axis->n; i++)
		for (j = 0; j < wanted->n; j++)
			if (axis->value[i] == wanted->value[j])
				return 1;
	return 0;
}

/* Keeps the sections that have one of the wanted values, with just those; 0 if there are none. */
static int select_sections(struct plan *plan, u32 key, const struct ts_axis *wanted)
{
	size_t i, kept = 0;
	u32 j, n;

	for (i = 0; i < plan->sections; i++)
		kept += lists_any(&plan->section[i].sweep.axis[key], wanted);
	if (!kept)
		return 0;
	kept = 0;
	for (i = 0; i < plan->sections; i++) {
		struct ts_axis *axis = &plan->section[i].sweep.axis[key];

		if (!lists_any(axis, wanted)) {
			free(plan->section[i].name);
			free(plan->section[i].on);
			continue;
		}
		for (j = n = 0; j < axis->n; j++) {
			const struct ts_axis one = { .n = 1, .value = { axis->value[j] } };

			if (lists_any(&one, wanted))
				axis->value[n++] = axis->value[j];
		}
		axis->n = n;
		plan->section[i].overridden |= 1u << key;
		plan->section[i].when = 0; /* asked for by name: a missing feature is an error then */
		plan->section[kept++] = plan->section[i];
	}
	plan->sections = kept;
	return 1;
}

static int override_host(struct plan *plan, const char *list, struct problem *p)
{
	struct ts_error error;
	u32 mask = host_pages(list, &error);
	size_t i;

	if (!mask)
		return problem_core(p, "--host", &error);
	for (i = 0; i < plan->sections; i++)
		plan->section[i].hosts = mask;
	return 0;
}

int plan_override(struct plan *plan, const char *key, const char *list, struct problem *p)
{
	u32 k = ts_key_find(key, strlen(key));
	struct ts_sweep wanted;
	struct ts_error error;
	char *where;
	size_t i;

	if (!strcmp(key, "host"))
		return override_host(plan, list, p);
	ts_sweep_init(&wanted);
	if (ts_sweep_set(&wanted, key, strlen(key), list, strlen(list), &error)) {
		where = xasprintf("--%s %s", key, list);
		problem_core(p, where, &error);
		free(where);
		return -EINVAL;
	}
	if (k == TS_KEY_GUEST && select_sections(plan, k, &wanted.axis[k]))
		return 0;
	for (i = 0; i < plan->sections; i++) {
		struct section *section = &plan->section[i];

		if (k == TS_KEYS) {
			section->sweep.repeats = wanted.repeats;
			continue;
		}
		section->sweep.axis[k] = wanted.axis[k];
		section->overridden |= 1u << k;
	}
	return 0;
}

/* ---- cases ---- */

/* Is this section for a target of that name? */
static int runs_on(const struct section *section, const char *target)
{
	size_t length = strlen(target);
	const char *at;

	if (!section->on)
		return 1;
	for (at = section->on; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, target, length) && (!at[length] || at[length] == ','))
			return 1;
	return 0;
}

int plan_runs_on(const struct plan *plan, const char *target)
{
	size_t i;

	for (i = 0; i < plan->sections; i++)
		if (runs_on(&plan->section[i], target))
			return 1;
	return 0;
}

static u32 section_phases(const struct section *section)
{
	const struct ts_axis *axis = &section->sweep.axis[TS_KEY_PHASE];
	u32 mask = axis->n ? 0 : 1u << TS_REFILL, i; /* ts_case_init()'s */

	for (i = 0; i < axis->n; i++)
		mask |= 1u << axis->value[i];
	return mask;
}

int plan_measures_on(const struct plan *plan, const char *target, u32 phases)
{
	size_t i;

	for (i = 0; i < plan->sections; i++)
		if (runs_on(&plan->section[i], target) &&
		    (section_phases(&plan->section[i]) & phases ||
		     plan->section[i].overridden & 1u << TS_KEY_PHASE))
			return 1;
	return 0;
}

/* The words of a mask, with commas between; caller frees. */
static char *join(const char *const *names, u32 mask)
{
	char *text = xstrdup(""), *longer;
	u32 i;

	for (i = 0; names[i]; i++) {
		if (!(mask & 1u << i))
			continue;
		longer = xasprintf("%s%s%s", text, *text ? "," : "", names[i]);
		free(text);
		text = longer;
	}
	return text;
}

char *plan_phases(const struct plan *plan, const char *target)
{
	u32 mask = 0;
	size_t i;

	for (i = 0; i < plan->sections; i++)
		if (runs_on(&plan->section[i], target))
			mask |= section_phases(&plan->section[i]);
	return join(ts_phase_names, mask);
}

const struct section *plan_host_section(const struct plan *plan, const char *target)
{
	size_t i;

	for (i = 0; i < plan->sections; i++)
		if (plan->section[i].hosts && runs_on(&plan->section[i], target))
			return &plan->section[i];
	return NULL;
}

int plan_nothing(const struct plan *plan, const struct plan_filter *filter, struct problem *p)
{
	u32 i, mask = 0;
	char *has, *measures;

	for (i = 0; target_names[i]; i++)
		mask |= (u32)plan_runs_on(plan, target_names[i]) << i;
	if (!plan_runs_on(plan, filter->target)) {
		has = join(target_names, mask);
		problem(p, EXIT_INPUT, "plan %s: nothing to measure on target %s; it is for %s", plan->name,
			filter->target, has);
		free(has);
		return -EINVAL;
	}
	if (plan_measures_on(plan, filter->target, filter->phases))
		return problem(p, EXIT_INPUT, "plan %s: nothing to measure on target %s: its CPU lacks what each "
			       "section needs (when)", plan->name, filter->target);
	has = plan_phases(plan, filter->target);
	measures = join(ts_phase_names, filter->phases);
	problem(p, EXIT_INPUT, "plan %s: nothing to measure on target %s: it measures %s, and what the plan has "
		"for it only when asked to: --phase %s", plan->name, filter->target, measures, has);
	free(has);
	free(measures);
	return -EINVAL;
}

static void add_case(struct planned **list, size_t *count, const struct section *section,
		     const struct ts_case *c, const char *host, u64 repeat)
{
	if (!(*count & (*count + 1))) /* 0, 1, 3, 7, ...: full */
		*list = xrealloc(*list, 2 * (*count + 1) * sizeof(**list));
	(*list)[*count].section = section;
	(*list)[*count].c = *c;
	(*list)[*count].host = host;
	(*list)[(*count)++].c.repeat = repeat;
}

int plan_wants_phase(const struct section *section, const struct plan_filter *filter, u64 phase)
{
	return filter->phases & 1u << phase || section->overridden & 1u << TS_KEY_PHASE;
}

int plan_has_section(const struct section *section, const struct plan_filter *filter)
{
	return runs_on(section, filter->target) && !(section->when & ~filter->features);
}

int plan_next_case(const struct section *section, struct ts_cursor *cursor, struct ts_case *c, struct ts_error *error)
{
	struct ts_expansion expansion; /* only to see whether the pieces of a case fit together */
	int found = ts_sweep_next(&section->sweep, cursor, c, error);

	return found > 0 && ts_place(c, 0, &expansion, error) ? -1 : found;
}

static int add_section_cases(const struct plan *plan, const struct section *section,
			     const struct plan_filter *filter, const char *host, u64 repeat,
			     struct planned **list, size_t *count, size_t *skipped,
			     struct problem *p)
{
	struct ts_cursor cursor = { 0 };
	struct ts_error error;
	struct ts_case c;
	char *where;
	int found;

	while ((found = plan_next_case(section, &cursor, &c, &error))) {
		if (interrupted) {
			problem(p, EXIT_INTERRUPTED, "stopped while the plan was expanded; nothing was measured meanwhile");
			return -EINTR;
		}
		if (found > 0) {
			if (plan_wants_phase(section, filter, c.phase))
				add_case(list, count, section, &c, host, repeat);
			continue;
		}
		if (section->overridden) {
			*skipped += plan_wants_phase(section, filter, c.phase);
			continue;
		}
		where = xasprintf("%s:%d: [%s]", plan->path, section->line, section->name);
		problem_core(p, where, &error);
		free(where);
		return -EINVAL;
	}
	return 0;
}

/* All repetitions of all sections over one host page. */
static int add_host_cases(const struct plan *plan, const struct plan_filter *filter, u32 page,
			  struct planned **list, size_t *count, size_t *skipped, struct problem *p)
{
	const char *host = filter->chooses_host ? plan_host_names[page] : NULL;
	const u32 plain = 1u << PLAN_HOST_4K | 1u << PLAN_HOST_2M | 1u << PLAN_HOST_1G;
	u64 repeat, repeats = 1;
	size_t i;
	int result;

	for (i = 0; i < plan->sections; i++)
		if (plan->section[i].sweep.repeats > repeats)
			repeats = plan->section[i].sweep.repeats;
	for (repeat = 1; repeat <= repeats; repeat++) {
		for (i = 0; i < plan->sections; i++) {
			const struct section *section = &plan->section[i];

			if (repeat > section->sweep.repeats || !plan_has_section(section, filter) ||
			    (host && !((section->hosts ?: plain) & 1u << page)))
				continue;
			result = add_section_cases(plan, section, filter, host, repeat, list, count, skipped, p);
			if (result)
				return result;
		}
	}
	return 0;
}

int plan_cases(const struct plan *plan, const struct plan_filter *filter, struct planned **list,
	       size_t *count, size_t *skipped, struct problem *p)
{
	u32 page, pages = filter->chooses_host ? PLAN_HOSTS : 1;
	int result = 0;

	*list = NULL;
	*count = *skipped = 0;
	for (page = 0; page < pages && !result; page++)
		result = add_host_cases(plan, filter, page, list, count, skipped, p);
	if (!result && *count)
		return 0;
	free(*list);
	*list = NULL;
	if (result)
		return result;
	if (*skipped)
		return problem(p, EXIT_INPUT, "plan %s: nothing to measure on target %s: the axes given as "
			       "options contradict the plan's (tlbscope list axes); leave some out", plan->name,
			       filter->target);
	return plan_nothing(plan, filter, p);
}

/* Memory below the window: firmware and image; see the guest's memory map. */
#define WINDOW_START (16ULL << 20)

/* Two whole gigabytes above the first, for 1G leaves and their twin; firmware takes some of the top. */
#define GIGABYTES_2 ((3ULL << 30) + (64ULL << 20))

static u64 case_memory(const struct ts_case *c)
{
	u64 scatter = c->frames == TS_SCATTERED ? 3 : 1, regions = 0;

	if (ts_case_needs(c) & TS_GB_PAGES)
		return GIGABYTES_2;
	regions += c->guest == TS_2M ? c->leaves * scatter : c->leaves * scatter / 512 + 1;
	if (c->mix)
		regions += ts_mix_page(c->mix) == TS_2M ? ts_mix_leaves(c->mix) * scatter :
							  ts_mix_leaves(c->mix) * scatter / 512 + 1;
	regions += 4; /* twin frames, mapped pages, rounding */
	return WINDOW_START + regions * ts_page_size(TS_2M);
}

u64 plan_memory(const struct plan *plan, const char *target, int gigabytes)
{
	u64 most = 0, bytes;
	struct ts_cursor cursor;
	struct ts_error error;
	struct ts_case c;
	size_t i;
	int found;

	for (i = 0; i < plan->sections; i++) {
		if (!runs_on(&plan->section[i], target))
			continue;
		cursor.next = 0;
		while ((found = ts_sweep_next(&plan->section[i].sweep, &cursor, &c, &error))) {
			if (found < 0 || !(ts_case_needs(&c) & TS_GB_PAGES) != !gigabytes)
				continue;
			bytes = case_memory(&c);
			if (bytes > most)
				most = bytes;
		}
	}
	return most;
}

/* At 1 ms a row, which no target reaches, this takes a quarter of an hour. */
#define MOST_CASES 1000000.0

int plan_check_size(const struct plan *plan, struct problem *p)
{
	double cases, total = 0;
	size_t i;
	u32 key;

	for (i = 0; i < plan->sections; i++) {
		cases = plan->section[i].sweep.repeats;
		for (key = 0; key < TS_KEYS; key++)
			if (plan->section[i].sweep.axis[key].n)
				cases *= plan->section[i].sweep.axis[key].n;
		total += cases;
	}
	if (total <= MOST_CASES)
		return 0;
	return problem(p, EXIT_INPUT, "plan %s: its lists multiply to %.3g combinations, more than %.0f; list fewer "
		       "values, or split it", plan->name, total, MOST_CASES);
}

/* ---- list ---- */

static int is_plan(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && !strcmp(dot, ".plan");
}

char **plan_names(struct problem *p)
{
	char *folder = data_path("plans"), **names;
	struct dirent **entry;
	int i, n = scandir(folder, &entry, is_plan, alphasort);

	if (n < 0) {
		problem(p, EXIT_FAILED, "%s: %s; reinstall tlbscope, or run it where it was built",
			folder, strerror(errno));
		free(folder);
		return NULL;
	}
	names = xcalloc(n + 1, sizeof(char *));
	for (i = 0; i < n; i++) {
		names[i] = plan_name(entry[i]->d_name);
		free(entry[i]);
	}
	free(entry);
	free(folder);
	return names;
}
