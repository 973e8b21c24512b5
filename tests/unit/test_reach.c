// SPDX-License-Identifier: GPL-2.0
/*
 * Reach: curves out of rows, the packed curve subtracted, declined points, cliffs where they were
 * put, the answer about large pages, table and JSON. The rows go through a file, as those of a run
 * do.
 */
#include "reach.h"
#include "table.h"
#include "util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPEATS 3

static const u64 all_lines[] = { 8, 16, 32, 48, 64, 72, 96, 128, 192, 256, 384, 512, 768, 1024,
				 1536, 2048, 3072, 4096, 6144, 8192 };

/* ---- a run made up ---- */

/* Cycles a line in one repeat; negative: declined. */
typedef double model(u64 lines, u64 repeat);

struct run {
	char dir[64], *path;
	struct rows_file *file;
	const char *host, *valid, *target;
	u64 repeats, sequence;
	struct rows rows;
	struct cells cells;
	struct reach reach;
};

static struct run *run_new(void)
{
	struct run *run = xcalloc(1, sizeof(*run));
	struct problem p = { 0 };

	strcpy(run->dir, "/tmp/tlbscope-reach.XXXXXX");
	assert_non_null(mkdtemp(run->dir));
	run->path = xasprintf("%s/rows.csv", run->dir);
	run->file = rows_create(run->path, NULL, 0, &p);
	assert_non_null(run->file);
	run->host = "4k";
	run->target = "user";
	run->valid = "ok";
	run->repeats = REPEATS;
	return run;
}

static void add_row(struct run *run, const char *text, u64 repeat, double cycles)
{
	struct row row = { .run = "made-up", .target = run->target, .accel = "vm", .cpu = "a CPU",
			   .host = run->host, .host_how = "inferred", .sequence = ++run->sequence };
	struct problem p = { 0 };
	struct ts_error error;

	assert_int_equal(ts_case_parse(text, &row.c, &error), TS_OK);
	row.c.repeat = repeat;
	row.class = ts_ops[row.c.op].class;
	strcpy(row.valid, cycles < 0 ? "no-memory" : run->valid);
	row.r.has_cycles = cycles >= 0;
	row.r.cycles = cycles < 0 ? 0 : round(cycles * row.c.touches);
	assert_int_equal(rows_append(run->file, &row, &p), 0);
}

/* A curve of all lines; format has one %llu for their number. */
static void add_curve(struct run *run, const char *format, model *cycles)
{
	u64 repeat;
	size_t i;

	for (repeat = 1; repeat <= run->repeats; repeat++)
		for (i = 0; i < TS_COUNT(all_lines); i++) {
			char line[128];

			snprintf(line, sizeof(line), format, all_lines[i]);
			add_row(run, line, repeat, cycles(all_lines[i], repeat));
		}
}

#define OVER "op=none phase=retouch "
#define SMALL OVER "guest=4k leaves=%llu"
#define LARGE OVER "guest=2m leaves=%llu"
#define APART OVER "guest=2m leaves=fit touches=%llu stride=4096"
#define PACKED OVER "guest=4k leaves=fit touches=%llu stride=64 offset=0"

static void run_build(struct run *run)
{
	struct problem p = { 0 };

	rows_close(run->file);
	run->file = NULL;
	assert_int_equal(rows_read(run->path, &run->rows, &p), 0);
	cells_build(&run->rows, &run->cells);
	reach_build(&run->cells, &run->reach);
}

static void run_free(struct run *run)
{
	reach_free(&run->reach);
	cells_free(&run->cells);
	rows_free(&run->rows);
	unlink(run->path);
	rmdir(run->dir);
	free(run->path);
	free(run);
}

/* ---- models ---- */

/* Timer and a first-level cache of 512 lines. */
static double caches(u64 lines, u64 repeat)
{
	(void)repeat;
	return 80.0 / lines + (lines <= 512 ? 3 : 9);
}

/* A TLB of 64 and 2048 entries over it. */
static double entries(u64 lines, u64 repeat)
{
	return caches(lines, repeat) + (lines <= 64 ? 0 : lines <= 2048 ? 6 : 60);
}

