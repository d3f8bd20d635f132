// The lanes of a topic with priorities: how much waits in each, for how long, and how fast it goes.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Page, query } from "../api";
import { number, span } from "../format";
import { useData } from "../hooks";
import { Chart, useSamples } from "../chart";
import { Table, Wrong } from "../parts";

interface Lanes {
  partition: number;
  ready: number[];
  oldest_age_ms: (number | null)[];
  enqueue_rate: number[];
  dequeue_rate: number[];
}

const NAMES = ["critical", "high", "normal", "low", "background"];

export function Lanes({ topic }: { topic: string }): JSX.Element {
  const { data, error } = useData<Page<Lanes>>("/priority/stats" + query({ topic, limit: 1000 }));
  const rows = data?.items.flatMap((each) => NAMES.map((name, lane) => ({ name, lane, ...each })));
  const depths = useMemo(() => (data?.items.length ? NAMES.map((_, lane) => data.items.reduce((sum, each) => sum + (each.ready[lane] ?? 0), 0)) : undefined), [data]);
  const samples = useSamples(`lanes of ${topic}`, depths);
  return (
    <>
      <Wrong error={error} />
      {samples.length > 0 && <Chart name="waiting in all partitions" lines={NAMES} samples={samples} />}
      <Table
        rows={rows}
        empty="No record of this topic has a priority."
        columns={[
          { name: "partition", cell: (each) => each.partition },
          { name: "lane", cell: (each) => each.name },
          { name: "waiting", right: true, cell: (each) => number(each.ready[each.lane]) },
          { name: "oldest", right: true, cell: (each) => (each.oldest_age_ms[each.lane] == null ? "–" : span(each.oldest_age_ms[each.lane]!)) },
          { name: "in/s", right: true, cell: (each) => each.enqueue_rate[each.lane]?.toFixed(1) },
          { name: "out/s", right: true, cell: (each) => each.dequeue_rate[each.lane]?.toFixed(1) },
        ]}
      />
    </>
  );
}
