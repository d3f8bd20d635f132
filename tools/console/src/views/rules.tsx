// Rules: who may do what, made and removed; and why somebody may do something, or may not.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, Page, query, send } from "../api";
import { useData } from "../hooks";
import { Badge, Changing, filled, Fold, Pager, Sure, Table, Told, useAct, Wrong } from "../parts";

interface Rule {
  principal: string;
  operation: string;
  resource: string;
  name: string;
  pattern: string;
  host: string;
  permission: string;
}

interface Decision {
  allowed: boolean;
  reason: string;
  rule: Rule | null;
}

const RESOURCES = ["topic", "group", "cluster", "transactional-id", "subject"];
const OPERATIONS = ["read", "write", "describe", "create", "delete", "alter", "describe-configs", "alter-configs", "idempotent-write", "cluster-action", "all"];
/** What the door answers where there are no rules. */
const NOT_ASKED = 409;
/** The one name that the cluster has. */
const CLUSTER = "kafka-cluster";

export function Rules(): JSX.Element {
  const [given, setGiven] = useState<Record<string, string>>({});
  const [skip, setSkip] = useState(0);
  const { data, error, status, again } = useData<Page<Rule>>("/acls" + query({ ...given, skip, limit: 50 }));
  if (status === NOT_ASKED) return <><h1>Rules</h1><p class="quiet">Nobody is asked for rights here: everybody may do everything. <code>authorizer.enable=true</code>, with <code>super.users</code>, has rules followed.</p></>;
  return (
    <>
      <h1>Rules</h1>
      <Why />
      <Changing><NewRule onMade={again} /></Changing>
      <form class="tools" onSubmit={(event) => { setGiven(filled(event)); setSkip(0); }}>
        <label>of <input type="search" name="principal" placeholder="User:anna" /></label>
        <label>about <Choice name="resource" of={RESOURCES} any="anything" /></label>
        <label>called <input name="name" placeholder="orders" /></label>
        <button>Find</button>
      </form>
      <Wrong error={error} />
      {data && <Table
        rows={data.items}
        empty="No such rule. Whoever is no super user may do only what a rule allows."
        columns={[
          { name: "who", cell: (each) => each.principal },
          { name: "may", cell: (each) => <Permission of={each.permission} /> },
          { name: "do what", cell: (each) => each.operation },
          { name: "to", cell: (each) => <div>{each.resource} <code>{each.name}{each.pattern === "prefixed" ? "…" : ""}</code></div> },
          { name: "from", cell: (each) => (each.host === "*" ? "anywhere" : each.host) },
          { name: "do", cell: (each) => <Sure label="Remove" ask={`Remove the rule: ${inWords(each)}?`} act={async () => { await send("DELETE", "/acls" + query({ ...each })); again(); }} /> },
        ]}
      />}
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

function inWords(rule: Rule): string {
  return `${rule.principal} ${rule.permission} ${rule.operation} ${rule.resource} ${rule.name}${rule.pattern === "prefixed" ? "…" : ""} from ${rule.host}`;
}

function Permission({ of }: { of: string }): JSX.Element {
  return <Badge kind={of === "allow" ? "good" : "bad"}>{of === "allow" ? "may" : "may not"}</Badge>;
}

function Choice({ name, of, any }: { name: string; of: string[]; any?: string }): JSX.Element {
  return <select name={name}>{any && <option value="">{any}</option>}{of.map((each) => <option>{each}</option>)}</select>;
}

/** The fields by which both a rule and a question say what is to be done to what. */
function What(): JSX.Element {
  const [resource, setResource] = useState(RESOURCES[0]!);
  return (
    <>
      <label>to <select name="resource" value={resource} onChange={(event) => setResource(event.currentTarget.value)}>{RESOURCES.map((each) => <option>{each}</option>)}</select></label>
      <label>called <input name="name" required key={resource} defaultValue={resource === "cluster" ? CLUSTER : ""} readOnly={resource === "cluster"} /></label>
    </>
  );
}

function NewRule({ onMade }: { onMade: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const submit = (event: Event) => {
    const rule = filled(event);
    void act(async () => {
      await send("POST", "/acls", { items: [rule] });
      onMade();
      return `${rule.principal} ${rule.permission === "deny" ? "may not" : "may"} ${rule.operation} ${rule.resource} ${rule.name} now.`;
    });
  };
  return (
    <Fold name="Make a rule">
      <form class="tools" onSubmit={submit}>
        <label>who <input name="principal" required placeholder="User:anna" /></label>
        <select name="permission" aria-label="may or may not"><option value="allow">may</option><option value="deny">may not</option></select>
        <label>do <Choice name="operation" of={OPERATIONS} /></label>
        <What />
        <select name="pattern" aria-label="this name, or names that begin so"><option value="literal">this name (* is every)</option><option value="prefixed">names that begin so</option></select>
        <label>from <input name="host" placeholder="any address" /></label>
        <button>Make it</button>
      </form>
      <Told error={error} told={told} />
    </Fold>
  );
}

function Why(): JSX.Element {
  const { error, told, act } = useAct();
  const [found, setFound] = useState<{ asked: string; decision: Decision }>();
  const submit = (event: Event) => {
    const asked = filled(event);
    setFound(undefined);
    void act(async () => setFound({ asked: `${asked.principal} ${asked.operation} ${asked.resource} ${asked.name}`, decision: await get<Decision>("/acls/why" + query(asked)) }));
  };
  return (
    <Fold name="Why may somebody do something?">
      <form class="tools" onSubmit={submit}>
        <label>may <input name="principal" required placeholder="User:anna" /></label>
        <label>do <Choice name="operation" of={OPERATIONS} /></label>
        <What />
        <label>from <input name="host" placeholder="any address" /></label>
        <button>Ask</button>
      </form>
      <Told error={error} told={told} />
      {found && (
        <p role="status">
          {found.asked}: <Permission of={found.decision.allowed ? "allow" : "deny"} /> {found.decision.reason}
          {found.decision.rule && <>: <code>{inWords(found.decision.rule)}</code></>}
        </p>
      )}
    </Fold>
  );
}