/* The same with less memory than the plan asks for. */
static double short_of_memory(u64 lines, u64 repeat)
{
	return lines > 1024 ? -1 : entries(lines, repeat);
}

static double never(u64 lines, u64 repeat)
{
	(void)lines;
	(void)repeat;
	return -1;
}

/* The third repeat is disturbed at one point; the other two agree. */
static double disturbed(u64 lines, u64 repeat)
{
	return entries(lines, repeat) + (repeat == 3 && lines == 256 ? 40 : 0);
}

/* Every repeat is somewhere else. */
static double noisy(u64 lines, u64 repeat)
{
	return entries(lines, repeat) + 5 * (repeat - 1);
}

/* Pieces of 32K: the first level is full at eight times as many lines, where the cache is, too. */
static double coalesced(u64 lines, u64 repeat)
{
	return caches(lines, repeat) + (lines <= 512 ? 0 : 6);
}

/* ---- helpers ---- */

static void assert_near(double a, double b, double by)
{
	if (!(fabs(a - b) <= by))
		fail_msg("%g is not %g", a, b);
}

static const struct reach_curve *curve_of(const struct run *run, const char *name)
{
	const struct reach_set *set;
	size_t i;

	assert_true(run->reach.count >= 1);
	set = &run->reach.set[0];
	for (i = 0; i < set->curves; i++)
		if (!strcmp(set->curve[i].name, name))
			return &set->curve[i];
	fail_msg("no curve is called %s", name);
	return NULL;
}

static void assert_cliff(const struct cliff *cliff, double from, double to, double rise,
			 enum cliff_certainty certainty)
{
	assert_near(cliff->from, from, 0);
	assert_near(cliff->to, to, 0);
	assert_near(cliff->rise, rise, 0.3);
	assert_int_equal(cliff->certainty, certainty);
}

static enum reach_answer answer_of(const struct run *run, const char *sentence)
{
	const struct reach_curve *large = curve_of(run, "2M pages, 4K apart");
	char *why;
	enum reach_answer answer = reach_answer(&run->reach.set[0], large, &why);

	if (!strstr(why, sentence))
		fail_msg("\"%s\" is not in \"%s\"", sentence, why);
	free(why);
	return answer;
}

/* The printed table; every line of it fits 100 columns. Caller frees. */
static char *table_text(const struct run *run)
{
	char *text = NULL, *copy, *save = NULL, *line;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_print(out, &run->rows, 1, NULL);
	fclose(out);
	copy = xstrdup(text);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strlen(line) > 100)
			fail_msg("too long: %s", line);
	free(copy);
	return text;
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in\n%s", part, text);
}

static void assert_silent(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" is in\n%s", part, text);
}

/* ---- tests ---- */

static void curves_out_of_rows(void **state)
{
	static const char *const names[] = { "4K pages", "2M pages", "2M pages, 4K apart",
					     "packed" };
	struct run *run = run_new();
	const struct reach_set *set;
	size_t i, j;

	(void)state;
	add_curve(run, PACKED, caches);
	add_curve(run, APART, entries);
	add_curve(run, LARGE, short_of_memory);
	add_curve(run, SMALL, entries);
	run_build(run);
	assert_int_equal(run->reach.count, 1);
	set = &run->reach.set[0];
	assert_int_equal(set->curves, TS_COUNT(names));
	for (i = 0; i < set->curves; i++) {
		assert_string_equal(set->curve[i].name, names[i]);
		assert_int_equal(set->curve[i].samples, TS_COUNT(all_lines));
		assert_int_equal(set->curve[i].packed, i == 3);
		assert_ptr_equal(set->curve[i].base, i == 3 ? NULL : &set->curve[3]);
		for (j = 0; j < set->curve[i].samples; j++)
			assert_near(set->curve[i].sample[j].lines, all_lines[j], 0);
	}
	for (i = 0; i < run->cells.count; i++)
		assert_true(reach_owns(&run->reach, &run->cells.cell[i]));
	run_free(run);
}

