// SPDX-License-Identifier: GPL-2.0
/*
 * The line protocol: bytes into lines, commands, rows and errors.
 *
 * The truth is the description of the protocol (lines of printable ASCII, ended by a line feed
 * with or without a carriage return before it) and a second, much simpler splitter over the whole
 * input at once. Row values are checked as text, typed here.
 */
#include "truth.h"

#include "protocol.h"

#define MAX_TEXT (TS_MAX_LINE - 1) /* characters of the longest line */

/* --- Bytes into lines ------------------------------------------------------------------------- */

/* Feeds bytes; all but the last must not complete a line. Returns what the last one does. */
static u8 feed(struct ts_line *line, const char *bytes, size_t n)
{
	u8 done = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		assert_false(done);
		done = ts_line_feed(line, bytes[i]);
	}
	return done;
}

static void assert_line(struct ts_line *line, const char *bytes, const char *expected)
{
	assert_true(feed(line, bytes, strlen(bytes)));
	assert_int_equal(line->status, TS_OK);
	assert_string_equal(line->buffer, expected);
	assert_int_equal(line->length, strlen(expected));
}

static void test_lines(void **state)
{
	struct ts_line line;

	(void)state;
	ts_line_init(&line);
	assert_line(&line, "hello\n", "hello");
	assert_line(&line, "hello\r\n", "hello");
	assert_line(&line, "\n", "");
	assert_line(&line, "\r\n", "");
	assert_line(&line, " case  op=none \n", " case  op=none ");
	assert_line(&line, "~!\"#$%&'()*+,-./:;<=>?@[]^_`{|}\n",
		    "~!\"#$%&'()*+,-./:;<=>?@[]^_`{|}");
	assert_false(feed(&line, "unfinished", 10));
	assert_line(&line, " no more\n", "unfinished no more");
}

/*
 * A carriage return that is not before the line feed is no printable character: the line is
 * refused.
 */
static void test_cr_inside_line(void **state)
{
	struct ts_line line;

	(void)state;
	ts_line_init(&line);
	assert_true(feed(&line, "case leaves=1\r6\n", 16));
	assert_int_equal(line.status, TS_BAD_CHARACTER);
	assert_line(&line, "end\n", "end");
}

static void test_bad_characters(void **state)
{
	struct ts_line line;
	int byte;

	(void)state;
	ts_line_init(&line);
	for (byte = 0; byte < 256; byte++) {
		char text[] = "ab?cd\n";

		if (byte == '\n' || byte == '\r' || byte == '\t')
			continue;
		text[2] = byte;
		assert_true(feed(&line, text, 6));
		assert_int_equal(line.status,
				 byte >= 0x20 && byte <= 0x7e ? TS_OK : TS_BAD_CHARACTER);
		/* Reported once; the next line is a new start. */
		assert_line(&line, "ok\r\n", "ok");
	}
}

static void test_overlong(void **state)
{
	static char text[3 * TS_MAX_LINE];
	struct ts_line line;
	u32 n, more;

	(void)state;
	ts_line_init(&line);
	memset(text, 'x', sizeof(text));
	for (n = MAX_TEXT - 2; n < sizeof(text); n += n < MAX_TEXT + 3 ? 1 : 500) {
		for (more = 0; more < 2; more++) { /* with and without a carriage return */
			assert_false(feed(&line, text, n));
			assert_true(feed(&line, more ? "\r\n" : "\n", 1 + more));
			assert_int_equal(line.status, n <= MAX_TEXT ? TS_OK : TS_TOO_LONG);
			if (n <= MAX_TEXT) {
				assert_int_equal(line.length, n);
				assert_int_equal(strlen(line.buffer), n);
			}
			assert_line(&line, "next\n", "next");
		}
	}
}

