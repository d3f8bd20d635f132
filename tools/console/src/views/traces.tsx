// Records that were traced, and one record's timeline.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, path, query } from "../api";
import { span } from "../format";
import { placeOf, useData } from "../hooks";
import { Badge, Pager, Table, Wrong } from "../parts";

interface TraceSummary {
  topic: string;
  partition: number;
  offset: number | null;
  key: string | null;
  status: string;
  groups: string[];
  start: string;
  duration_us: number;
}

interface TimelineDetail extends TraceSummary {
  trace_id: string;
  steps: { event: string; time: string; gap_us: number; since_start_us: number; attributes: Record<string, unknown> }[];
}

export function Traces(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<Page<TraceSummary>>("/traces" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Traces</h1>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty="No record was traced lately."
        columns={[
          { name: "record", cell: (each) => (each.offset === null ? `${each.topic} ${each.partition}` : <a href={placeOf("traces", each.topic, each.partition, each.offset)}>{each.topic} {each.partition}:{each.offset}</a>) },
          { name: "key", cell: (each) => <code>{each.key ?? ""}</code> },
          { name: "began (UTC)", cell: (each) => each.start },
          { name: "took", right: true, cell: (each) => span(each.duration_us / 1000) },
          { name: "status", cell: (each) => <Badge kind="so">{each.status}</Badge> },
          { name: "read by", cell: (each) => each.groups.join(", ") },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

export function Timeline({ topic, partition, offset }: { topic: string; partition: string; offset: string }): JSX.Element {
  const { data, error } = useData<TimelineDetail>(path("traces", "at", topic, partition, offset));
  return (
    <>
      <h1>{topic} {partition}:{offset}</h1>
      <p><a href={placeOf("topics", topic)}>{topic}</a></p>
      {error && <p class="quiet">{error}. One record in many is traced by itself; those that carry a sampled traceparent always.</p>}
      {data && (
        <>
          <p class="quiet">trace <code>{data.trace_id}</code></p>
          <ol class="steps">
            {data.steps.map((step) => (
              <li>
                <b>{step.event}</b> <span class="quiet">{step.time}, +{span(step.gap_us / 1000)}</span>
                {Object.entries(step.attributes).map(([name, value]) => <div><code>{name}={typeof value === "string" ? value : JSON.stringify(value)}</code></div>)}
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}
