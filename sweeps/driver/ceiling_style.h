/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What there is to say about a break-even, and how it is written down: ceiling_table.c has the words once, a
 * style makes text or HTML of them.
 */
#ifndef TS_CEILING_STYLE_H
#define TS_CEILING_STYLE_H

#include "ceiling.h"

#define CEILING_TEXT 48 /* bytes of a field */

/* A table; what is not known is an empty field. */
struct ceiling_grid {
	const char *caption;
	size_t columns, rows;
	const char *const *head;
	const int *width;	    /* of columns in text; negative: words, at the left edge */
	char (*text)[CEILING_TEXT]; /* rows x columns */
};

struct ceiling_style {
	void (*heading)(FILE *out, const char *text);
	void (*paragraph)(FILE *out, const char *text);
	void (*note)(FILE *out, const char *text); /* a paragraph that explains a table */
	void (*table)(FILE *out, const struct ceiling_grid *grid);
	void (*list)(FILE *out, const char *const *items); /* up to a 0 */
	void (*code)(FILE *out, const char *text);	   /* lines to paste */
	void (*gap)(FILE *out);				   /* what follows is about something else */
};

/* Text of at most 100 columns. */
extern const struct ceiling_style ceiling_text;

/* All that a run says: tables, recommendation, lines to paste, scope. Of a refused run, what its refills show. */
void ceiling_say(FILE *out, const struct ceiling_style *style, const struct ceiling *ceiling,
		 const struct ceiling_context *context);

#endif
