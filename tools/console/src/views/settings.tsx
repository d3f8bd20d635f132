// Every broker key, what is in force and who set it.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page } from "../api";
import { useData } from "../hooks";
import { Badge, Table, Wrong } from "../parts";

interface BrokerKey {
  name: string;
  value: string | null;
  source: string;
  documentation: string;
}

export function Settings(): JSX.Element {
  const [wanted, setWanted] = useState("");
  const { data, error } = useData<Page<BrokerKey>>("/config?limit=1000");
  const rows = data?.items.filter((each) => each.name.includes(wanted) || each.documentation.includes(wanted));
  return (
    <>
      <h1>Settings</h1>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>search <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} /></label>
      </form>
      <Wrong error={error} />
      <Table cards
        rows={rows}
        empty="No key is called so."
        columns={[
          { name: "key", cell: (each) => <div class="about"><code>{each.name}</code><div class="quiet">{each.documentation}</div></div> },
          { name: "value", cell: (each) => <code>{each.value ?? "–"}</code> },
          { name: "set by", cell: (each) => (each.source.startsWith("default") ? "" : <Badge kind="so">{each.source.replaceAll("_", " ")}</Badge>) },
        ]}
      />
    </>
  );
}
