/** A worker of a share group: each record is lent to one worker, who settles it by its receipt. */

import type { Door } from "./http.js";
import { read, type PollOptions, type TideRecord } from "./member.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type ShareMemberJoined = Schemas["ShareMemberJoined"];

/** A record in hand. */
export interface LentRecord extends TideRecord {
  /** By which it is settled: this delivery of it, and no other. */
  receipt: string;
  /** How often it was lent, this time included. */
  deliveryCount: number;
  lockMs: number;
}

/** A receipt that does not count, or not any more: others have the record. */
export interface RefusedReceipt {
  receipt: string;
  error: string;
  detail: string;
}

export class Worker {
  constructor(
    private readonly door: Door,
    readonly shown: ShareMemberJoined,
  ) {}

  /** Records that nobody else has in hand. */
  async poll(options: PollOptions = {}): Promise<LentRecord[]> {
    const query = { wait_ms: options.waitMs ?? 1000, max_records: options.maxRecords, max_bytes: options.maxBytes };
    const answer = await this.door.call<Schemas["LentRecords"]>("GET", [...this.path(), "records"], undefined, query);
    return answer.records.map((found) => ({
      ...read(found),
      receipt: found.receipt,
      deliveryCount: found.delivery_count,
      lockMs: found.lock_ms,
    }));
  }

  /** They are done. Those whose receipts did not count are told, here and below; if none counts it is an error. */
  ack(...records: LentRecord[]): Promise<RefusedReceipt[]> {
    return this.settle("ack", records);
  }

  /** Others are to try them, after a while. */
  nack(records: LentRecord[], delayMs?: number): Promise<RefusedReceipt[]> {
    return this.settle("nack", records, delayMs === undefined ? {} : { delay_ms: delayMs });
  }

  /** Nobody can do them: they become dead letters. */
  reject(...records: LentRecord[]): Promise<RefusedReceipt[]> {
    return this.settle("reject", records);
  }

  /** They take longer: their locks begin anew. */
  extend(...records: LentRecord[]): Promise<RefusedReceipt[]> {
    return this.settle("visibility", records);
  }

  /** Say that the caller still works, where it does not poll for a while. */
  async heartbeat(): Promise<ShareMemberJoined> {
    return this.door.call("POST", [...this.path(), "heartbeat"]);
  }

  /** Leave: what is in hand is for others at once. */
  async leave(): Promise<void> {
    await this.door.call("DELETE", this.path());
  }

  private path(): string[] {
    return ["share-groups", this.shown.group, "members", this.shown.member];
  }

  private async settle(how: string, records: LentRecord[], more: Record<string, unknown> = {}): Promise<RefusedReceipt[]> {
    const order = { receipts: records.map((record) => record.receipt), ...more };
    return (await this.door.call<Schemas["Settled"]>("POST", ["messages", how], order)).refused;
  }
}