/* Splits the whole input at line feeds and judges each line; up to max lines. */
static u32 split(const char *input, u32 n, char (*text)[TS_MAX_LINE], enum ts_status *status,
		 u32 max)
{
	u32 start, end, length, i, lines = 0;

	for (start = 0; lines < max; start = end + 1) {
		for (end = start; end < n && input[end] != '\n'; end++)
			;
		if (end == n)
			break;
		length = end - start;
		if (length && input[end - 1] == '\r')
			length--;
		status[lines] = TS_OK;
		for (i = 0; i < length && !status[lines]; i++) {
			if (input[start + i] < 0x20 || input[start + i] > 0x7e)
				status[lines] = TS_BAD_CHARACTER;
			else if (i == MAX_TEXT)
				status[lines] = TS_TOO_LONG;
			else
				text[lines][i] = input[start + i];
		}
		text[lines][status[lines] ? 0 : length] = 0;
		lines++;
	}
	return lines;
}

/* Whole buffers with several lines, good and bad, byte by byte against the splitter. */
static void test_streams(void **state)
{
	static const char bad[] = { 0, 1, 7, 27, 127, (char)0x80, (char)0xc3, (char)0xff };
	static char input[6000], text[200][TS_MAX_LINE];
	static enum ts_status status[200];
	u32 round, n, i, lines, seen, kinds[TS_STATUSES] = { 0 };
	struct ts_line line;
	u64 random = 71;

	(void)state;
	for (round = 0; round < 300; round++) {
		u64 length = random_below(&random, 2) ? 40 : 2000,
		    dirt = random_below(&random, 3000);

		for (n = 0; n < sizeof(input); n++) {
			if (random_below(&random, length) == 0)
				input[n] = '\n';
			else if (random_below(&random, 100000) < dirt)
				input[n] = bad[random_below(&random, sizeof(bad))];
			else
				input[n] = 0x20 + random_below(&random, 0x5f);
			if (n && input[n] == '\n' && input[n - 1] != '\n' &&
			    random_below(&random, 3) == 0)
				input[n - 1] = '\r';
		}
		lines = split(input, n, text, status, 200);
		ts_line_init(&line);
		for (i = seen = 0; i < n && seen < lines; i++) {
			if (!ts_line_feed(&line, input[i]))
				continue;
			assert_int_equal(input[i], '\n');
			assert_int_equal(line.status, status[seen]);
			if (!line.status)
				assert_string_equal(line.buffer, text[seen]);
			kinds[line.status]++;
			seen++;
		}
		assert_int_equal(seen, lines);
	}
	assert_true(kinds[TS_OK] && kinds[TS_TOO_LONG] && kinds[TS_BAD_CHARACTER]);
}

/* Any bytes at all: never beyond the buffer, which is terminated after each byte. */
static void test_garbage(void **state)
{
	struct ts_line *line = malloc(sizeof(*line));
	u64 random = 72;
	u32 i;

	(void)state;
	assert_non_null(line);
	ts_line_init(line);
	for (i = 0; i < 1000000; i++) {
		/* for a while any byte, then printable ones only */
		u8 done = ts_line_feed(line, 0x20 + random_below(&random, i & 0x8000 ? 256 : 0x5f));

		assert_true(line->length <= MAX_TEXT);
		assert_int_equal(line->buffer[line->length], 0);
		assert_int_equal(done, line->done);
	}
	free(line);
}

/* --- Commands --------------------------------------------------------------------------------- */

