// SPDX-License-Identifier: GPL-2.0
/* What of the cells is shown, which of them a verdict rests on, and the verdict. */
#include "judge.h"

#include "reason.h"

#include <math.h>
#include <string.h>

/* ---- selection ---- */

static int has_phase(const struct cells *cells, u64 phase)
{
	size_t i, j;

	for (i = 0; i < cells->count; i++)
		for (j = 0; cells->cell[i].key->c.phase == phase && j < cells->cell[i].outcomes; j++)
			if (!isnan(outcome_value(&cells->cell[i].outcome[j])))
				return 1;
	return 0;
}

/* The emulator's own speed would only look like a result. */
int cell_is_emulated(const struct cell *cell)
{
	return cell->outcome[0].n && row_has_reason(cell->outcome[0].row[0], "emulated-cpu");
}

int cells_show_phase(const struct cells *cells, u64 phase)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (cells->cell[i].key->c.phase == phase && !cell_is_emulated(&cells->cell[i]))
			return has_phase(cells, phase);
	return 0;
}

const struct outcome *cell_same_op(const struct cell *cell, const struct outcome *like)
{
	const struct ts_case *a = &like->row[0]->c, *b;
	size_t i;

	for (i = 0; i < cell->outcomes; i++) {
		b = &cell->outcome[i].row[0]->c;
		if (a->op == b->op && a->at == b->at && a->count == b->count)
			return &cell->outcome[i];
	}
	return NULL;
}

/* ---- verdict ---- */

static const struct cell *first_cell(const struct cells *cells, u64 phase, const char *host)
{
	size_t i;

	for (i = 0; i < cells->count; i++)
		if (cells->cell[i].key->c.phase == phase && !strcmp(cells->cell[i].key->host, host))
			return &cells->cell[i];
	return NULL;
}

/* The cell of a leaf size that a verdict rests on: plain pages, 16 or more of them. */
const struct cell *cells_verdict_cell(const struct cells *cells, u64 phase, const char *host, u64 guest)
{
	size_t i;

	for (i = 0; i < cells->count; i++) {
		const struct row *key = cells->cell[i].key;

		if (key->c.phase == phase && key->c.guest == guest && !key->c.mix && !key->c.global &&
		    !key->c.code &&
		    !strcmp(key->host, host) && key->c.leaves >= 16)
			return &cells->cell[i];
	}
	return NULL;
}

const struct cell *cells_with_phase(const struct cells *cells, const struct cell *like, u64 phase)
{
	size_t i;

	for (i = 0; i < cells->count; i++) {
		struct ts_case a = cells->cell[i].key->c, b = like->key->c;

		if (a.phase != phase || strcmp(cells->cell[i].key->host, like->key->host))
			continue;
		a.phase = b.phase;
		a.op = b.op = a.at = b.at = a.count = b.count = a.repeat = b.repeat = 0;
		if (!memcmp(&a, &b, sizeof(a)))
			return &cells->cell[i];
	}
	return NULL;
}

/* Why a cell's rows say nothing about hardware, or 0. */
static const char *why_no_hardware(const struct cell *cell)
{
	if (cell && (!strcmp(cell->key->target, "tcg") || !strcmp(cell->key->accel, "tcg")))
		return "no verdict about hardware: this is QEMU's soft TLB, which holds no large pages and "
		       "imitates them (a flush inside the area that they cover drops everything)";
	if (cell && !strcmp(cell->key->target, "model"))
		return "no verdict about hardware: these rows are a model's predictions";
	if (cell && !strcmp(cell->key->target, "guest"))
		return "no verdict: imported: what executed it, and what backed it, is not verified";
	return NULL;
}

/* A verdict compares page sizes; where something else differs as well, it would be that. */
static int is_same_machine(const struct cell *a, const struct cell *b)
{
	return !strcmp(a->key->target, b->key->target) && !strcmp(a->key->accel, b->key->accel) &&
	       !strcmp(a->key->cpu, b->key->cpu);
}

enum verdict cells_verdict(const struct cells *cells, u64 phase, const char *host, const char **why)
{
	const struct cell *small = cells_verdict_cell(cells, phase, host, TS_4K);
	const struct cell *large = cells_verdict_cell(cells, phase, host, TS_2M);
	const struct cell *first = first_cell(cells, phase, host);
	const char *no_hardware = why_no_hardware(small) ?: why_no_hardware(large) ?:
				  why_no_hardware(first ?: cells->count ? &cells->cell[0] : NULL);
	enum verdict verdict;

	if (no_hardware) {
		*why = no_hardware;
		return VERDICT_UNDECIDED;
	}
	if ((!small || !large) && first && strcmp(first->valid, "ok")) {
		*why = reason_sentence(first->valid);
		return VERDICT_UNDECIDED;
	}
	if (!small || !large) {
		*why = "no verdict: it needs a 4k and a 2m cell with their controls";
		return VERDICT_UNDECIDED;
	}
	if (!is_same_machine(small, large)) {
		*why = "no verdict: the 4k and the 2m cell come from different targets or CPUs";
		return VERDICT_UNDECIDED;
	}
	if (strcmp(small->valid, "ok") || strcmp(large->valid, "ok")) {
		*why = reason_sentence(strcmp(small->valid, "ok") ? small->valid : large->valid);
		return VERDICT_UNDECIDED;
	}
	verdict = verdict_of(&small->f, &large->f);
	*why = verdict_sentence(verdict);
	return verdict;
}
