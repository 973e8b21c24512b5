// SPDX-License-Identifier: GPL-2.0
/*
 * The private page-table root, and the way there and back.
 *
 * Upper half: the kernel's, copied from the root in use each time before the switch, so that code,
 * stack, IDT, TSS and whatever an NMI or machine check needs are where they were. Lower half: empty
 * but for the window and the aliases of its page tables, all supervisor pages, so that neither SMAP
 * nor SMEP has a say.
 *
 * What has to hold:
 * - Bit 12 of CR3 and bit 11 of its PCID are clear. With page-table isolation the entry code of an
 *   NMI takes them for the mark of a user's root (arch/x86/entry/calling.h) and would load another
 *   one.
 * - Interrupts are off from enter to leave, and nothing in between sleeps, faults or prints: the
 *   kernel believes that another root is loaded. The thread has no mm, so that an NMI does not
 *   try user memory (nmi_uaccess_okay()).
 * - CR4 comes back exactly as it was: the kernel keeps a copy (cpu_tlbstate.cr4).
 * - Both switches change CR4.PGE and back, which drops every TLB entry of the CPU, of all PCIDs and
 *   global ones too (SDM vol. 3, 4.10.4.1; APM vol. 2, 5.5). On the way in this removes the
 *   kernel's large pages; on the way out it has to come last, on the kernel's root, so that
 *   no walk can bring an entry of the window back before its pages are freed.
 * - CR4.LASS is off: with linear-address space separation the kernel may not touch the lower half
 *   at all, whatever the U/S bits say.
 * - CR4.PCIDE can be set only while CR3[11:0] is 0 (SDM vol. 3, 4.10.1), hence the order.
 *
 * Large pages. Where this kernel is a guest, the first INVLPG after any page of 2M was used may
 * cost all entries: that is the effect under test, and the harness must not cause it. So between
 * the flush on the way in and the op only 4K pages are used: the thread's stack, the module and its
 * arrays lie in vmalloc memory, and the window's page tables are reached through aliases instead of
 * the direct map. Kernels that put the text of modules on pages of 2M (from 6.14 on) get it split
 * in the private root alone, see split_text(). What else the kernel has on large pages (its text,
 * the direct map with the per-CPU areas) is used before the flush and after the way out; an NMI
 * breaks that rule, and costs one iteration. machine.c looks whether it holds and hello says so.
 */
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/mem_encrypt.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <asm/pgtable.h>
#include <asm/tsc.h>

#include "host.h"
#include "passes.h"
#include "stats.h"

#define TABLE_ENTRIES 512
#define UPPER_HALF 256
#define SLICES_PER_SECOND 2000 /* 0.5 ms, so that slice and iteration stay within 1 ms */
#define DEFAULT_SLICE 1000000  /* cycles, when the kernel does not know the TSC's rate */

/*
 * Linux uses PCIDs 1 to 6 and, with page-table isolation, the same with bit 11 set
 * (arch/x86/mm/tlb.c, TLB_NR_DYN_ASIDS). For broadcast flushes see ts_machine_pcid_conflict().
 */
#define PCID_OF_WINDOW 0x7f0

#define MSR_EFER_NUMBER 0xc0000080
#define EFER_NXE (1ULL << 11)
#define PTE_PAT_LARGE (1ULL << 12)

static u8 nx_is_on(void)
{
	u32 low, high;

	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(MSR_EFER_NUMBER));
	return !!(low & EFER_NXE);
}

/* ---- how long interrupts were off ---- */

static u64 longest_slice; /* cycles of the TSC */

/* In microseconds, rounded up; an empty line before the first slice, or without a known rate. */
static int longest_slice_get(char *buffer, const struct kernel_param *parameter)
{
	u64 cycles = READ_ONCE(longest_slice);

	if (!cycles || !tsc_khz)
		return sysfs_emit(buffer, "\n");
	return sysfs_emit(buffer, "%llu\n", DIV_ROUND_UP_ULL(cycles * 1000, tsc_khz));
}

static const struct kernel_param_ops longest_slice_ops = { .get = longest_slice_get };
module_param_cb(longest_slice_us, &longest_slice_ops, NULL, 0444);
MODULE_PARM_DESC(longest_slice_us, "the longest time with interrupts off so far, in microseconds");

/* ---- the module's text in 4K pages ---- */

/* Functions that run in a slice; the text between them is some 20 KiB. */
static const void *const slice_code[] = {
	ts_root_enter, ts_root_leave, ts_measure, ts_twin,
	ts_pass_retouch, ts_pass_both, ts_pass_op, ts_count, ts_pt_map, ts_accessed_clear, ts_accessed_count, ts_sort, ts_median,
};

