// SPDX-License-Identifier: GPL-2.0
/*
 * Contrast of report.html and of the pictures: WCAG 2.1, success criterion 1.4.3 (level AA), 4.5 to 1 for text. The
 * colours are read out of plots/report.css, where all are variables: light, dark and print.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative luminance, as WCAG defines it. */
static double luminance(unsigned long rgb)
{
	static const double weight[] = { 0.2126, 0.7152, 0.0722 };
	double sum = 0, part;
	int i;

	for (i = 0; i < 3; i++) {
		part = (rgb >> (16 - 8 * i) & 255) / 255.0;
		sum += weight[i] * (part <= 0.03928 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4));
	}
	return sum;
}

static double contrast(unsigned long a, unsigned long b)
{
	double x = luminance(a) + 0.05, y = luminance(b) + 0.05;

	return x > y ? x / y : y / x;
}

/* Black on white is 21; #767676 on white is known as the lightest grey that passes, 4.54. */
static void the_measure_itself(void **state)
{
	(void)state;
	assert_true(fabs(contrast(0x000000, 0xffffff) - 21) < 1e-9);
	assert_true(fabs(contrast(0x767676, 0xffffff) - 4.54) < 0.005);
	assert_true(contrast(0x777777, 0xffffff) < 4.5);
}

static char *read_style(void)
{
	char *text = calloc(1, 65536);
	FILE *file = fopen("plots/report.css", "re");

	assert_non_null(file);
	assert_true(fread(text, 1, 65535, file) > 500);
	fclose(file);
	return text;
}

/* Value of a variable in the block of variables that starts at block. */
static unsigned long colour(const char *block, const char *name)
{
	const char *end = strchr(block, '}'), *at = strstr(block, name);
	unsigned long value;

	if (!at || at > end)
		fail_msg("no %s", name);
	at = strchr(at, '#');
	value = strtoul(at + 1, NULL, 16);
	assert_int_equal(strspn(at + 1, "0123456789abcdef"), 6);
	return value;
}

/* Every text on every ground that it stands on (the selectors of report.css). */
static void page(void **state)
{
	static const struct {
		const char *text, *ground;
	} pairs[] = {
		{ "--text:", "--page:" }, { "--faint:", "--page:" }, { "--link:", "--page:" },
		{ "--text:", "--head:" }, { "--text:", "--code:" }, { "--faint:", "--code:" },
		{ "--text:", "--answer:" }, { "--stamp-text:", "--stamp:" }, { "--link:", "--code:" },
	};
	char *style = read_style();
	const char *block = style;
	size_t blocks, i;

	(void)state;
	for (blocks = 0; (block = strstr(block, ":root {")); blocks++, block++)
		for (i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
			double c = contrast(colour(block, pairs[i].text), colour(block, pairs[i].ground));

			if (c < 4.5)
				fail_msg("block %zu: %s on %s: %.2f", blocks, pairs[i].text, pairs[i].ground, c);
		}
	assert_int_equal(blocks, 3);
	free(style);
}

/* No other colours than variables, but for the white card under pictures. */
static void only_variables(void **state)
{
	char *style = read_style(), *at = style;
	size_t others = 0;

	(void)state;
	while ((at = strchr(at, '#'))) {
		char *line = at;

		while (line > style && line[-1] != ';' && line[-1] != '{')
			line--;
		others += !memmem(line, at - line, "--", 2);
		at++;
	}
	assert_int_equal(others, 1);
	free(style);
}

/* Texts of the pictures: on white, the mark, the lightest box with black and the darkest with white text. */
static void pictures(void **state)
{
	(void)state;
	assert_true(contrast(0x505050, 0xffffff) >= 4.5);
	assert_true(contrast(0x606060, 0xffffff) >= 4.5);
	assert_true(contrast(0x6b1010, 0xfff1c2) >= 4.5);
	/* heat.gp: ink changes at a share of 0.5; its shades are a straight line from white to #1f4068 */
	assert_true(contrast(0x000000, 0x8f9fb3) >= 4.5);
	assert_true(contrast(0xffffff, 0x1f4068) >= 4.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_measure_itself),
		cmocka_unit_test(page),
		cmocka_unit_test(only_variables),
		cmocka_unit_test(pictures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
