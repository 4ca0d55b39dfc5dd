/*
 * Messages between the host and what runs inside: types and bodies (base/frame.h).
 *
 * Host to init:      PLAN, RELEASE, SPARE.
 * Init to host:      READY, SPARED, REAPED, FAILED.
 * Host to exec-init: START, SIGNAL, SIGNAL_SINCE, RESIZE.
 * Exec-init to host: STARTED, REFUSED, ENDED.
 */
#pragma once

enum wire_type {
	WIRE_PLAN = 1,   /* plan_put; descriptors: socket of the first spare, skeleton if idmapped */
	WIRE_RELEASE,    /* u32 n; descriptors: n to enter by, one more for the first spare */
	WIRE_SPARE,      /* u32 number; descriptors: its socket, what it enters by */
	WIRE_READY,      /* u32 × 7 of the report, string fallbacks; descriptor: the root */
	WIRE_SPARED,     /* u32 number; descriptor: its pidfd */
	WIRE_REAPED,     /* u32 number, u64 cpu_us, u64 max_rss_bytes */
	WIRE_FAILED,     /* u32 number of the spare or 0, frame_put_fault */
	WIRE_START,      /* command_put; descriptors: those that are not -1 */
	WIRE_SIGNAL,     /* u32 signal, u32 target */
	WIRE_SIGNAL_SINCE, /* u32 signal, u64 ticks */
	WIRE_RESIZE,     /* u32 rows, u32 columns */
	WIRE_STARTED,    /* empty; descriptor: master of the pty, if there is one */
	WIRE_REFUSED,    /* u32 errno, string stage */
	WIRE_ENDED,      /* u32 status, u32 leftovers, u64 cpu_us, u64 max_rss_bytes */
};
