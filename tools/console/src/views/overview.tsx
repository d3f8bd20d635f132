// How the broker is, and what to do about it.

import type { JSX } from "preact";
import { Page } from "../api";
import { bytes, number, span } from "../format";
import { placeOf, useData } from "../hooks";
import { Badge, Bars, Figure, Table, Wrong } from "../parts";

interface Health {
  status: string;
  uptime_seconds: number;
  partitions: number;
  offline_partitions: number;
  damages: number;
  storage: { size_bytes: number; free_bytes: number; refused: string | null; set_aside_files: number };
  cluster: { nodes: number; leaderless_partitions: number; under_min_isr_partitions: number; under_replicated_partitions: number };
}

interface ClusterSummary {
  cluster_id: string;
  node_id: number;
  version: string;
  topics: number;
  partitions: number;
  connections: number;
}

/** What is wrong, each with what helps. */
function advice(health: Health): [string, string][] {
  const { storage, cluster } = health;
  const found: [string, string][] = [];
  if (storage.refused) found.push([storage.refused, "Make room on the disk, or lower retention.bytes; it goes on by itself then."]);
  if (health.offline_partitions) found.push([`${health.offline_partitions} partitions cannot be written`, "A write or a sync failed; the log says why. They are tried again every second."]);
  if (health.damages) found.push([`${health.damages} places on the disk are damaged`, "tidegate scrub names them; a replica or an archive may have them."]);
  if (cluster.leaderless_partitions) found.push([`${cluster.leaderless_partitions} partitions have no leader`, "Bring back one of the nodes that hold them."]);
  if (cluster.under_min_isr_partitions) found.push([`${cluster.under_min_isr_partitions} partitions refuse acks=all`, "Too few replicas are in sync: bring nodes back."]);
  if (cluster.under_replicated_partitions) found.push([`${cluster.under_replicated_partitions} partitions lack replicas`, "A node is away or catches up; see Cluster."]);
  return found;
}

const SHOWN = 5;

/** The groups that are furthest behind, of the first that there are. */
function Behind(): JSX.Element | null {
  const { data } = useData<Page<{ group: string; lag: number | null }>>("/groups?limit=200");
  const late = data?.items.filter((each) => (each.lag ?? 0) > 0).sort((one, other) => other.lag! - one.lag!).slice(0, SHOWN);
  if (late === undefined || late.length === 0) return null;
  return (
    <>
      <h2>Furthest behind</h2>
      <Bars label="groups that are behind, in records" rows={late.map((each) => ({ name: each.group, count: each.lag!, href: placeOf("groups", each.group) }))} />
    </>
  );
}

function Dead(): JSX.Element | null {
  const { data } = useData<Page<{ topic: string; letters: number }>>("/dlq?limit=200");
  const some = data?.items.filter((each) => each.letters > 0).sort((one, other) => other.letters - one.letters).slice(0, SHOWN);
  if (some === undefined || some.length === 0) return null;
  return (
    <>
      <h2>Dead letters</h2>
      <Table rows={some} empty="" columns={[{ name: "topic", cell: (each) => <a href={placeOf("dead-letters", each.topic)}>{each.topic}</a> }, { name: "letters here", right: true, cell: (each) => number(each.letters) }]} />
    </>
  );
}

export function Overview(): JSX.Element {
  const health = useData<Health>("/health");
  const cluster = useData<ClusterSummary>("/cluster");
  const told = health.data;
  return (
    <>
      <h1>Overview {told && <Badge kind={told.status === "healthy" ? "good" : "bad"}>{told.status}</Badge>}</h1>
      <Wrong error={health.error} />
      {told && advice(told).map(([what, help]) => <p class="advice"><b>{what}.</b> {help}</p>)}
      {told?.status === "healthy" && <p class="advice fine">All partitions are served, all replicas are in sync, and nothing on the disk is known to be damaged.</p>}
      {told && (
        <dl class="figures">
          <Figure name="running for">{span(told.uptime_seconds * 1000)}</Figure>
          <Figure name="the disk has">{bytes(told.storage.size_bytes)}</Figure>
          <Figure name="free on the disk">{bytes(told.storage.free_bytes)}</Figure>
          <Figure name="partitions here">{number(told.partitions)}</Figure>
          <Figure name="nodes"><a href={placeOf("cluster")}>{number(told.cluster.nodes)}</a></Figure>
          {cluster.data && <Figure name="topics"><a href={placeOf("topics")}>{number(cluster.data.topics)}</a></Figure>}
          {cluster.data && <Figure name="connections">{number(cluster.data.connections)}</Figure>}
        </dl>
      )}
      <Wrong error={cluster.error} />
      <Behind />
      <Dead />
      {cluster.data && <p class="quiet">Tidegate {cluster.data.version}, node {cluster.data.node_id} of cluster <code>{cluster.data.cluster_id}</code></p>}
    </>
  );
}
