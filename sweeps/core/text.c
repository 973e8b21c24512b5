// SPDX-License-Identifier: GPL-2.0
/* String and number helpers, and the names of errors. */
#include "text.h"

static const char *const status_names[TS_STATUSES] = {
	[TS_OK] = "ok",
	[TS_EMPTY] = "empty",
	[TS_UNKNOWN_COMMAND] = "unknown-command",
	[TS_UNKNOWN_KEY] = "unknown-key",
	[TS_DUPLICATE_KEY] = "duplicate-key",
	[TS_MISSING_VALUE] = "missing-value",
	[TS_UNKNOWN_VALUE] = "unknown-value",
	[TS_BAD_NUMBER] = "bad-number",
	[TS_OVERFLOW] = "overflow",
	[TS_OUT_OF_RANGE] = "out-of-range",
	[TS_TOO_LONG] = "too-long",
	[TS_BAD_CHARACTER] = "bad-character",
	[TS_CONFLICT] = "conflict",
	[TS_NO_FEATURE] = "no-feature",
	[TS_NO_MEMORY] = "no-memory",
	[TS_BAD_COUNTER] = "bad-counter",
};

const char *ts_status_name(enum ts_status status)
{
	return status < TS_STATUSES ? status_names[status] : "unknown";
}

enum ts_status ts_fail_n(struct ts_error *error, enum ts_status status, const char *word,
			 u32 length, const char *hint)
{
	u32 i;

	for (i = 0; i < length && i < sizeof(error->word) - 1; i++)
		error->word[i] = word[i];
	error->word[i] = 0;
	error->status = status;
	error->hint = hint;
	return status;
}

enum ts_status ts_fail(struct ts_error *error, enum ts_status status, const char *word,
		       const char *hint)
{
	return ts_fail_n(error, status, word, ts_length(word), hint);
}

void ts_text_init(struct ts_text *text, char *buffer, u32 size)
{
	text->at = buffer;
	text->last = buffer + size - 1;
	text->truncated = 0;
	*buffer = 0;
}

void ts_put_n(struct ts_text *text, const char *words, u32 length)
{
	while (length-- && *words) {
		if (text->at == text->last) {
			text->truncated = 1;
			return;
		}
		*text->at++ = *words++;
		*text->at = 0;
	}
}

void ts_put(struct ts_text *text, const char *words)
{
	ts_put_n(text, words, ts_length(words));
}

static void put_base(struct ts_text *text, u64 number, u32 base)
{
	char digits[20]; /* 2^64 - 1 has 20 decimal digits */
	u32 n = sizeof(digits);

	do {
		digits[--n] = "0123456789abcdef"[number % base];
		number /= base;
	} while (number);
	ts_put_n(text, digits + n, sizeof(digits) - n);
}

void ts_put_number(struct ts_text *text, u64 number)
{
	put_base(text, number, 10);
}

void ts_put_signed(struct ts_text *text, s64 number)
{
	if (number < 0)
		ts_put(text, "-");
	put_base(text, number < 0 ? -(u64)number : (u64)number, 10);
}

void ts_put_hex(struct ts_text *text, u64 number)
{
	ts_put(text, "0x");
	put_base(text, number, 16);
}

void ts_put_key_word(struct ts_text *text, const char *key, const char *word)
{
	ts_put(text, " ");
	ts_put(text, key);
	ts_put(text, "=");
	ts_put(text, word);
}

void ts_put_key_number(struct ts_text *text, const char *key, u64 number)
{
	ts_put_key_word(text, key, "");
	ts_put_number(text, number);
}

void ts_put_key_hex(struct ts_text *text, const char *key, u64 number)
{
	ts_put_key_word(text, key, "");
	ts_put_hex(text, number);
}

u32 ts_length(const char *words)
{
	u32 n = 0;

	while (words[n])
		n++;
	return n;
}

u8 ts_equal_n(const char *a, u32 length, const char *b)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (!b[i] || a[i] != b[i])
			return 0;
	return !b[length];
}

u8 ts_equal(const char *a, const char *b)
{
	return ts_equal_n(a, ts_length(a), b);
}

/* Value of a digit in hexadecimal, 16 for anything else. */
static u32 digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

static u32 suffix_shift(char c)
{
	switch (c) {
	case 'k':
		return 10;
	case 'm':
		return 20;
	case 'g':
		return 30;
	}
	return 0;
}

static enum ts_status digits(const char *text, u32 length, u32 base, u64 *number)
{
	u64 sum = 0;

	if (!length)
		return TS_BAD_NUMBER;
	while (length--) {
		u32 digit = digit_value(*text++);

		if (digit >= base)
			return TS_BAD_NUMBER;
		if (sum > (~0ULL - digit) / base)
			return TS_OVERFLOW;
		sum = sum * base + digit;
	}
	*number = sum;
	return TS_OK;
}

static u8 has_0x(const char *text, u32 length)
{
	return length > 2 && text[0] == '0' && text[1] == 'x';
}

enum ts_status ts_number(const char *text, u32 length, u64 *number)
{
	u32 shift = length ? suffix_shift(text[length - 1]) : 0;
	enum ts_status status;
	u64 sum;

	if (shift)
		length--;
	status = has_0x(text, length) ? digits(text + 2, length - 2, 16, &sum) :
					digits(text, length, 10, &sum);
	if (status)
		return status;
	if (shift && sum >> (64 - shift))
		return TS_OVERFLOW;
	*number = sum << shift;
	return TS_OK;
}

enum ts_status ts_hex(const char *text, u32 length, u64 *number)
{
	u32 skip = has_0x(text, length) ? 2 : 0;

	return digits(text + skip, length - skip, 16, number);
}

enum ts_status ts_decimal(const char *text, u32 length, u64 *number)
{
	return digits(text, length, 10, number);
}

enum ts_status ts_signed(const char *text, u32 length, s64 *number)
{
	u32 minus = length && *text == '-';
	u64 size;
	enum ts_status status = digits(text + minus, length - minus, 10, &size);

	if (status)
		return status;
	if (size > ~0ULL / 2)
		return TS_OVERFLOW;
	*number = minus ? -(s64)size : (s64)size;
	return TS_OK;
}

u32 ts_item(const char *text, u32 length)
{
	u32 n = 0;

	while (n < length && text[n] != ',')
		n++;
	return n;
}

static u8 is_blank(char c)
{
	return c == ' ' || c == '\t';
}

u32 ts_word(const char **line, const char **word)
{
	const char *at = *line;

	while (is_blank(*at))
		at++;
	*word = at;
	while (*at && !is_blank(*at))
		at++;
	*line = at;
	return at - *word;
}

enum ts_status ts_pair(const char **line, struct ts_pair *pair, struct ts_error *error)
{
	u32 length = ts_word(line, &pair->key), n;

	if (!length)
		return TS_EMPTY;
	for (n = 0; n < length && pair->key[n] != '='; n++)
		;
	if (!n || n + 1 >= length)
		return ts_fail_n(error, TS_MISSING_VALUE, pair->key, length, "write key=value");
	pair->key_length = n;
	pair->value = pair->key + n + 1;
	pair->value_length = length - n - 1;
	return TS_OK;
}
