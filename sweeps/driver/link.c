// SPDX-License-Identifier: GPL-2.0
/* Requests and answers of the line protocol. */
#include "link.h"

#include "protocol.h"
#include "version.h"

#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- hello ---- */

static u32 features_of(const char *list)
{
	u32 features = 0, i;
	size_t n;

	for (; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		for (i = 0; ts_feature_name(i); i++)
			if (ts_equal_n(list, n, ts_feature_name(i)))
				features |= 1u << i;
	}
	return features;
}

const char *hello_text(const struct hello *hello, const char *key)
{
	return json_string_value(json_object_get(hello->keys, key)) ?: "";
}

void hello_free(struct hello *hello)
{
	json_decref(hello->keys);
	memset(hello, 0, sizeof(*hello));
}

int hello_parse(const char *rest, struct hello *hello, struct problem *p)
{
	struct ts_error error;
	struct ts_pair pair;

	hello->keys = json_object();
	while (!ts_pair(&rest, &pair, &error)) {
		char *key = strndup(pair.key, pair.key_length);

		json_object_set_new(hello->keys, key,
				    json_stringn(pair.value, pair.value_length) ?: json_string("?"));
		free(key);
	}
	if (strcmp(hello_text(hello, "version"), TS_VERSION)) {
		problem(p, EXIT_INPUT, "the guest image is of version \"%s\", this program of %s; "
			"rebuild both (make) or name the right image with --image",
			hello_text(hello, "version"), TS_VERSION);
		hello_free(hello);
		return -EINVAL;
	}
	hello->features = features_of(hello_text(hello, "features"));
	return 0;
}

/* ---- lines ---- */

static const char *after_word(const char *line, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(line, word, n) && (line[n] == ' ' || !line[n]) ? line + n : NULL;
}

/* The next line that starts with one of two words (all others go to the log), and which it was. */
static int await(struct link *link, const char *first, const char *second, const char **rest,
		 int *which)
{
	double deadline = now_seconds() + link->timeout;
	const char *line;
	int result;

	for (;;) { /* the time is for the answer, however much else is said meanwhile */
		result = link->receive(link->context, deadline - now_seconds(), &line);
		if (result)
			return result;
		fprintf(link->log, "%s: %s\n", link->who, line);
		*which = 0;
		if ((*rest = after_word(line, first)))
			return 0;
		*which = 1;
		if (second && (*rest = after_word(line, second)))
			return 0;
	}
}

int link_hello(struct link *link, struct hello *hello, struct problem *p)
{
	const char *rest;
	int which, result = await(link, "hello", "error", &rest, &which);

	if (result)
		return result;
	if (which)
		return problem(p, EXIT_FAILED, "the %s failed before its first word:%s", link->who, rest);
	return hello_parse(rest, hello, p);
}

/* Value of key in a line of pairs, "" if it is not there; static buffer. */
static const char *value_of(const char *line, const char *key)
{
	static char value[64];
	struct ts_error error;
	struct ts_pair pair;

	while (!ts_pair(&line, &pair, &error)) {
		if (!ts_equal_n(pair.key, pair.key_length, key))
			continue;
		snprintf(value, sizeof(value), "%.*s", (int)pair.value_length, pair.value);
		return value;
	}
	return "";
}

#define HINT "hint=\""

#define CASE " case "

void refusal_parse(const char *rest, struct refusal *refusal)
{
	const char *hint = strstr(rest, HINT), *c = strstr(rest, CASE "op="); /* op: the first key */
	char word[64];
	struct ts_error error;

	memset(refusal, 0, sizeof(*refusal));
	snprintf(refusal->status, sizeof(refusal->status), "%s", value_of(rest, "status"));
	snprintf(word, sizeof(word), "%s", value_of(rest, "word"));
	hint = hint ? hint + strlen(HINT) : rest; /* the last key, in quotes */
	hint += strspn(hint, " ");
	snprintf(refusal->words, sizeof(refusal->words), "%s%s%.*s", word, *word ? ": " : "",
		 (int)strcspn(hint, "\""), hint);
	refusal->has_case = c && !ts_case_parse(c + strlen(CASE), &refusal->c, &error);
}

