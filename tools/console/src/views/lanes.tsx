// The lanes of a topic with priorities: how much waits in each, for how long, and how fast it goes.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Page, query } from "../api";
import { number, span } from "../format";
import { useData } from "../hooks";
import { Chart, useSamples } from "../chart";
import { Missing, Table, Wrong } from "../parts";

interface Lanes {
  node: number;
  partition: number;
  ready: number[];
  oldest_age_ms: (number | null)[];
  enqueue_rate: number[];
  dequeue_rate: number[];
}

const NAMES = ["critical", "high", "normal", "low", "background"];

export function Lanes({ topic }: { topic: string }): JSX.Element {
  const { data, error } = useData<Page<Lanes> & { missing_nodes: number[] }>("/priority/stats" + query({ topic, limit: 1000 }));
  const rows = data?.items.flatMap((each) => NAMES.map((name, lane) => ({ name, lane, ...each })));
  const depths = useMemo(() => lanes(data?.items, (each, lane) => each.ready[lane] ?? 0, sum), [data]);
  const ages = useMemo(() => lanes(data?.items, (each, lane) => Math.round((each.oldest_age_ms[lane] ?? 0) / 1000), Math.max), [data]);
  const shares = useMemo(() => inHundred(lanes(data?.items, (each, lane) => each.dequeue_rate[lane] ?? 0, sum)), [data]);
  const waiting = useSamples(`lanes of ${topic}`, depths);
  const oldest = useSamples(`ages of ${topic}`, ages);
  const taken = useSamples(`shares of ${topic}`, shares);
  return (
    <>
      <Wrong error={error} />
      <Missing nodes={data?.missing_nodes} what="the partitions" />
      {waiting.length > 0 && <Chart name="waiting in all partitions" lines={NAMES} samples={waiting} />}
      {oldest.length > 0 && <Chart name="age of the oldest, in seconds" lines={NAMES} samples={oldest} />}
      {taken.length > 0 && <Chart name="share of what readers took in the last minute, in %" lines={NAMES} samples={taken} />}
      <Table
        rows={rows}
        empty="No record of this topic has a priority."
        columns={[
          { name: "partition", cell: (each) => each.partition },
          { name: "leader", cell: (each) => each.node },
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

const sum = (...values: number[]) => values.reduce((one, other) => one + other, 0);

/** A figure of each lane over all partitions. */
function lanes(rows: Lanes[] | undefined, figure: (row: Lanes, lane: number) => number, together: (...values: number[]) => number): number[] | undefined {
  return rows?.length ? NAMES.map((_, lane) => together(...rows.map((each) => figure(each, lane)))) : undefined;
}

function inHundred(figures: number[] | undefined): number[] | undefined {
  const all = sum(...(figures ?? []));
  return figures?.map((each) => (all ? Math.round((each / all) * 100) : 0));
}
