// A group is moved elsewhere: first it is shown what would change, then it is done.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { path, send } from "../api";
import { number } from "../format";
import { Table, Wrong } from "../parts";

interface MovedOffset {
  topic: string;
  partition: number;
  committed_offset: number | null;
  new_offset: number;
  end_offset: number;
}

interface Moved {
  dry_run: boolean;
  moves: MovedOffset[];
}

const WAYS = { earliest: "the beginning", latest: "the end", time: "a time (UTC)", offset: "an offset", shift: "so many on or back" };
type Way = keyof typeof WAYS;

/** As the door takes it. */
function target(way: Way, given: string): string {
  if (way === "time") return `@${Date.parse(`${given}Z`)}`;
  if (way === "shift") return Number(given) < 0 ? given : `+${Number(given)}`;
  return way === "offset" ? given : way;
}

export function Move({ group, members, onMoved }: { group: string; members: number; onMoved: () => void }): JSX.Element {
  const [way, setWay] = useState<Way>("earliest");
  const [given, setGiven] = useState("");
  const [topic, setTopic] = useState("");
  const [shown, setShown] = useState<Moved>();
  const [error, setError] = useState<string>();
  const forget = () => { setShown(undefined); setError(undefined); };
  const ask = async (isTrial: boolean) => {
    const body = { to: target(way, given), dry_run: isTrial, ...(topic ? { topics: [topic] } : {}) };
    try {
      setShown(await send<Moved>("POST", path("groups", group, "offsets"), body));
      setError(undefined);
      if (!isTrial) onMoved();
    } catch (wrong) {
      setShown(undefined);
      setError((wrong as Error).message);
    }
  };
  return (
    <>
      <h2>Move it elsewhere</h2>
      {members > 0 && <p class="quiet">It has members, which would overwrite what is set here: stop them first.</p>}
      <form class="tools" onSubmit={(event) => { event.preventDefault(); void ask(true); }}>
        <label>to <select value={way} onChange={(event) => { setWay(event.currentTarget.value as Way); setGiven(""); forget(); }}>{Object.entries(WAYS).map(([key, name]) => <option value={key}>{name}</option>)}</select></label>
        {way === "time" && <label>time <input type="datetime-local" step="1" required value={given} onInput={(event) => { setGiven(event.currentTarget.value); forget(); }} /></label>}
        {(way === "offset" || way === "shift") && <label>number <input type="number" required min={way === "offset" ? 0 : undefined} value={given} onInput={(event) => { setGiven(event.currentTarget.value); forget(); }} /></label>}
        <label>only topic <input value={topic} onInput={(event) => { setTopic(event.currentTarget.value); forget(); }} /></label>
        <button>Show what would change</button>
      </form>
      <Wrong error={error} />
      {shown && (
        <>
          <Table
            rows={shown.moves}
            empty="Nothing."
            columns={[
              { name: "topic", cell: (each) => each.topic },
              { name: "partition", cell: (each) => each.partition },
              { name: "was", right: true, cell: (each) => number(each.committed_offset) },
              { name: shown.dry_run ? "would be" : "is", right: true, cell: (each) => number(each.new_offset) },
              { name: "difference", right: true, cell: (each) => signed(each.new_offset - (each.committed_offset ?? 0)) },
              { name: "lag then", right: true, cell: (each) => number(each.end_offset - each.new_offset) },
            ]}
          />
          {shown.dry_run ? <p><button onClick={() => void ask(false)}>Move {number(shown.moves.length)} offsets</button></p> : <p role="status">{number(shown.moves.length)} offsets were moved.</p>}
        </>
      )}
    </>
  );
}

function signed(count: number): string {
  return count > 0 ? `+${number(count)}` : number(count);
}
