// The nodes, what they lead, and what happened lately.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, path, send } from "../api";
import { bytes, number, time } from "../format";
import { placeOf, useData } from "../hooks";
import { Badge, Changing, filled, Figure, Fold, Pager, Sure, Table, Told, useAct, Wrong } from "../parts";

interface Node {
  node_id: number;
  rack: string | null;
  addresses: { host: string; port: number }[];
  state: string;
  is_controller: boolean;
  epoch: number;
  version: string;
  load: Record<string, number>;
}

interface Happening {
  number: number;
  at_ms: number;
  what: string;
  detail: string;
}

export function Cluster(): JSX.Element {
  const nodes = useData<{ items: Node[]; absent: number[] }>("/cluster/nodes");
  const summary = useData<{ lacking: Record<string, number> }>("/cluster");
  const events = useData<Page<Happening>>("/cluster/events?limit=50");
  return (
    <>
      <h1>Cluster</h1>
      <Wrong error={nodes.error} />
      {summary.data && (
        <dl class="figures">
          {Object.entries(summary.data.lacking).map(([name, count]) => <Figure name={name.replaceAll("_", " ")}>{number(count)}</Figure>)}
        </dl>
      )}
      {nodes.data && nodes.data.absent.length > 0 && <p class="wrong">Away, though they hold replicas: {nodes.data.absent.join(", ")}</p>}
      <Table
        rows={nodes.data?.items}
        empty="No node is known."
        columns={[
          { name: "node", cell: (each) => each.node_id },
          { name: "state", cell: (each) => <><Badge kind={each.state === "serving" ? "good" : "so"}>{each.state}</Badge> {each.is_controller && <Badge kind="so">controller</Badge>}</> },
          { name: "rack", cell: (each) => each.rack ?? "–" },
          { name: "addresses", cell: (each) => each.addresses.map((address) => <div>{address.host}:{address.port}</div>) },
          { name: "load", cell: (each) => Object.entries(each.load).map(([name, count]) => <div>{name.replaceAll("_", " ")}: {number(count)}</div>) },
          { name: "version", cell: (each) => each.version },
        ]}
      />
      <Moving />
      <Changing><Leaders lacking={summary.data?.lacking} /></Changing>
      <h2>Lately</h2>
      <Wrong error={events.error} />
      <Table
        rows={events.data?.items}
        empty="Nothing has happened since this node started."
        columns={[
          { name: "time (UTC)", cell: (each) => time(each.at_ms) },
          { name: "what", cell: (each) => each.what },
          { name: "detail", cell: (each) => each.detail },
        ]}
      />
    </>
  );
}

interface Reassignment {
  topic: string;
  partition: number;
  replicas: number[];
  adding: number[];
  removing: number[];
}

/** Has one partition lie somewhere, or cancels that it moves; raises why not. */
async function reassign(topic: string, partition: number, replicas: number[] | null): Promise<void> {
  const told = await send<{ items: { error: string | null; detail: string | null }[] }>("POST", "/cluster/reassignments", { items: [{ topic, partition, replicas }] });
  const refused = told!.items.find((each) => each.error !== null);
  if (refused) throw new Error(refused.detail ?? refused.error!);
}

function Moving(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error, again } = useData<Page<Reassignment>>(`/cluster/reassignments?limit=50&skip=${skip}`);
  return (
    <>
      <h2>Partitions that move</h2>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty="Every partition lies where it should."
        columns={[
          { name: "partition", cell: (each) => <a href={placeOf("topics", each.topic, "partitions")}>{each.topic} {each.partition}</a> },
          { name: "lies on", cell: (each) => each.replicas.join(", ") },
          { name: "gets it", cell: (each) => each.adding.join(", ") || "–" },
          { name: "loses it", cell: (each) => each.removing.join(", ") || "–" },
          { name: "still to copy", cell: (each) => <Lacking of={each} /> },
          { name: "do", cell: (each) => <Sure label="Cancel" ask={`Have ${each.topic} ${each.partition} stay where it was?`} act={async () => { await reassign(each.topic, each.partition, null); again(); }} /> },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
      <Changing><Move onMoved={again} /></Changing>
    </>
  );
}

/** What those who get a partition lack, as its leader knows. */
function Lacking({ of }: { of: Reassignment }): JSX.Element {
  const { data } = useData<{ leader: number; replicas: { node_id: number; in_sync: boolean; lag: { bytes: number } | null }[] }>(path("cluster", "partitions", of.topic, of.partition));
  const added = data?.replicas.filter((each) => of.adding.includes(each.node_id)) ?? [];
  return <>{added.map((each) => <div>{each.node_id}: {each.in_sync ? "has all" : each.lag ? bytes(each.lag.bytes) : `node ${data?.leader}, which leads it, tells`}</div>)}</>;
}

function Move({ onMoved }: { onMoved: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const submit = (event: Event) => {
    const { topic = "", partition = "", nodes = "" } = filled(event);
    void act(async () => {
      await reassign(topic, Number(partition), nodes.split(",").map(Number));
      onMoved();
      return `${topic} ${partition} moves to ${nodes}.`;
    });
  };
  return (
    <Fold name="Move a partition">
      <form class="tools" onSubmit={submit}>
        <label>topic <input name="topic" required /></label>
        <label>partition <input name="partition" type="number" min={0} required /></label>
        <label>to nodes, the first of which is to lead <input name="nodes" required pattern="[0-9]+(, *[0-9]+)*" placeholder="1,2,3" /></label>
        <button>Move it</button>
      </form>
      <p class="quiet">Plans for many at once: <code>tidegate cluster reassign plan</code>, <code>drain</code>, <code>rebalance</code>.</p>
      <Told error={error} told={told} />
    </Fold>
  );
}

function Leaders({ lacking }: { lacking: Record<string, number> | undefined }): JSX.Element {
  const { error, told, act } = useAct();
  const elect = (kind: string) => act(async () => {
    const { items } = (await send<{ items: { error: string | null }[] }>("POST", "/cluster/leader-election", { kind }))!;
    const failed = items.filter((each) => each.error !== null).length;
    return items.length === 0 ? "No partition needed it." : `${items.length - failed} partitions have another leader${failed ? `, ${failed} could not have one` : ""}.`;
  });
  return (
    <Fold name="Elect leaders">
      <p class="tools"><button onClick={() => void elect("preferred")}>Let the first replicas lead</button> <span class="quiet">where they are in sync</span></p>
      {(lacking?.leaderless ?? 0) > 0 && (
        <p class="tools"><Sure label="Let whoever is left lead" bad ask="Let replicas lead that may lack acknowledged records? What only others have is lost." act={() => elect("unclean")} /> <span class="quiet">the last resort: rather bring back the nodes that have all</span></p>
      )}
      <Told error={error} told={told} />
    </Fold>
  );
}
