/* SPDX-License-Identifier: GPL-2.0 */
/* The instructions that C has no words for: ports, control registers, CPUID, time stamp. */
#ifndef IO_H
#define IO_H

#include "types.h"

#define CR4_PGE (1ULL << 7)
#define CR4_PCIDE (1ULL << 17)

static inline void outb(u16 port, u8 value)
{
	asm volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline void outl(u16 port, u32 value)
{
	asm volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline u8 inb(u16 port)
{
	u8 value;

	asm volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
	return value;
}

static inline u64 read_cr2(void)
{
	u64 value;

	asm volatile("mov %%cr2, %0" : "=r"(value));
	return value;
}

static inline u64 read_cr3(void)
{
	u64 value;

	asm volatile("mov %%cr3, %0" : "=r"(value));
	return value;
}

static inline u64 read_cr4(void)
{
	u64 value;

	asm volatile("mov %%cr4, %0" : "=r"(value));
	return value;
}

/* Both change what every access means, hence the memory clobber. */
static inline void write_cr3(u64 value)
{
	asm volatile("mov %0, %%cr3" : : "r"(value) : "memory");
}

static inline void write_cr4(u64 value)
{
	asm volatile("mov %0, %%cr4" : : "r"(value) : "memory");
}

static inline void pause(void)
{
	asm volatile("pause");
}

struct cpuid {
	u32 eax, ebx, ecx, edx;
};

static inline struct cpuid cpuid(u32 leaf, u32 subleaf)
{
	struct cpuid r;

	asm volatile("cpuid"
		     : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx)
		     : "a"(leaf), "c"(subleaf));
	return r;
}

/* LFENCE on both sides: nothing before is still running, nothing behind has begun. */
static inline u64 read_tsc(void)
{
	u32 low, high;

	asm volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

#endif
