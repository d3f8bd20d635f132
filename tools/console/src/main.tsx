// The console: a menu, and the view that the place names.

import { render } from "preact";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import "./style.css";
import { isLoggedIn, isReadOnly, learnWhatIsTaken, logOut, whenUnknown } from "./api";
import { placeOf, usePlace } from "./hooks";
import { Login, useExpiry } from "./login";
import { Shortcuts } from "./shortcuts";
import { Cluster } from "./views/cluster";
import { DeadLetters, Letters } from "./views/dead_letters";
import { Group, Groups } from "./views/groups";
import { Overview } from "./views/overview";
import { Quotas } from "./views/quotas";
import { Rules } from "./views/rules";
import { Schemas, Subject } from "./views/schemas";
import { Settings } from "./views/settings";
import { ShareGroup, ShareGroups } from "./views/share_groups";
import { Tenants } from "./views/tenants";
import { Topic } from "./views/topic";
import { Topics } from "./views/topics";
import { Timeline, Traces } from "./views/traces";
import { Users } from "./views/users";

/** Each with the key that leads there, after g. */
const MENU: { room: string; name: string; key: string }[] = [
  { room: "", name: "Overview", key: "o" },
  { room: "topics", name: "Topics", key: "t" },
  { room: "groups", name: "Groups", key: "g" },
  { room: "share-groups", name: "Share groups", key: "s" },
  { room: "dead-letters", name: "Dead letters", key: "d" },
  { room: "schemas", name: "Schemas", key: "m" },
  { room: "traces", name: "Traces", key: "r" },
  { room: "cluster", name: "Cluster", key: "c" },
  { room: "rules", name: "Rules", key: "l" },
  { room: "users", name: "Users", key: "u" },
  { room: "quotas", name: "Quotas", key: "q" },
  { room: "tenants", name: "Tenants", key: "n" },
  { room: "settings", name: "Settings", key: "e" },
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
    case "rules":
      return <Rules />;
    case "users":
      return <Users />;
    case "quotas":
      return <Quotas />;
    case "tenants":
      return <Tenants />;
    case "settings":
      return <Settings />;
    default:
      return <><h1>Nothing here</h1><p>There is nothing here. <a href="#/">Overview</a></p></>;
  }
}

function Console(): JSX.Element {
  const place = usePlace();
  const [asked, setAsked] = useState(false);
  useEffect(() => whenUnknown(() => setAsked(true)), []);
  useExpiry();
  const room = place[0] ?? "";
  const current = MENU.find((each) => each.room === room)?.name;
  useEffect(() => {
    document.title = [...place.slice(1), current, "Tidegate"].filter(Boolean).join(" · ");
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [place.join("/")]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
      <header>
        <a class="name" href="#/">Tidegate</a>
        <nav aria-label="Rooms">
          {MENU.map((each) => (
            <a href={each.room ? placeOf(each.room) : "#/"} aria-current={each.room === room ? "page" : undefined}>{each.name}</a>
          ))}
        </nav>
        {isReadOnly() && <span class="badge so">read only</span>}
        {isLoggedIn() && !asked && <button onClick={logOut}>Log out</button>}
        <Shortcuts rooms={MENU} />
      </header>
      <main id="main" tabIndex={-1}>
        {asked ? <Login onDone={() => setAsked(false)} /> : <View place={place} key={place.slice(0, 2).join("/")} />}
      </main>
    </>
  );
}

learnWhatIsTaken().catch(() => undefined).finally(() => render(<Console />, document.getElementById("console")!));
