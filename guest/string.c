/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memcpy and its kin, by string instructions: a C loop here could be compiled into a call of the
 * very function it implements. Eight bytes a step, because a hypervisor that emulates ring 0
 * pays thousands of cycles for each.
 */
#include "mem.h"

void *memcpy(void *to, const void *from, size_t n)
{
	void *d = to;
	size_t words = n / 8, rest = n % 8;

	asm volatile("rep movsq" : "+D"(d), "+S"(from), "+c"(words) : : "memory");
	asm volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(rest) : : "memory");
	return to;
}

/* Backwards when the end of the source would be overwritten; the direction flag is put back. */
void *memmove(void *to, const void *from, size_t n)
{
	unsigned char *d = (unsigned char *)to + n - 1;
	const unsigned char *s = (const unsigned char *)from + n - 1;

	if ((size_t)to - (size_t)from >= n)
		return memcpy(to, from, n);
	asm volatile("std\n\trep movsb\n\tcld" : "+D"(d), "+S"(s), "+c"(n) : : "memory", "cc");
	return to;
}

void *memset(void *to, int byte, size_t n)
{
	void *d = to;
	size_t words = n / 8, rest = n % 8;
	unsigned long pattern = (unsigned char)byte * 0x0101010101010101UL;

	asm volatile("rep stosq" : "+D"(d), "+c"(words) : "a"(pattern) : "memory");
	asm volatile("rep stosb" : "+D"(d), "+c"(rest) : "a"(pattern) : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++) {
		if (*x != *y)
			return *x - *y;
	}
	return 0;
}
