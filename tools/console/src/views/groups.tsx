// Consumer groups: how far behind they are, and who reads what.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { isReadOnly, Page, path, query } from "../api";
import { number } from "../format";
import { placeOf, useData } from "../hooks";
import { Badge, Figure, Missing, Pager, Table, Wrong } from "../parts";
import { Chart, useSamples } from "../chart";
import { Move } from "./group_move";

interface GroupSummary {
  group: string;
  type: string;
  state: string;
  lag: number | null;
}

interface GroupDetail extends GroupSummary {
  protocol: string;
  members: Page<{ member_id: string; client_id: string; client_host: string; assignment: { topic: string; partitions: number[] }[] | null }>;
  offsets: Page<{ topic: string; partition: number; committed_offset: number; end_offset: number | null; lag: number | null }>;
}

export function Groups(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<Page<GroupSummary> & { missing_nodes: number[] }>("/groups" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Groups</h1>
      <Wrong error={error} />
      <Missing nodes={data?.missing_nodes} what="the groups" />
      <Table
        rows={data?.items}
        empty="Nobody reads as a group yet."
        columns={[
          { name: "group", cell: (each) => <a href={placeOf("groups", each.group)}>{each.group}</a> },
          { name: "protocol", cell: (each) => each.type },
          { name: "state", cell: (each) => <State state={each.state} /> },
          { name: "lag", right: true, cell: (each) => number(each.lag) },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

export function State({ state }: { state: string }): JSX.Element {
  return <Badge kind={state === "Stable" ? "good" : state === "Dead" ? "bad" : "so"}>{state}</Badge>;
}

export function Group({ name }: { name: string }): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error, again } = useData<GroupDetail>(path("groups", name) + query({ skip, limit: 100 }));
  const lags = useMemo(() => (data && data.lag !== null ? [data.lag] : undefined), [data]);
  const samples = useSamples(`lag of ${name}`, lags);
  return (
    <>
      <h1>{name} {data && <State state={data.state} />}</h1>
      <Wrong error={error} />
      {data && (
        <dl class="figures">
          <Figure name="lag">{number(data.lag)}</Figure>
          <Figure name="members">{number(data.members.total)}</Figure>
          <Figure name="assignor">{data.protocol || "–"}</Figure>
        </dl>
      )}
      {samples.length > 0 && <Chart name="lag" lines={["lag"]} samples={samples} />}
      <h2>Offsets</h2>
      <Table
        rows={data?.offsets.items}
        empty="Nothing was committed."
        columns={[
          { name: "topic", cell: (each) => <a href={placeOf("topics", each.topic)}>{each.topic}</a> },
          { name: "partition", cell: (each) => each.partition },
          { name: "committed", right: true, cell: (each) => number(each.committed_offset) },
          { name: "end", right: true, cell: (each) => number(each.end_offset) },
          { name: "lag", right: true, cell: (each) => number(each.lag) },
        ]}
      />
      <Pager page={data?.offsets} onSkip={setSkip} />
      {data && data.type !== "share" && !isReadOnly() && <Move group={name} members={data.members.total} onMoved={again} />}
      <h2>Members</h2>
      <Table
        rows={data?.members.items}
        empty="Nobody is there."
        columns={[
          { name: "member", cell: (each) => <code>{each.member_id}</code> },
          { name: "client", cell: (each) => `${each.client_id} ${each.client_host}` },
          { name: "reads", cell: (each) => each.assignment?.map((place) => <div>{place.topic}: {place.partitions.join(", ")}</div>) },
        ]}
      />
    </>
  );
}
