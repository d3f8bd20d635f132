// What can be done to a subject: a new version, tried first; how compatible it has to be; its end, soft or hard.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { path, Problem, query, send } from "../api";
import { placeOf } from "../hooks";
import { filled, Fold, Sure, Told, useAct } from "../parts";

const LEVELS = ["BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE", "NONE"];
const MODES = ["READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT"];
const TYPES = ["AVRO", "JSON", "PROTOBUF"];

interface Draft {
  subject?: string;
  schemaType: string;
  schema: string;
}

/** What the next version would break, empty if nothing; a subject that is not there yet has nothing to break. */
async function broken({ subject = "", ...schema }: Draft): Promise<string[]> {
  try {
    const told = await send<{ is_compatible: boolean; messages?: string[] }>("POST", path("schemas", "compatibility", "subjects", subject, "versions") + "?verbose=true", schema);
    return told!.is_compatible ? [] : (told!.messages ?? ["it is not compatible"]);
  } catch (wrong) {
    if (wrong instanceof Problem && wrong.status === 404) return [];
    throw wrong;
  }
}

export function Register({ subject, text, type, onDone }: { subject?: string; text?: string; type?: string; onDone: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const [wrong, setWrong] = useState<string[]>([]);
  const submit = (event: Event) => {
    const isTrial = (event as SubmitEvent).submitter?.getAttribute("value") === "try";
    const given = { ...(subject === undefined ? {} : { subject }), ...filled(event) } as unknown as Draft;
    setWrong([]);
    void act(async () => {
      const found = await broken(given);
      setWrong(found);
      if (isTrial || found.length > 0) return found.length > 0 ? "" : "It is compatible.";
      const { subject: name = "", ...schema } = given;
      const made = await send<{ id: number }>("POST", path("schemas", "subjects", name, "versions"), schema);
      onDone();
      return `It is registered, with the id ${made!.id}.`;
    });
  };
  return (
    <Fold name={subject === undefined ? "Register a schema" : "Register another version"}>
      <form class="produce" onSubmit={submit}>
        {subject === undefined && <label>subject <input name="subject" required placeholder="orders-value" /></label>}
        <label>type <select name="schemaType" defaultValue={type ?? "AVRO"}>{TYPES.map((each) => <option selected={each === (type ?? "AVRO")}>{each}</option>)}</select></label>
        <label>schema <textarea name="schema" required defaultValue={text} key={text} /></label>
        <div class="tools"><button value="try">Try whether it is compatible</button><button value="do">Register</button></div>
      </form>
      {wrong.length > 0 && <ul class="wrong" role="alert">{wrong.map((each) => <li>{each}</li>)}</ul>}
      <Told error={error} told={told} />
    </Fold>
  );
}

export function SubjectChanges({ subject, version, onDone }: { subject: string; version: number | undefined; onDone: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const set = (what: "config" | "mode", key: string) => (event: Event) => {
    const { value } = filled(event);
    void act(async () => {
      await send("PUT", path("schemas", what, subject), { [key]: value });
      onDone();
      return `It is ${value} now.`;
    });
  };
  const remove = async (target: string[], permanent: boolean) => {
    await send("DELETE", path("schemas", "subjects", ...target) + query({ permanent: permanent || undefined }));
    if (target.length === 1) location.hash = placeOf("schemas");
    else onDone();
  };
  return (
    <Fold name="Compatibility, mode, deletion">
      <form class="tools" onSubmit={set("config", "compatibility")}>
        <label>compatibility <select name="value">{LEVELS.map((each) => <option>{each}</option>)}</select></label><button>Set it</button>
      </form>
      <form class="tools" onSubmit={set("mode", "mode")}>
        <label>mode <select name="value">{MODES.map((each) => <option>{each}</option>)}</select></label><button>Set mode</button>
      </form>
      <p class="tools">
        {version !== undefined && <Sure label={`Delete version ${version}`} ask={`Delete version ${version} of ${subject}? It can be looked up by its id still.`} act={() => remove([subject, "versions", String(version)], false)} />}
        <Sure label="Delete the subject" bad ask={`Delete ${subject} with all versions? They can be looked up by their ids still.`} act={() => remove([subject], false)} />
        <Sure label="… for good" bad ask={`Delete ${subject} for good? Nobody can read records by its schemas any longer.`} act={async () => { await remove([subject], false).catch(() => undefined); await remove([subject], true); }} />
      </p>
      <Told error={error} told={told} />
    </Fold>
  );
}
