// Who is it? A user of the broker, or a token; kept in this tab, and forgotten when nobody has done anything for long.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { isLoggedIn, logIn, logOut } from "./api";

const IDLE_MAX_MS = 30 * 60_000;
const LOOK_MS = 10_000;

export function Login({ onDone }: { onDone: () => void }): JSX.Element {
  const [token, setToken] = useState("");
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const wasLoggedIn = isLoggedIn();
  const submit = (event: Event) => {
    event.preventDefault();
    const pair = new TextEncoder().encode(`${user}:${password}`);
    logIn(token ? `Bearer ${token}` : `Basic ${btoa(String.fromCharCode(...pair))}`);
    onDone();
  };
  return (
    <form class="login" onSubmit={submit}>
      <h1>Who are you?</h1>
      {wasLoggedIn && <p class="wrong" role="alert">The broker does not take that, or no longer.</p>}
      <p class="quiet">A user of the broker, or a token. It is kept in this tab alone, until the tab is closed or nobody has done anything in it for half an hour.</p>
      <label>User <input autocomplete="username" value={user} onInput={(event) => setUser(event.currentTarget.value)} /></label>
      <label>Password <input type="password" autocomplete="current-password" value={password} onInput={(event) => setPassword(event.currentTarget.value)} /></label>
      <label>or token <input type="password" autocomplete="off" value={token} onInput={(event) => setToken(event.currentTarget.value)} /></label>
      <button>Log in</button>
    </form>
  );
}

/** Logs out when nobody has touched the page for too long. */
export function useExpiry(): void {
  useEffect(() => {
    let last = Date.now();
    const touched = () => void (last = Date.now());
    const events = ["pointerdown", "keydown", "wheel"] as const;
    events.forEach((name) => addEventListener(name, touched, { passive: true }));
    const timer = setInterval(() => isLoggedIn() && Date.now() - last > IDLE_MAX_MS && logOut(), LOOK_MS);
    return () => {
      clearInterval(timer);
      events.forEach((name) => removeEventListener(name, touched));
    };
  }, []);
}
