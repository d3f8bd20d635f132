/** Tidegate over HTTP, for Node and browsers: see README.md. */

import { toBase64 } from "./bytes.js";
import { follow, type FollowOptions } from "./events.js";
import { Door, type Options } from "./http.js";
import { Member, type MemberShown, type TideRecord } from "./member.js";
import { asked, type NewRecord } from "./records.js";
import type { components } from "./schema.js";
import { Worker, type ShareMemberJoined } from "./share.js";
import { Producer, type ProducerShown } from "./transactions.js";

export { toText, type Data } from "./bytes.js";
export { type FollowOptions } from "./events.js";
export { TidegateError, type Options } from "./http.js";
export { Member, type PollOptions, type TideRecord } from "./member.js";
export { type NewRecord, type Priority } from "./records.js";
export { Worker, type LentRecord, type RefusedReceipt } from "./share.js";
export { Producer, type Place } from "./transactions.js";

type Schemas = components["schemas"];
/** What the broker refuses at the moment only. */
const PASSING = new Set([
  "NotLeader", "StaleLeader", "RequestTimedOut", "NotEnoughReplicas", "NotEnoughReplicasAfterAppend", "StorageError",
]);

/** A record that was written; it has no offset where it is held back. */
export interface Published {
  partition: number;
  offset: number | null;
}

/** A record that was not written; trying again may help where `isPassing`. */
export interface Refused {
  error: string;
  isPassing: boolean;
}

export interface JoinOptions {
  reset?: "earliest" | "latest" | "none";
  autoCommit?: boolean;
  sessionMs?: number;
}

export class Tidegate {
  private readonly door: Door;

  constructor(url: string, options: Options = {}) {
    this.door = new Door(url, options);
  }

  /** How the broker is. */
  async health(): Promise<{ status: string }> {
    return this.door.call("GET", ["health"]);
  }

  /** Write records; what became of each, in their order. */
  async publish(topic: string, ...records: NewRecord[]): Promise<(Published | Refused)[]> {
    const answer = await this.door.call<Schemas["Written"]>("POST", ["topics", topic, "messages"], records.map(written));
    return answer.messages.map(told);
  }

  /** Records of a topic as they come, without a group; until the signal says that it is enough. */
  follow(topic: string, options: FollowOptions = {}): AsyncGenerator<TideRecord> {
    return follow(this.door, topic, options);
  }

  /** The names of topics, with how many partitions they have; not the broker's own. */
  async topics(prefix = ""): Promise<{ name: string; partitions: number }[]> {
    const found: { name: string; partitions: number }[] = [];
    for (;;) {
      const query = { prefix, internal: false, limit: 1000, skip: found.length };
      const page = await this.door.call<Schemas["TopicPage"]>("GET", ["topics"], undefined, query);
      found.push(...page.items.map(({ name, partitions }) => ({ name, partitions })));
      if (page.items.length === 0 || found.length >= page.total) return found;
    }
  }

  async createTopic(name: string, options: { partitions?: number; configs?: Record<string, string> } = {}): Promise<void> {
    await this.door.call("POST", ["topics"], { name, ...options });
  }

  async deleteTopic(name: string): Promise<void> {
    await this.door.call("DELETE", ["topics", name]);
  }

  /** Join a group. Its members share the partitions of the topics, whichever client they use. */
  async join(group: string, topics: string[], options: JoinOptions = {}): Promise<Member> {
    const order = {
      topics,
      ...(options.reset === undefined ? {} : { reset: options.reset }),
      ...(options.autoCommit === undefined ? {} : { auto_commit: options.autoCommit }),
      ...(options.sessionMs === undefined ? {} : { session_ms: options.sessionMs }),
    };
    const shown = await this.door.call<MemberShown>("POST", ["groups", group, "members"], order);
    return new Member(this.door, shown);
  }

  /** Work for a share group: its workers get records one by one, each for one of them at a time. */
  async work(group: string, topics: string[], options: { sessionMs?: number } = {}): Promise<Worker> {
    const order = { topics, ...(options.sessionMs === undefined ? {} : { session_ms: options.sessionMs }) };
    const shown = await this.door.call<ShareMemberJoined>("POST", ["share-groups", group, "members"], order);
    return new Worker(this.door, shown);
  }

  /** Become the one producer of a transactional id; whoever was it before is fenced. */
  async producer(transactionalId: string, options: { timeoutMs?: number; sessionMs?: number } = {}): Promise<Producer> {
    const order = {
      transactional_id: transactionalId,
      ...(options.timeoutMs === undefined ? {} : { timeout_ms: options.timeoutMs }),
      ...(options.sessionMs === undefined ? {} : { session_ms: options.sessionMs }),
    };
    const shown = await this.door.call<ProducerShown>("POST", ["producers", "init"], order);
    return new Producer(this.door, shown);
  }
}

function written(record: NewRecord): Schemas["NewMessage"] {
  return {
    valueBase64: toBase64(record.value),
    headers: asked(record).map(([name, value]) => ({ name, valueBase64: toBase64(value) })),
    ...(record.key === undefined ? {} : { keyBase64: toBase64(record.key) }),
    ...(record.partition === undefined ? {} : { partition: record.partition }),
    ...(record.timestampMs === undefined ? {} : { timestamp: record.timestampMs }),
  };
}

function told(found: Schemas["WrittenMessage"]): Published | Refused {
  if (found.error) return { error: found.detail || found.error, isPassing: PASSING.has(found.error) };
  return { partition: found.partition ?? 0, offset: found.offset ?? null };
}
