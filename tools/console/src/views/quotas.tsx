// Quotas: how much users, client ids and addresses may; and who comes near that.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, query, send } from "../api";
import { bytes, number, span } from "../format";
import { useData } from "../hooks";
import { Bars, Changing, filled, Fold, Pager, Sure, Table, Told, useAct, Wrong } from "../parts";

interface Quota {
  user: string | null;
  client_id: string | null;
  ip: string | null;
  values: Record<string, number>;
}

interface QuotaUse {
  quota: string;
  user: string;
  name: string;
  bound: number;
  rate: number | null;
  throttled_ms: number;
}

/** What there is to bound, in whose words. */
const KEYS: Record<string, string> = {
  producer_byte_rate: "bytes a second written",
  consumer_byte_rate: "bytes a second read",
  request_percentage: "percent of the broker's time",
  controller_mutation_rate: "partitions a second made or deleted",
  connection_creation_rate: "connections a second (of an address)",
};

function amount(key: string, value: number): string {
  return key.endsWith("byte_rate") ? `${bytes(Math.round(value))}/s` : number(value);
}

function whom({ user, client_id, ip }: Quota): string {
  const named = [user !== null && `user ${user}`, client_id !== null && `client ${client_id}`, ip !== null && `address ${ip}`];
  return named.filter(Boolean).join(", ");
}

export function Quotas(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const set = useData<Page<Quota>>("/quotas" + query({ skip, limit: 50 }));
  const use = useData<Page<QuotaUse>>("/quotas/use?limit=50");
  const rows = set.data?.items.flatMap((each) => Object.entries(each.values).map(([key, value]) => ({ key, value, quota: each })));
  const slowed = use.data?.items.filter((each) => each.throttled_ms > 0).slice(0, 10) ?? [];
  const remove = async (quota: Quota, key: string) => {
    const { user, client_id, ip } = quota;
    await send("PATCH", "/quotas", { user, client_id, ip, values: { [key]: null } });
    set.again();
  };
  return (
    <>
      <h1>Quotas</h1>
      <Changing><SetQuota onSet={set.again} /></Changing>
      <Wrong error={set.error} />
      <Table
        rows={rows}
        empty="Nobody is bounded."
        columns={[
          { name: "of", cell: (each) => whom(each.quota) },
          { name: "quota", cell: (each) => KEYS[each.key] ?? each.key },
          { name: "bound", right: true, cell: (each) => amount(each.key, each.value) },
          { name: "do", cell: (each) => <Sure label="Remove" ask={`Remove ${each.key} of ${whom(each.quota)}?`} act={() => remove(each.quota, each.key)} /> },
        ]}
      />
      <Pager page={set.data} onSkip={setSkip} />
      <h2>In use on this node</h2>
      <Wrong error={use.error} />
      {slowed.length > 0 && <Bars label="who was slowed down for how many ms" rows={slowed.map((each) => ({ name: `${[each.user, each.name].filter(Boolean).join(" ") || "all"}, ms slowed down`, count: each.throttled_ms }))} />}
      <Table
        rows={use.data?.items}
        empty="Nobody who is bounded has done anything lately."
        columns={[
          { name: "who", cell: (each) => [each.user, each.name].filter(Boolean).join(" ") || "all" },
          { name: "quota", cell: (each) => KEYS[each.quota] ?? each.quota },
          { name: "uses", right: true, cell: (each) => (each.rate === null ? "–" : amount(each.quota, Math.round(each.rate))) },
          { name: "of", right: true, cell: (each) => amount(each.quota, each.bound) },
          { name: "slowed down for", right: true, cell: (each) => span(each.throttled_ms) },
        ]}
      />
    </>
  );
}

function SetQuota({ onSet }: { onSet: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const submit = (event: Event) => {
    const { key = "", value = "", ...entity } = filled(event);
    void act(async () => {
      await send("PATCH", "/quotas", { ...entity, values: { [key]: Number(value) } });
      onSet();
      return "It is in force.";
    });
  };
  return (
    <Fold name="Set a quota">
      <form class="tools" onSubmit={submit}>
        <label>user <input name="user" placeholder="anybody" /></label>
        <label>client id <input name="client_id" placeholder="any" /></label>
        <label>or address <input name="ip" placeholder="any" /></label>
        <label>quota <select name="key">{Object.entries(KEYS).map(([key, name]) => <option value={key}>{name}</option>)}</select></label>
        <label>at most <input name="value" type="number" min={0} step="any" required /></label>
        <button>Set it</button>
      </form>
      <p class="quiet"><code>&lt;default&gt;</code> stands for all that have none of their own.</p>
      <Told error={error} told={told} />
    </Fold>
  );
}
