// Records that wait for their time: how many are due when, and each of them, to cancel, move or let go.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, path, query, send } from "../api";
import { bytes, span, time } from "../format";
import { useData } from "../hooks";
import { Badge, Bars, Pager, Sure, Table, Wrong } from "../parts";

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
const EDGES = [MINUTE_MS, 10 * MINUTE_MS, 60 * MINUTE_MS, 6 * 60 * MINUTE_MS, 24 * 60 * MINUTE_MS, 7 * 24 * 60 * MINUTE_MS];
const NAMES = ["within a minute", "10 minutes", "an hour", "6 hours", "a day", "a week", "later"];

export function Delayed({ topic }: { topic: string }): JSX.Element {
  const [skip, setSkip] = useState(0);
  const [since] = useState(Date.now);
  const base = path("topics", topic, "delayed");
  const list = useData<Page<Pending>>(base + query({ skip, limit: 50 }));
  const histogram = useData<{ buckets: { records: number }[] }>(`${base}/histogram${query({ edges_ms: EDGES.map((edge) => since + edge).join(",") })}`);
  const one = (record: Pending) => path("topics", topic, "delayed", record.partition, record.id);
  return (
    <>
      <Wrong error={list.error} />
      {histogram.data && list.data && list.data.total > 0 && (
        <Bars label="due" rows={histogram.data.buckets.map((bucket, index) => ({ name: NAMES[index] ?? "", count: bucket.records }))} />
      )}
      <Table
        rows={list.data?.items}
        empty="Nothing waits for its time."
        columns={[
          { name: "due (UTC)", cell: (each) => time(each.due_ms) },
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
