// Share groups: what members have in hand, what waits in back-off, how far each partition is.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Page, path, query, send } from "../api";
import { number, span } from "../format";
import { placeOf, useData } from "../hooks";
import { Figure, Pager, Sure, Table, Wrong } from "../parts";
import { Chart, useSamples } from "../chart";
import { State } from "./groups";

interface ShareGroupSummary {
  group: string;
  state: string;
  in_hand: number;
}

interface ShareGroupDetail {
  group: string;
  state: string;
  lag: number;
  members: Page<{ member_id: string; client_id: string; client_host: string }>;
  offsets: Page<{ topic: string; partition: number; start_offset: number | null; lag: number | null; in_hand: number; backed_off: number }>;
}

export function ShareGroups(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<Page<ShareGroupSummary>>("/share-groups" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Share groups</h1>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty="Nobody works from a share group yet."
        columns={[
          { name: "group", cell: (each) => <a href={placeOf("share-groups", each.group)}>{each.group}</a> },
          { name: "state", cell: (each) => <State state={each.state} /> },
          { name: "in hand", right: true, cell: (each) => number(each.in_hand) },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

export function ShareGroup({ name }: { name: string }): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<ShareGroupDetail>(path("share-groups", name) + query({ skip, limit: 100 }));
  const lags = useMemo(() => (data ? [data.lag] : undefined), [data]);
  const samples = useSamples(`lag of share group ${name}`, lags);
  return (
    <>
      <h1>{name} {data && <State state={data.state} />}</h1>
      <Wrong error={error} />
      {data && (
        <dl class="figures">
          <Figure name="lag">{number(data.lag)}</Figure>
          <Figure name="members">{number(data.members.total)}</Figure>
        </dl>
      )}
      {samples.length > 0 && <Chart name="lag" lines={["lag"]} samples={samples} />}
      <Table
        rows={data?.offsets.items}
        empty="It has no partitions yet."
        columns={[
          { name: "topic", cell: (each) => <a href={placeOf("topics", each.topic)}>{each.topic}</a> },
          { name: "partition", cell: (each) => each.partition },
          { name: "done up to", right: true, cell: (each) => number(each.start_offset) },
          { name: "in hand", right: true, cell: (each) => number(each.in_hand) },
          { name: "in back-off", right: true, cell: (each) => number(each.backed_off) },
          { name: "lag", right: true, cell: (each) => number(each.lag) },
        ]}
      />
      <Pager page={data?.offsets} onSkip={setSkip} />
      <InHand group={name} />
    </>
  );
}

interface Held {
  topic: string;
  partition: number;
  first_offset: number;
  last_offset: number;
  member_id: string;
  delivery_count: number;
  lock_ms: number;
}

/** Who has which records, of the partitions that this node leads; they can be taken back for others. */
function InHand({ group }: { group: string }): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error, again } = useData<Page<Held> & { other_nodes: number[] }>(path("share-groups", group, "in-flight") + query({ skip, limit: 50 }));
  const release = async ({ topic, partition, first_offset, last_offset, member_id }: Held) => {
    await send("POST", path("share-groups", group, "release"), { topic, partition, first_offset, last_offset, member: member_id });
    again();
  };
  return (
    <>
      <h2>In hand</h2>
      <Wrong error={error} />
      {data && data.other_nodes.length > 0 && <p class="quiet">Of the partitions that this node leads; nodes {data.other_nodes.join(", ")} may lead others.</p>}
      <Table
        rows={data?.items}
        empty="Nobody has a record in hand."
        columns={[
          { name: "records", cell: (each) => <a href={placeOf("topics", each.topic)}>{each.topic} {each.partition}:{each.first_offset}{each.last_offset > each.first_offset ? `–${each.last_offset}` : ""}</a> },
          { name: "member", cell: (each) => <code>{each.member_id}</code> },
          { name: "delivery", right: true, cell: (each) => number(each.delivery_count) },
          { name: "lock for", right: true, cell: (each) => span(each.lock_ms) },
          { name: "do", cell: (each) => <Sure label="Take back" ask={`Take ${each.topic} ${each.partition}:${each.first_offset} to ${each.last_offset} back from ${each.member_id}? Others get it.`} act={() => release(each)} /> },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}
