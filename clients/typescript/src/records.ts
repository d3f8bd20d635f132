/** Records to be written. */

import type { Data } from "./bytes.js";

export type Priority = "critical" | "high" | "normal" | "low" | "background";

/** A record to be written. */
export interface NewRecord {
  value: Data;
  key?: Data;
  headers?: Record<string, string | Uint8Array>;
  partition?: number;
  timestampMs?: number;
  /** Held back for so long. */
  delayMs?: number;
  /** Held back until then, in milliseconds since 1970. */
  deliverAtMs?: number;
  priority?: Priority;
  ttlMs?: number;
  scheduleId?: string;
}

const ASKING = [
  ["tide-delay", "delayMs"],
  ["tide-deliver-at", "deliverAtMs"],
  ["tide-priority", "priority"],
  ["tide-ttl", "ttlMs"],
  ["tide-schedule-id", "scheduleId"],
] as const;

/** Its headers, with those by which it asks for something. */
export function asked(record: NewRecord): [name: string, value: string | Uint8Array][] {
  const headers = Object.entries(record.headers ?? {});
  for (const [name, field] of ASKING) {
    const value = record[field];
    if (value !== undefined) headers.push([name, String(value)]);
  }
  return headers;
}
