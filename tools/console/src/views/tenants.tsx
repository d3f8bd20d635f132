// Tenants with what they use, and quotas with who comes near them.

import type { JSX } from "preact";
import { Page } from "../api";
import { bytes, number, span } from "../format";
import { useData } from "../hooks";
import { Table, Wrong } from "../parts";

interface Tenant {
  name: string;
  principals: string[];
  usage: { topics: number; partitions: number; storage_bytes: number; connections: number; throttled_ms: number };
}

interface QuotaUse {
  quota: string;
  user: string;
  name: string;
  bound: number;
  rate: number | null;
  throttled_ms: number;
}

export function Tenants(): JSX.Element {
  const tenants = useData<Page<Tenant>>("/tenants?limit=200");
  const quotas = useData<Page<QuotaUse>>("/quotas/use?limit=200");
  return (
    <>
      <h1>Tenants</h1>
      <Wrong error={tenants.error} />
      <Table
        rows={tenants.data?.items}
        empty="There are no tenants: everybody is in one namespace."
        columns={[
          { name: "tenant", cell: (each) => each.name },
          { name: "principals", cell: (each) => each.principals.join(", ") },
          { name: "topics", right: true, cell: (each) => number(each.usage.topics) },
          { name: "stored", right: true, cell: (each) => bytes(each.usage.storage_bytes) },
          { name: "connections", right: true, cell: (each) => number(each.usage.connections) },
          { name: "slowed down for", right: true, cell: (each) => span(each.usage.throttled_ms) },
        ]}
      />
      <h2>Quotas in use</h2>
      <Wrong error={quotas.error} />
      <Table
        rows={quotas.data?.items}
        empty="Nobody has used a quota lately."
        columns={[
          { name: "quota", cell: (each) => each.quota },
          { name: "who", cell: (each) => [each.user, each.name].filter(Boolean).join(" ") },
          { name: "bound", right: true, cell: (each) => number(each.bound) },
          { name: "rate", right: true, cell: (each) => number(each.rate === null ? null : Math.round(each.rate)) },
          { name: "slowed down for", right: true, cell: (each) => span(each.throttled_ms) },
        ]}
      />
    </>
  );
}