static void packed_is_subtracted(void **state)
{
	struct run *run = run_new();
	const struct reach_curve *small, *packed;

	(void)state;
	add_curve(run, SMALL, entries);
	add_curve(run, PACKED, caches);
	run_build(run);
	small = curve_of(run, "4K pages");
	packed = curve_of(run, "packed");
	assert_near(reach_at(small, 8)->cycles, 13, 0.1);
	assert_near(reach_at(small, 8)->net, 0, 0.1);
	assert_near(reach_at(small, 256)->net, 6, 0.1);
	assert_near(reach_at(small, 8192)->net, 60, 0.1);
	assert_near(reach_at(small, 256)->spread, 0, 0.01);
	assert_true(isnan(reach_at(packed, 256)->net));
	assert_null(reach_at(packed, 257));
	/* Next to the edge of the cache the rest is uncertain by what the cache costs. */
	assert_near(reach_at(small, 768)->net_spread, 6, 0.2);
	assert_true(reach_at(small, 256)->net_spread < 0.2);
	/* Few lines: the timer's steps are shared out among them. */
	assert_near(reach_at(small, 8)->net_spread, 3, 0.1);
	run_free(run);
}

static void cliffs_where_they_are(void **state)
{
	struct run *run = run_new();
	struct cliff cliff[REACH_CLIFFS];

	(void)state;
	add_curve(run, SMALL, entries);
	add_curve(run, PACKED, caches);
	run_build(run);
	assert_int_equal(reach_cliffs(curve_of(run, "4K pages"), cliff), 2);
	assert_cliff(&cliff[0], 64, 72, 6, CLIFF_CLEAR);
	assert_cliff(&cliff[1], 2048, 3072, 54, CLIFF_CLEAR);
	assert_near(reach_searched(curve_of(run, "4K pages")), 8192, 0);
	/* The cache's own edge is one of the packed curve and of no other. */
	assert_int_equal(reach_cliffs(curve_of(run, "packed"), cliff), 1);
	assert_cliff(&cliff[0], 512, 768, 6, CLIFF_CLEAR);
	run_free(run);
}

/* Not so sharply to be located, but not lost either. */
static void cliff_at_the_edge_of_a_cache(void **state)
{
	struct run *run = run_new();
	struct cliff cliff[REACH_CLIFFS];

	(void)state;
	add_curve(run, APART, coalesced);
	add_curve(run, PACKED, caches);
	run_build(run);
	assert_int_equal(reach_cliffs(curve_of(run, "2M pages, 4K apart"), cliff), 1);
	assert_cliff(&cliff[0], 384, 1024, 6, CLIFF_CLEAR);
	run_free(run);
}

static void declined_points(void **state)
{
	struct run *run = run_new();
	const struct reach_curve *large;
	struct cliff cliff[REACH_CLIFFS];
	char *text;

	(void)state;
	add_curve(run, LARGE, short_of_memory);
	add_curve(run, PACKED, caches);
	add_curve(run, APART, never);
	run_build(run);
	assert_int_equal(answer_of(run, "too few of their points"), REACH_NOT_TOLD);
	large = curve_of(run, "2M pages");
	assert_true(isnan(reach_at(large, 1536)->cycles));
	assert_true(isnan(reach_at(large, 1536)->net));
	assert_int_equal(reach_at(large, 1536)->values, 0);
	assert_int_equal(reach_cliffs(large, cliff), 1);
	assert_cliff(&cliff[0], 64, 72, 6, CLIFF_CLEAR);
	assert_near(reach_searched(large), 1024, 0);
	text = table_text(run);
	assert_says(text, " 1536      9.1          declined         declined\n");
	assert_says(text, "declined: not measured");
	assert_says(text, "no-memory");
	free(text);
	run_free(run);
}

