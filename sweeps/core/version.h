/* SPDX-License-Identifier: GPL-2.0 */
/* The one place that names the version of program, guest image and line protocol. */
#ifndef TS_VERSION_H
#define TS_VERSION_H

#define TS_VERSION "0.1.0"
#define TS_PROTOCOL 1 /* changes when an old driver and a new guest would misunderstand each other */

#endif
