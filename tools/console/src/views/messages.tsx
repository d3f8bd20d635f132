// Records of a topic: from an end, a time or an offset, filtered by the broker, or followed as they come.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { follow, get, path, query } from "../api";
import { number, spread, time } from "../format";
import { placeOf } from "../hooks";
import { Badge, Fold, Table, Wrong } from "../parts";

export interface Message {
  partition: number;
  offset: number;
  timestamp: number;
  key: string | null;
  keyBase64: string | null;
  value: unknown;
  valueBase64: string | null;
  headers: { name: string; value: string | null; valueBase64: string | null }[];
  keyDecoded?: Decoded | null;
  valueDecoded?: Decoded | null;
}

/** A key or value by the schema that it names: JSON as text, or why it is not shown. */
interface Decoded {
  value: string | null;
  schemaId: number | null;
  schemaType: string | null;
  subject: string | null;
  version: number | null;
  error: string;
}

const WAYS = { earliest: "the first records", latest: "the end", offset: "an offset", time: "a time" };
type Way = keyof typeof WAYS;

/** As the door takes it. */
function start(way: Way, given: string): { offset?: string; time?: number } {
  if (way === "time") return { time: Date.parse(`${given}Z`) };
  return { offset: way === "offset" ? given : way };
}

const SHOWN_WHEN_FOLLOWING = 200;
const SHORT = 300;

export function Messages({ topic }: { topic: string }): JSX.Element {
  const [way, setWay] = useState<Way>("earliest");
  const [given, setGiven] = useState("");
  const [filter, setFilter] = useState("");
  const [decode, setDecode] = useState(true);
  const [live, setLive] = useState(false);
  const [found, setFound] = useState<Message[]>();
  const [next, setNext] = useState<string>();
  const [error, setError] = useState<string>();
  const [shown, setShown] = useState<string>();

  const ask = async (start: { offset?: string; time?: number }) => {
    try {
      const answer = await get<{ messages: Message[]; next: string }>(path("topics", topic, "messages") + query({ ...start, filter, decode, limit: 50 }));
      setFound(answer.messages);
      setNext(answer.next);
      setError(undefined);
    } catch (wrong) {
      setError((wrong as Error).message);
    }
  };

  useEffect(() => {
    if (!live) {
      void ask(start(way, given));
      return;
    }
    const ending = new AbortController();
    setFound([]);
    const take = (message: unknown) => setFound((before) => [message as Message, ...(before ?? [])].slice(0, SHOWN_WHEN_FOLLOWING));
    follow(path("topics", topic, "messages") + query({ offset: "latest", filter, decode, follow: true }), ending.signal, take).catch(
      (wrong: Error) => ending.signal.aborted || setError(wrong.message),
    );
    return () => ending.abort();
  }, [topic, live, decode]);

  return (
    <>
      <form class="tools" onSubmit={(event) => { event.preventDefault(); void ask(start(way, given)); }}>
        <label>from <select value={way} disabled={live} onChange={(event) => { setWay(event.currentTarget.value as Way); setGiven(""); }}>{Object.entries(WAYS).map(([key, name]) => <option value={key}>{name}</option>)}</select></label>
        {way === "offset" && <label>offset <input type="number" min={0} required value={given} onInput={(event) => setGiven(event.currentTarget.value)} /></label>}
        {way === "time" && <label>time (UTC) <input type="datetime-local" step="1" required value={given} onInput={(event) => setGiven(event.currentTarget.value)} /></label>}
        <label title="key, value, value.field or header.name, then = != ^= (begins with) or *= (contains), then a word or a text in double quotes; several joined by and">filter <input value={filter} disabled={live} placeholder="key = anna" onInput={(event) => setFilter(event.currentTarget.value)} /></label>
        <button disabled={live}>Read</button>
        <button type="button" disabled={live || next === undefined} onClick={() => next && void ask({ offset: next })}>Go on</button>
        <label title="show keys and values by the schemas that they name"><input type="checkbox" checked={decode} onChange={(event) => setDecode(event.currentTarget.checked)} /> decode</label>
        <label><input type="checkbox" checked={live} onChange={(event) => setLive(event.currentTarget.checked)} /> follow</label>
      </form>
      <Wrong error={error} />
      <Table
        rows={found}
        empty={live ? "Nothing has come yet." : "No records from here on."}
        columns={[
          { name: "whole", cell: (each) => <button aria-expanded={shown === named(each)} onClick={() => setShown(shown === named(each) ? undefined : named(each))} aria-label={`${shown === named(each) ? "Hide" : "Show"} ${named(each)}`}>{shown === named(each) ? "Hide" : "Show"}</button> },
          { name: "place", cell: (each) => <a href={placeOf("traces", topic, each.partition, each.offset)} title="its timeline">{each.partition}:{each.offset}</a> },
          { name: "time (UTC)", cell: (each) => <span class="quiet when">{time(each.timestamp)}</span> },
          { name: "key", cell: (each) => <code class="short">{each.keyDecoded?.value?.slice(0, SHORT) ?? short(each.key) ?? each.keyBase64?.slice(0, SHORT) ?? <span class="quiet">null</span>}</code> },
          { name: "value", cell: (each) => <code class="short">{each.valueDecoded?.value?.slice(0, SHORT) ?? short(each.value) ?? each.valueBase64?.slice(0, SHORT) ?? <span class="quiet">null</span>}</code> },
          ...(found?.some((each) => each.valueDecoded) ? [{ name: "schema", cell: (each: Message) => each.valueDecoded && (each.valueDecoded.error ? <Badge kind="so">not decoded</Badge> : <Place of={each.valueDecoded} isShort />) }] : []),
          { name: "headers", right: true, cell: (each) => (each.headers.length ? number(each.headers.length) : "") },
        ]}
        below={(each) => shown === named(each) && <Whole topic={topic} message={each} />}
      />
    </>
  );
}