int refusal_is_declined(const struct refusal *refusal, int declines_memory)
{
	return !strcmp(refusal->status, "no-feature") ||
	       (declines_memory && !strcmp(refusal->status, "no-memory"));
}

/* An error line instead of a row: is it about this case, or the end of the guest? */
static int on_error(const struct link *link, const char *rest, const struct ts_case *c, struct row *row, struct problem *p)
{
	struct refusal refusal;
	struct ts_text out;
	char text[512];

	refusal_parse(rest, &refusal);
	if (!strcmp(refusal.status, "exception"))
		return -EPIPE;
	if (refusal_is_declined(&refusal, link->declines_memory)) {
		row_reason(row, refusal.status);
		problem(p, EXIT_FAILED, "%s", refusal.words);
		return -ENOTSUP;
	}
	ts_text_init(&out, text, sizeof(text));
	ts_case_print(&out, c);
	if (!strcmp(refusal.status, "no-memory"))
		return problem(p, EXIT_INPUT, "the window does not fit into the guest's memory; ask "
			       "for fewer leaves, or for more with --memory (case %s)", text);
	return problem(p, EXIT_FAILED, "the %s refused a case:%s (case %s)", link->who, rest, text);
}

/* A row that cannot be read: of which case, and in which words. No mistake of the user's. */
static int bad_answer(const struct link *link, const char *asked, const struct ts_error *error, struct problem *p)
{
	char *where = xasprintf("row from the %s for case %s", link->who, asked);
	int result = problem_core(p, where, error);

	p->exit_code = EXIT_FAILED;
	free(where);
	return result;
}

int link_measure(struct link *link, const struct ts_case *c, struct row *row, struct problem *p)
{
	char line[TS_MAX_LINE] = "case ";
	struct ts_error error;
	struct ts_text out;
	const char *rest;
	struct ts_case seen;
	int which, result;

	row->c = *c;
	ts_text_init(&out, line + 5, sizeof(line) - 5);
	ts_case_print(&out, c);
	result = link->send(link->context, line) ?: await(link, "row", "error", &rest, &which);
	if (result)
		return result;
	if (which)
		return on_error(link, rest, c, row, p);
	if (ts_row_parse(rest, &seen, &row->r, &row->op_va, &error))
		return bad_answer(link, line + 5, &error, p);
	if (memcmp(&seen, c, sizeof(seen)))
		return problem(p, EXIT_FAILED, "the %s answered another case than it was asked:%s",
			       link->who, rest);
	return 0;
}

int link_events(struct link *link, const u64 *configs, size_t n, char **pmu, struct problem *p)
{
	struct ts_events events = { .n = n };
	char line[TS_MAX_LINE] = "events ";
	struct ts_text out;
	const char *rest;
	int which, result;

	if (n > TS_MAX_COUNTERS)
		return problem(p, EXIT_INPUT, "%zu events: a target counts at most %d", n, TS_MAX_COUNTERS);
	memcpy(events.config, configs, n * sizeof(*configs));
	ts_text_init(&out, line + 7, sizeof(line) - 7);
	ts_events_print(&out, &events);
	result = link->send(link->context, line) ?: await(link, "events", "error", &rest, &which);
	if (result)
		return result;
	rest += strspn(rest, " ");
	if (which) {
		problem(p, EXIT_FAILED, "%s", rest);
		return -ENOTSUP;
	}
	*pmu = xstrdup(rest);
	return 0;
}

int link_end(struct link *link)
{
	const char *rest;
	int which;

	return link->send(link->context, "end") ?: await(link, "end", NULL, &rest, &which);
}
