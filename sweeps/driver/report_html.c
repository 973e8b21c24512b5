// SPDX-License-Identifier: GPL-2.0
/* HTML: escaping, and SVG taken into a page. */
#include "report_html.h"

#include "util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at text, 0 when it is none (RFC 3629: no surrogates, nothing overlong). */
static size_t utf8_length(const unsigned char *text)
{
	size_t n = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 :
		   text[0] < 0xf5 ? 4 : 0;
	size_t i;

	for (i = 1; i < n; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return n;
}

void html_text(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t n;

	for (; *at; at += n ? n : 1) {
		n = utf8_length(at);
		switch (*at) {
		case '&': fputs("&amp;", out); continue;
		case '<': fputs("&lt;", out); continue;
		case '>': fputs("&gt;", out); continue;
		case '"': fputs("&quot;", out); continue;
		case '\'': fputs("&#39;", out); continue;
		}
		if (!n || (*at < ' ' && *at != '\n' && *at != '\t') || *at == 0x7f ||
		    (n == 2 && *at == 0xc2 && at[1] < 0xa0))
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(at, 1, n, out);
	}
}

void html_put(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (; *format; format++) {
		if (*format != '%') {
			putc(*format, out);
			continue;
		}
		switch (*++format) {
		case 's': html_text(out, va_arg(args, const char *)); break;
		case 'u': fprintf(out, "%zu", va_arg(args, size_t)); break;
		default: putc(*format, out); break;
		}
	}
	va_end(args);
}

static char *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "re");
	char *bytes = NULL;
	size_t n;

	*size = 0;
	if (!file)
		return NULL;
	do {
		bytes = xrealloc(bytes, *size + 65537);
		n = fread(bytes + *size, 1, 65536, file);
		*size += n;
	} while (n);
	fclose(file);
	bytes[*size] = '\0';
	return bytes;
}

/* Removes from text what stands between the first `from` and the `to` behind it, both included. */
static void cut(char *text, const char *from, const char *to)
{
	char *start = strstr(text, from), *end = start ? strstr(start + strlen(from), to) : NULL;

	if (end)
		memmove(start, end + strlen(to), strlen(end + strlen(to)) + 1);
}

/* Copies SVG with a prefix before each id and each reference to one. */
static void put_svg(FILE *out, const char *svg, const char *prefix)
{
	static const char *const before[] = { " id='", " id=\"", "href='#", "href=\"#", "url(#" };
	const char *id = NULL;
	size_t i;

	while (*svg) {
		for (i = 0, id = NULL; i < sizeof(before) / sizeof(*before) && !id; i++)
			if (!strncmp(svg, before[i], strlen(before[i])))
				id = before[i];
		if (id)
			fprintf(out, "%s%s", id, prefix);
		else
			putc(*svg, out);
		svg += id ? strlen(id) : 1;
	}
}

int html_svg(FILE *out, const char *path, const char *prefix, const char *title, const char *text)
{
	size_t size;
	char *svg = read_all(path, &size), *start, *end;

	if (!svg)
		return -errno;
	start = strstr(svg, "<svg");
	end = start ? strchr(start, '>') : NULL;
	if (!end) {
		free(svg);
		return -EINVAL;
	}
	cut(end, "<title>", "</title>");
	cut(end, "<desc>", "</desc>");
	fwrite(start, 1, end - start, out);
	html_put(out, "\n role=\"img\" aria-labelledby=\"%stitle %stext\">\n<title id=\"%stitle\">%s</title>\n"
		      "<desc id=\"%stext\">%s</desc>\n", prefix, prefix, prefix, title, prefix, text);
	put_svg(out, end + 1, prefix);
	free(svg);
	return 0;
}
