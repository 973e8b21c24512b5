// SPDX-License-Identifier: GPL-2.0
/*
 * What a rows.csv has to have. A file may come from a spreadsheet or a script, which rename, empty and reformat without
 * a word; what is lost so would look like a result. So a column that says what was measured is never guessed, and a
 * value that cannot be is an error rather than a number.
 */
#include "row_check.h"

#include "plan.h"
#include "target.h"
#include "util.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Without one of these nobody knows what a row measured. */
static const char *const essential[] = {
	"target", "guest", "host", "op", "class", "at", "leaves", "touches", "phase", "valid",
};

int row_is_essential(const char *column)
{
	size_t i;

	for (i = 0; i < TS_COUNT(essential); i++)
		if (!strcmp(essential[i], column))
			return 1;
	return 0;
}

/* Two names that differ in nothing but case, blanks, - and _? */
static int looks_like(const char *a, const char *b)
{
	static const char *const passed_over = " \t-_";

	for (;; a++, b++) {
		a += strspn(a, passed_over);
		b += strspn(b, passed_over);
		if (!*a || tolower((unsigned char)*a) != tolower((unsigned char)*b))
			return !*a && !*b;
	}
}

char *row_check_header(const struct csv_table *table)
{
	const char *column;
	size_t i, j;

	for (i = 0; (column = row_column_name(i)); i++) {
		if (csv_table_column(table, column) < table->columns)
			continue;
		for (j = 0; j < table->columns; j++)
			if (!row_is_column(table->header[j]) && looks_like(table->header[j], column))
				return xasprintf("column \"%s\" is not \"%s\": names are taken letter by letter; rename it",
						 table->header[j], column);
		if (row_is_essential(column))
			return xasprintf("no column %s, without which a row has no meaning; add it", column);
	}
	return NULL;
}

int row_plain_number(const char *text, u64 *value)
{
	return text[strspn(text, "0123456789")] || ts_number(text, strlen(text), value) ? -1 : 0;
}

int row_plain_decimal(const char *text)
{
	size_t before, after = 1;

	text += *text == '-';
	before = strspn(text, "0123456789");
	text += before;
	if (*text == '.') {
		after = strspn(text + 1, "0123456789");
		text += 1 + after;
	}
	return !*text && before && after && before < 40; /* so that it is finite */
}

int row_names_event(const char *column)
{
	const char *const *extra;
	size_t i;

	for (i = 0; targets[i]; i++)
		for (extra = targets[i]->extra; extra && *extra; extra++)
			if (!strcmp(*extra, column))
				return 0;
	return 1;
}

int row_begins_number(const char *text)
{
	text += strspn(text, " +-.,");
	return *text >= '0' && *text <= '9';
}

static int is_host(const char *host)
{
	size_t i;

	for (i = 0; i < PLAN_HOSTS; i++)
		if (!strcmp(plan_host_names[i], host))
			return 1;
	return !strcmp(host, "none") || !strcmp(host, "unknown");
}

const char *row_check_values(const struct row *row, const char **why)
{
	const struct {
		const char *column, *why;
		int bad;
	} checks[] = {
		{ "host", "not 4k, 2m, 1g, 2m-logged, none or unknown:", !is_host(row->host) },
		{ "leaves", "to be reckoned out when a plan is run, not measured:", row->c.leaves > TS_MAX_LEAVES },
		{ "touches", "a pass that touches nothing:", !row->c.touches },
		{ "refills", "more than there are leaves:", row->r.has_refills && row->r.refills > row->c.leaves },
		{ "mix_refills", "more than the mix has leaves:",
		  row->r.has_mix && row->r.mix_refills > ts_mix_leaves(row->c.mix) },
	};
	size_t i;

	for (i = 0; i < TS_COUNT(checks); i++)
		if (checks[i].bad) {
			*why = checks[i].why;
			return checks[i].column;
		}
	return NULL;
}

int row_take_valid(struct row *row, const char *text)
{
	char *copy, *save = NULL, *word;

	snprintf(row->valid, sizeof(row->valid), "%s", !strcmp(text, "ok") ? "ok" : "");
	if (strlen(text) >= sizeof(row->valid))
		return -1;
	if (*row->valid)
		return 0;
	copy = xstrdup(text);
	for (word = strtok_r(copy, "+", &save); word; word = strtok_r(NULL, "+", &save))
		if (word[strspn(word, " \t")] && strcmp(word, "ok"))
			row_reason(row, word);
	free(copy);
	if (!*row->valid)
		row_reason(row, "not-judged");
	return 0;
}
