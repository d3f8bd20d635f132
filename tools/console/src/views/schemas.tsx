// Schemas: subjects, their versions, the text of each, and what is otherwise between two.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { path, query } from "../api";
import { diff } from "../diff";
import { placeOf, useData } from "../hooks";
import { Register, SubjectChanges } from "./schema_changes";
import { Badge, Changing, Figure, Pager, Table, Wrong } from "../parts";

const PAGE = 50;

interface Schema {
  subject: string;
  version: number;
  id: number;
  schemaType?: string;
  schema: string;
}

export function Schemas(): JSX.Element {
  const [prefix, setPrefix] = useState("");
  const [skip, setSkip] = useState(0);
  // The registry's lists do not tell how many there are: one more than is shown says whether there is another page.
  const { data, error, again } = useData<string[]>("/schemas/subjects" + query({ subjectPrefix: prefix && `:*:${prefix}`, offset: skip, limit: PAGE + 1 }));
  const page = data && { items: data, skip, limit: PAGE, total: skip + data.length };
  return (
    <>
      <h1>Schemas</h1>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>begins with <input type="search" value={prefix} onInput={(event) => { setPrefix(event.currentTarget.value); setSkip(0); }} /></label>
      </form>
      <Wrong error={error} />
      <Table
        rows={data?.slice(0, PAGE)}
        empty={prefix ? "No subject is called so." : "No schema was registered yet."}
        columns={[{ name: "subject", cell: (each) => <a href={placeOf("schemas", each)}>{each}</a> }]}
      />
      <Pager page={page} onSkip={setSkip} isOpen />
      <Changing><Register onDone={again} /></Changing>
    </>
  );
}

export function Subject({ name }: { name: string }): JSX.Element {
  const versions = useData<number[]>(path("schemas", "subjects", name, "versions"));
  const level = useData<{ compatibilityLevel: string }>(path("schemas", "config", name) + "?defaultToGlobal=true");
  const mode = useData<{ mode: string }>(path("schemas", "mode", name) + "?defaultToGlobal=true");
  const [chosen, setChosen] = useState<number>();
  const [other, setOther] = useState<number>();
  const version = chosen ?? versions.data?.at(-1);
  const one = useData<Schema>(version === undefined ? undefined : path("schemas", "subjects", name, "versions", version));
  const two = useData<Schema>(other === undefined ? undefined : path("schemas", "subjects", name, "versions", other));
  return (
    <>
      <h1>{name}</h1>
      <Wrong error={versions.error ?? one.error} />
      <dl class="figures">
        {level.data && <Figure name="compatibility">{level.data.compatibilityLevel}</Figure>}
        {mode.data && <Figure name="mode">{mode.data.mode}</Figure>}
        {one.data && <Figure name="type">{one.data.schemaType ?? "AVRO"}</Figure>}
        {one.data && <Figure name="id">{one.data.id}</Figure>}
        {versions.data && <Figure name="versions">{versions.data.length}</Figure>}
      </dl>
      {versions.data && (
        <form class="tools" onSubmit={(event) => event.preventDefault()}>
          <label>version <select value={version} onChange={(event) => setChosen(Number(event.currentTarget.value))}>{versions.data.map((each) => <option value={each}>{each}</option>)}</select></label>
          <label>compared with <select value={other ?? ""} onChange={(event) => setOther(event.currentTarget.value ? Number(event.currentTarget.value) : undefined)}><option value="">none</option>{versions.data.map((each) => <option value={each}>{each}</option>)}</select></label>
        </form>
      )}
      {one.data && (two.data && other !== undefined ? <Difference from={two.data} to={one.data} /> : <pre class="text">{laidOut(one.data)}</pre>)}
      <Changing>
        {versions.data && <Register subject={name} text={one.data && laidOut(one.data)} type={one.data?.schemaType ?? "AVRO"} onDone={() => { setChosen(undefined); versions.again(); }} />}
        <SubjectChanges subject={name} version={version} onDone={() => { setChosen(undefined); versions.again(); level.again(); mode.again(); }} />
      </Changing>
    </>
  );
}

function Difference({ from, to }: { from: Schema; to: Schema }): JSX.Element {
  const lines = diff(laidOut(from), laidOut(to));
  return (
    <>
      <p class="quiet">From version {from.version} to {to.version}: <Badge kind="bad">{lines.filter((each) => each.kind === "gone").length} lines gone</Badge> <Badge kind="good">{lines.filter((each) => each.kind === "new").length} lines new</Badge></p>
      <pre class="text">{lines.map((each) => <div class={each.kind}>{{ same: "  ", gone: "- ", new: "+ " }[each.kind]}{each.text}</div>)}</pre>
    </>
  );
}

/** JSON over several lines, Protobuf as it is. */
function laidOut({ schema }: Schema): string {
  try {
    return JSON.stringify(JSON.parse(schema), null, 2);
  } catch {
    return schema;
  }
}
