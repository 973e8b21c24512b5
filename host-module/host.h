/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module's own parts, from the device down:
 *
 *   device.c      /dev/tlbscope: one client, two byte queues, one thread
 *   session.c     requests of the line protocol and their answers
 *   experiment.c  one case: memory, window, private root, measured passes
 *   root.c        the private page-table root and the way there and back
 *   memory.c      pages for tables and windows
 *   perf.c        event counters, as the kernel's perf lends them
 *   machine.c     what CPU and kernel this is
 */
#ifndef TS_HOST_H
#define TS_HOST_H

#include <linux/kfifo.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <asm/asm.h>

#include "perf.h"
#include "protocol.h"

#define TS_IN_BYTES 4096	/* requests not yet read; powers of two */
#define TS_OUT_BYTES 16384	/* answers not yet fetched */
#define TS_MAX_TABLES (TS_MAX_LEAVES + 1024)
#define TS_MAX_GIGABYTES 2	/* one for the leaves, one for the functional twin */

/* The low half of the private root is empty but for these two slots of its PML4. */
#define TS_WINDOW_BASE (1ULL << 39)
#define TS_ALIAS_BASE (2ULL << 39) /* the window's page tables, in 4K pages */

#define TS_CR4_PGE (1ULL << 7)
#define TS_CR4_LA57 (1ULL << 12)
#define TS_CR4_PCIDE (1ULL << 17)
#define TS_CR4_LASS (1ULL << 27)

/*
 * ---- registers: own instructions, since the kernel's wrappers are paravirtual or not exported
 * ----
 */

static inline u64 ts_read_cr3(void)
{
	u64 value;

	asm volatile("mov %%cr3, %0" : "=r"(value) : : "memory");
	return value;
}

static inline u64 ts_read_cr4(void)
{
	u64 value;

	asm volatile("mov %%cr4, %0" : "=r"(value) : : "memory");
	return value;
}

static inline void ts_write_cr3(u64 value)
{
	asm volatile("mov %0, %%cr3" : : "r"(value) : "memory");
}

static inline void ts_write_cr4(u64 value)
{
	asm volatile("mov %0, %%cr4" : : "r"(value) : "memory");
}

