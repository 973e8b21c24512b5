// SPDX-License-Identifier: GPL-2.0
/*
 * The window: an expansion mapped into page tables, and the chain in its lines.
 *
 * What is mapped is read back by the walker of truth.h (SDM vol. 3, 4.5). Physical memory is a
 * sparse file: for the chain each leaf is mapped into this process at its own address, to the
 * place in the file that the walker finds, so that leaves which share memory share it here too.
 * How many frames and tables a window takes is worked out by hand.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

#include "measure.h"
#include "window.h"

#define BASE 0x0000200000000000ULL
#define GIB (1ULL << 30)
#define RAM_BASE (4 * GIB)  /* physical address of the first 2M frame */
#define RAM_1G (68 * GIB)   /* of the first 1G frame */
#define RAM_SIZE (72 * GIB) /* of the file */
#define XD 0x8000000000000000ULL

static struct pool pool;
static u64 touch[TS_MAX_TOUCHES];
static u64 *leaf[2][TS_MAX_LEAVES];

struct ram {
	u64 large, giant; /* frames of 2M and 1G */
};

static u64 ram_frame(void *context, u64 page, u64 n)
{
	const struct ram *ram = context;

	assert_true(page == TS_2M || page == TS_1G);
	if (page == TS_2M)
		return n < ram->large ? RAM_BASE + n * 0x200000 : 0;
	return n < ram->giant ? RAM_1G + n * GIB : 0;
}

static u64 ram_frames(void *context, u64 page)
{
	const struct ram *ram = context;

	return page == TS_1G ? ram->giant : ram->large;
}

static enum ts_status map(struct ts_window *window, const struct ts_expansion *e,
			  const struct ts_tables *tables, struct ram *ram, u64 flags,
			  struct ts_error *error)
{
	const struct ts_memory memory = { .context = ram,
					  .frame = ram_frame,
					  .frames = ram_frames };

	memset(window, 0, sizeof(*window));
	window->e = e;
	window->leaf[0] = leaf[0];
	window->leaf[1] = leaf[1];
	return ts_window_map(window, tables, &memory, flags, error);
}

static void expand(const struct ts_case *c, struct ts_expansion *e)
{
	struct ts_error error;

	if (ts_expand(c, BASE, touch, e, &error))
		fail_msg("expansion: %s", error.word);
}

/* --- What is mapped --------------------------------------------------------------------------- */

/* Physical memory in use, to see that none is used twice. */
static struct span {
	u64 pa, size;
} used[TS_MAX_LEAVES];
static u32 used_n;

static int compare(const void *a, const void *b) /* two u64, or structs that begin with one */
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void use(u64 pa, u64 size)
{
	assert_true(used_n < TS_COUNT(used));
	used[used_n++] = (struct span){ pa, size };
}

static void assert_none_used_twice(void)
{
	u32 i;

	qsort(used, used_n, sizeof(used[0]), compare);
	for (i = 1; i < used_n; i++)
		assert_true(used[i - 1].pa + used[i - 1].size <= used[i].pa);
}

static u64 pa_of(const struct ts_tables *tables, u64 va)
{
	struct walk w;

	assert_int_equal(walk(&pool, tables, va, &w), WALKED);
	return w.pa;
}

static void assert_absent(const struct ts_tables *tables, u64 va)
{
	struct walk w;

	assert_int_equal(walk(&pool, tables, va, &w), NOT_PRESENT);
}

/*
 * Every leaf: its entry bit by bit, its ends, nothing around it; frames that belong to the owner.
 */
