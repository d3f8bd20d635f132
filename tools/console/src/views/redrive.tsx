// Dead letters sent again: first it is shown which of them would go where, then they are sent, each exactly once.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { path, send } from "../api";
import { number } from "../format";
import { placeOf } from "../hooks";
import { Pager, Table, Told, useAct } from "../parts";
import type { Message } from "./messages";

interface Redriven {
  dry_run: boolean;
  sent: number;
  settled_before: number;
  more: boolean;
  letters: { partition: number; offset: number; reason: string | null; to: string | null; to_partition: number | null; left: string | null }[];
}

interface Wanted {
  topic: string;
  reason: string | undefined;
  shown: Message | undefined;
  onSent: () => void;
}

const AT_ONCE = 1000;
const PAGE = 50;

export function Redrive({ topic, reason, shown, onSent }: Wanted): JSX.Element {
  const [to, setTo] = useState("");
  const [plan, setPlan] = useState<{ found: Redriven; order: object }>();
  const [skip, setSkip] = useState(0);
  const { error, told, busy, act, forget } = useAct();
  // What was shown is of other letters then.
  useEffect(() => setPlan(undefined), [topic, reason, shown]);
  const ask = (order: object, dry_run: boolean) => send<Redriven>("POST", path("dlq", topic, "redrive"), { ...order, dry_run, limit: AT_ONCE });
  const look = (order: object) => act(async () => {
    setPlan(undefined);
    setSkip(0);
    const whole = { ...order, ...(to ? { to } : {}) };
    setPlan({ found: (await ask(whole, true))!, order: whole });
  });
  const go = (order: object) => act(async () => {
    const found = (await ask(order, false))!;
    setPlan(undefined);
    onSent();
    return `${number(found.sent)} letters were sent again${found.more ? "; there are more" : ""}.`;
  });
  const page = plan && { items: plan.found.letters, total: plan.found.letters.length, limit: PAGE, skip };
  return (
    <section aria-label="Send again">
      <h2>Send again</h2>
      <form class="tools" onSubmit={(event) => { event.preventDefault(); void look(reason === undefined ? {} : { reason }); }}>
        <label>to <input value={to} placeholder="where they came from" onInput={(event) => { setTo(event.currentTarget.value); setPlan(undefined); forget(); }} /></label>
        <button disabled={busy}>Show what {reason === undefined ? "all open letters" : `letters of “${(reason || "no reason told").slice(0, 40)}”`} would do</button>
        {shown && <button type="button" disabled={busy} onClick={() => void look({ letters: [{ partition: shown.partition, offset: shown.offset }] })}>Show what letter {shown.partition}:{shown.offset} would do</button>}
      </form>
      <Told error={error} told={told} />
      {plan && (
        <>
          <p>
            <b>{number(plan.found.sent)}</b> would be sent{plan.found.letters.length > plan.found.sent ? `, ${number(plan.found.letters.length - plan.found.sent)} would stay` : ""}
            {plan.found.settled_before > 0 && `, ${number(plan.found.settled_before)} were dealt with before`}{plan.found.more && "; there are more after these"}.
          </p>
          <Table
            rows={plan.found.letters.slice(skip, skip + PAGE)}
            empty="No letter is open: all were dealt with."
            columns={[
              { name: "letter", cell: (each) => `${each.partition}:${each.offset}` },
              { name: "reason", cell: (each) => each.reason ?? "" },
              { name: "goes to", cell: (each) => each.to && <a href={placeOf("topics", each.to)}>{each.to}</a> },
              { name: "partition", cell: (each) => each.to_partition ?? "by its key" },
              { name: "stays, for", cell: (each) => each.left ?? "" },
            ]}
          />
          <Pager page={page} onSkip={setSkip} />
          {plan.found.sent > 0 && <p><button disabled={busy} onClick={() => void go(plan.order)}>Send {number(plan.found.sent)} again</button></p>}
        </>
      )}
    </section>
  );
}
