/* SPDX-License-Identifier: GPL-2.0 */
/* HTML out of texts that come from files: what is not markup of this program's own is escaped. */
#ifndef TS_REPORT_HTML_H
#define TS_REPORT_HTML_H

#include <stdio.h>

/*
 * Text as HTML: & < > " ' as references; control characters and bytes that are no UTF-8 as U+FFFD. Good between tags
 * and inside a quoted attribute.
 */
void html_text(FILE *out, const char *text);

/*
 * The format is markup and is written as it is; each %s in it is a text and is escaped, each %u an unsigned number, %%
 * a per cent sign. Nothing else is understood, so that no text gets into the page by another way.
 */
void html_put(FILE *out, const char *format, ...);

/*
 * Writes the picture at path (SVG as gnuplot writes it) into the page: title and text for who cannot see it, and
 * every id with prefix, since ids are the page's. 0, or a negative errno.
 */
int html_svg(FILE *out, const char *path, const char *prefix, const char *title, const char *text);

#endif