static void check_set(const struct ts_window *window, const struct ts_tables *tables, u32 s,
		      const struct ram *ram, u64 flags)
{
	const struct ts_set *set = &window->e->set[s];
	u64 size = leaf_bytes[set->page], expected, va, i;
	struct walk w;

	if (window->e->c.code) /* code is to run there */
		flags &= ~XD;
	for (i = 0; i < set->leaves; i++) {
		va = set->va + i * set->step;
		assert_int_equal(walk(&pool, tables, va, &w), WALKED);
		assert_ptr_equal(w.at, window->leaf[s][i]);
		assert_int_equal(w.level, set->page);
		assert_true(w.writable);
		assert_int_equal(w.no_execute, flags >> 63);
		expected = w.pa | 0x3 | flags | (window->e->c.global ? 0x100 : 0) |
			   (set->page ? 0x80 : 0);
		assert_true(*w.at == expected);
		assert_true(w.pa % size == 0);
		if (set->page == TS_1G)
			assert_true(w.pa >= RAM_1G && w.pa < RAM_1G + ram->giant * GIB);
		else
			assert_true(w.pa >= RAM_BASE && w.pa < RAM_BASE + ram->large * 0x200000);
		if (set->page != TS_1G)
			use(w.pa, size);
		assert_true(pa_of(tables, va + size - 1) == w.pa + size - 1);
		if (i + 1 == set->leaves || set->step > size)
			assert_absent(tables, va + size);
	}
	assert_absent(tables, set->va - 1);
}

/*
 * Physical neighbours: all in a row, or no two that follow each other and no aligned four
 * together.
 */
static void check_frames(const struct ts_window *window, const struct ts_tables *tables, u32 s)
{
	const struct ts_set *set = &window->e->set[s];
	u64 size = leaf_bytes[set->page], before = 0, pa, i;
	u8 scattered = window->e->c.frames == TS_SCATTERED;

	if (set->page == TS_1G)
		return;
	for (i = 0; i < set->leaves; i++, before = pa) {
		pa = pa_of(tables, set->va + i * set->step);
		if (!i)
			continue;
		if (scattered)
			assert_true(pa != before + size && before != pa + size);
		else
			assert_true(pa == before + size);
		/* AMD coalesces four 4K pages: virtually and physically in one aligned 16K. */
		if (scattered && i >= 3)
			assert_true(pa_of(tables, set->va + (i - 3) * set->step) / (4 * size) !=
				    pa / (4 * size));
	}
}

/* Frame of the twin's entry: bits 51..12 (SDM vol. 3, tables 4-15 to 4-20). */
static u64 twin_frame(const struct ts_window *window)
{
	return window->twin_entry & 0x000ffffffffff000ULL;
}

static void check_window(const struct ts_window *window, const struct ts_tables *tables,
			 const struct ram *ram, u64 flags)
{
	const struct ts_expansion *e = window->e;
	u64 i, global = e->c.global ? 0x100 : 0;
	struct walk w;
	u32 s;

	used_n = 0;
	for (s = 0; s < 2; s++) {
		check_set(window, tables, s, ram, flags);
		check_frames(window, tables, s);
	}
	for (i = 0; i < e->mapped; i++) {
		assert_int_equal(walk(&pool, tables, e->mapped_va + i * 4096, &w), WALKED);
		assert_int_equal(w.level, 0);
		assert_true(*w.at == (w.pa | 0x3 | flags | global));
		use(w.pa, 4096);
	}
	if (e->mapped) {
		assert_absent(tables, e->mapped_va - 1);
		assert_absent(tables, e->mapped_va + e->mapped * 4096);
	}
	assert_absent(tables, BASE + 384 * GIB);
	if (twin_frame(window) && e->set[0].page != TS_1G) {
		assert_true(twin_frame(window) % leaf_bytes[e->set[0].page] == 0);
		assert_true(twin_frame(window) < RAM_BASE + ram->large * 0x200000);
		use(twin_frame(window), leaf_bytes[e->set[0].page]);
		assert_true((window->twin_entry ^ twin_frame(window)) ==
			    (*window->leaf[0][0] ^ (*window->leaf[0][0] & 0x000ffffffffff000ULL)));
	}
	assert_none_used_twice();
}