static inline u64 ts_read_tsc(void)
{
	u32 low, high;

	asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

/* ---- memory.c ---- */

/* Pages of one window. Everything is had with interrupts on, through one place that can fail. */
struct ts_pages {
	struct page **table; /* table pages in the order in which they were asked for */
	u32 tables;
	struct xarray frames;	/* 2M frame n -> struct page of its 512 pages */
	u64 gigabyte[TS_MAX_GIGABYTES]; /* page frame numbers */
	u32 gigabytes;
	u8 searched; /* for gigabytes */
	u64 budget;  /* 4K pages that may still be taken */
};

/* The n-th allocation from now on fails (0: none); set by the parameter fail_alloc. */
u8 ts_alloc_fails(void);
void *ts_vzalloc(size_t size); /* freed by vfree() */
struct page *ts_alloc_pages(gfp_t flags, u32 order);
void ts_free_pages(struct page *page, u32 order);

int ts_pages_init(struct ts_pages *pages);
void ts_pages_start(struct ts_pages *pages); /* before each window */
void ts_pages_release(struct ts_pages *pages); /* the window's pages; must not be mapped any more */
void ts_pages_destroy(struct ts_pages *pages);
u64 ts_pages_available(void); /* bytes that a window may take now */
u64 ts_pages_held(void); /* 4K pages that the module has from the kernel */

u64 *ts_pages_table(void *pages, u64 *physical); /* ts_tables.alloc */
u64 *ts_pages_reach(void *pages, u64 physical);	 /* ts_tables.reach */
extern const struct ts_memory ts_frames_of;	 /* its context is to be filled in */

/* ---- root.c ---- */

#define TS_MAX_COPIES 8 /* two text pages of 2M: at most 3 tables above each, and itself split */

/* A table of the upper half that the private root has for itself. */
struct ts_copy {
	struct page *page;
	const u64 *kernel; /* what it is a copy of; NULL for the split page */
	u64 *parent;	   /* the entry that points to it */
};

struct ts_root {
	struct page *page; /* order 1, so that bit 12 of its address is clear */
	u64 *top;
	u64 cr3;	/* its physical address with the encryption bit, PCID 0 */
	u32 levels;
	u64 encrypt;	/* memory encryption bit of every entry, or 0 */
	u64 leaf_flags; /* that every leaf has: NX and the encryption bit */
	struct ts_cpu cpu; /* for ts_measure() */
	struct ts_perf *perf; /* its counters are looked at anew in each slice */
	u64 kernel_cr3, kernel_cr4; /* while on the private root: what to come back to */
	u64 off;		    /* TSC when interrupts went off */
	u64 start, resumed;	    /* TSC at the start of this slice, and at the last pause */
	u64 slice;	   /* TSC cycles with interrupts off */
	u64 pcid;	   /* of the next slices; 0: CR4.PCIDE off */
	u8 has_pge;
	struct ts_copy copy[TS_MAX_COPIES];
	u32 copies;
};

int ts_root_init(struct ts_root *root, u32 features);
void ts_root_destroy(struct ts_root *root);
/* The low half becomes empty. */
void ts_root_clear(struct ts_root *root);
struct ts_tables ts_root_tables(struct ts_root *root, struct ts_pages *pages);
/*
 * Maps the window's table pages a second time, by 4K, and turns pointers to its leaves into these.
 */
enum ts_status ts_root_alias(struct ts_root *root, struct ts_pages *pages, struct ts_window *window,
			     struct ts_error *error);
/* Switches, with interrupts off from one to the other; both drop every TLB entry of this CPU. */
void ts_root_enter(struct ts_root *root);
void ts_root_leave(struct ts_root *root);
/* What the next slices are for: an own PCID or none. Fills root->cpu but for the registers. */
void ts_root_prepare(struct ts_root *root, u8 pcid);

/* ---- machine.c ---- */

struct ts_machine {
	u32 features; /* enum ts_feature */
	char hypervisor[16]; /* CPUID signature as one word, none without one */
	u64 loop_cycles;
};

/* Why the module must not be used on this machine, 0 if it may. */
const char *ts_machine_refusal(void);
void ts_machine_detect(struct ts_machine *machine);
/* Fills loop_cycles for the CPU that it runs on. */
void ts_machine_time(struct ts_machine *machine);
struct ts_experiment;
void ts_machine_hello(const struct ts_experiment *x, struct ts_text *text);
/* May a PCID of the module's be in use by someone else? A hint for the error, 0 if not. */
const char *ts_machine_pcid_conflict(void);

/* ---- experiment.c ---- */

/* Lies in vmalloc memory, so that what a measured pass reads here is on 4K pages. */
struct ts_experiment {
	struct ts_machine machine;
	struct ts_perf perf;
	struct ts_root root;
	struct ts_pages pages;
	struct ts_expansion e;
	struct ts_window window;
	struct ts_result result;
	int cpu; /* that all cases run on */
	u64 *leaf[2][TS_MAX_LEAVES];
	u64 touch[TS_MAX_TOUCHES];
	u32 samples[2 * TS_MAX_SAMPLES];
};

/* Both sleep. 0 or a negative errno; destroy after any of them. */
int ts_experiment_init(struct ts_experiment *x);
void ts_experiment_destroy(struct ts_experiment *x);
/* Measures one finished case into x->e and x->result. */
enum ts_status ts_experiment_run(struct ts_experiment *x, const struct ts_case *c,
				 struct ts_error *error);

/* ---- session.c ---- */

struct ts_session {
	struct ts_experiment x;
	struct ts_line line;
	struct ts_sweep sweep;
	char answer[2 * TS_MAX_LINE];
	u64 rows; /* since the last end */

	/* Shared with the client's calls. */
	wait_queue_head_t wait; /* any of the states below has changed */
	spinlock_t lock;	/* of working together with in */
	struct mutex reading, writing;
	DECLARE_KFIFO(in, char, TS_IN_BYTES);
	DECLARE_KFIFO(out, char, TS_OUT_BYTES);
	u8 working;  /* the thread has requests that are not answered */
	u8 greet;    /* say hello before all else */
	u8 readable; /* the client can fetch answers itself */
	struct task_struct *thread;
};

/* The thread: answers until kthread_stop(). */
int ts_session_thread(void *session);
/* Called by the thread where it may sleep; does not return if it has to stop. */
void ts_session_breathe(void);

#endif
