// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping the working set and touching it.
 *
 * What can break it:
 * - The kernel may give other pages than were asked for, at once (no free 2M block) or later
 *   (reclaim splits, khugepaged collapses). smaps is read before the first pass and after the last.
 * - Physical frames cannot be chosen: 4K pages get whatever is free. A random order of visits over
 *   spread lines keeps that from mattering much, but levels differ between processes. Compare
 *   within one window.
 * - A page that was only read is the one zero page, a single TLB tag and cache line: every line is
 *   written.
 */
#include "user_window.h"

#include "user_smaps.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

/* Left to the rest of the machine when a window is sized. */
#define MARGIN (8ULL << 20)

static const char *const wanted[TS_PAGES] = { "4k", "2m", "1g" };

static u64 round_up(u64 value, u64 unit)
{
	return (value + unit - 1) & ~(unit - 1);
}

static u64 large(u64 page)
{
	return ts_page_size(page) > ts_page_size(TS_2M) ? ts_page_size(page) : ts_page_size(TS_2M);
}

/*
 * Address space of a set, in whole 2M (or 1G) units, so that no other mapping shares its last page
 * table.
 */
static u64 span(const struct ts_set *set)
{
	return set->leaves ? round_up((set->leaves - 1) * set->step + ts_page_size(set->page),
				      large(set->page)) :
			     0;
}

/*
 * Reserves address space (no memory) for the sets and returns their base, aligned to the largest
 * page that they hold; 0 when the process may not have that much.
 */
