/* SPDX-License-Identifier: GPL-2.0 */
/* The four functions that GCC may call even in freestanding code (GCC manual, 2.1). */
#ifndef MEM_H
#define MEM_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

#endif
