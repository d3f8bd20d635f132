// Users: who may log in with a password.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Page, path, query, send } from "../api";
import { placeOf, useData } from "../hooks";
import { Changing, filled, Fold, Pager, Sure, Table, Told, useAct, Wrong } from "../parts";

interface User {
  user: string;
  mechanisms: { mechanism: string; iterations: number }[];
}

export function Users(): JSX.Element {
  const [skip, setSkip] = useState(0);
  const { data, error, again } = useData<Page<User>>("/users" + query({ skip, limit: 50 }));
  return (
    <>
      <h1>Users</h1>
      <p class="quiet">Who may log in with a password. What each may do say the <a href={placeOf("rules")}>rules</a>; users of a file, of certificates and of tokens are not listed.</p>
      <Changing><Password onDone={again} /></Changing>
      <Wrong error={error} />
      {data && <Table
        rows={data.items}
        empty="Nobody has a password yet."
        columns={[
          { name: "user", cell: (each) => each.user },
          { name: "may log in by", cell: (each) => each.mechanisms.map((one) => <div>{one.mechanism} <span class="quiet">({one.iterations} iterations)</span></div>) },
          { name: "do", cell: (each) => <Sure label="Delete" bad ask={`Delete ${each.user}? Nobody will log in as it any longer.`} act={async () => { await send("DELETE", path("users", each.user)); again(); }} /> },
        ]}
      />}
      <Pager page={data} onSkip={setSkip} />
    </>
  );
}

function Password({ onDone }: { onDone: () => void }): JSX.Element {
  const { error, told, act } = useAct();
  const submit = (event: Event) => {
    const form = event.currentTarget as HTMLFormElement;
    const { user = "", password = "", again = "" } = filled(event);
    void act(async () => {
      if (password !== again) throw new Error("The two passwords are not the same.");
      await send("PUT", path("users", user), { password });
      form.reset();
      onDone();
      return `${user} may log in with that password now.`;
    });
  };
  return (
    <Fold name="Make a user, or give one another password">
      <form class="tools" onSubmit={submit}>
        <label>user <input name="user" required autocomplete="off" /></label>
        <label>password <input name="password" type="password" required autocomplete="new-password" /></label>
        <label>once more <input name="again" type="password" required autocomplete="new-password" /></label>
        <button>Set it</button>
      </form>
      <Told error={error} told={told} />
    </Fold>
  );
}
