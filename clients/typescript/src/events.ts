/** A topic, followed by server-sent events; where the connection breaks it goes on where it was. */

import { fromJson } from "./bytes.js";
import { TidegateError, type Door } from "./http.js";
import type { TideRecord } from "./member.js";
import type { components } from "./schema.js";

type Message = components["schemas"]["Message"];

export interface FollowOptions {
  /** Where to begin: at the records that come from now on, unless told otherwise. */
  from?: "earliest" | "latest" | number;
  partition?: number;
  /** Which records, like `key = anna`. */
  filter?: string;
  /** Ends it. */
  signal?: AbortSignal;
}

const PAUSE_MS = 1000;

export async function* follow(door: Door, topic: string, options: FollowOptions): AsyncGenerator<TideRecord> {
  const { from = "latest", partition, filter, signal } = options;
  const path = partition === undefined ? ["topics", topic, "messages"] : ["topics", topic, "partitions", String(partition), "messages"];
  let place: string | undefined;
  while (!signal?.aborted) {
    const headers: Record<string, string> = { Accept: "text/event-stream", ...(place === undefined ? {} : { "Last-Event-ID": place }) };
    try {
      const response = await door.open(path, { offset: from, filter }, headers, signal);
      for await (const event of events(response)) {
        if (event.id !== undefined) place = event.id;
        if (event.name === "error") throw new TidegateError(response.status, JSON.parse(event.data).detail);
        if (event.data) yield read(topic, JSON.parse(event.data) as Message);
        if (signal?.aborted) return;
      }
    } catch (error) {
      if (signal?.aborted) return;
      // What the broker refuses is said; what broke on the way is tried again.
      if (error instanceof TidegateError && error.status < 500) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

interface ServerEvent {
  id?: string;
  name?: string;
  data: string;
}

/** Events are parted by an empty line, and a line of one is `field: value`; one that begins with a colon says nothing. */
async function* events(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop()!;
      yield* blocks.map(parsed);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parsed(block: string): ServerEvent {
  const event: ServerEvent = { data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(": ");
    const [field, value] = [line.slice(0, at), line.slice(at + 2)];
    if (field === "id") event.id = value;
    else if (field === "event") event.name = value;
    else if (field === "data") event.data += value;
  }
  return event;
}

function read(topic: string, found: Message): TideRecord {
  return {
    topic,
    partition: found.partition,
    offset: found.offset,
    timestampMs: found.timestamp,
    key: fromJson(found.key, found.keyBase64),
    value: fromJson(found.value as string | null, found.valueBase64),
    headers: found.headers.map((header) => [header.name, fromJson(header.value, header.valueBase64)]),
  };
}