static void test_random_windows(void **state)
{
	static const u64 flags[] = { 0, XD, XD | 0x200 };
	struct ts_expansion e;
	struct ts_window window;
	struct ts_error error;
	struct ts_case c;
	u64 random = 51;
	u32 i, windows = 0;

	(void)state;
	for (i = 0; i < 1000; i++) {
		struct ram ram = { .large = 4096, .giant = 1 + random_below(&random, 3) };
		struct ts_tables tables = pool_tables(&pool, 4 + random_below(&random, 2), 250);
		u64 flag = flags[random_below(&random, 3)];

		random_case(&random, &c);
		assert_int_equal(ts_case_finish(&c, &error), TS_OK);
		if (ts_expand(&c, BASE, touch, &e, &error))
			continue;
		assert_int_equal(map(&window, &e, &tables, &ram, flag, &error), TS_OK);
		check_window(&window, &tables, &ram, flag);
		windows++;
		if (c.guest != TS_1G || ram.giant > 1)
			assert_true(twin_frame(&window) != 0);
		if (c.guest == TS_1G && ram.giant == 1)
			assert_true(twin_frame(&window) == 0);
		if (c.guest == TS_1G && twin_frame(&window))
			assert_true(twin_frame(&window) != pa_of(&tables, BASE));
	}
	assert_true(windows > 900);
}

/* Many leaves, over page tables and 2M frames. */
static void test_large_windows(void **state)
{
	static const char *const lines[] = {
		"guest=4k leaves=5000",
		"guest=4k leaves=5000 frames=scattered mix=2m:40",
		"guest=2m leaves=1200 frames=scattered",
		"guest=2m leaves=3000 op=invlpg at=mapped count=512",
	};
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(lines); i++) {
		struct ram ram = { .large = 4096 };
		struct ts_tables tables = pool_tables(&pool, 4, 250);
		struct ts_case c = case_of(lines[i]);
		struct ts_expansion e;
		struct ts_window window;
		struct ts_error error;

		expand(&c, &e);
		assert_int_equal(map(&window, &e, &tables, &ram, XD, &error), TS_OK);
		check_window(&window, &tables, &ram, XD);
	}
}

/* --- Out of memory ---------------------------------------------------------------------------- */

static enum ts_status map_with(const char *line, u64 large, u64 giant, u32 tables_left,
			       struct ts_window *window, struct ts_error *error)
{
	static struct ts_expansion e;
	struct ts_tables tables = pool_tables(&pool, 4, tables_left);
	struct ram ram = { .large = large, .giant = giant };
	struct ts_case c = case_of(line);
	enum ts_status status;

	expand(&c, &e);
	memset(error, 0, sizeof(*error));
	status = map(window, &e, &tables, &ram, 0, error);
	assert_int_equal(error->status, status);
	if (!status)
		check_window(window, &tables, &ram, 0);
	return status;
}

/*
 * Frames that the leaves take: one for each 2M leaf, one for each 512 small ones; scattered ones at
 * least two apart, so at least twice as many but one.
 */
static void test_out_of_frames_by_hand(void **state)
{
	static const struct {
		const char *line;
		u64 frames;
	} table[] = {
		{ "guest=2m leaves=1", 1 },
		{ "guest=2m leaves=16", 16 },
		{ "guest=4k leaves=1", 1 },
		{ "guest=4k leaves=512", 1 },
		{ "guest=4k leaves=513", 2 },
		{ "guest=4k leaves=1025", 3 },
	};
	struct ts_window window;
	struct ts_error error;
	u64 n;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		for (n = 0; n < table[i].frames; n++) {
			assert_int_equal(map_with(table[i].line, n, 0, 250, &window, &error),
					 TS_NO_MEMORY);
			assert_string_equal(error.word, "leaves");
			assert_non_null(error.hint);
		}
		assert_int_equal(map_with(table[i].line, n, 0, 250, &window, &error), TS_OK);
		assert_int_equal(map_with(table[i].line, n + 1, 0, 250, &window, &error), TS_OK);
		assert_true(twin_frame(&window) != 0);
	}
	/* All frames are taken by leaves: no second frame for the twin. */
	map_with("guest=2m leaves=16", 16, 0, 250, &window, &error);
	assert_true(twin_frame(&window) == 0);
	map_with("guest=4k leaves=512", 1, 0, 250, &window, &error);
	assert_true(twin_frame(&window) == 0);
	map_with("guest=4k leaves=511", 1, 0, 250, &window, &error);
	assert_true(twin_frame(&window) == RAM_BASE + 511 * 4096);
}

