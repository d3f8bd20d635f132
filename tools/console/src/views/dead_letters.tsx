// What nobody could deliver: by topic, why, and each letter.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, Page, path, query } from "../api";
import { number, time } from "../format";
import { placeOf, useData } from "../hooks";
import { Bars, Changing, Figure, Pager, Table, Wrong } from "../parts";
import { Carried, Headers, Message, pretty, Text } from "./messages";
import { Redrive } from "./redrive";

export function DeadLetters(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<Page<{ topic: string; partitions: number; letters: number; sources: string[] }>>("/dlq" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Dead letters</h1>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty="Everything could be delivered."
        columns={[
          { name: "topic", cell: (each) => <a href={placeOf("dead-letters", each.topic)}>{each.topic}</a> },
          { name: "letters here", right: true, cell: (each) => number(each.letters) },
          { name: "from", cell: (each) => each.sources.map((source) => <div><a href={placeOf("topics", source)}>{source}</a></div>) },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

const READ = 500;
const TOLD = "__dlq.errors.";

/** What a letter says about itself; the last header of a name counts. */
function told(letter: Message, name: string): string {
  return letter.headers.filter((header) => header.name === TOLD + name).at(-1)?.value ?? "";
}

/** The letters of one topic, a stretch at a time: why they are dead, and each as it is. */
export function Letters({ topic }: { topic: string }): JSX.Element {
  const [found, setFound] = useState<{ messages: Message[]; next: string }>();
  const [reason, setReason] = useState<string>();
  const [shown, setShown] = useState<Message>();
  const [error, setError] = useState<string>();
  const ask = async (offset: string) => {
    try {
      setFound(await get<{ messages: Message[]; next: string }>(path("topics", topic, "messages") + query({ offset, limit: READ, decode: true })));
      setShown(undefined);
      setReason(undefined);
      setError(undefined);
    } catch (wrong) {
      setError((wrong as Error).message);
    }
  };
  useEffect(() => void ask("earliest"), [topic]);
  const counts = new Map<string, number>();
  for (const letter of found?.messages ?? []) counts.set(told(letter, "message"), (counts.get(told(letter, "message")) ?? 0) + 1);
  const reasons = [...counts].sort((one, other) => other[1] - one[1]);
  const rows = found?.messages.filter((letter) => reason === undefined || told(letter, "message") === reason);
  return (
    <>
      <h1>{topic}</h1>
      <Wrong error={error} />
      {reasons.length > 0 && <Bars label="why they are dead" rows={reasons.slice(0, 10).map(([name, count]) => ({ name: name || "no reason told", count }))} />}
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>reason <select value={reason ?? "*"} onChange={(event) => setReason(event.currentTarget.value === "*" ? undefined : event.currentTarget.value)}><option value="*">any</option>{reasons.map(([name]) => <option value={name}>{name || "no reason told"}</option>)}</select></label>
        <button type="button" onClick={() => void ask("earliest")}>From the first</button>
        <button type="button" disabled={!found?.messages.length} onClick={() => found && void ask(found.next)}>Go on</button>
      </form>
      <Table
        rows={rows}
        empty="No letters from here on."
        columns={[
          { name: "letter", cell: (each) => <button onClick={() => setShown(each)}>Show {each.partition}:{each.offset}</button> },
          { name: "time (UTC)", cell: (each) => <span class="quiet when">{time(each.timestamp)}</span> },
          { name: "reason", cell: (each) => told(each, "message") },
          { name: "from", cell: (each) => told(each, "topic") && <a href={placeOf("traces", told(each, "topic"), told(each, "partition"), told(each, "offset"))} title="its timeline">{told(each, "topic")} {told(each, "partition")}:{told(each, "offset")}</a> },
          { name: "group", cell: (each) => told(each, "group") },
          { name: "deliveries", right: true, cell: (each) => told(each, "delivery.count") },
          { name: "key", cell: (each) => (each.keyDecoded?.value ? <code>{each.keyDecoded.value}</code> : <Text text={each.key} base64={each.keyBase64} />) },
        ]}
      />
      {shown && <Letter letter={shown} />}
      <Changing><Redrive topic={topic} reason={reason} shown={shown} onSent={() => void ask("earliest")} /></Changing>
    </>
  );
}

function Letter({ letter }: { letter: Message }): JSX.Element {
  const own = letter.headers.filter((header) => !header.name.startsWith(TOLD));
  const about = letter.headers.filter((header) => header.name.startsWith(TOLD));
  return (
    <section aria-label="One letter">
      <h2>Letter {letter.partition}:{letter.offset}</h2>
      <dl class="figures">{about.map((header) => <Figure name={header.name.slice(TOLD.length)}>{header.value ?? header.valueBase64 ?? "–"}</Figure>)}</dl>
      <Headers headers={own} />
      <Carried name="value" text={pretty(letter.value)} base64={letter.valueBase64} decoded={letter.valueDecoded} />
    </section>
  );
}
