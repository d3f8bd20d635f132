// What can be done to a topic as a whole: settings, more partitions, its end.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { path, send } from "../api";
import { placeOf } from "../hooks";
import { Badge, Changing, filled, Fold, Sure, Table, Told, useAct } from "../parts";

export interface Config {
  name: string;
  value: string | null;
  source: string;
}

const OWN = "dynamic_topic_config";

export function Settings({ topic, configs, onChanged }: { topic: string; configs: Config[] | undefined; onChanged: () => void }): JSX.Element {
  const [wanted, setWanted] = useState("");
  const rows = configs?.filter((each) => each.name.includes(wanted));
  const change = async (name: string, value: string | null) => {
    await send("PATCH", path("topics", topic), { configs: { [name]: value } });
    onChanged();
  };
  return (
    <>
      <Changing><Setting names={configs?.map((each) => each.name) ?? []} change={change} /></Changing>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>search <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} /></label>
      </form>
      <Table
        rows={rows}
        empty="No key is called so."
        columns={[
          { name: "key", cell: (each) => <code class="key">{each.name}</code> },
          { name: "value", cell: (each) => <code>{each.value ?? "–"}</code> },
          { name: "set by", cell: (each) => (each.source === OWN ? <Badge kind="so">this topic</Badge> : each.source.replaceAll("_", " ")) },
          { name: "do", cell: (each) => each.source === OWN && <Sure label="Set back" ask={`Set ${each.name} of ${topic} back?`} act={() => change(each.name, null)} /> },
        ]}
      />
      <Changing><End topic={topic} onChanged={onChanged} /></Changing>
    </>
  );
}

function Setting({ names, change }: { names: string[]; change: (name: string, value: string) => Promise<void> }): JSX.Element {
  const { error, told, act } = useAct();
  const submit = (event: Event) => {
    const { name = "", value = "" } = filled(event);
    void act(async () => {
      await change(name, value);
      return `${name} is ${value} now.`;
    });
  };
  return (
    <Fold name="Set a key">
      <form class="tools" onSubmit={submit}>
        <label>key <input name="name" required list="keys-of-topics" autocomplete="off" /></label>
        <datalist id="keys-of-topics">{names.map((each) => <option value={each} />)}</datalist>
        <label>value <input name="value" /></label>
        <button>Set it</button>
      </form>
      <Told error={error} told={told} />
    </Fold>
  );
}

/** More partitions, or none of it any more: whoever deletes it writes its name, so that it is no slip. */
function End({ topic, onChanged }: { topic: string; onChanged: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const extend = (event: Event) => {
    const partitions = Number(filled(event).partitions);
    void act(async () => {
      await send("PATCH", path("topics", topic), { partitions });
      onChanged();
      return `It has ${partitions} partitions now.`;
    });
  };
  const end = (event: Event) => {
    const { name } = filled(event);
    void act(async () => {
      if (name !== topic) throw new Error("That is not its name: nothing was deleted.");
      await send("DELETE", path("topics", topic));
      location.hash = placeOf("topics");
    });
  };
  return (
    <Fold name="Add partitions, or delete the topic">
      <form class="tools" onSubmit={extend}>
        <label>partitions in all <input name="partitions" type="number" min={1} required /></label>
        <button>Add them</button>
        <span class="quiet">Keys lead to other partitions then; there is no way back.</span>
      </form>
      <form class="tools" onSubmit={end}>
        <label>its name <input name="name" required autocomplete="off" /></label>
        <button class="danger">Delete it with all its records</button>
      </form>
      <Told error={error} told={told} />
    </Fold>
  );
}