/* Without the n-th frame, for every n: refused by name until there are enough, then right. */
static void test_out_of_each_frame(void **state)
{
	static const char *const lines[] = {
		"guest=2m leaves=8 frames=scattered", "guest=4k leaves=1024 frames=scattered",
		"guest=4k leaves=16 mix=2m:8", "guest=2m leaves=8 mix=4k:600",
		"guest=2m leaves=4 mix=2m:4 frames=scattered op=invlpg at=mapped",
		"guest=2m leaves=4 op=invlpg at=mapped count=512",
	};
	struct ts_window window;
	struct ts_error error;
	enum ts_status status = TS_OK, before;
	u64 n;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(lines); i++) {
		for (n = 0, before = TS_NO_MEMORY; n < 64; n++, before = status) {
			status = map_with(lines[i], n, 0, 250, &window, &error);
			if (!status)
				continue;
			assert_int_equal(status, TS_NO_MEMORY);
			assert_int_equal(before, TS_NO_MEMORY); /* more memory is never worse */
			assert_true(!strcmp(error.word, "leaves") || !strcmp(error.word, "mix") ||
				    !strcmp(error.word, "mapped"));
		}
		assert_int_equal(status, TS_OK);
		assert_true(twin_frame(&window) != 0);
	}
}

static void test_out_of_gigabytes(void **state)
{
	struct ts_window window;
	struct ts_error error;

	(void)state;
	assert_int_equal(map_with("guest=1g leaves=4", 64, 0, 250, &window, &error), TS_NO_MEMORY);
	assert_string_equal(error.word, "leaves");
	assert_int_equal(map_with("guest=1g leaves=4", 64, 1, 250, &window, &error), TS_OK);
	assert_true(twin_frame(&window) == 0); /* the only gigabyte there is */
	assert_int_equal(map_with("guest=1g leaves=4", 64, 2, 250, &window, &error), TS_OK);
	assert_true(twin_frame(&window) == RAM_1G + GIB);
	assert_int_equal(map_with("guest=4k leaves=4 mix=1g:2", 64, 0, 250, &window, &error),
			 TS_NO_MEMORY);
	assert_string_equal(error.word, "mix");
}

/*
 * Tables below the root, four levels, everything below one PML4 entry. 4k: one pointer table, a
 * directory and a page table for each region and each 2M begun. 2m: no page tables. 1g: the
 * pointer table only.
 */
static void test_out_of_each_table(void **state)
{
	static const struct {
		const char *line;
		u32 tables;
	} table[] = {
		{ "guest=4k leaves=50", 3 },
		{ "guest=4k leaves=513", 4 },
		{ "guest=2m leaves=16", 2 },
		{ "guest=2m leaves=513", 3 },
		{ "guest=1g leaves=16", 1 },
		{ "guest=4k leaves=50 mix=2m:4", 4 },
		{ "guest=1g leaves=2 mix=4k:4 op=invlpg at=mapped", 1 + 2 + 2 },
		{ "guest=4k leaves=8 stride=2m offset=0", 1 + 1 + 8 },
		{ "guest=2m leaves=4 stride=1g", 1 + 4 },
		/* 512 pages from page 56 on end in the second page table */
		{ "guest=2m leaves=1 op=invlpg at=mapped count=512", 2 + 3 },
	};
	struct ts_window window;
	struct ts_error error;
	u32 i, n;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		for (n = 0; n < table[i].tables; n++) {
			assert_int_equal(map_with(table[i].line, 2000, 2, n, &window, &error),
					 TS_NO_MEMORY);
			assert_string_equal(error.word, "page-tables");
			assert_int_equal(pool.used, n + 1); /* all that there were have been used */
		}
		assert_int_equal(map_with(table[i].line, 2000, 2, n, &window, &error), TS_OK);
		assert_int_equal(pool.used, n + 1);
	}
}

/* --- The chain -------------------------------------------------------------------------------- */

static int ram_file = -1;

static int open_ram(void **state)
{
	(void)state;
	ram_file = memfd_create("test-ram", MFD_CLOEXEC);
	return ram_file < 0 || ftruncate(ram_file, RAM_SIZE);
}

