/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the user target has to know about kernel, CPU and limits, and the pinning of this process.
 */
#ifndef TS_USER_SYSTEM_H
#define TS_USER_SYSTEM_H

#include "types.h"

#include <stddef.h>

/*
 * Why a case or a machine was declined: a reason for the column `valid`, and one line with the
 * remedy.
 */
struct user_refusal {
	const char *reason; /* 0: not declined */
	char text[240];
};

/* Fills *refusal and returns -ENOTSUP. */
int user_refuse(struct user_refusal *refusal, const char *reason, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* How the kernel's own doing limits what an unprivileged flush can show. */
enum user_kernel {
	USER_KERNEL_FINE,
	/*
	 * PTI without PCID: each entry and exit of the kernel writes CR3 and so drops all of user
	 * space. Seen in the measurement as no-contrast; named here to explain it.
	 */
	USER_KERNEL_ENTRY_FLUSHES,
	/*
	 * PTI and PCID without INVPCID: for each INVLPG of a user page the kernel marks the whole
	 * user PCID to be flushed at the exit (arch/x86/mm/tlb.c, invalidate_user_asid), so that F
	 * = 1 would be its work.
	 */
	USER_KERNEL_FLUSHES_PCID,
};

struct user_system {
	char cpu[64];		 /* brand string */
	int hypervisor;		 /* CPUID.1:ECX[31] */
	int emulated;		 /* QEMU's software CPU by its CPUID signature */
	enum user_kernel kernel;
	u64 ceiling;		 /* tlb_single_page_flush_ceiling */
	int ceiling_read;	 /* 0: not readable, the kernel's standard is assumed */
	u64 gigabyte_pages;	 /* free ones in the hugetlb pool */
	int thp_disabled;	 /* by prctl(PR_SET_THP_DISABLE) in a parent */
	char thp[16];		 /* always madvise never, or unknown */
};

void user_system_look(struct user_system *system);

/* Free pages in the hugetlb pool of a size (enum ts_page, 2M or 1G). */
u64 user_hugetlb_free(u64 page);

/*
 * Bytes that this process can still use: the least of free memory, its own limits, and those of its
 * cgroups.
 */
u64 user_memory_available(void);

/* Affinity, to be put back. */
struct user_pin {
	int cpu;   /* pinned to it, or -1 when it was denied */
	int error; /* errno of the denial */
	void *old; /* the former mask */
	size_t old_size;
};

/*
 * Pins to the CPU that the process is on, or to another of those that it may use if somebody else
 * is busy there. A denial is not fatal: the passes then watch for migrations themselves.
 */
void user_pin(struct user_pin *pin);
void user_unpin(struct user_pin *pin);

#endif
