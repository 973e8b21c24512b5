// SPDX-License-Identifier: GPL-2.0
/* Lines of the protocol, put together and taken apart. */
#include "protocol.h"

const char *const ts_twin_names[] = { "unknown", "new", "stale", 0 };

static const char *const command_names[TS_COMMANDS] = { "hello", "case", "sweep", "events", "end" };
static const char command_hint[] = "type hello, case, sweep, events or end";

void ts_line_init(struct ts_line *line)
{
	line->length = 0;
	line->status = TS_OK;
	line->done = line->cr = 0;
	line->buffer[0] = 0;
}

u8 ts_line_feed(struct ts_line *line, char byte)
{
	if (line->done)
		ts_line_init(line);
	if (byte == '\n') {
		line->done = 1;
		return 1;
	}
	if (line->status)
		return 0;
	if (byte == '\r' && !line->cr) {
		line->cr = 1;
	} else if (line->cr || (byte != '\t' && (byte < ' ' || byte > '~'))) {
		line->status = TS_BAD_CHARACTER;
	} else if (line->length == TS_MAX_LINE - 1) {
		line->status = TS_TOO_LONG;
	} else {
		line->buffer[line->length++] = byte;
		line->buffer[line->length] = 0;
	}
	return 0;
}

enum ts_status ts_command(const char *line, enum ts_command *command, const char **rest,
			  struct ts_error *error)
{
	const char *word;
	u32 length = ts_word(&line, &word), i;

	*rest = line;
	if (!length)
		return ts_fail(error, TS_EMPTY, "", command_hint);
	for (i = 0; i < TS_COMMANDS; i++) {
		if (ts_equal_n(word, length, command_names[i])) {
			*command = i;
			return TS_OK;
		}
	}
	return ts_fail_n(error, TS_UNKNOWN_COMMAND, word, length, command_hint);
}

enum ts_status ts_events_parse(const char *rest, struct ts_events *events, struct ts_error *error)
{
	static const char hint[] = "write events none, or the events in hexadecimal with commas between";
	enum ts_status status;
	const char *list, *more;
	u32 length = ts_word(&rest, &list), item;

	events->n = 0;
	if (!length)
		return ts_fail(error, TS_MISSING_VALUE, "events", hint);
	if (ts_word(&rest, &more))
		return ts_fail(error, TS_UNKNOWN_VALUE, more, hint);
	if (ts_equal_n(list, length, "none"))
		return TS_OK;
	for (;; list += item + 1, length -= item + 1) {
		if (events->n == TS_MAX_COUNTERS)
			return ts_fail(error, TS_TOO_LONG, "events", "at most 8 events in one line");
		item = ts_item(list, length);
		status = ts_hex(list, item, &events->config[events->n]);
		if (status)
			return ts_fail_n(error, status, list, item, hint);
		events->n++;
		if (item == length)
			return TS_OK;
	}
}

void ts_events_print(struct ts_text *text, const struct ts_events *events)
{
	u32 i;

	ts_put(text, events->n ? "" : "none");
	for (i = 0; i < events->n; i++) {
		ts_put(text, i ? "," : "");
		ts_put_hex(text, events->config[i]);
	}
}

static void counts_print(struct ts_text *text, const struct ts_counts *counts)
{
	u32 i;

	for (i = 0; i < counts->n; i++) {
		ts_put(text, i ? "," : " counts=");
		if (counts->lost[i])
			ts_put(text, "-");
		else
			ts_put_signed(text, counts->count[i]);
	}
}

void ts_row_print(struct ts_text *text, const struct ts_expansion *e, const struct ts_result *r)
{
	ts_put(text, "row ");
	ts_case_print(text, &e->c);
	ts_put_key_word(text, "class", ts_class_names[ts_ops[e->c.op].class]);
	ts_put_key_number(text, "must", e->set[0].must);
	if (e->c.at != TS_AT_NONE)
		ts_put_key_hex(text, "op_va", e->op_va);
	if (r->has_refills) {
		ts_put_key_number(text, "refills", r->refills);
		ts_put_key_number(text, "off_median", r->off_median);
	}
	if (r->has_mix) {
		ts_put_key_number(text, "mix_must", e->set[1].must);
		ts_put_key_number(text, "mix_refills", r->mix_refills);
	}
	if (r->has_cycles)
		ts_put_key_number(text, "cycles", r->cycles);
	if (r->twin)
		ts_put_key_word(text, "twin", ts_twin_names[r->twin]);
	counts_print(text, &r->counts);
}

/* The hint is text with blanks: it comes last, in quotes. That of a bad value is its key: what the key takes is told. */
void ts_error_print(struct ts_text *text, const struct ts_error *error)
{
	u32 key;

	ts_put(text, "error");
	ts_put_key_word(text, "status", ts_status_name(error->status));
	if (error->word[0])
		ts_put_key_word(text, "word", error->word);
	if (!error->hint)
		return;
	ts_put_key_word(text, "hint", "\"");
	ts_put(text, error->hint);
	key = ts_key_find(error->hint, ts_length(error->hint));
	if (key < TS_KEYS) {
		ts_put(text, " is ");
		ts_put_values(text, key);
	}
	ts_put(text, "\"");
}