static int close_ram(void **state)
{
	(void)state;
	return close(ram_file);
}

/* Maps each leaf of a set into this process, runs of neighbours in one go; or unmaps them. */
static void lend(const struct ts_tables *tables, const struct ts_set *set, u8 on)
{
	u64 size = leaf_bytes[set->page], i, n, va, pa;

	for (i = 0; i < set->leaves; i += n) {
		va = set->va + i * set->step;
		pa = pa_of(tables, va);
		for (n = 1; i + n < set->leaves && set->step == size; n++)
			if (pa_of(tables, va + n * size) != pa + n * size)
				break;
		if (!on)
			assert_int_equal(munmap((void *)va, n * size), 0);
		else if (mmap((void *)va, n * size, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, ram_file,
			      pa - RAM_BASE) != (void *)va)
			fail_msg("mmap at 0x%llx: the address is taken", va);
	}
}

static u8 lines_shared(const struct ts_tables *tables, const struct ts_expansion *e)
{
	static u64 line[TS_MAX_TOUCHES];
	u64 t;

	for (t = 0; t < e->touches; t++)
		line[t] = pa_of(tables, e->touch[t]) / 64;
	qsort(line, e->touches, sizeof(line[0]), compare);
	for (t = 1; t < e->touches; t++)
		if (line[t] == line[t - 1])
			return 1;
	return 0;
}

/* From any line the chain goes to the next in visiting order, and from the last to the first. */
static void follow(const struct ts_expansion *e)
{
	u64 at = e->touch[0], t;

	for (t = 1; t <= e->touches; t++) {
		at = *(const u64 *)at;
		assert_true(at == e->touch[t % e->touches]);
	}
}

/* Maps, lends, links, follows. The chain has to hold exactly when no two touches share a line. */
static enum ts_status link_case(const struct ts_case *c, u64 gigabytes)
{
	struct ts_tables tables = pool_tables(&pool, 4, 250);
	struct ram ram = { .large = 4096, .giant = gigabytes };
	struct ts_window window;
	struct ts_expansion e;
	struct ts_error error;
	enum ts_status status;

	if (ts_expand(c, BASE, touch, &e, &error))
		return TS_EMPTY;
	assert_int_equal(map(&window, &e, &tables, &ram, 0, &error), TS_OK);
	lend(&tables, &e.set[0], 1);
	lend(&tables, &e.set[1], 1);
	status = ts_window_link(&window, &error);
	assert_int_equal(status, lines_shared(&tables, &e) ? TS_CONFLICT : TS_OK);
	if (!status)
		follow(&e);
	else
		assert_int_equal(error.status, TS_CONFLICT);
	lend(&tables, &e.set[0], 0);
	lend(&tables, &e.set[1], 0);
	assert_int_equal(ftruncate(ram_file, 0), 0);
	assert_int_equal(ftruncate(ram_file, RAM_SIZE), 0);
	return status;
}

static void test_chain_random(void **state)
{
	struct ts_error error;
	struct ts_case c;
	u64 random = 61;
	u32 i, linked = 0;

	(void)state;
	for (i = 0; i < 200; i++) {
		random_case(&random, &c);
		assert_int_equal(ts_case_finish(&c, &error), TS_OK);
		linked += link_case(&c, 1 + random_below(&random, 3)) == TS_OK;
	}
	assert_true(linked > 150);
}

/* The cells of the plans, in both orders and with several seeds. */
static void test_chain_of_plans(void **state)
{
	static const char *const lines[] = {
		"guest=4k leaves=50",
		"guest=2m leaves=16",
		"guest=1g leaves=4",
		"guest=4k leaves=1",
		"guest=4k leaves=2",
		"guest=2m leaves=1 touches=50 stride=4k offset=0",
		"guest=4k leaves=25 mix=2m:8",
		"guest=2m leaves=2 touches=1024",
		"guest=4k leaves=1024",
		"guest=4k leaves=1024 frames=scattered",
		"guest=2m leaves=64 frames=scattered",
		"guest=1g leaves=8 mix=4k:8",
		"guest=4k leaves=8 stride=256k",
		"guest=4k leaves=2 touches=128 stride=64 offset=0",
	};
	struct ts_case c;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(lines); i++) {
		c = case_of(lines[i]);
		for (c.order = 0; c.order < TS_ORDERS; c.order++)
			for (c.seed = 0; c.seed < 2; c.seed++)
				assert_int_equal(link_case(&c, 1), TS_OK);
	}
}