static void test_commands(void **state)
{
	static const struct {
		const char *line;
		enum ts_status status;
		enum ts_command command;
		const char *rest, *word;
	} table[] = {
		{ "hello", TS_OK, TS_CMD_HELLO, "", 0 },
		{ "end", TS_OK, TS_CMD_END, "", 0 },
		{ "case op=none leaves=1", TS_OK, TS_CMD_CASE, "op=none leaves=1", 0 },
		{ "  case\top=cr3", TS_OK, TS_CMD_CASE, "op=cr3", 0 },
		{ "events 0x1", TS_OK, TS_CMD_EVENTS, "0x1", 0 },
		{ "events", TS_OK, TS_CMD_EVENTS, "", 0 },
		{ "event 1", TS_UNKNOWN_COMMAND, 0, 0, "event" },
		{ "sweep  op=none,cr3 repeats=2", TS_OK, TS_CMD_SWEEP, "op=none,cr3 repeats=2", 0 },
		{ "", TS_EMPTY, 0, 0, "" },
		{ " \t ", TS_EMPTY, 0, 0, "" },
		{ "cases op=none", TS_UNKNOWN_COMMAND, 0, 0, "cases" },
		{ "cas", TS_UNKNOWN_COMMAND, 0, 0, "cas" },
		{ "HELLO", TS_UNKNOWN_COMMAND, 0, 0, "HELLO" },
		{ "case=1", TS_UNKNOWN_COMMAND, 0, 0, "case=1" },
		{ "row op=none", TS_UNKNOWN_COMMAND, 0, 0, "row" },
	};
	enum ts_command command;
	struct ts_error error;
	const char *rest;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		assert_int_equal(ts_command(table[i].line, &command, &rest, &error),
				 table[i].status);
		if (table[i].status) {
			assert_int_equal(error.status, table[i].status);
			assert_string_equal(error.word, table[i].word);
			continue;
		}
		assert_int_equal(command, table[i].command);
		assert_string_equal(rest + strspn(rest, " \t"), table[i].rest);
	}
}

/* --- Rows ------------------------------------------------------------------------------------- */

static u64 touch[TS_MAX_TOUCHES];

static void print_row(char *to, size_t size, const struct ts_case *c, const struct ts_result *r,
		      struct ts_expansion *e)
{
	struct ts_error error;
	struct ts_text text;

	assert_int_equal(ts_expand(c, 0x0000200000000000ULL, touch, e, &error), TS_OK);
	ts_text_init(&text, to, size);
	ts_row_print(&text, e, r);
	assert_false(text.truncated);
}

/*
 * The value of a key in a row, up to the next blank; "" if the key is not there; twice is a
 * failure.
 */
static const char *value_of(const char *row, const char *key)
{
	static char value[TS_MAX_LINE];
	size_t length = strlen(key);
	u32 found = 0;

	*value = 0;
	for (row = strchr(row, ' '); row; row = strchr(row, ' ')) {
		row++;
		if (strncmp(row, key, length) || row[length] != '=')
			continue;
		assert_int_equal(found++, 0);
		snprintf(value, sizeof(value), "%.*s", (int)strcspn(row + length + 1, " "),
			 row + length + 1);
	}
	return value;
}

static void test_row_by_hand(void **state)
{
	struct ts_case c = case_of("op=invlpg at=mapped guest=2m leaves=16 mix=4k:25 phase=refill");
	struct ts_result r = { .has_refills = 1, .has_mix = 1, .refills = 16, .off_median = 3,
			       .mix_refills = 25, .twin = TS_TWIN_NEW };
	struct ts_expansion e;
	char row[TS_MAX_LINE];

	(void)state;
	print_row(row, sizeof(row), &c, &r, &e);
	assert_memory_equal(row, "row op=invlpg ", 14);
	assert_string_equal(value_of(row, "at"), "mapped");
	assert_string_equal(value_of(row, "guest"), "2m");
	assert_string_equal(value_of(row, "leaves"), "16");
	assert_string_equal(value_of(row, "mix"), "4k:25");
	assert_string_equal(value_of(row, "class"), "selective");
	assert_string_equal(value_of(row, "must"), "0");
	assert_string_equal(value_of(row, "op_va"), "0x204000038000");
	assert_string_equal(value_of(row, "refills"), "16");
	assert_string_equal(value_of(row, "off_median"), "3");
	assert_string_equal(value_of(row, "mix_must"), "0");
	assert_string_equal(value_of(row, "mix_refills"), "25");
	assert_string_equal(value_of(row, "cycles"), ""); /* not measured: absent, never 0 */
	assert_string_equal(value_of(row, "twin"), "new");
	assert_string_equal(value_of(row, "counts"), "");

	c = case_of("op=cr3 guest=4k leaves=50 phase=retouch");
	r = (struct ts_result){ .has_cycles = 1, .cycles = 1234, .twin = TS_TWIN_STALE };
	print_row(row, sizeof(row), &c, &r, &e);
	assert_string_equal(value_of(row, "class"), "full");
	assert_string_equal(value_of(row, "must"), "50");
	assert_string_equal(value_of(row, "op_va"), "");
	assert_string_equal(value_of(row, "refills"), "");
	assert_string_equal(value_of(row, "off_median"), "");
	assert_string_equal(value_of(row, "mix_refills"), "");
	assert_string_equal(value_of(row, "cycles"), "1234");
	assert_string_equal(value_of(row, "twin"), "stale");

	c = case_of("op=cr3 phase=both");
	r = (struct ts_result){ .has_cycles = 1, .counts = {
		.n = 5, .lost = { 0, 1, 0, 0, 0 },
		.count = { 10000, 77, 0, -3, 0x7fffffffffffffffLL } } };
	print_row(row, sizeof(row), &c, &r, &e);
	assert_string_equal(value_of(row, "counts"), "10000,-,0,-3,9223372036854775807");
}

