/** A member of a consumer group, which shares its topics with the members of every other client. */

import { fromJson } from "./bytes.js";
import type { Door } from "./http.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type MemberShown = Schemas["MemberShown"];

/** A record that was read. */
export interface TideRecord {
  topic: string;
  partition: number;
  offset: number;
  timestampMs: number;
  key: Uint8Array | null;
  value: Uint8Array | null;
  headers: [name: string, value: Uint8Array | null][];
}

export interface PollOptions {
  /** How long to wait for a record, in milliseconds; up to 30000. */
  waitMs?: number;
  maxRecords?: number;
  maxBytes?: number;
}

export class Member {
  private generation: number;

  constructor(
    private readonly door: Door,
    readonly shown: MemberShown,
  ) {
    this.generation = shown.generation;
  }

  /** Records that were not given; those of the poll before are done. */
  async poll(options: PollOptions = {}): Promise<TideRecord[]> {
    const answer = await this.ask<Schemas["MemberRecords"]>("GET", "records", undefined, {
      wait_ms: options.waitMs ?? 1000,
      max_records: options.maxRecords,
      max_bytes: options.maxBytes,
    });
    this.generation = answer.generation;
    return answer.records.map(read);
  }

  /** Every record, one after the other, until the signal says that it is enough. */
  async *records(signal?: AbortSignal): AsyncGenerator<TideRecord> {
    while (!signal?.aborted) {
      for (const record of await this.poll({ waitMs: 5000 })) {
        yield record;
        if (signal?.aborted) return;
      }
    }
  }

  /** Commit all that was given. */
  async commit(): Promise<void> {
    await this.ask("POST", "commit", { generation: this.generation });
  }

  /** Say that the caller still works, where it does not poll for a while. */
  async heartbeat(): Promise<MemberShown> {
    return this.ask("POST", "heartbeat");
  }

  /** Leave: others get the partitions at once. */
  async leave(): Promise<void> {
    await this.ask("DELETE");
  }

  private ask<Answer>(method: string, what?: string, body?: unknown, query?: Record<string, unknown>): Promise<Answer> {
    const path = ["groups", this.shown.group, "members", this.shown.member];
    return this.door.call<Answer>(method, what === undefined ? path : [...path, what], body, query);
  }
}

export function read(found: Schemas["GivenRecord"]): TideRecord {
  return {
    topic: found.topic,
    partition: found.partition,
    offset: found.offset,
    timestampMs: found.timestamp_ms,
    key: fromJson(found.key, found.key_base64),
    value: fromJson(found.value, found.value_base64),
    headers: found.headers.map((header) => [header.name, fromJson(header.value, header.value_base64)]),
  };
}
