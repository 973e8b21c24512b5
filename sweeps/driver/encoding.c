// SPDX-License-Identifier: GPL-2.0
/* Event encodings, read and written; the words stand in one table. */
#include "encoding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENT_MOST 0xfff /* twelve bits on AMD, eight on Intel */

static const struct {
	const char *name;
	unsigned int shift;
	u64 most;
} words[] = {
	{ "umask", 8, 0xff },
	{ "edge", 18, 1 },
	{ "inv", 23, 1 },
	{ "cmask", 24, 0xff },
};

static u64 event_bits(u64 event)
{
	return (event & 0xff) | (event & 0xf00) << 24;
}

/* One word "name=number" up to a comma or the end; *seen has a bit for each word that was met. */
static int parse_word(const char **at, u64 *config, unsigned int *seen)
{
	size_t length = strcspn(*at, "="), i;
	const char *number = *at + length + 1;
	unsigned long long value;
	char *end;

	if ((*at)[length] != '=' || *number < '0' || *number > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(number, &end, 0);
	if (errno || (*end && *end != ','))
		return -EINVAL;
	for (i = 0; i < TS_COUNT(words); i++)
		if (strlen(words[i].name) == length && !strncmp(*at, words[i].name, length))
			break;
	if (i == TS_COUNT(words) && (length != 5 || strncmp(*at, "event", 5)))
		return -EINVAL;
	if (*seen & 1u << i || value > (i < TS_COUNT(words) ? words[i].most : EVENT_MOST))
		return -EINVAL;
	*seen |= 1u << i;
	*config |= i < TS_COUNT(words) ? value << words[i].shift : event_bits(value);
	*at = end;
	return 0;
}

int encoding_parse(const char *text, u64 *config)
{
	unsigned int seen = 0;

	*config = 0;
	for (;; text++) {
		if (parse_word(&text, config, &seen))
			return -EINVAL;
		if (!*text)
			return seen & 1u << TS_COUNT(words) ? 0 : -EINVAL;
	}
}

const char *encoding_print(u64 config, char *text, size_t size)
{
	size_t n = snprintf(text, size, "event=0x%02llx,umask=0x%02llx",
			    (config & 0xff) | (config >> 24 & 0xf00), config >> 8 & 0xff),
	       i;

	for (i = 1; i < TS_COUNT(words) && n < size; i++)
		if (config >> words[i].shift & words[i].most)
			n += snprintf(text + n, size - n, ",%s=%llu", words[i].name,
				      config >> words[i].shift & words[i].most);
	return text;
}