static void random_counts(u64 *random, struct ts_counts *counts)
{
	u32 i;

	counts->n = random_below(random, TS_MAX_COUNTERS + 1);
	for (i = 0; i < counts->n; i++) {
		counts->lost[i] = !random_below(random, 4);
		if (counts->lost[i])
			continue;
		counts->count[i] = random_u64(random) >> (1 + random_below(random, 63));
		if (random_below(random, 2))
			counts->count[i] = -counts->count[i];
	}
}

static void random_result(u64 *random, const struct ts_expansion *e, struct ts_result *r)
{
	memset(r, 0, sizeof(*r));
	/* a phase has its own number at least, and no count beyond its case */
	r->has_refills = e->c.phase == TS_REFILL || random_below(random, 2);
	r->has_mix = r->has_refills && e->set[1].leaves;
	r->has_cycles = e->c.phase != TS_REFILL || random_below(random, 2);
	if (r->has_refills) {
		r->refills = random_below(random, e->set[0].leaves + 1);
		r->off_median = random_below(random, e->c.iterations < 65536 ? e->c.iterations + 1 : 65536);
	}
	if (r->has_mix)
		r->mix_refills = random_below(random, e->set[1].leaves + 1);
	if (r->has_cycles)
		r->cycles = random_u64(random) >> random_below(random, 64);
	r->twin = random_below(random, 3);
	if (e->c.phase > TS_RETOUCH)
		random_counts(random, &r->counts);
}

static void assert_same_result(const struct ts_result *a, const struct ts_result *b)
{
	assert_int_equal(a->has_refills, b->has_refills);
	assert_int_equal(a->has_cycles, b->has_cycles);
	assert_int_equal(a->has_mix, b->has_mix);
	assert_int_equal(a->refills, b->refills);
	assert_int_equal(a->off_median, b->off_median);
	assert_int_equal(a->mix_refills, b->mix_refills);
	assert_true(a->cycles == b->cycles);
	assert_int_equal(a->twin, b->twin);
	assert_int_equal(a->counts.n, b->counts.n);
	assert_memory_equal(a->counts.lost, b->counts.lost, a->counts.n);
	assert_memory_equal(a->counts.count, b->counts.count, a->counts.n * sizeof(a->counts.count[0]));
}

/* A random row and what it stands for; 0 if the case has no expansion. */
static u8 random_row(u64 *random, char *row, size_t size, struct ts_case *c, struct ts_result *r,
		     u64 *op_va)
{
	struct ts_expansion e;
	struct ts_error error;

	random_case(random, c);
	assert_int_equal(ts_case_finish(c, &error), TS_OK);
	if (ts_expand(c, 0x0000200000000000ULL, touch, &e, &error))
		return 0;
	random_result(random, &e, r);
	print_row(row, size, c, r, &e);
	*op_va = e.op_va;
	return 1;
}

