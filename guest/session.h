/* SPDX-License-Identifier: GPL-2.0 */
/* Requests of the line protocol, from the driver, a person, or a plan on the command line. */
#ifndef SESSION_H
#define SESSION_H

#include "cpu.h"

/* Prepares for this CPU; requests use it from now on. */
void session_init(const struct cpu_info *cpu);

/* Prints the hello line. */
void session_hello(void);

/* Runs the requests of a plan, separated by semicolons, then ends. plan is cut up on the way. */
void session_run_plan(char *plan) __attribute__((noreturn));

/* Answers request after request from the console until `end`. */
void session_serve(void) __attribute__((noreturn));

#endif