/* A table of the upper half that the private root has a copy of. */
static u64 *new_table(struct ts_root *root)
{
	struct page *page;

	if (root->copies == TS_MAX_COPIES)
		return NULL;
	page = ts_alloc_pages(GFP_KERNEL | __GFP_ZERO, 0);
	if (page)
		root->copy[root->copies++].page = page;
	return page ? page_address(page) : NULL;
}

/*
 * The private table below entry `index` of the private table `parent`: a copy of the kernel's, made
 * on first use; NULL without memory. *kernel is the kernel's table that parent is a copy of, and
 * becomes the one below.
 */
static u64 *copied_table(struct ts_root *root, u64 *parent, const u64 **kernel, u32 index)
{
	u32 i;

	*kernel = phys_to_virt((*kernel)[index] & TS_PTE_ADDR & ~root->encrypt);
	for (i = 0; i < root->copies; i++)
		if (root->copy[i].kernel == *kernel)
			return page_address(root->copy[i].page);
	if (!new_table(root))
		return NULL;
	root->copy[i].kernel = *kernel;
	root->copy[i].parent = &parent[index];
	return page_address(root->copy[i].page);
}

/* A 2M leaf as 512 of 4K. PAT moves from bit 12 to bit 7 (SDM vol. 3, tables 4-17 and 4-19). */
static u64 *split_leaf(struct ts_root *root, u64 leaf)
{
	u64 *table = new_table(root), flags = leaf & ~TS_PTE_ADDR, i;
	u64 first = leaf & TS_PTE_ADDR & ~(ts_page_size(TS_2M) - 1);

	flags &= ~TS_PTE_PS;
	if (leaf & PTE_PAT_LARGE)
		flags |= TS_PTE_PS; /* in a 4K leaf this bit is PAT */
	for (i = 0; table && i < TABLE_ENTRIES; i++)
		table[i] = (first + i * PAGE_SIZE) | flags;
	return table;
}

/* Splits the 2M page around address; nothing to do if it is none, or is split already. */
static int split_around(struct ts_root *root, unsigned long address)
{
	const u64 *kernel = phys_to_virt(ts_read_cr3() & TS_PTE_ADDR & ~root->encrypt);
	struct ts_copy *copy;
	u64 *table = root->top;
	unsigned int size;
	u32 level;

	if (!lookup_address(address, &size) || size != PG_LEVEL_2M)
		return 0;
	for (level = root->levels - 1; level > TS_2M; level--) {
		table = copied_table(root, table, &kernel, ts_pt_index(address, level));
		if (!table)
			return -ENOMEM;
	}
	for (copy = root->copy; copy < root->copy + root->copies; copy++)
		if (copy->parent == &table[ts_pt_index(address, TS_2M)])
			return 0;
	if (!split_leaf(root, kernel[ts_pt_index(address, TS_2M)]))
		return -ENOMEM;
	root->copy[root->copies - 1].parent = &table[ts_pt_index(address, TS_2M)];
	return 0;
}

/*
 * Prepares private tables for the module's own text where the kernel has it on pages of 2M. They go
 * into the upper half anew with each slice, since the kernel may have changed its tables:
 * refresh().
 */
static int split_text(struct ts_root *root)
{
	int result = 0;
	u32 i;

	for (i = 0; i < TS_COUNT(slice_code) && !result; i++)
		result = split_around(root, (unsigned long)slice_code[i]);
	return result;
}

/* In the order of their making: a parent comes before what it points to. */
static __always_inline void refresh(struct ts_root *root)
{
	struct ts_copy *copy;

	for (copy = root->copy; copy < root->copy + root->copies; copy++) {
		if (copy->kernel)
			memcpy(page_address(copy->page), copy->kernel, PAGE_SIZE);
		*copy->parent = page_to_phys(copy->page) | TS_PTE_P | TS_PTE_W | TS_PTE_A |
				root->encrypt;
	}
}

/* ---- the root ---- */

int ts_root_init(struct ts_root *root, u32 features)
{
	root->page = ts_alloc_pages(GFP_KERNEL | __GFP_ZERO, 1);
	if (!root->page)
		return -ENOMEM;
	root->top = page_address(root->page);
	root->encrypt = sme_me_mask;
	root->cr3 = page_to_phys(root->page) | root->encrypt;
	root->levels = ts_read_cr4() & TS_CR4_LA57 ? 5 : 4;
	root->leaf_flags = root->encrypt | (nx_is_on() ? TS_PTE_NX : 0);
	root->has_pge = !!(features & TS_PGE);
	root->slice = tsc_khz ? tsc_khz * 1000ULL / SLICES_PER_SECOND : DEFAULT_SLICE;
	return split_text(root);
}

void ts_root_destroy(struct ts_root *root)
{
	while (root->copies)
		ts_free_pages(root->copy[--root->copies].page, 0);
	if (root->page)
		ts_free_pages(root->page, 1);
	root->page = NULL;
}

void ts_root_clear(struct ts_root *root)
{
	memset(root->top, 0, UPPER_HALF * sizeof(*root->top));
}

