// One topic: its records, what waits in it, its partitions and settings.

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { isReadOnly, path } from "../api";
import { Chart, rates, useRates, useSamples } from "../chart";
import { bytes, number, rate } from "../format";
import { placeOf, useData } from "../hooks";
import { Badge, Figure, Table, Wrong } from "../parts";
import { Delayed } from "./delayed";
import { Lanes } from "./lanes";
import { Messages } from "./messages";
import { Produce } from "./produce";
import { Config, Settings } from "./topic_changes";

interface PartitionDetail {
  partition: number;
  leader: number;
  replicas: number[];
  isr: number[];
  start_offset: number;
  end_offset: number;
  size_bytes: number;
  offline: boolean;
}

interface TopicDetail {
  name: string;
  size_bytes: number;
  configs: Config[];
  partitions: { items: PartitionDetail[]; total: number };
}

const TABS = ["messages", "produce", "delayed", "lanes", "partitions", "settings"];

export function Topic({ name, tab }: { name: string; tab: string }): JSX.Element {
  const { data, error, again } = useData<TopicDetail>(path("topics", name) + "?limit=1000");
  const ends = useMemo(() => data && [data.partitions.items.reduce((sum, each) => sum + each.end_offset, 0)], [data]);
  const written = rates(useSamples(`end of ${name}`, ends));
  return (
    <>
      <h1>{name}</h1>
      <Wrong error={error} />
      {data && (
        <dl class="figures">
          <Figure name="partitions">{number(data.partitions.total)}</Figure>
          <Figure name="records held here">{number(data.partitions.items.reduce((sum, each) => sum + each.end_offset - each.start_offset, 0))}</Figure>
          <Figure name="stored here">{bytes(data.size_bytes)}</Figure>
          <Figure name="written">{rate(written.at(-1)?.values[0])}</Figure>
        </dl>
      )}
      <nav class="tabs" aria-label="About this topic">
        {TABS.filter((each) => each !== "produce" || !isReadOnly()).map((each) => <a href={placeOf("topics", name, each)} aria-current={each === tab ? "page" : undefined}>{each}</a>)}
      </nav>
      {tab === "messages" && <Messages topic={name} />}
      {tab === "produce" && <Produce topic={name} />}
      {tab === "delayed" && <Delayed topic={name} />}
      {tab === "lanes" && <Lanes topic={name} />}
      {tab === "partitions" && <Partitions rows={data?.partitions.items} written={written} />}
      {tab === "settings" && <Settings topic={name} configs={data?.configs} onChanged={again} />}
    </>
  );
}

function Partitions({ rows, written }: { rows: PartitionDetail[] | undefined; written: ReturnType<typeof rates> }): JSX.Element {
  const ends = useMemo(() => rows && new Map(rows.map((each) => [String(each.partition), each.end_offset])), [rows]);
  const speeds = useRates(ends);
  return (
    <>
      {written.length > 0 && <Chart name="records written per second" lines={["written"]} samples={written} />}
      <Table
        rows={rows}
        empty="This node holds none of its partitions."
        columns={[
          { name: "partition", cell: (each) => each.partition },
          { name: "leader", cell: (each) => each.leader },
          { name: "in sync", cell: (each) => <>{each.isr.join(", ")} {each.isr.length < each.replicas.length && <Badge kind="so">of {each.replicas.join(", ")}</Badge>}</> },
          { name: "from", right: true, cell: (each) => number(each.start_offset) },
          { name: "to", right: true, cell: (each) => number(each.end_offset) },
          { name: "stored", right: true, cell: (each) => bytes(each.size_bytes) },
          { name: "written", right: true, cell: (each) => rate(speeds.get(String(each.partition))) },
          { name: "state", cell: (each) => each.offline && <Badge kind="bad">offline</Badge> },
        ]}
      />
    </>
  );
}
