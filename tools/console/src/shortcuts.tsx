// Keys that lead somewhere, for those who want them: they can be switched off, and the choice is kept.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { placeOf } from "./hooks";

const KEPT = "tidegate.shortcuts";
const TOGETHER_MS = 1500;

interface Room {
  room: string;
  name: string;
  key: string;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

export function Shortcuts({ rooms }: { rooms: Room[] }): JSX.Element {
  const [on, setOn] = useState(localStorage.getItem(KEPT) !== "off");
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    let went = 0;
    const pressed = (event: KeyboardEvent) => {
      if (!on || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey || dialog.current?.open) return;
      const room = Date.now() - went < TOGETHER_MS && rooms.find((each) => each.key === event.key);
      went = 0;
      if (room) location.hash = room.room ? placeOf(room.room) : "#/";
      else if (event.key === "g") went = Date.now();
      else if (event.key === "?") dialog.current?.showModal();
      else if (event.key === "/") {
        const search = document.querySelector<HTMLInputElement>("main input[type=search], main form input");
        if (search === null) return;
        event.preventDefault();
        search.focus();
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [on, rooms]);
  const choose = (wanted: boolean) => {
    localStorage.setItem(KEPT, wanted ? "on" : "off");
    setOn(wanted);
  };
  return (
    <>
      <button class="plain" onClick={() => dialog.current?.showModal()}>Keys</button>
      <dialog ref={dialog} aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        <dl class="pairs">
          <dt><kbd>/</kbd></dt><dd>to the search of this room</dd>
          <dt><kbd>?</kbd></dt><dd>these keys</dd>
          {rooms.map((each) => <><dt><kbd>g</kbd> <kbd>{each.key}</kbd></dt><dd>{each.name}</dd></>)}
        </dl>
        <p><label><input type="checkbox" checked={on} onChange={(event) => choose(event.currentTarget.checked)} /> use them</label></p>
        <form method="dialog"><button>Close</button></form>
      </dialog>
    </>
  );
}
