// SPDX-License-Identifier: GPL-2.0
/* Escaping, and pictures taken into a page. */
#include "report_html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_html(const char *text, const char *expected)
{
	char *html;
	size_t size;
	FILE *out = open_memstream(&html, &size);

	html_text(out, text);
	fclose(out);
	assert_string_equal(html, expected);
	free(html);
}

static void markup_is_text(void **state)
{
	(void)state;
	assert_html("<script>alert(\"1\" & '2')</script>",
		    "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;");
	assert_html("&lt;", "&amp;lt;");
	assert_html("", "");
}

#define BAD "\xef\xbf\xbd" /* U+FFFD */

/* RFC 3629: two to four bytes, nothing overlong, no surrogates, nothing beyond U+10FFFF. */
static void bytes_that_are_no_text(void **state)
{
	(void)state;
	assert_html("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
	assert_html("a\x01\x1b\x7f" "b\n\t", "a" BAD BAD BAD "b\n\t");
	assert_html("\xff\xfe", BAD BAD);
	assert_html("\xc0\xbc", BAD BAD);         /* an overlong < */
	assert_html("\xe0\x80\xbc", BAD BAD BAD); /* the same in three bytes */
	assert_html("\xed\xa0\x80", BAD BAD BAD); /* a surrogate */
	assert_html("\xf4\x90\x80\x80", BAD BAD BAD BAD);
	assert_html("\xe2\x82", BAD BAD); /* cut off at the end */
	assert_html("\xc2\x85", BAD);	  /* a control character of two bytes */
}

static void format(void **state)
{
	char *html;
	size_t size;
	FILE *out = open_memstream(&html, &size);

	(void)state;
	html_put(out, "<b>%s</b> %u%%", "<i>", (size_t)7);
	fclose(out);
	assert_string_equal(html, "<b>&lt;i&gt;</b> 7%");
	free(html);
}

/* A picture as gnuplot writes them: its own title and text go, ids and references get the prefix. */
static void picture(void **state)
{
	static const char svg[] =
		"<?xml version=\"1.0\"?>\n<!DOCTYPE svg>\n<svg\n width=\"9\">\n<title>Gnuplot</title>\n"
		"<desc>Produced by GNUPLOT</desc>\n<defs><circle id='dot' r='1'/></defs>\n"
		"<g id=\"plot_1\"><use xlink:href='#dot'/><path clip-path=\"url(#clip)\"/></g>\n</svg>\n";
	static const char expected[] =
		"<svg\n width=\"9\"\n role=\"img\" aria-labelledby=\"p-title p-text\">\n"
		"<title id=\"p-title\">A &lt; B</title>\n<desc id=\"p-text\">1 &amp; 2</desc>\n\n\n\n"
		"<defs><circle id='p-dot' r='1'/></defs>\n"
		"<g id=\"p-plot_1\"><use xlink:href='#p-dot'/><path clip-path=\"url(#p-clip)\"/></g>\n</svg>\n";
	char path[] = "/tmp/tlbscope-test-XXXXXX", *html;
	size_t size;
	int fd = mkstemp(path);
	FILE *out;

	(void)state;
	assert_int_equal(write(fd, svg, strlen(svg)), strlen(svg));
	close(fd);
	out = open_memstream(&html, &size);
	assert_int_equal(html_svg(out, path, "p-", "A < B", "1 & 2"), 0);
	assert_int_equal(html_svg(out, "/nonexistent/p.svg", "p-", "", ""), -ENOENT);
	fclose(out);
	assert_string_equal(html, expected);
	free(html);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_is_text),
		cmocka_unit_test(bytes_that_are_no_text),
		cmocka_unit_test(format),
		cmocka_unit_test(picture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