static void test_row_round_trip(void **state)
{
	struct ts_result r, parsed_r;
	struct ts_case c, parsed;
	struct ts_error error;
	char row[TS_MAX_LINE];
	u64 random = 81, op_va, parsed_va;
	u32 i, rows = 0;

	(void)state;
	for (i = 0; i < 3000; i++) {
		if (!random_row(&random, row, sizeof(row), &c, &r, &op_va))
			continue;
		rows++;
		memset(&parsed_r, 0xa5, sizeof(parsed_r));
		if (ts_row_parse(row + 4, &parsed, &parsed_r, &parsed_va, &error))
			fail_msg("%s: %s %s", row, ts_status_name(error.status), error.word);
		assert_memory_equal(&parsed, &c, sizeof(c));
		assert_same_result(&parsed_r, &r);
		assert_true(parsed_va == op_va);
	}
	assert_true(rows > 2500);
}

/* A row, and the longest that there can be, pass through the line collector. */
static void test_longest_row(void **state)
{
	struct ts_case c =
		case_of("op=invlpg at=next-2m count=512 guest=2m leaves=8192 touches=8192 "
			"offset=spread frames=contiguous mix=2m:8192 order=sequential access=write "
			"phase=access repeat=1000000 iterations=4294967296 seed=18446744073709551615");
	struct ts_result r = { 1, 1, 1, ~0ULL, ~0ULL, ~0ULL, ~0ULL, TS_TWIN_STALE, { .n = 8 } };
	char row[TS_MAX_LINE];
	struct ts_expansion e;
	struct ts_line line;

	(void)state;
	memset(r.counts.count, 0x80, sizeof(r.counts.count)); /* -9187201950435737472, 20 characters */
	print_row(row, sizeof(row), &c, &r, &e);
	assert_non_null(strstr(row, ",-9187201950435737472"));
	ts_line_init(&line);
	assert_false(feed(&line, row, strlen(row)));
	assert_true(feed(&line, "\r\n", 2));
	assert_int_equal(line.status, TS_OK);
	assert_string_equal(line.buffer, row);
}

/* Without any one of the case's keys a row is no row. */
static void test_row_missing_keys(void **state)
{
	struct ts_case c = case_of("op=invlpg"), parsed;
	struct ts_result r = { .has_refills = 1 }, parsed_r;
	char row[TS_MAX_LINE], cut[TS_MAX_LINE];
	struct ts_expansion e;
	struct ts_error error;
	u64 op_va;
	u32 key;

	(void)state;
	print_row(row, sizeof(row), &c, &r, &e);
	for (key = 0; key < TS_KEYS; key++) {
		char name[32], *at, *behind;

		snprintf(name, sizeof(name), " %s=", ts_keys[key].name);
		at = strstr(row, name);
		assert_non_null(at);
		behind = strchr(at + 1, ' ');
		snprintf(cut, sizeof(cut), "%.*s%s", (int)(at - row), row, behind);
		assert_int_equal(ts_row_parse(cut + 3, &parsed, &parsed_r, &op_va, &error),
				 TS_MISSING_VALUE);
	}
	assert_int_equal(ts_row_parse("", &parsed, &parsed_r, &op_va, &error), TS_MISSING_VALUE);
	assert_int_equal(ts_row_parse(row + 4, &parsed, &parsed_r, &op_va, &error), TS_OK);
}

/* Keys of a newer target are passed over, wherever they stand. */
static void test_row_unknown_keys(void **state)
{
	struct ts_case c = case_of("op=cr3 guest=2m"), parsed;
	struct ts_result r = { .has_refills = 1, .refills = 16 }, parsed_r;
	char row[TS_MAX_LINE], more[2 * TS_MAX_LINE];
	struct ts_expansion e;
	struct ts_error error;
	u64 op_va;

	(void)state;
	print_row(row, sizeof(row), &c, &r, &e);
	snprintf(more, sizeof(more),
		 "future=1 %s walks=0x1ffffffffffffffffff level=high refillsx=9", row + 4);
	assert_int_equal(ts_row_parse(more, &parsed, &parsed_r, &op_va, &error), TS_OK);
	assert_memory_equal(&parsed, &c, sizeof(c));
	assert_same_result(&parsed_r, &r);
}

