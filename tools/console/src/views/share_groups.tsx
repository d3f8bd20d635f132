// Share groups: what members have in hand, what waits in back-off, how far each partition is.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Page, path, query } from "../api";
import { number } from "../format";
import { placeOf, useData } from "../hooks";
import { Figure, Pager, Table, Wrong } from "../parts";
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
          { name: "partition", right: true, cell: (each) => each.partition },
          { name: "done up to", right: true, cell: (each) => number(each.start_offset) },
          { name: "in hand", right: true, cell: (each) => number(each.in_hand) },
          { name: "in back-off", right: true, cell: (each) => number(each.backed_off) },
          { name: "lag", right: true, cell: (each) => number(each.lag) },
        ]}
      />
      <Pager page={data?.offsets} onSkip={setSkip} />
    </>
  );
}
