// The console: a menu, and the view that the place names.

import { render } from "preact";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import "./style.css";
import { isLoggedIn, logIn, logOut, whenUnknown } from "./api";
import { placeOf, usePlace } from "./hooks";
import { Cluster } from "./views/cluster";
import { DeadLetters, Letters } from "./views/dead_letters";
import { Group, Groups } from "./views/groups";
import { Overview } from "./views/overview";
import { Schemas, Subject } from "./views/schemas";
import { Settings } from "./views/settings";
import { ShareGroup, ShareGroups } from "./views/share_groups";
import { Tenants } from "./views/tenants";
import { Topic } from "./views/topic";
import { Topics } from "./views/topics";
import { Timeline, Traces } from "./views/traces";

const MENU: [string, string][] = [
  ["", "Overview"],
  ["topics", "Topics"],
  ["groups", "Groups"],
  ["share-groups", "Share groups"],
  ["dead-letters", "Dead letters"],
  ["schemas", "Schemas"],
  ["traces", "Traces"],
  ["cluster", "Cluster"],
  ["tenants", "Tenants"],
  ["settings", "Settings"],
];

function View({ place }: { place: string[] }): JSX.Element {
  const [room = "", name, ...rest] = place;
  switch (room) {
    case "":
      return <Overview />;
    case "topics":
      return name === undefined ? <Topics /> : <Topic name={name} tab={rest[0] ?? "messages"} />;
    case "groups":
      return name === undefined ? <Groups /> : <Group name={name} />;
    case "share-groups":
      return name === undefined ? <ShareGroups /> : <ShareGroup name={name} />;
    case "dead-letters":
      return name === undefined ? <DeadLetters /> : <Letters topic={name} />;
    case "schemas":
      return name === undefined ? <Schemas /> : <Subject name={name} />;
    case "traces":
      return name === undefined || rest.length < 2 ? <Traces /> : <Timeline topic={name} partition={rest[0]!} offset={rest[1]!} />;
    case "cluster":
      return <Cluster />;
    case "tenants":
      return <Tenants />;
    case "settings":
      return <Settings />;
    default:
      return <p>There is nothing here. <a href="#/">Overview</a></p>;
  }
}

function Login({ onDone }: { onDone: () => void }): JSX.Element {
  const [token, setToken] = useState("");
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const pair = new TextEncoder().encode(`${user}:${password}`);
    logIn(token ? `Bearer ${token}` : `Basic ${btoa(String.fromCharCode(...pair))}`);
    onDone();
  };
  return (
    <form class="login" onSubmit={submit}>
      <h1>Who are you?</h1>
      <p class="quiet">A user of the broker, or a token. It is kept until this tab is closed.</p>
      <label>User <input autocomplete="username" value={user} onInput={(event) => setUser(event.currentTarget.value)} /></label>
      <label>Password <input type="password" autocomplete="current-password" value={password} onInput={(event) => setPassword(event.currentTarget.value)} /></label>
      <label>or token <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
      <button>Log in</button>
    </form>
  );
}

function Console(): JSX.Element {
  const place = usePlace();
  const [asked, setAsked] = useState(false);
  useEffect(() => whenUnknown(() => setAsked(true)), []);
  const room = place[0] ?? "";
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
      <header>
        <a class="name" href="#/">Tidegate</a>
        <nav aria-label="Rooms">
          {MENU.map(([key, name]) => (
            <a href={key ? placeOf(key) : "#/"} aria-current={key === room ? "page" : undefined}>{name}</a>
          ))}
        </nav>
        {isLoggedIn() && <button onClick={logOut}>Log out</button>}
      </header>
      <main id="main" tabIndex={-1}>
        {asked ? <Login onDone={() => setAsked(false)} /> : <View place={place} key={place.slice(0, 2).join("/")} />}
      </main>
    </>
  );
}

render(<Console />, document.getElementById("console")!);