static u64 reserve(struct user_window *window)
{
	const struct ts_set *set = window->e.set;
	u64 unit = large(set[0].page), size = span(&set[0]);

	if (set[1].leaves) {
		size = TS_VA_MIX + span(&set[1]);
		if (large(set[1].page) > unit)
			unit = large(set[1].page);
	}
	window->area_size = size + unit;
	window->area = mmap(NULL, window->area_size, PROT_NONE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (window->area == MAP_FAILED) {
		window->area = NULL;
		return 0;
	}
	return round_up((u64)(unsigned long)window->area, unit);
}

/* Writes one word into each leaf, so that it becomes resident. */
static void populate(const struct user_set *set, const struct ts_set *leaves)
{
	u64 i;

	for (i = 0; i < leaves->leaves; i++)
		*(volatile u64 *)((char *)set->start + i * leaves->step) = 1;
}

static void *map_fixed(const struct user_set *set, int flags)
{
	return mmap(set->start, set->size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0);
}

static int is_wanted(const struct user_set *set)
{
	u64 start = (u64)(unsigned long)set->start;

	return !strcmp(user_smaps_size(start, start + set->size), set->want);
}

/* 4K pages. MADV_NOHUGEPAGE fails only in kernels without THP, which have nothing to switch off. */
static int map_small(struct user_set *set, const struct ts_set *leaves)
{
	if (map_fixed(set, MAP_NORESERVE) == MAP_FAILED)
		return -ENOMEM;
	madvise(set->start, set->size, MADV_NOHUGEPAGE);
	populate(set, leaves);
	set->means = "4k";
	return 0;
}

/*
 * 2M pages by THP: at the first write, and where no 2M block was free then, by MADV_COLLAPSE, which
 * may compact memory and works when THP is set to "never" as well.
 */
static int map_thp(struct user_set *set, const struct ts_set *leaves)
{
	u64 i;

	if (map_fixed(set, MAP_NORESERVE) == MAP_FAILED)
		return -ENOMEM;
	set->means = "thp";
	madvise(set->start, set->size, MADV_HUGEPAGE);
	populate(set, leaves);
	if (is_wanted(set))
		return 0;
	set->means = "collapse";
	for (i = 0; i < leaves->leaves; i++)
		madvise((char *)set->start + i * leaves->step, ts_page_size(TS_2M), MADV_COLLAPSE);
	return is_wanted(set) ? 0 : -ENOTSUP;
}

/*
 * From the pool, reserved at once: without MAP_NORESERVE a pool that runs out is an error here, no
 * signal later.
 */
static int map_hugetlb(struct user_set *set, const struct ts_set *leaves)
{
	if (map_fixed(set, MAP_HUGETLB | (int)ts_page_shift(leaves->page) << MAP_HUGE_SHIFT) ==
	    MAP_FAILED) {
		/* A failed MAP_FIXED may have left a hole that something else could move into. */
		mmap(set->start, set->size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		return -ENOMEM;
	}
	populate(set, leaves);
	set->means = "hugetlb";
	return 0;
}

static int refuse_huge(const struct ts_set *leaves, struct user_refusal *refusal)
{
	u64 pages = span(leaves) >> ts_page_shift(leaves->page);

	if (leaves->page == TS_1G)
		return user_refuse(refusal, "no-huge-page",
				   "no %llu free 1G pages; remedy: boot with hugepagesz=1G "
				   "hugepages=%llu",
				   pages, pages);
	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1)
		return user_refuse(refusal, "no-huge-page",
				   "transparent huge pages are switched off for this process "
				   "(prctl); remedy: start it elsewhere, or (root) echo %llu > "
				   "/proc/sys/vm/nr_hugepages",
				   pages);
	return user_refuse(refusal, "no-huge-page",
			   "the kernel gave no %llu pages of 2M; remedy (root): echo madvise > "
			   "/sys/kernel/mm/transparent_hugepage/enabled, or echo %llu > "
			   "/proc/sys/vm/nr_hugepages",
			   pages, pages);
}

static int map_set(struct user_set *set, const struct ts_set *leaves,
		   struct user_refusal *refusal)
{
	u64 bytes = leaves->leaves << ts_page_shift(leaves->page);
	int result;

	set->start = (void *)(unsigned long)leaves->va;
	set->size = span(leaves);
	set->want = wanted[leaves->page];
	if (leaves->page != TS_1G && bytes + MARGIN > user_memory_available())
		return user_refuse(refusal, "no-memory",
				   "the window needs %llu MiB and less is available; remedy: a "
				   "smaller window (leaves), or a higher memory limit",
				   bytes >> 20);
	if (leaves->page == TS_4K)
		result = map_small(set, leaves);
	else
		result = leaves->page == TS_2M ? map_thp(set, leaves) : -ENOTSUP;
	if (result && leaves->page != TS_4K &&
	    user_hugetlb_free(leaves->page) >= set->size >> ts_page_shift(leaves->page))
		result = map_hugetlb(set, leaves);
	if (result == -ENOMEM)
		return user_refuse(refusal, "no-memory",
				   "mapping %llu MiB: %s; remedy: a higher limit (ulimit -v, -d)",
				   (u64)set->size >> 20, strerror(ENOMEM));
	return result ? refuse_huge(leaves, refusal) : 0;
}

/* "4k", "thp+4k"; when a set is not what it should be, "thp>mixed". 0 if all are. */
static int describe(struct user_window *window)
{
	struct ts_text text;
	int i, result = 0;

	ts_text_init(&text, window->how, sizeof(window->how));
	for (i = 0; i < 2 && window->set[i].size; i++) {
		const struct user_set *set = &window->set[i];
		u64 start = (u64)(unsigned long)set->start;
		const char *size = user_smaps_size(start, start + set->size);

		ts_put(&text, i ? "+" : "");
		ts_put(&text, set->means);
		if (strcmp(size, set->want)) {
			ts_put(&text, ">");
			ts_put(&text, size);
			result = -EIO;
		}
	}
	return result;
}

int user_window_verify(struct user_window *window)
{
	return describe(window);
}

/*
 * The chain through the lines in visiting order; a write pass has its own word beside the pointer.
 */
static void link_lines(const struct ts_expansion *e)
{
	u64 i;

	for (i = 0; i < e->touches; i++)
		*(u64 *)(unsigned long)e->touch[i] = e->touch[(i + 1) % e->touches];
}

static int map_all(struct user_window *window, const struct ts_case *c,
		   struct user_refusal *refusal)
{
	struct ts_error error;
	u64 base;
	int i, result;

	if (access("/proc/self/smaps", R_OK))
		return user_refuse(refusal, "guest-page",
				   "page sizes cannot be verified: /proc/self/smaps: %s; remedy: "
				   "mount -t proc proc /proc",
				   strerror(errno));
	if (ts_expand(c, 0, window->touch, &window->e, &error))
		return user_refuse(refusal, "no-feature", "%s: %s", error.word, error.hint);
	base = reserve(window);
	if (!base)
		return user_refuse(refusal, "no-memory",
				   "no address space for the window; remedy: a higher limit "
				   "(ulimit -v)");
	ts_expand(c, base, window->touch, &window->e, &error);
	for (i = 0; i < 2; i++) {
		if (!window->e.set[i].leaves)
			continue;
		result = map_set(&window->set[i], &window->e.set[i], refusal);
		if (result)
			return result;
	}
	link_lines(&window->e);
	if (describe(window))
		return user_refuse(refusal, "guest-page",
				   "the kernel gave other pages than asked for (%s); remedy: free "
				   "some memory",
				   window->how);
	return 0;
}

int user_window_map(struct user_window *window, const struct ts_case *c,
		    struct user_refusal *refusal)
{
	int result;

	memset(window, 0, sizeof(*window));
	window->touch = xcalloc(TS_MAX_TOUCHES, sizeof(*window->touch));
	result = map_all(window, c, refusal);
	if (result)
		user_window_unmap(window);
	return result;
}

void user_window_unmap(struct user_window *window)
{
	if (window->area)
		munmap(window->area, window->area_size);
	window->area = NULL;
	free(window->touch);
	window->touch = NULL;
}

/* The parts of sweeps/core/passes.c without the op: see there for the fences. */
#define FENCE "mfence\n\tlfence\n\t"
#define CLOCK "rdtsc\n\tlfence\n\tshl $32, %%rdx\n\tor %%rdx, %%rax\n\t"
#define PASS(name, loop)                                                                     \
	static __attribute__((noinline)) u64 name(u64 touch, u64 touches)                    \
	{                                                                                    \
		register u64 start __asm__("r10") = touch;                                   \
		register u64 number __asm__("r11") = touches;                                \
		u64 cycles;                                                                  \
                                                                                             \
		__asm__ volatile(".p2align 6\n\t" FENCE CLOCK "mov %%rax, %%r8\n\t"          \
				 "mov %%r10, %%rsi\n\tmov %%r11, %%rcx\n"                    \
				 "2:\t" loop "dec %%rcx\n\tjnz 2b\n\t" FENCE CLOCK           \
				 "sub %%r8, %%rax\n"                                         \
				 : "=&a"(cycles)                                             \
				 : "r"(start), "r"(number)                                   \
				 : "rcx", "rdx", "rsi", "rdi", "r8", "memory", "cc");        \
		return cycles;                                                               \
	}

PASS(sequential_read, "mov (%%rsi), %%rdi\n\tmov (%%rdi), %%rdx\n\tadd $8, %%rsi\n\t")
PASS(sequential_write, "mov (%%rsi), %%rdi\n\tmov %%rcx, 8(%%rdi)\n\tadd $8, %%rsi\n\t")
PASS(chase_read, "mov (%%rsi), %%rsi\n\t")
PASS(chase_write, "mov (%%rsi), %%rdi\n\tmov %%rcx, 8(%%rsi)\n\tmov %%rdi, %%rsi\n\t")

u64 user_window_pass(const struct user_window *window)
{
	static u64 (*const pass[TS_ORDERS][TS_ACCESSES])(u64, u64) = {
		[TS_SEQUENTIAL] = { sequential_read, sequential_write },
		[TS_CHASE] = { chase_read, chase_write },
	};
	const struct ts_case *c = &window->e.c;
	u64 first = c->order == TS_CHASE ? window->touch[0] : (u64)(unsigned long)window->touch;

	return pass[c->order][c->access](first, window->e.touches);
}

u64 user_chase(const void *first, u64 touches)
{
	return chase_read((u64)(unsigned long)first, touches);
}