/* 1G leaves over one gigabyte: at a fixed offset they share a line, spread they do not. */
static void test_chain_shared_gigabyte(void **state)
{
	struct ts_case c = case_of("guest=1g leaves=4 offset=0");

	(void)state;
	assert_int_equal(link_case(&c, 1), TS_CONFLICT);
	assert_int_equal(link_case(&c, 3), TS_CONFLICT);
	assert_int_equal(link_case(&c, 4), TS_OK);
	c = case_of("guest=1g leaves=64");
	assert_int_equal(link_case(&c, 1), TS_OK);
}

/* Any two of the touches in one line: wherever they stand, the chain is no cycle over all. */
static void test_chain_refuses_shared_lines(void **state)
{
	static u64 lines[8][8] __attribute__((aligned(64)));
	struct ts_expansion e = { .touch = touch };
	const struct ts_window window = { .e = &e };
	struct ts_error error;
	u32 n, i, j, t;

	(void)state;
	for (n = 1; n <= 8; n++) {
		for (i = 0; i < n; i++) {
			for (j = i; j < n; j++) { /* i == j: nothing is shared */
				for (t = 0; t < n; t++)
					touch[t] = (u64)lines[t == j ? i : t];
				e.touches = n;
				assert_int_equal(ts_window_link(&window, &error),
						 i == j ? TS_OK : TS_CONFLICT);
			}
		}
	}
}

static void count_pauses(void *context)
{
	++*(u32 *)context;
}

/*
 * A function in each line, behind the chain, each called: ENDBR64 and RET by their encodings in SDM vol. 2. A
 * pause before each 64 of them; nothing at all without code=1.
 */
static void test_code(void **state)
{
	enum { LINES = 130, CODE_AT = 16 };
	static const u8 function[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 };
	const size_t size = LINES * 64;
	struct ts_expansion e = { .touch = touch, .touches = LINES };
	const struct ts_window window = { .e = &e };
	u32 pauses = 0, i;
	const struct ts_cpu cpu = { .pause = count_pauses, .context = &pauses };
	const struct ts_cpu without = { 0 };
	struct ts_error error;
	u8 *lines;

	(void)state;
	lines = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(lines != MAP_FAILED);
	for (i = 0; i < LINES; i++)
		touch[i] = (u64)(lines + i * 64);
	assert_int_equal(ts_window_link(&window, &error), TS_OK);
	ts_window_run_code(&window, &cpu);
	assert_int_equal(pauses, 0);
	for (i = 0; i < LINES; i++)
		assert_int_equal(lines[i * 64 + CODE_AT], 0);
	e.c.code = 1;
	ts_window_run_code(&window, &without);
	ts_window_run_code(&window, &cpu);
	assert_int_equal(pauses, 3);
	for (i = 0; i < LINES; i++)
		assert_memory_equal(lines + i * 64 + CODE_AT, function, sizeof(function));
	follow(&e);
	assert_int_equal(munmap(lines, size), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_windows),
		cmocka_unit_test(test_large_windows),
		cmocka_unit_test(test_out_of_frames_by_hand),
		cmocka_unit_test(test_out_of_each_frame),
		cmocka_unit_test(test_out_of_gigabytes),
		cmocka_unit_test(test_out_of_each_table),
		cmocka_unit_test(test_chain_random),
		cmocka_unit_test(test_chain_of_plans),
		cmocka_unit_test(test_chain_shared_gigabyte),
		cmocka_unit_test(test_chain_refuses_shared_lines),
		cmocka_unit_test(test_code),
	};

	return cmocka_run_group_tests_name("window", tests, open_ram, close_ram);
}
