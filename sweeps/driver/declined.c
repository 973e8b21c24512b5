// SPDX-License-Identifier: GPL-2.0
/* What a target declined, in words, below the table. */
#include "declined.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

void declined_note(struct declined *declined, const char *reason, const char *words)
{
	char *text = xasprintf("%s: %s", reason, words);
	size_t i;

	for (i = 0; i < declined->reasons && strcmp(declined->reason[i].text, text); i++)
		;
	if (i == declined->reasons && *words && i < DECLINED_TEXTS) {
		declined->reason[declined->reasons++].text = text;
		text = NULL;
	}
	if (i < declined->reasons)
		declined->reason[i].rows++;
	else
		declined->others += *words != '\0';
	free(text);
}

void declined_print(FILE *out, const struct declined *declined)
{
	size_t i;

	for (i = 0; i < declined->reasons; i++)
		fprintf(out, "%sDeclined, %zu rows: %s\n", i ? "" : "\n", declined->reason[i].rows,
			declined->reason[i].text);
	if (declined->others)
		fprintf(out, "Declined, %zu rows: for other reasons, see log.txt\n", declined->others);
}

void declined_free(struct declined *declined)
{
	while (declined->reasons)
		free(declined->reason[--declined->reasons].text);
}
