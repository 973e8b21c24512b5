/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The line protocol between the driver and a target in ring 0 (guest image, module).
 *
 * Lines of printable ASCII and tabs that a person can type, ended by \n (a \r before it is ignored):
 *
 *   hello                      answered by: hello protocol=1 version=... key=value ...
 *   case key=value ...         answered by: row ... or error ...
 *   sweep key=list ...         answered by: a row or error for each case, then done rows=N
 *   events HEX[,HEX...]        answered by: events general= width= used= pmu=, or error ...; from then on rows of
 *                              the loops (phases both, op, access) have counts=. HEX says what a counter counts, in
 *                              the bits of the event select register (IA32_PERFEVTSELx; perf's raw events): 0-7 event,
 *                              8-15 unit mask, 18 edge, 23 invert, 24-31 counter mask, 32-35 AMD's event bits 11:8
 *   events none                nothing is counted any more; so it is behind an error, too
 *   end                        answered by: end rows=N; the guest then exits
 *
 *   row KEYS class= must= op_va= [refills= off_median=] [mix_refills= mix_must=] [cycles=] [twin=]
 *       [counts=N,N,...]
 *   error status=NAME [word=...] [hint=...]     the request was refused or failed
 *   log ...                    anything for a human reader
 *
 * KEYS are all keys of the case, so that a log of rows is complete without the requests.
 * What was not measured is absent. counts= has a number for each event, in the order of the events line: what the
 * row's iterations have counted (counters.c), or - for a counter that was lost.
 */
#ifndef TS_PROTOCOL_H
#define TS_PROTOCOL_H

#include "measure.h"
#include "pmu.h"
#include "sweep.h"

#define TS_MAX_LINE 1024 /* bytes, terminator included */

enum ts_command { TS_CMD_HELLO, TS_CMD_CASE, TS_CMD_SWEEP, TS_CMD_EVENTS, TS_CMD_END, TS_COMMANDS };

/*
 * Collects bytes into a line. Returns 1 when a line is complete in buffer (terminated, without its
 * end), 0 while it is not; an overlong line or a bad byte is swallowed to its end and reported once by
 * status.
 */
struct ts_line {
	char buffer[TS_MAX_LINE];
	u32 length;
	enum ts_status status;
	u8 done, cr; /* cr: the last byte was \r, which only \n may follow */
};
void ts_line_init(struct ts_line *line);
u8 ts_line_feed(struct ts_line *line, char byte);

/* Which command; *rest is left behind its word. TS_EMPTY for a blank line. */
enum ts_status ts_command(const char *line, enum ts_command *command, const char **rest,
			  struct ts_error *error);

void ts_row_print(struct ts_text *text, const struct ts_expansion *e, const struct ts_result *r);
/* The rest of an events line both ways: none, or 1 to TS_MAX_COUNTERS events. Which of them exist: pmu.h. */
enum ts_status ts_events_parse(const char *rest, struct ts_events *events, struct ts_error *error);
void ts_events_print(struct ts_text *text, const struct ts_events *events);

void ts_error_print(struct ts_text *text, const struct ts_error *error);

/* The receiver's side: a row line (without its "row" word) taken apart again. */
enum ts_status ts_row_parse(const char *rest, struct ts_case *c, struct ts_result *r, u64 *op_va,
			    struct ts_error *error);

#endif
