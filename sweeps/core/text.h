/* SPDX-License-Identifier: GPL-2.0 */
/* The few string and number helpers that a core without libc needs. */
#ifndef TS_TEXT_H
#define TS_TEXT_H

#include "types.h"

/* A text under construction; what does not fit is dropped and truncated says so. */
struct ts_text {
	char *at;   /* next free byte; the buffer is always terminated */
	char *last; /* last byte of the buffer, kept for the terminator */
	u8 truncated;
};

void ts_text_init(struct ts_text *text, char *buffer, u32 size);
void ts_put(struct ts_text *text, const char *words);
void ts_put_n(struct ts_text *text, const char *words, u32 length);
void ts_put_number(struct ts_text *text, u64 number);
void ts_put_signed(struct ts_text *text, s64 number);
void ts_put_hex(struct ts_text *text, u64 number);
void ts_put_key_number(struct ts_text *text, const char *key, u64 number); /* " key=123" */
void ts_put_key_hex(struct ts_text *text, const char *key, u64 number);	   /* " key=0x7b" */
void ts_put_key_word(struct ts_text *text, const char *key, const char *word);

u32 ts_length(const char *words);
u8 ts_equal(const char *a, const char *b);
u8 ts_equal_n(const char *a, u32 length, const char *b); /* a[0..length) is exactly b */

/*
 * Number at text[0..length): decimal, or hexadecimal behind 0x; k, m or g behind it multiply
 * by 2^10, 2^20, 2^30. Returns TS_OK, TS_BAD_NUMBER or TS_OVERFLOW.
 */
enum ts_status ts_number(const char *text, u32 length, u64 *number);

/* Hexadecimal, with or without 0x. TS_OK, TS_BAD_NUMBER or TS_OVERFLOW. */
enum ts_status ts_hex(const char *text, u32 length, u64 *number);

/* Decimal digits and nothing else. TS_OK, TS_BAD_NUMBER or TS_OVERFLOW. */
enum ts_status ts_decimal(const char *text, u32 length, u64 *number);

/* Decimal, with or without a minus sign. TS_OK, TS_BAD_NUMBER or TS_OVERFLOW. */
enum ts_status ts_signed(const char *text, u32 length, s64 *number);

/* Length of the item of a comma-separated list that starts at text[0..length): up to the next comma. */
u32 ts_item(const char *text, u32 length);

/*
 * Cuts the next word "key=value" off *line. TS_OK, TS_EMPTY at the end of the line, TS_MISSING_VALUE for a word
 * without = or with nothing on one side of it (error->word is the word).
 */
struct ts_pair {
	const char *key, *value; /* not terminated */
	u32 key_length, value_length;
};
enum ts_status ts_pair(const char **line, struct ts_pair *pair, struct ts_error *error);

/* Fills *error as ts_fail() does, with a word that is not terminated. */
enum ts_status ts_fail_n(struct ts_error *error, enum ts_status status, const char *word,
			 u32 length, const char *hint);

/*
 * Cuts the next word (separated by blanks) off *line; returns its length, 0 at the end.
 * *line is left behind the word, *word points at it (not terminated).
 */
u32 ts_word(const char **line, const char **word);

#endif
