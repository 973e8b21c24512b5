/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A QEMU process that runs the guest image: its protocol port, its log (firmware, guest and QEMU itself)
 * and its QMP monitor, each on a socket pair of its own.
 */
#ifndef TS_QEMU_H
#define TS_QEMU_H

#include "guard.h"
#include "problem.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

struct qemu_config {
	const char *program; /* path, or a name to be found in PATH */
	const char *accel;   /* tcg, kvm */
	const char *cpu;     /* -cpu */
	const char *machine; /* -machine */
	const char *image;   /* the guest image */
	u64 memory;	     /* bytes */
	const char *const *more; /* further arguments, 0 at the end (may be 0) */
};

/* Bytes that came and are not yet a whole line. */
struct stream {
	int fd; /* -1 when closed */
	char *bytes;
	size_t length;
};

struct qemu {
	pid_t pid; /* 0 when it has ended and was waited for */
	int status; /* of waitpid, when pid is 0 */
	pid_t group; /* of QEMU and all that it started */
	struct guard guard;
	struct stream protocol, monitor, output;
	FILE *log;
	char last[200]; /* last line of its output */
	int started;	/* QMP has answered */
	int died;	/* at its start, by itself */
	double start_seconds; /* the longest wait for an answer of QMP */
	char *version;	/* as QMP's greeting has it, e.g. 7.2.22 */
	char *by_hand;	/* a command line with which a person gets the protocol on the terminal */
};

/* Value of isa-debug-exit's port that the guest writes at a clean end, as QEMU's exit code. */
#define QEMU_CLEAN_EXIT 33

/*
 * Version of a QEMU program as major * 100 + minor (and as text, at least 32 bytes), or a problem: not
 * found, no version printed, older than 7.2.
 */
int qemu_version(const char *program, int *version, char *text, size_t size, struct problem *problem);

/* Starts it; returns when QMP has answered. -EINVAL with *problem, or -EINTR. */
int qemu_start(struct qemu *qemu, const struct qemu_config *config, FILE *log,
	       struct problem *problem);

/* Sends one line (a \n is added) to the guest. 0 or -EPIPE. */
int qemu_send(struct qemu *qemu, const char *line);

/*
 * The next line from the guest within seconds; *line is valid until the next call. 0, -ETIMEDOUT, -EPIPE
 * (QEMU has ended), or -EINTR (the user wants to stop).
 */
int qemu_receive(struct qemu *qemu, double seconds, const char **line);

/* Runs one QMP command; *reply (may be 0) is its "return" and belongs to the caller. */
int qemu_command(struct qemu *qemu, const char *command, json_t *arguments, json_t **reply,
		 struct problem *problem);

/* Waits up to seconds for it to end by itself, then kills it; frees everything. Status stays. */
void qemu_end(struct qemu *qemu, double seconds);

/* How it ended, in words, e.g. "exit code 33", "killed by signal 9". */
const char *qemu_how_ended(const struct qemu *qemu, char *text, size_t size);

#endif
