// The nodes, what they lead, and what happened lately.

import type { JSX } from "preact";
import { Page } from "../api";
import { number, time } from "../format";
import { useData } from "../hooks";
import { Badge, Figure, Table, Wrong } from "../parts";

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

interface Event {
  number: number;
  at_ms: number;
  what: string;
  detail: string;
}

export function Cluster(): JSX.Element {
  const nodes = useData<{ items: Node[]; absent: number[] }>("/cluster/nodes");
  const summary = useData<{ lacking: Record<string, number> }>("/cluster");
  const events = useData<Page<Event>>("/cluster/events?limit=50");
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
          { name: "node", right: true, cell: (each) => each.node_id },
          { name: "state", cell: (each) => <><Badge kind={each.state === "serving" ? "good" : "so"}>{each.state}</Badge> {each.is_controller && <Badge kind="so">controller</Badge>}</> },
          { name: "rack", cell: (each) => each.rack ?? "–" },
          { name: "addresses", cell: (each) => each.addresses.map((address) => <div>{address.host}:{address.port}</div>) },
          { name: "load", cell: (each) => Object.entries(each.load).map(([name, count]) => <div>{name.replaceAll("_", " ")}: {number(count)}</div>) },
          { name: "version", cell: (each) => each.version },
        ]}
      />
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
