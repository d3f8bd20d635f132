/** The one producer of a transactional id: what it writes in a transaction is read whole, or not at all. */

import { toBase64 } from "./bytes.js";
import { TidegateError, type Door } from "./http.js";
import { asked, type NewRecord } from "./records.js";
import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type ProducerShown = Schemas["ProducerShown"];

/** The next record to be read of a partition. */
export interface Place {
  topic: string;
  partition: number;
  offset: number;
}

export class Producer {
  private transaction = 0;
  private sequence = 0;

  constructor(
    private readonly door: Door,
    readonly shown: ProducerShown,
  ) {}

  async begin(): Promise<void> {
    this.transaction = (await this.ask<ProducerShown>("begin")).transaction;
    this.sequence = 0;
  }

  /** Write records in the transaction. If one is refused that is thrown, and the transaction can only be aborted. */
  async publish(topic: string, ...records: NewRecord[]): Promise<{ partition: number | null; offset: number | null }[]> {
    const order = { topic, sequence: this.sequence, records: records.map(brought) };
    const answer = await this.ask<Schemas["PublishedRecords"]>("publish", order);
    const refused = answer.records.find((record) => typeof record.error === "string");
    if (refused !== undefined) throw new TidegateError(409, refused.detail ?? refused.error!);
    this.sequence += 1;
    return answer.records.map(({ partition, offset }) => ({ partition, offset }));
  }

  /** Commit a group's places with the transaction; as its member, if one is named. */
  async commitOffsets(group: string, offsets: Place[], member?: string): Promise<void> {
    await this.ask("offsets", { group, offsets, ...(member === undefined ? {} : { member }) });
  }

  /** To ask again is no error: the transaction has its number. */
  async commit(): Promise<void> {
    await this.ask("commit", { transaction: this.transaction });
  }

  async abort(): Promise<void> {
    await this.ask("abort", { transaction: this.transaction });
  }

  /** Say that the caller still works, where it asks for nothing for a while. */
  async heartbeat(): Promise<void> {
    await this.door.call("POST", ["producers", this.shown.producer, "heartbeat"]);
  }

  /** What is open is aborted. */
  async close(): Promise<void> {
    await this.door.call("POST", ["producers", this.shown.producer, "close"]);
  }

  private ask<Answer>(what: string, order: Record<string, unknown> = {}): Promise<Answer> {
    return this.door.call<Answer>("POST", ["transactions", what], { producer: this.shown.producer, ...order });
  }
}

function brought(record: NewRecord): Schemas["BroughtRecord"] {
  return {
    value_base64: toBase64(record.value),
    headers: asked(record).map(([name, value]) => ({ name, value_base64: toBase64(value) })),
    ...(record.key === undefined ? {} : { key_base64: toBase64(record.key) }),
    ...(record.partition === undefined ? {} : { partition: record.partition }),
    ...(record.timestampMs === undefined ? {} : { timestamp_ms: record.timestampMs }),
  };
}
