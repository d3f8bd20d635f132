// Topics by name, in pages that the broker makes.

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Page, path, query, send } from "../api";
import { useRates } from "../chart";
import { bytes, number, rate } from "../format";
import { placeOf, useData } from "../hooks";
import { Changing, Pager, Table, Wrong } from "../parts";

interface TopicSummary {
  name: string;
  internal: boolean;
  partitions: number;
  size_bytes: number;
  end_offsets: number;
}

export function Topics(): JSX.Element {
  const [prefix, setPrefix] = useState("");
  const [internal, setInternal] = useState(false);
  const [skip, setSkip] = useState(0);
  const { data, error, again } = useData<Page<TopicSummary>>("/topics" + query({ prefix, internal, skip, limit: 50 }));
  const speeds = useRates(useMemo(() => data && new Map(data.items.map((each) => [each.name, each.end_offsets])), [data]));
  return (
    <>
      <h1>Topics</h1>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>begins with <input type="search" value={prefix} onInput={(event) => { setPrefix(event.currentTarget.value); setSkip(0); }} /></label>
        <label><input type="checkbox" checked={internal} onChange={(event) => { setInternal(event.currentTarget.checked); setSkip(0); }} /> the broker's own</label>
      </form>
      <Wrong error={error} />
      <Table
        rows={data?.items}
        empty="No topic is called so."
        columns={[
          { name: "name", cell: (topic) => <a href={placeOf("topics", topic.name)}>{topic.name}</a> },
          { name: "partitions", right: true, cell: (topic) => number(topic.partitions) },
          { name: "stored here", right: true, cell: (topic) => bytes(topic.size_bytes) },
          { name: "written here", right: true, cell: (topic) => rate(speeds.get(topic.name)) },
        ]}
      />
      <Pager page={data} onSkip={setSkip} />
      <Changing><NewTopic onMade={again} /></Changing>
    </>
  );
}

function NewTopic({ onMade }: { onMade: () => void }): JSX.Element {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("");
  const [error, setError] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await send("POST", path("topics"), { name, ...(partitions ? { partitions: Number(partitions) } : {}) });
      setName("");
      setError(undefined);
      onMade();
    } catch (wrong) {
      setError((wrong as Error).message);
    }
  };
  return (
    <form class="tools" onSubmit={submit}>
      <label>new topic <input required value={name} onInput={(event) => setName(event.currentTarget.value)} /></label>
      <label>partitions <input type="number" min={1} value={partitions} onInput={(event) => setPartitions(event.currentTarget.value)} /></label>
      <button>Make</button>
      <Wrong error={error} />
    </form>
  );
}