static void spread_of_repeats(void **state)
{
	struct run *run = run_new();
	const struct reach_sample *sample;
	struct cliff cliff[REACH_CLIFFS];

	(void)state;
	add_curve(run, SMALL, disturbed);
	add_curve(run, APART, noisy);
	add_curve(run, PACKED, caches);
	run_build(run);
	/* One disturbed repeat of three neither moves the point nor makes a cliff. */
	sample = reach_at(curve_of(run, "4K pages"), 256);
	assert_near(sample->net, 6, 0.1);
	assert_near(sample->spread, 10, 0.1);
	assert_int_equal(reach_cliffs(curve_of(run, "4K pages"), cliff), 2);
	/* Repeats that differ by 5 each hide the first level and leave the second. */
	assert_near(reach_at(curve_of(run, "2M pages, 4K apart"), 256)->spread, 2.5, 0.1);
	assert_int_equal(reach_cliffs(curve_of(run, "2M pages, 4K apart"), cliff), 2);
	assert_int_equal(cliff[0].certainty, CLIFF_DOUBTFUL);
	assert_int_equal(cliff[1].certainty, CLIFF_CLEAR);
	run_free(run);
}

static void single_repeats_are_doubtful(void **state)
{
	struct run *run = run_new();
	struct cliff cliff[REACH_CLIFFS];

	(void)state;
	run->repeats = 1;
	add_curve(run, SMALL, entries);
	add_curve(run, APART, entries);
	add_curve(run, PACKED, caches);
	run_build(run);
	assert_true(isnan(reach_at(curve_of(run, "4K pages"), 64)->spread));
	assert_int_equal(reach_cliffs(curve_of(run, "4K pages"), cliff), 2);
	assert_cliff(&cliff[0], 64, 72, 6, CLIFF_DOUBTFUL);
	assert_int_equal(answer_of(run, "no cliff of the 4K pages is certain"), REACH_NOT_TOLD);
	run_free(run);
}