static enum ts_status twin_parse(const char *value, u32 length, struct ts_result *r)
{
	for (r->twin = 0; ts_twin_names[r->twin]; r->twin++)
		if (ts_equal_n(value, length, ts_twin_names[r->twin]))
			return TS_OK;
	r->twin = TS_TWIN_UNKNOWN;
	return TS_UNKNOWN_VALUE;
}

static enum ts_status counts_parse(const char *list, u32 length, struct ts_counts *counts)
{
	enum ts_status status;
	u32 item, i;

	for (counts->n = 0;; list += item + 1, length -= item + 1) {
		if (counts->n == TS_MAX_COUNTERS)
			return TS_TOO_LONG;
		i = counts->n++;
		item = ts_item(list, length);
		counts->lost[i] = ts_equal_n(list, item, "-");
		counts->count[i] = 0;
		status = counts->lost[i] ? TS_OK : ts_signed(list, item, &counts->count[i]);
		if (status || item == length)
			return status;
	}
}

/*
 * A key of a row that is no key of the case; keys of newer targets are passed over. Numbers are as the guest writes
 * them, decimal, and addresses hexadecimal: what looks otherwise was not measured. *seen: the keys of the row so far.
 */
static enum ts_status result_parse(const struct ts_pair *pair, struct ts_result *r, u64 *op_va, u32 *seen,
				   struct ts_error *error)
{
	const struct {
		const char *name;
		u64 *value;
		u8 *has;
	} keys[] = {
		{ "refills", &r->refills, &r->has_refills },
		{ "mix_refills", &r->mix_refills, &r->has_mix },
		{ "off_median", &r->off_median, 0 },
		{ "cycles", &r->cycles, &r->has_cycles },
		{ "op_va", op_va, 0 },
		{ "twin", 0, 0 },
		{ "counts", 0, 0 },
	};
	const char *value = pair->value;
	u32 length = pair->value_length, i;
	enum ts_status status;

	for (i = 0; i < TS_COUNT(keys) && !ts_equal_n(pair->key, pair->key_length, keys[i].name); i++)
		;
	if (i == TS_COUNT(keys))
		return TS_OK;
	if (*seen & 1u << i)
		return ts_fail_n(error, TS_DUPLICATE_KEY, pair->key, pair->key_length, "in a row");
	*seen |= 1u << i;
	if (keys[i].has)
		*keys[i].has = 1;
	if (!keys[i].value)
		status = ts_equal(keys[i].name, "twin") ? twin_parse(value, length, r) :
							  counts_parse(value, length, &r->counts);
	else
		status = keys[i].value == op_va ? ts_hex(value, length, op_va) :
						  ts_decimal(value, length, keys[i].value);
	return status ? ts_fail_n(error, status, value, length, "in a row") : TS_OK;
}

/* Does the result fit its case? A row of a broken target must not pass for a measurement. */
static enum ts_status check_result(const struct ts_case *c, const struct ts_result *r,
				   struct ts_error *error)
{
	if (c->phase == TS_REFILL ? !r->has_refills : !r->has_cycles)
		return ts_fail(error, TS_MISSING_VALUE, "row", "without the number that its phase measures");
	if (r->counts.n && c->phase <= TS_RETOUCH)
		return ts_fail(error, TS_CONFLICT, "counts", "only the loops count events");
	if (r->refills > c->leaves || r->mix_refills > ts_mix_leaves(c->mix) ||
	    r->off_median > c->iterations)
		return ts_fail(error, TS_OUT_OF_RANGE, "row", "more than the case can give");
	return TS_OK;
}

enum ts_status ts_row_parse(const char *rest, struct ts_case *c, struct ts_result *r, u64 *op_va,
			    struct ts_error *error)
{
	struct ts_result fresh = { 0 };
	enum ts_status status;
	struct ts_pair pair;
	u32 seen = 0, seen_results = 0, key;

	*r = fresh;
	*op_va = 0;
	ts_case_init(c);
	while ((status = ts_pair(&rest, &pair, error)) == TS_OK) {
		key = ts_key_find(pair.key, pair.key_length);
		status = key == TS_KEYS ? result_parse(&pair, r, op_va, &seen_results, error) :
					  ts_value_parse(key, pair.value, pair.value_length,
							 ts_field(c, key), error);
		if (status)
			return status;
		if (key < TS_KEYS && seen & 1u << key)
			return ts_fail_n(error, TS_DUPLICATE_KEY, pair.key, pair.key_length, "in a row");
		if (key < TS_KEYS)
			seen |= 1u << key;
	}
	if (status != TS_EMPTY)
		return status;
	if (seen != (1u << TS_KEYS) - 1)
		return ts_fail(error, TS_MISSING_VALUE, "row", "a row carries every key of its case");
	return ts_case_finish(c, error) ?: check_result(c, r, error);
}
