// Records of a topic: from an end, a time or an offset, filtered by the broker, or followed as they come.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { follow, get, path, query } from "../api";
import { time } from "../format";
import { placeOf } from "../hooks";
import { Table, Wrong } from "../parts";

export interface Message {
  partition: number;
  offset: number;
  timestamp: number;
  key: string | null;
  keyBase64: string | null;
  value: unknown;
  valueBase64: string | null;
  headers: { name: string; value: string | null; valueBase64: string | null }[];
}

const SHOWN_WHEN_FOLLOWING = 200;

export function Messages({ topic }: { topic: string }): JSX.Element {
  const [from, setFrom] = useState("earliest");
  const [filter, setFilter] = useState("");
  const [live, setLive] = useState(false);
  const [found, setFound] = useState<Message[]>();
  const [next, setNext] = useState<string>();
  const [error, setError] = useState<string>();

  const ask = async (offset: string) => {
    try {
      const answer = await get<{ messages: Message[]; next: string }>(path("topics", topic, "messages") + query({ offset, filter, limit: 50 }));
      setFound(answer.messages);
      setNext(answer.next);
      setError(undefined);
    } catch (wrong) {
      setError((wrong as Error).message);
    }
  };

  useEffect(() => {
    if (!live) {
      void ask(from);
      return;
    }
    const ending = new AbortController();
    setFound([]);
    const take = (message: unknown) => setFound((before) => [message as Message, ...(before ?? [])].slice(0, SHOWN_WHEN_FOLLOWING));
    follow(path("topics", topic, "messages") + query({ offset: "latest", filter, follow: true }), ending.signal, take).catch(
      (wrong: Error) => ending.signal.aborted || setError(wrong.message),
    );
    return () => ending.abort();
  }, [topic, live]);

  return (
    <>
      <form class="tools" onSubmit={(event) => { event.preventDefault(); void ask(from); }}>
        <label>from <input value={from} disabled={live} onInput={(event) => setFrom(event.currentTarget.value)} title="earliest, latest, or an offset" /></label>
        <label>filter <input value={filter} disabled={live} placeholder="key = anna" onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <button disabled={live}>Read</button>
        <button type="button" disabled={live || next === undefined} onClick={() => next && void ask(next)}>Go on</button>
        <label><input type="checkbox" checked={live} onChange={(event) => setLive(event.currentTarget.checked)} /> follow</label>
      </form>
      <Wrong error={error} />
      <Table
        rows={found}
        empty={live ? "Nothing has come yet." : "No records from here on."}
        columns={[
          { name: "place", cell: (each) => <a href={placeOf("traces", topic, each.partition, each.offset)} title="its timeline">{each.partition}:{each.offset}</a> },
          { name: "time (UTC)", cell: (each) => <span class="quiet">{time(each.timestamp)}</span> },
          { name: "key", cell: (each) => <Text text={each.key} base64={each.keyBase64} /> },
          { name: "value", cell: (each) => <Text text={pretty(each.value)} base64={each.valueBase64} /> },
          { name: "headers", cell: (each) => each.headers.map((header) => <div><code>{header.name}={header.value ?? header.valueBase64 ?? "null"}</code></div>) },
        ]}
      />
    </>
  );
}

export function Text({ text, base64 }: { text: string | null; base64: string | null }): JSX.Element {
  if (text === null && base64 === null) return <span class="quiet">null</span>;
  return <pre>{text ?? base64}</pre>;
}

export function pretty(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "string") return JSON.stringify(value, null, 1);
  try {
    return /^[[{]/.test(value) ? JSON.stringify(JSON.parse(value), null, 1) : value;
  } catch {
    return value;
  }
}