static void answer_about_large_pages(void **state)
{
	static const struct {
		model *apart;
		enum reach_answer answer;
		const char *sentence;
	} kinds[] = {
		{ entries, REACH_PIECES, "2M pages are cached in pieces: from 64 to 72 lines" },
		{ caches, REACH_ONE_ENTRY, "2M pages are cached as one entry each: from 64 to" },
		{ coalesced, REACH_NOT_TOLD, "they have a cliff, but elsewhere than 4K pages" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < TS_COUNT(kinds); i++) {
		struct run *run = run_new();

		add_curve(run, SMALL, entries);
		add_curve(run, APART, kinds[i].apart);
		add_curve(run, PACKED, caches);
		run_build(run);
		assert_int_equal(answer_of(run, kinds[i].sentence), kinds[i].answer);
		assert_true(reach_asks(curve_of(run, "2M pages, 4K apart")));
		assert_false(reach_asks(curve_of(run, "4K pages")));
		run_free(run);
	}
}

static void nothing_to_compare_with(void **state)
{
	struct run *run = run_new();
	struct cliff cliff[REACH_CLIFFS];
	char *text;

	(void)state;
	add_curve(run, APART, entries);
	run_build(run);
	assert_true(isnan(reach_at(curve_of(run, "2M pages, 4K apart"), 64)->net));
	assert_int_equal(reach_cliffs(curve_of(run, "2M pages, 4K apart"), cliff), 0);
	assert_int_equal(answer_of(run, "there is no packed curve"), REACH_NOT_TOLD);
	text = table_text(run);
	assert_says(text, "not told: no packed curve");
	free(text);
	run_free(run);
}

static void invalid_rows_carry_no_cliff(void **state)
{
	struct run *run = run_new();
	struct cliff cliff[REACH_CLIFFS];
	char *text;

	(void)state;
	run->valid = "nested";
	add_curve(run, SMALL, entries);
	run->valid = "ok";
	add_curve(run, PACKED, caches);
	run_build(run);
	assert_int_equal(reach_cliffs(curve_of(run, "4K pages"), cliff), 0);
	text = table_text(run);
	assert_says(text, "  256      3.3     9.3!    (6.0)");
	assert_says(text, "not told: fewer than two valid points");
	free(text);
	run_free(run);
}

static void hosts_are_separate(void **state)
{
	struct run *run = run_new();
	json_t *json;

	(void)state;
	add_curve(run, SMALL, entries);
	add_curve(run, PACKED, caches);
	run->host = "2m";
	add_curve(run, SMALL, entries);
	run_build(run);
	assert_int_equal(run->reach.count, 2);
	assert_int_equal(run->reach.set[0].curves, 2);
	assert_int_equal(run->reach.set[1].curves, 1);
	assert_null(run->reach.set[1].curve[0].base);
	json = reach_json(&run->reach);
	assert_int_equal(json_array_size(json_object_get(json, "hosts")), 2);
	json_decref(json);
	run_free(run);
}

static void emulated_cpus_show_nothing(void **state)
{
	struct run *run = run_new();
	char *text;

	(void)state;
	run->valid = "emulated-cpu";
	run->target = "tcg";
	add_curve(run, SMALL, entries);
	add_curve(run, PACKED, caches);
	run_build(run);
	assert_true(run->reach.set[0].emulated);
	text = table_text(run);
	assert_says(text, "the CPU is emulated");
	assert_silent(text, "packed");
	assert_silent(text, "selective");
	free(text);
	run_free(run);
}

/* Cells with flushes, and a lonely one without, keep the tables that they had. */
static void other_cells_are_left_alone(void **state)
{
	struct run *run = run_new();
	char *text;
	size_t i;

	(void)state;
	add_row(run, "op=none phase=retouch guest=4k leaves=256", 1, 10);
	add_row(run, "op=invlpg at=far phase=retouch guest=4k leaves=256", 1, 10);
	add_row(run, "op=cr3 phase=retouch guest=4k leaves=256", 1, 40);
	add_row(run, "op=none phase=retouch guest=4k leaves=512", 1, 10);
	run_build(run);
	assert_int_equal(run->reach.count, 0);
	for (i = 0; i < run->cells.count; i++)
		assert_false(reach_owns(&run->reach, &run->cells.cell[i]));
	text = table_text(run);
	assert_says(text, "invlpg far / cr3");
	assert_silent(text, "reach");
	free(text);
	run_free(run);
}

static void table_and_json(void **state)
{
	struct run *run = run_new();
	json_t *json, *curve, *host;
	char *text;

	(void)state;
	add_curve(run, SMALL, entries);
	add_curve(run, LARGE, short_of_memory);
	add_curve(run, APART, entries);
	add_curve(run, OVER "guest=1g leaves=fit touches=%llu stride=4096", caches);
	add_curve(run, SMALL " frames=scattered", entries);
	add_curve(run, SMALL " access=write", entries);
	add_curve(run, PACKED, caches);
	run_build(run);
	text = table_text(run);
	assert_says(text, "reach, host page 4k (inferred)");
	assert_says(text, "between 64 and 72 lines");
	assert_says(text, "clear");
	assert_says(text, "2M pages are cached in pieces");
	assert_says(text, "1G pages are cached as one entry each");
	assert_silent(text, "selective");
	free(text);
	json = table_json(&run->rows, 1);
	host = json_object_get(json_array_get(json_object_get(json, "runs"), 0), "reach");
	host = json_array_get(json_object_get(host, "hosts"), 0);
	assert_int_equal(json_array_size(json_object_get(host, "curves")), 7);
	assert_int_equal(json_array_size(json_object_get(host, "answers")), 2);
	curve = json_array_get(json_object_get(host, "curves"), 3);
	assert_string_equal(json_string_value(json_object_get(curve, "name")), "2M pages");
	curve = json_array_get(json_object_get(curve, "points"), TS_COUNT(all_lines) - 1);
	assert_true(json_is_null(json_object_get(curve, "cycles")));
	assert_string_equal(json_string_value(json_object_get(curve, "valid")), "no-memory");
	json_decref(json);
	run_free(run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(curves_out_of_rows),
		cmocka_unit_test(packed_is_subtracted),
		cmocka_unit_test(cliffs_where_they_are),
		cmocka_unit_test(cliff_at_the_edge_of_a_cache),
		cmocka_unit_test(declined_points),
		cmocka_unit_test(spread_of_repeats),
		cmocka_unit_test(single_repeats_are_doubtful),
		cmocka_unit_test(answer_about_large_pages),
		cmocka_unit_test(nothing_to_compare_with),
		cmocka_unit_test(invalid_rows_carry_no_cliff),
		cmocka_unit_test(hosts_are_separate),
		cmocka_unit_test(emulated_cpus_show_nothing),
		cmocka_unit_test(other_cells_are_left_alone),
		cmocka_unit_test(table_and_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
