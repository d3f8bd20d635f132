// Tenants: what each uses, of what it may.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, query } from "../api";
import { bytes, number, span } from "../format";
import { useData } from "../hooks";
import { Pager, Table, Wrong } from "../parts";

interface Tenant {
  name: string;
  principals: string[];
  rewrite: boolean;
  limits: Record<string, number | null>;
  usage: Record<string, number | null>;
}

export function Tenants(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error } = useData<Page<Tenant>>("/tenants" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Tenants</h1>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty={<>There are no tenants: everybody is in one namespace. <code>tidegate tenant create NAME</code> makes one.</>}
        columns={[
          { name: "tenant", cell: (each) => each.name },
          { name: "principals", cell: (each) => each.principals.map((one) => <div>{one}</div>) },
          { name: "names", cell: (each) => (each.rewrite ? "without prefix" : "with prefix") },
          { name: "uses, of its limit", cell: (each) => <Use tenant={each} /> },
          { name: "slowed down for", right: true, cell: (each) => span(each.usage.throttled_ms ?? 0) },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

/** What is limited as a meter; what is not as a number. */
function Use({ tenant }: { tenant: Tenant }): JSX.Element {
  const names = [...new Set(["topics", "partitions", "storage_bytes", "connections", ...Object.keys(tenant.limits)])];
  return (
    <dl class="pairs">
      {names.map((name) => {
        const used = tenant.usage[name];
        const limit = tenant.limits[name];
        const shown = (value: number) => (name.includes("byte") ? bytes(Math.round(value)) : number(Math.round(value)));
        if (used == null && limit == null) return null;
        return (
          <>
            <dt>{name.replaceAll("_", " ")}</dt>
            <dd>
              {used == null ? "–" : shown(used)}{limit != null && <> of {shown(limit)} {used != null && <meter min={0} max={Math.max(1, limit)} value={used} aria-label={`${name} of ${tenant.name}`} />}</>}
            </dd>
          </>
        );
      })}
    </dl>
  );
}