function named(message: Message): string {
  return `${message.partition}:${message.offset}`;
}

/** All of a record: what it carries, and where it has been. */
function Whole({ topic, message }: { topic: string; message: Message }): JSX.Element {
  return (
    <section aria-label={`Record ${named(message)}`}>
      <p>
        <a href={placeOf("traces", topic, message.partition, message.offset)}>Its timeline</a>{" "}
        <span class="quiet">partition {message.partition}, offset {message.offset}, {time(message.timestamp)} UTC</span>
      </p>
      {message.key !== null || message.keyBase64 !== null ? <Carried name="key" text={message.key} base64={message.keyBase64} decoded={message.keyDecoded} /> : null}
      <Carried name="value" text={pretty(message.value)} base64={message.valueBase64} decoded={message.valueDecoded} />
      <Headers headers={message.headers} />
    </section>
  );
}

/** A key or value: by its schema, as far as it names one that fits, and as it is. */
export function Carried({ name, text, base64, decoded }: { name: string; text: string | null; base64: string | null; decoded?: Decoded | null | undefined }): JSX.Element {
  const raw = <Text text={text} base64={base64} />;
  if (decoded == null) return <div class="carried"><p class="quiet">{name}</p><div class="text">{raw}</div></div>;
  if (decoded.error) return <div class="carried"><p class="quiet">{name} <Place of={decoded} /></p><p class="advice">Not decoded: it {decoded.error}.</p><div class="text">{raw}</div></div>;
  return (
    <div class="carried">
      <p class="quiet">{name} <Place of={decoded} /></p>
      <div class="text"><pre>{pretty(decoded.value)}</pre></div>
      <Fold name={`${name} in bytes`}><div class="text">{raw}</div></Fold>
    </div>
  );
}

const TYPES: Record<string, string> = { AVRO: "Avro", JSON: "JSON Schema", PROTOBUF: "Protobuf" };

/** Which schema that is. */
function Place({ of, isShort }: { of: Decoded; isShort?: boolean }): JSX.Element | null {
  if (of.schemaId === null) return null;
  const said = `${TYPES[of.schemaType ?? ""] ?? of.schemaType}, id ${of.schemaId}`;
  if (of.subject === null) return <>{said}</>;
  if (isShort) return <a href={placeOf("schemas", of.subject)} title={`${of.subject} version ${of.version} (${said})`}>{TYPES[of.schemaType ?? ""]} v{of.version}</a>;
  return <><a href={placeOf("schemas", of.subject)}>{of.subject}</a> version {of.version} ({said})</>;
}

export function Headers({ headers }: { headers: Message["headers"] }): JSX.Element | null {
  if (headers.length === 0) return null;
  return <dl class="pairs">{headers.map((header) => <><dt><code>{header.name}</code></dt><dd><code>{header.value ?? header.valueBase64 ?? "null"}</code></dd></>)}</dl>;
}

/** A value in one line. */
export function short(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return (typeof value === "string" ? value : JSON.stringify(value)).slice(0, SHORT);
}

export function Text({ text, base64 }: { text: string | null; base64: string | null }): JSX.Element {
  if (text === null && base64 === null) return <span class="quiet">null</span>;
  return <pre>{text ?? base64}</pre>;
}

export function pretty(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "string") return JSON.stringify(value, null, 1);
  try {
    return /^\s*[[{]/.test(value) && JSON.parse(value) ? spread(value) : value;
  } catch {
    return value;
  }
}
