// How the broker is, and what to do about it.

import type { JSX } from "preact";
import { bytes, number, span } from "../format";
import { placeOf, useData } from "../hooks";
import { Badge, Figure, Wrong } from "../parts";

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

export function Overview(): JSX.Element {
  const health = useData<Health>("/health");
  const cluster = useData<ClusterSummary>("/cluster");
  const told = health.data;
  return (
    <>
      <h1>Overview {told && <Badge kind={told.status === "healthy" ? "good" : "bad"}>{told.status}</Badge>}</h1>
      <Wrong error={health.error} />
      {told && advice(told).map(([what, help]) => <p class="wrong"><b>{what}.</b> {help}</p>)}
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
      {cluster.data && <p class="quiet">Tidegate {cluster.data.version}, node {cluster.data.node_id} of cluster <code>{cluster.data.cluster_id}</code></p>}
    </>
  );
}
