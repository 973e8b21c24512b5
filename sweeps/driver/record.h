/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A run on disk:
 *   DIR/rows.csv   the rows (row.h)
 *   DIR/run.json   machine, target, plan, options, versions, start, end; complete is true at the end only
 *   DIR/log.txt    what guest, QEMU and driver said
 */
#ifndef TS_RECORD_H
#define TS_RECORD_H

#include "target.h"

struct record {
	char *dir, *id; /* id: the last part of dir; CSV column run */
	json_t *json;	/* what run.json says */
	FILE *log;
	struct rows_file *rows;
	size_t written;
	int lock;    /* rows.csv of a resumed run, open and locked; -1 once rows has it */
	int created; /* the directory was made by this program start */
	int saved;   /* run.json says what it should */
};

/* results/PLAN-TARGET-TIME in local time; caller frees. */
char *record_standard_dir(const char *plan, const char *target);

/* Creates DIR with log.txt and rows.csv; refuses one that exists. */
int record_create(struct record *record, const char *dir, const char *const *extra,
		  struct problem *problem);

/*
 * Opens DIR of an unfinished run: run.json is loaded, rows.csv cut behind its last whole line and
 * opened for appending, rows already there are handed out.
 */
int record_resume(struct record *record, const char *dir, struct rows *rows,
		  struct problem *problem);
/* Second half of it, when the target's extra columns are known. */
int record_continue(struct record *record, const struct rows *rows, const char *const *extra,
		    struct problem *problem);

/*
 * Is this text that run.json can hold (UTF-8) and a terminal can show: without control characters but for tab and line
 * ends? What comes from a file or from the command line has to be.
 */
int record_is_plain(const char *text);

/* The plan as run.json keeps it, and back. */
json_t *record_plan(const struct plan *plan);
int record_load_plan(const json_t *json, struct plan *plan, struct problem *problem);

/* Writes run.json anew (a temporary file, renamed over the old one). */
int record_save(struct record *record, struct problem *problem);

/* Closes everything; a directory of this start without any row is removed with discard set, or without a whole run.json. */
void record_close(struct record *record, int discard);

#endif