static void test_row_bad_values(void **state)
{
	static const struct {
		const char *tail;
		enum ts_status status;
	} table[] = {
		{ " refills=x", TS_BAD_NUMBER },
		{ " refills=", TS_MISSING_VALUE },
		{ " refills", TS_MISSING_VALUE },
		{ " cycles=-1", TS_BAD_NUMBER },
		{ " cycles=18446744073709551616", TS_OVERFLOW },
		{ " off_median=1.5", TS_BAD_NUMBER },
		{ " mix_refills=0x", TS_BAD_NUMBER },
		{ " op_va=0x20000000000000000", TS_OVERFLOW },
		{ " twin=maybe", TS_UNKNOWN_VALUE },
		{ " counts=", TS_MISSING_VALUE },
		{ " cycles=1 counts=1,", TS_BAD_NUMBER },
		{ " cycles=1 counts=,1", TS_BAD_NUMBER },
		{ " cycles=1 counts=1,x", TS_BAD_NUMBER },
		{ " cycles=1 counts=0x10", TS_BAD_NUMBER },
		{ " cycles=1 counts=--1", TS_BAD_NUMBER },
		{ " cycles=1 counts=1,2,3,4,5,6,7,8,9", TS_TOO_LONG },
		{ " cycles=1 counts=9223372036854775808", TS_OVERFLOW },
		{ " refills=1 counts=1", TS_CONFLICT }, /* of phase refill */
		/* measured numbers are decimal; 1g would be 1073741824, and 0x5 fit into 16 leaves */
		{ " cycles=1g", TS_BAD_NUMBER },
		{ " refills=0x5", TS_BAD_NUMBER },
		{ " refills=1 off_median=1k", TS_BAD_NUMBER },
		{ " refills=1 op_va=1g", TS_BAD_NUMBER },
		{ " refills=5 refills=7", TS_DUPLICATE_KEY },
		{ " refills=5 refills=5", TS_DUPLICATE_KEY },
		{ " refills=5 op_va=0x1000 op_va=0x2000", TS_DUPLICATE_KEY },
		{ " refills=5 twin=stale twin=new", TS_DUPLICATE_KEY },
		{ " cycles=1 counts=1 counts=1", TS_DUPLICATE_KEY },
		{ " refills=5 op=cr3", TS_DUPLICATE_KEY },
		{ " refills=5 leaves=8", TS_DUPLICATE_KEY },
	};
	struct ts_case c = case_of("op=cr3"), parsed;
	struct ts_result parsed_r;
	char keys[TS_MAX_LINE], line[TS_MAX_LINE + 64];
	struct ts_error error;
	struct ts_text text;
	u64 op_va;
	u32 i;

	(void)state;
	ts_text_init(&text, keys, sizeof(keys));
	ts_case_print(&text, &c);
	for (i = 0; i < TS_COUNT(table); i++) {
		snprintf(line, sizeof(line), "%s%s", keys, table[i].tail);
		assert_int_equal(ts_row_parse(line, &parsed, &parsed_r, &op_va, &error),
				 table[i].status);
		assert_int_equal(error.status, table[i].status);
	}
	/* A case that contradicts itself is no row either. */
	snprintf(line, sizeof(line), "%s", keys);
	assert_non_null(strstr(line, "leaves=16 touches=16 "));
	memcpy(strstr(line, "touches=16"), "touches=15", 10);
	assert_int_equal(ts_row_parse(line, &parsed, &parsed_r, &op_va, &error), TS_CONFLICT);
}