struct ts_tables ts_root_tables(struct ts_root *root, struct ts_pages *pages)
{
	struct ts_tables tables = {
		.context = pages,
		.alloc = ts_pages_table,
		.reach = ts_pages_reach,
		.root = root->top,
		.levels = root->levels,
		.table_flags = TS_PTE_P | TS_PTE_W | TS_PTE_A | root->encrypt,
	};

	return tables;
}

enum ts_status ts_root_alias(struct ts_root *root, struct ts_pages *pages, struct ts_window *window,
			     struct ts_error *error)
{
	struct ts_tables tables = ts_root_tables(root, pages);
	u64 flags = TS_PTE_P | TS_PTE_W | TS_PTE_A | TS_PTE_D | root->leaf_flags;
	u32 i, s, n = pages->tables; /* the aliases' own tables come behind these */
	u64 *leaf, alias;

	for (i = 0; i < n; i++)
		if (!ts_pt_map(&tables, TS_ALIAS_BASE + i * PAGE_SIZE,
			       page_to_phys(pages->table[i]), TS_4K, flags))
			return ts_fail(error, TS_NO_MEMORY, "page-tables", "fewer leaves");
	for (s = 0; s < 2; s++) {
		for (i = 0; i < window->e->set[s].leaves; i++) {
			leaf = window->leaf[s][i];
			alias = TS_ALIAS_BASE + page_private(virt_to_page(leaf)) * PAGE_SIZE;
			window->leaf[s][i] = (u64 *)(alias + offset_in_page(leaf));
		}
	}
	return TS_OK;
}

/* Drops every entry of this CPU; cr4 is what stands in CR4. */
static __always_inline void flush_everything(const struct ts_root *root, u64 cr4)
{
	if (root->has_pge) {
		ts_write_cr4(cr4 ^ TS_CR4_PGE);
		ts_write_cr4(cr4);
	} else {
		ts_write_cr3(ts_read_cr3());
	}
}

void ts_root_enter(struct ts_root *root)
{
	const u64 *kernel;
	u64 cr4;

	local_irq_disable();
	root->off = ts_read_tsc();
	ts_perf_refresh(root->perf);
	root->kernel_cr3 = ts_read_cr3();
	root->kernel_cr4 = ts_read_cr4();
	kernel = phys_to_virt(root->kernel_cr3 & TS_PTE_ADDR & ~root->encrypt);
	memcpy(root->top + UPPER_HALF, kernel + UPPER_HALF,
	       (TABLE_ENTRIES - UPPER_HALF) * sizeof(*kernel));
	refresh(root);

	cr4 = (root->kernel_cr4 & ~(TS_CR4_PCIDE | TS_CR4_LASS)) |
	      (root->pcid ? TS_CR4_PCIDE : 0) | (root->has_pge ? TS_CR4_PGE : 0);
	ts_write_cr3(root->cr3);
	ts_write_cr4(cr4);
	flush_everything(root, cr4);
	if (root->pcid)
		ts_write_cr3(root->cr3 | root->pcid);

	root->cpu.cr3 = root->cr3 | root->pcid;
	root->cpu.cr4 = cr4;
	root->cpu.pcid = root->pcid;
	root->start = root->resumed = ts_read_tsc();
}

void ts_root_leave(struct ts_root *root)
{
	u64 off;

	ts_write_cr3(root->cr3);
	ts_write_cr4(root->kernel_cr4);
	ts_write_cr3(root->kernel_cr3);
	flush_everything(root, root->kernel_cr4);
	off = ts_read_tsc() - root->off;
	local_irq_enable();
	if (off > READ_ONCE(longest_slice))
		WRITE_ONCE(longest_slice, off);
}

/*
 * The loops of 2016 run chunk iterations between two pauses. It grows until these take a good part
 * of a slice, and shrinks when they take more than one.
 */
static __always_inline void adapt_chunk(struct ts_root *root, u64 now)
{
	u64 took = now - root->resumed;

	if (took * 3 < root->slice)
		root->cpu.chunk *= 2;
	else if (took > root->slice && root->cpu.chunk > 1)
		root->cpu.chunk /= 2;
}

/*
 * ts_cpu.pause: lets the kernel in when a slice is over. Does not return if the thread has to stop.
 */
static void pause(void *context)
{
	struct ts_root *root = context;
	u64 now = ts_read_tsc();

	adapt_chunk(root, now);
	if (now - root->start >= root->slice) {
		ts_root_leave(root);
		ts_session_breathe();
		ts_root_enter(root);
	}
	root->resumed = ts_read_tsc();
}

void ts_root_prepare(struct ts_root *root, u8 pcid)
{
	root->pcid = pcid ? PCID_OF_WINDOW : 0;
	root->cpu.pause = pause;
	root->cpu.context = root;
	root->cpu.chunk = 1;
	root->cpu.counters = &root->perf->counters;
}
