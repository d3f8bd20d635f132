// Records that wait for their time: how many are due when, and each of them, to cancel, move or let go.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { isReadOnly, Page, path, query, send } from "../api";
import { bytes, span, time } from "../format";
import { useData } from "../hooks";
import { TimeAxis } from "../time_axis";
import { Badge, filled, Pager, Sure, Table, useAct, Wrong } from "../parts";

interface Pending {
  partition: number;
  id: string;
  state: string;
  due_ms: number;
  size_bytes: number;
  key: string | null;
  key_base64: string | null;
}

const MINUTE_MS = 60_000;
const STEPS = 24;
/** How far ahead one looks. */
const SPANS: Record<string, number> = { "an hour": 60 * MINUTE_MS, "a day": 24 * 60 * MINUTE_MS, "a week": 7 * 24 * 60 * MINUTE_MS, "30 days": 30 * 24 * 60 * MINUTE_MS };

export function Delayed({ topic }: { topic: string }): JSX.Element {
  const [skip, setSkip] = useState(0);
  const [since] = useState(Date.now);
  const [ahead, setAhead] = useState("a day");
  const base = path("topics", topic, "delayed");
  const list = useData<Page<Pending>>(base + query({ skip, limit: 50 }));
  const edges = Array.from({ length: STEPS }, (_, step) => since + Math.round(((step + 1) * SPANS[ahead]!) / STEPS));
  const histogram = useData<{ buckets: { records: number }[] }>(`${base}/histogram${query({ edges_ms: edges.join(",") })}`);
  const one = (record: Pending) => path("topics", topic, "delayed", record.partition, record.id);
  return (
    <>
      <Wrong error={list.error} />
      {histogram.data && list.data && list.data.total > 0 && (
        <>
          <form class="tools" onSubmit={(event) => event.preventDefault()}>
            <label>due within <select value={ahead} onChange={(event) => setAhead(event.currentTarget.value)}>{Object.keys(SPANS).map((each) => <option>{each}</option>)}</select></label>
          </form>
          <TimeAxis counts={histogram.data.buckets.map((bucket) => bucket.records)} from={since} ahead={ahead} />
        </>
      )}
      <Table
        rows={list.data?.items}
        empty="Nothing waits for its time."
        columns={[
          { name: "due (UTC)", cell: (each) => <span class="when">{time(each.due_ms)}</span> },
          { name: "in", right: true, cell: (each) => span(each.due_ms - Date.now()) },
          { name: "id", cell: (each) => <code>{each.id}</code> },
          { name: "key", cell: (each) => <code>{each.key ?? each.key_base64 ?? ""}</code> },
          { name: "size", right: true, cell: (each) => bytes(each.size_bytes) },
          { name: "state", cell: (each) => <Badge kind="so">{each.state}</Badge> },
          {
            name: "do",
            cell: (each) => (
              <>
                <Sure label="Release" ask={`Let ${each.id} go now?`} act={async () => { await send("PATCH", one(each), { release_now: true }); list.again(); }} />{" "}
                <Move record={each} move={async (deliver_at_ms) => { await send("PATCH", one(each), { deliver_at_ms }); list.again(); }} />{" "}
                <Sure label="Cancel" ask={`Cancel ${each.id} for good?`} act={async () => { await send("DELETE", one(each)); list.again(); }} />
              </>
            ),
          },
        ]}
      />
      <Pager page={list.data} onSkip={setSkip} />
    </>
  );
}

/** Another time for one record: asked for in place of its button. */
function Move({ record, move }: { record: Pending; move: (due_ms: number) => Promise<unknown> }): JSX.Element | null {
  const [open, setOpen] = useState(false);
  const { error, act } = useAct();
  if (isReadOnly()) return null;
  if (!open) return <button type="button" onClick={() => setOpen(true)}>Move</button>;
  const submit = (event: Event) => {
    const { due = "" } = filled(event);
    void act(async () => {
      await move(Date.parse(`${due}Z`));
      setOpen(false);
    });
  };
  return (
    <form class="tools" onSubmit={submit}>
      <label>due (UTC) <input name="due" type="datetime-local" step="1" required defaultValue={new Date(record.due_ms).toISOString().slice(0, 19)} /></label>
      <button>Move it</button>
      <button type="button" onClick={() => setOpen(false)}>Leave it</button>
      <Wrong error={error} />
    </form>
  );
}
