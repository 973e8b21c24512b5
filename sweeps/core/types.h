/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Base types of the core.
 *
 * The core is compiled three times: freestanding into the guest image, into the kernel module,
 * and into the user-space driver. It therefore includes neither libc nor kernel headers. The
 * typedefs below repeat the kernel's own (C11 and GNU C allow an identical typedef twice).
 */
#ifndef TS_TYPES_H
#define TS_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed long long s64;

#define TS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define TS_LINE 64ULL /* bytes in a cache line on every x86-64 CPU (CPUID.1:EBX[15:8] * 8) */

/* Leaf sizes of x86-64 paging (SDM vol. 3, 4.5.4). The order is that of the levels. */
enum ts_page { TS_4K, TS_2M, TS_1G, TS_PAGES };

static inline u64 ts_page_shift(u64 page)
{
	return 12 + 9 * page;
}

static inline u64 ts_page_size(u64 page)
{
	return 1ULL << ts_page_shift(page);
}

/* Named errors. ts_status_name() gives the word that the protocol and the driver print. */
enum ts_status {
	TS_OK,
	TS_EMPTY,	    /* nothing but blanks on the line */
	TS_UNKNOWN_COMMAND, /* the first word is none of the protocol's */
	TS_UNKNOWN_KEY,	    /* no such key */
	TS_DUPLICATE_KEY,   /* a key given twice */
	TS_MISSING_VALUE,   /* key without =value, or an empty value */
	TS_UNKNOWN_VALUE,   /* none of the words that the key takes */
	TS_BAD_NUMBER,	    /* not a decimal or 0x number (with k, m or g behind it) */
	TS_OVERFLOW,	    /* a number that does not fit 64 bits */
	TS_OUT_OF_RANGE,    /* a number outside what the key takes */
	TS_TOO_LONG,	    /* a line or list longer than the receiver holds */
	TS_BAD_CHARACTER,   /* a byte that is not printable ASCII */
	TS_CONFLICT,	    /* two keys that contradict each other */
	TS_NO_FEATURE,	    /* the CPU lacks what the case needs */
	TS_NO_MEMORY,	    /* the window does not fit into the memory there is */
	TS_BAD_COUNTER,	    /* an event counter that does not count as it should */
	TS_STATUSES
};

const char *ts_status_name(enum ts_status status);

/* What is wrong and with which word of the input; hint says what would be right. */
struct ts_error {
	enum ts_status status;
	char word[48];
	const char *hint;
};

/* Fills *error (cutting word at its size) and returns status. */
enum ts_status ts_fail(struct ts_error *error, enum ts_status status, const char *word,
		       const char *hint);

#endif