/* Rows with bytes changed or cut off, in blocks of exactly their size. */
static void test_row_garbage(void **state)
{
	struct ts_case c, parsed;
	struct ts_result r, parsed_r;
	struct ts_error error;
	char row[TS_MAX_LINE], *copy;
	u64 random = 91, op_va;
	size_t length;
	u32 i, n;

	(void)state;
	for (i = 0; i < 10000; i++) {
		if (!random_row(&random, row, sizeof(row), &c, &r, &op_va))
			continue;
		length = random_below(&random, 4) ? strlen(row) - 4
						  : random_below(&random, strlen(row) - 4);
		copy = exact_copy(row + 4, length);
		for (n = random_below(&random, 4); length && n; n--)
			copy[random_below(&random, length)] = 1 + random_below(&random, 255);
		if (ts_row_parse(copy, &parsed, &parsed_r, &op_va, &error)) {
			assert_true(error.status && error.status < TS_STATUSES);
			assert_non_null(memchr(error.word, 0, sizeof(error.word)));
		}
		free(copy);
	}
}

/* --- Events ----------------------------------------------------------------------------------- */

static void test_events(void **state)
{
	static const struct {
		const char *line;
		enum ts_status status;
		u32 n;
		u64 first, last;
		const char *printed, *word;
	} table[] = {
		{ " none", TS_OK, 0, 0, 0, "none", "" },
		{ "0x3c", TS_OK, 1, 0x3c, 0x3c, "0x3c", "" },
		{ "  3c  ", TS_OK, 1, 0x3c, 0x3c, "0x3c", "" },
		{ "10", TS_OK, 1, 0x10, 0x10, "0x10", "" }, /* hexadecimal without 0x, too */
		{ "0", TS_OK, 1, 0, 0, "0x0", "" },
		{ "0xe08,1001008", TS_OK, 2, 0xe08, 0x1001008, "0xe08,0x1001008", "" },
		{ "1,2,3,4,5,6,7,FFFFFFFFFFFFFFFF", TS_OK, 8, 1, ~0ULL,
		  "0x1,0x2,0x3,0x4,0x5,0x6,0x7,0xffffffffffffffff", "" },
		{ "", TS_MISSING_VALUE, 0, 0, 0, "", "events" },
		{ "  ", TS_MISSING_VALUE, 0, 0, 0, "", "events" },
		{ "1,2,3,4,5,6,7,8,9", TS_TOO_LONG, 0, 0, 0, "", "events" },
		{ "1 2", TS_UNKNOWN_VALUE, 0, 0, 0, "", "2" },
		{ "1,", TS_BAD_NUMBER, 0, 0, 0, "", "" },
		{ ",1", TS_BAD_NUMBER, 0, 0, 0, "", "" },
		{ "1,,2", TS_BAD_NUMBER, 0, 0, 0, "", "" },
		{ "1,none", TS_BAD_NUMBER, 0, 0, 0, "", "none" },
		{ "0x", TS_BAD_NUMBER, 0, 0, 0, "", "0x" },
		{ "cpu-cycles", TS_BAD_NUMBER, 0, 0, 0, "", "cpu-cycles" },
		{ "-1", TS_BAD_NUMBER, 0, 0, 0, "", "-1" },
		{ "3,10000000000000000", TS_OVERFLOW, 0, 0, 0, "", "10000000000000000" },
	};
	struct ts_events events;
	struct ts_error error;
	struct ts_text text;
	char printed[200], *copy;
	u32 i;

	(void)state;
	for (i = 0; i < TS_COUNT(table); i++) {
		copy = exact_copy(table[i].line, strlen(table[i].line));
		memset(&events, 0xa5, sizeof(events));
		assert_int_equal(ts_events_parse(copy, &events, &error), table[i].status);
		free(copy);
		if (table[i].status) {
			assert_int_equal(error.status, table[i].status);
			assert_string_equal(error.word, table[i].word);
			assert_non_null(error.hint);
			continue;
		}
		assert_int_equal(events.n, table[i].n);
		if (events.n) {
			assert_true(events.config[0] == table[i].first);
			assert_true(events.config[events.n - 1] == table[i].last);
		}
		ts_text_init(&text, printed, sizeof(printed));
		ts_events_print(&text, &events);
		assert_string_equal(printed, table[i].printed);
	}
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void error_line(char *to, size_t size, enum ts_status status, const char *word,
		       const char *hint)
{
	struct ts_error error;
	struct ts_text text;

	ts_fail(&error, status, word, hint);
	ts_text_init(&text, to, size);
	ts_error_print(&text, &error);
	assert_false(text.truncated);
}

static void test_error_lines(void **state)
{
	char line[TS_MAX_LINE];

	(void)state;
	error_line(line, sizeof(line), TS_OUT_OF_RANGE, "0", "leaves");
	assert_string_equal(line, "error status=out-of-range word=0 hint=\"leaves is 1 to 16384, or fit\"");
	error_line(line, sizeof(line), TS_UNKNOWN_VALUE, "3k", "guest");
	assert_string_equal(line, "error status=unknown-value word=3k hint=\"guest is 4k 2m 1g\"");
	error_line(line, sizeof(line), TS_UNKNOWN_VALUE, "bogus", "op");
	assert_string_equal(line, "error status=unknown-value word=bogus hint=\"op is none invlpg invpcid-addr "
			    "invpcid-ctx invpcid-nonglobal invpcid-all cr3 cr3-keep pge\"");
	error_line(line, sizeof(line), TS_UNKNOWN_KEY, "host", "see list axes");
	assert_string_equal(line, "error status=unknown-key word=host hint=\"see list axes\"");
	error_line(line, sizeof(line), TS_NO_MEMORY, "leaves", NULL);
	assert_string_equal(line, "error status=no-memory word=leaves");
}

/* An error without a word has no key word=, since a key without a value is no pair. */
static void test_error_without_word(void **state)
{
	char line[TS_MAX_LINE];

	(void)state;
	error_line(line, sizeof(line), TS_EMPTY, "", NULL);
	assert_string_equal(line, "error status=empty");
}

/* Every status has a name of its own that can stand in a line. */
static void test_status_names(void **state)
{
	u32 i, j;

	(void)state;
	for (i = 0; i < TS_STATUSES; i++) {
		const char *name = ts_status_name(i);

		assert_non_null(name);
		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz-"), strlen(name));
		for (j = 0; j < i; j++)
			assert_string_not_equal(name, ts_status_name(j));
	}
	assert_non_null(ts_status_name(TS_STATUSES));
}

/* A word of any length is cut to what fits, never beyond. */
static void test_long_words(void **state)
{
	char word[200], *copy;
	struct ts_error error;
	u32 n;

	(void)state;
	memset(word, 'w', sizeof(word));
	for (n = 0; n < sizeof(word); n++) {
		copy = exact_copy(word, n);
		assert_int_equal(ts_fail_n(&error, TS_BAD_NUMBER, copy, n, "hint"), TS_BAD_NUMBER);
		assert_int_equal(strlen(error.word), n < 47 ? n : 47);
		assert_int_equal(ts_fail(&error, TS_OVERFLOW, copy, "hint"), TS_OVERFLOW);
		assert_int_equal(strlen(error.word), n < 47 ? n : 47);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_cr_inside_line),
		cmocka_unit_test(test_bad_characters),
		cmocka_unit_test(test_overlong),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_row_by_hand),
		cmocka_unit_test(test_row_round_trip),
		cmocka_unit_test(test_longest_row),
		cmocka_unit_test(test_row_missing_keys),
		cmocka_unit_test(test_row_unknown_keys),
		cmocka_unit_test(test_row_bad_values),
		cmocka_unit_test(test_row_garbage),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_error_lines),
		cmocka_unit_test(test_error_without_word),
		cmocka_unit_test(test_status_names),
		cmocka_unit_test(test_long_words),
	};

	return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
